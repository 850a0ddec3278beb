package io.pgsteward.jdbc.internal.session;

import io.pgsteward.protocol.CoordinatorPhase;
import io.pgsteward.protocol.MemberPhase;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * What a member knows about its coordinator at one moment; for error messages, snapshots and
 * meters. Immutable.
 *
 * @param coordinator who is asked: an address, or {@code local}
 * @param phase where the session stands
 * @param reachable whether the last exchange had a usable answer
 * @param trouble why the coordinator is not usable, in one sentence; null while it is
 * @param troubleMillis for how long it has not been usable; 0 while it is
 * @param coordinatorPhase what the coordinator said of itself last; null before the first answer
 * @param epoch epoch of the answer applied last; 0 before the first
 * @param generation generation of the answer applied last; 0 before the first
 * @param leaseMillis length of the lease; the default before the first answer
 * @param leaseLeftMillis what is left of the lease; 0 when it has ended or never began
 * @param budget what the whole system may open on the instance; -1 before the first answer
 * @param granted sum of all grants on the instance; -1 before the first answer
 */
public record CoordinatorView(
    String coordinator,
    MemberPhase phase,
    boolean reachable,
    @Nullable String trouble,
    long troubleMillis,
    @Nullable CoordinatorPhase coordinatorPhase,
    long epoch,
    long generation,
    long leaseMillis,
    long leaseLeftMillis,
    int budget,
    int granted) {

  static CoordinatorView of(
      String coordinator, GrantBook book, @Nullable Trouble trouble, Moment now) {
    return new CoordinatorView(
        coordinator,
        book.phase(),
        trouble == null && book.epoch() > 0,
        trouble == null ? null : trouble.text(),
        trouble == null ? 0 : TimeUnit.NANOSECONDS.toMillis(now.since(trouble.since())),
        book.coordinatorPhase(),
        book.epoch(),
        book.generation(),
        TimeUnit.NANOSECONDS.toMillis(book.leaseNanos()),
        TimeUnit.NANOSECONDS.toMillis(book.lease().leftNanos(now)),
        book.budget(),
        book.granted());
  }

  /**
   * What a member knows about one tenant. Immutable.
   *
   * @param limit the limit that the member goes by now: its grant or {@code fallbackSlots}, at most
   *     its own cap
   * @param grant the last grant; 0 before the first
   * @param fallbackSlots what it has without a coordinator
   * @param refused why the coordinator refuses the tenant, or null
   * @param tenantGranted what all members together are granted; -1 while unknown
   * @param tenantMax the tenant's max; null when only the budget limits it or while unknown
   */
  public record Tenant(
      int limit,
      int grant,
      int fallbackSlots,
      @Nullable String refused,
      int tenantGranted,
      @Nullable Integer tenantMax) {}

  /**
   * The state in the form {@code coordinator=http://a:7432 reachable (SERVING, epoch 12), lease
   * valid 12s, budget 97 (90 granted)}; part of an error message.
   */
  public String describe() {
    StringBuilder text = new StringBuilder(120).append("coordinator=").append(coordinator);
    if (trouble != null) {
      text.append(" not usable");
      if (troubleMillis > 0) {
        text.append(" for ").append(troubleMillis).append("ms");
      }
      text.append(" (").append(trouble).append(')');
    } else if (coordinatorPhase == null) {
      text.append(" not heard yet");
    } else {
      text.append(" reachable (").append(coordinatorPhase).append(", epoch ").append(epoch);
      text.append(')');
    }
    switch (phase) {
      case JOINING -> text.append(", lease=none yet");
      case GRANTED -> text.append(", lease=valid ").append(leaseLeftMillis).append("ms");
      case FALLBACK -> text.append(", lease=ended, going by the fallback rule");
      case CLOSED -> text.append(", closed");
    }
    if (budget >= 0) {
      text.append(", budget=").append(budget).append(" (").append(granted).append(" granted)");
    }
    return text.toString();
  }
}
