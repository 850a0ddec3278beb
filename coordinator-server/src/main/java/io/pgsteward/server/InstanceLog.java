package io.pgsteward.server;

import io.pgsteward.budget.Budget;
import io.pgsteward.budget.ServerLimits;
import io.pgsteward.coordination.ControlLoopListener;
import io.pgsteward.model.InstanceId;
import io.pgsteward.model.MemberId;
import io.pgsteward.postgres.LeadershipHeldException;
import io.pgsteward.protocol.CoordinatorPhase;
import io.pgsteward.protocol.StatusResponse.InstanceStatus;
import io.pgsteward.server.http.Readiness;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.StringJoiner;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The log of one instance: one line for each change, nothing for a request. Also tells {@link
 * Readiness} what it needs. Called by the loop's own thread.
 */
final class InstanceLog implements ControlLoopListener {

  private static final Logger LOG = LoggerFactory.getLogger("pgsteward");

  /** A member chooses its name; it may not fill the log with it. */
  private static final int LONGEST_NAME = 60;

  private final InstanceId instance;
  private final Readiness readiness;
  private final Supplier<CompletableFuture<InstanceStatus>> status;
  private @Nullable String holder; // as told last
  private @Nullable String limitsFailure;

  /**
   * @param status asks the loop for its status
   */
  InstanceLog(
      InstanceId instance,
      Readiness readiness,
      Supplier<CompletableFuture<InstanceStatus>> status) {
    this.status = status;
    this.instance = instance;
    this.readiness = readiness;
  }

  @Override
  public void phaseChanged(CoordinatorPhase phase, long epoch) {
    readiness.phase(phase);
    if (phase != CoordinatorPhase.STANDBY) {
      holder = null;
    }
    switch (phase) {
      case LEARNING ->
          LOG.info(
              "{}: leads, epoch {}; learning for one lease what members hold, nothing new is granted"
                  + " meanwhile",
              instance,
              epoch);
      case SERVING -> LOG.info("{}: serving, epoch {}", instance, epoch);
      case STANDBY -> LOG.warn("{}: leads no longer; members keep what they have", instance);
    }
  }

  @Override
  public void budgetChanged(@Nullable Budget before, Budget after) {
    if (before == null) {
      LOG.info("{}: budget {}: {}", instance, after.total(), parts(after));
      return;
    }
    LOG.info(
        "{}: budget {} -> {}: {}",
        instance,
        before.total(),
        after.total(),
        String.join(", ", differences(before, after)));
    if (after.deficit() > 0 && before.deficit() == 0) {
      LOG.warn(
          "{}: the budget is 0 and {} short: {}",
          instance,
          count(after.deficit(), "connection"),
          parts(after));
    }
  }

  static String parts(Budget budget) {
    return "max_connections "
        + budget.limits().maxConnections()
        + " - reserved "
        + reserved(budget.limits())
        + " - foreign peak "
        + budget.foreignPeak()
        + " - margin "
        + budget.margin()
        + (budget.heldBack() == 0 ? "" : " - held back " + budget.heldBack());
  }

  static List<String> differences(Budget before, Budget after) {
    List<String> parts = new ArrayList<>();
    add(
        parts,
        "max_connections",
        before.limits().maxConnections(),
        after.limits().maxConnections());
    add(parts, "reserved", reserved(before.limits()), reserved(after.limits()));
    add(parts, "foreign peak", before.foreignPeak(), after.foreignPeak());
    add(parts, "margin", before.margin(), after.margin());
    add(parts, "held back", before.heldBack(), after.heldBack());
    return parts;
  }

  private static void add(List<String> parts, String name, int before, int after) {
    if (before != after) {
      parts.add(name + " " + before + " -> " + after);
    }
  }

  private static int reserved(ServerLimits limits) {
    return limits.superuserReserved() + limits.reserved();
  }

  @Override
  public void enforcementChanged(String sentence, boolean limits) {
    if (limits) {
      LOG.info("{}: {}", instance, sentence);
    } else {
      LOG.warn("{}: {}", instance, sentence);
    }
  }

  @Override
  public void limitsSet(Map<String, Integer> limits) {
    LOG.debug("{}: role limits set: {}", instance, limits);
    if (limitsFailure != null) {
      limitsFailure = null;
      LOG.info("{}: role limits can be set again", instance);
    }
  }

  @Override
  public void limitsFailed(Map<String, Integer> limits, Exception cause) {
    String reason = String.valueOf(cause.getMessage());
    if (!reason.equals(limitsFailure)) {
      limitsFailure = reason;
      LOG.warn(
          "{}: the limits of {} could not be set, and grants that need them wait; it is tried again: {}",
          instance,
          count(limits.size(), "role"),
          reason);
    }
  }

  @Override
  public void limitChangedByAnotherHand(String role, int found) {
    LOG.warn(
        "{}: somebody set the connection limit of role {} to {}; it is put right as soon as"
            + " limits can be changed. To manage it by"
            + " hand, run release and declare the role foreign",
        instance,
        role,
        found);
  }

  @Override
  public void unmetGuaranteesChanged(int before, int after) {
    if (after == 0) {
      LOG.info("{}: all guarantees are met again", instance);
    } else {
      LOG.warn(
          "{}: {} of guarantees {} demand and cannot be granted (before: {});"
              + " /v1/status shows whose",
          instance,
          count(after, "slot"),
          after == 1 ? "has" : "have",
          before);
    }
  }

  @Override
  public void straysChanged(int before, int after) {
    if (after == 0) {
      LOG.info("{}: no stray connections any more (before: {})", instance, before);
      return;
    }
    // Whose they are is asked of the loop, which answers after this call of its own.
    var unused = status.get().whenComplete((now, failure) -> strays(before, after, now));
  }

  private void strays(int before, int after, @Nullable InstanceStatus now) {
    StringJoiner where = new StringJoiner(", ", " (", ")").setEmptyValue("");
    if (now != null) {
      now.strays().forEach(of -> where.add(of.count() + " of " + of.role() + "@" + of.database()));
    }
    LOG.warn(
        "{}: {}{} of managed roles that no member has reported (before: {}), taken from what is"
            + " given out; let what opens them use PgSteward or a role of its own",
        instance,
        count(after, "stray connection"),
        where,
        before);
  }

  private static String count(int number, String what) {
    return number + " " + what + (number == 1 ? "" : "s");
  }

  @Override
  public void memberJoined(MemberId member, String name, String address) {
    LOG.info("{}: member {} joined from {}", instance, shown(member, name), address);
  }

  @Override
  public void memberLeft(MemberId member, String name) {
    LOG.info("{}: member {} left", instance, shown(member, name));
  }

  @Override
  public void memberForgotten(MemberId member, String name) {
    LOG.info(
        "{}: member {} was silent and PostgreSQL shows nothing of it; forgotten",
        instance,
        shown(member, name));
  }

  /** The member with the name that it has given itself, if any. */
  private static String shown(MemberId member, String name) {
    if (name.isBlank()) {
      return member.toString();
    }
    String cut = name.length() <= LONGEST_NAME ? name : name.substring(0, LONGEST_NAME) + "...";
    return member + " (" + cut + ")";
  }

  @Override
  public void observationFailed(Exception cause) {
    readiness.failed(String.valueOf(cause.getMessage()));
    LOG.warn(
        "{}: PostgreSQL cannot be looked at: {}; budget and grants stay as they are, and it keeps"
            + " trying",
        instance,
        String.valueOf(cause.getMessage()));
  }

  @Override
  public void observationRecovered() {
    readiness.recovered();
    LOG.info("{}: PostgreSQL can be looked at again", instance);
  }

  @Override
  public void observationComplete(boolean complete) {
    if (complete) {
      LOG.info("{}: PostgreSQL shows what kind each session is", instance);
    } else {
      LOG.warn(
          "{}: the coordinator's role is not in pg_monitor, so PostgreSQL hides what kind sessions"
              + " are: every session of an unmanaged role counts as foreign and the budget may be"
              + " smaller than it could be; grant pg_monitor to the role",
          instance);
    }
  }

  @Override
  public void leadershipHeldBy(LeadershipHeldException held) {
    boolean same = held.hasSameConfiguration();
    // The message of one leader changes with its session.
    String now = same ? held.holder() : String.valueOf(held.getMessage());
    // Each time: a session that broke in between has left another reason.
    readiness.failed(same ? "coordinator " + now + " leads, this one stands by" : now);
    if (now.equals(holder)) {
      return;
    }
    holder = now;
    if (same) {
      LOG.info(
          "{}: STANDBY: coordinator {} leads and members are {}; this one takes over when the lead"
              + " is free",
          instance,
          held.holder(),
          held.address() == null ? "refused here" : "sent there");
    } else {
      LOG.error("{}: STANDBY, and will not take over: {}", instance, now);
    }
  }

  @Override
  public void failed(Exception cause) {
    LOG.error("{}: the control loop failed and goes on", instance, cause);
  }
}
