package io.pgsteward.server;

import io.pgsteward.model.TenantId;
import io.pgsteward.protocol.Json;
import io.pgsteward.protocol.StatusResponse;
import io.pgsteward.protocol.StatusResponse.InstanceStatus;
import io.pgsteward.protocol.StatusResponse.MemberStatus;
import io.pgsteward.protocol.StatusResponse.MemberTenantStatus;
import io.pgsteward.protocol.StatusResponse.TenantStatus;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Shows a part of a running coordinator's status as a table. */
@Command(
    name = "show",
    description = "Shows what a running coordinator knows.",
    mixinStandardHelpOptions = true)
final class ShowCommand implements Callable<Integer> {

  /** What can be shown. */
  enum Topic {
    BUDGET,
    TENANTS,
    MEMBERS,
    LIMITS
  }

  @Parameters(paramLabel = "WHAT", description = "budget, tenants, members or limits")
  @SuppressWarnings("NullAway.Init")
  private Topic topic;

  @Option(names = "--json", description = "print JSON instead of a table")
  private boolean json;

  @Mixin
  @SuppressWarnings("NullAway.Init")
  private StatusOption status;

  @Spec
  @SuppressWarnings("NullAway.Init")
  private CommandSpec spec;

  @Override
  public Integer call() throws CommandException, InterruptedException {
    PrintWriter out = spec.commandLine().getOut();
    Table table = table(topic, status.status());
    if (json) {
      out.println(new String(Json.write(table.values()), StandardCharsets.UTF_8));
    } else {
      table.print(out);
    }
    return ExitCode.OK.code();
  }

  static Table table(Topic topic, StatusResponse status) {
    return switch (topic) {
      case BUDGET -> budget(status);
      case TENANTS -> tenants(status);
      case MEMBERS -> members(status);
      case LIMITS -> limits(status);
    };
  }

  private static Table budget(StatusResponse status) {
    Table table =
        new Table(
            "instance",
            "phase",
            "budget",
            "granted",
            "stillHeld",
            "maxConnections",
            "reserved",
            "foreignPeak",
            "margin",
            "heldBack",
            "deficit");
    for (InstanceStatus instance : status.instances()) {
      StatusResponse.BudgetStatus budget = instance.budget();
      table.row(
          instance.id(),
          instance.phase(),
          budget.total(),
          instance.granted(),
          instance.stillHeld(),
          budget.maxConnections(),
          budget.reserved(),
          budget.foreignPeak(),
          budget.margin(),
          budget.heldBack(),
          budget.deficit());
    }
    return table;
  }

  private static Table tenants(StatusResponse status) {
    Table table =
        new Table(
            "instance",
            "tenant",
            "guarantee",
            "max",
            "weight",
            "demand",
            "granted",
            "held",
            "waiting",
            "unmetGuarantee");
    for (InstanceStatus instance : status.instances()) {
      for (TenantStatus tenant : instance.tenants()) {
        table.row(
            instance.id(),
            tenant.tenant(),
            tenant.guarantee(),
            tenant.max(),
            tenant.weight(),
            tenant.demand(),
            tenant.granted(),
            tenant.held(),
            tenant.waiting(),
            tenant.unmetGuarantee());
      }
    }
    return table;
  }

  private static Table members(StatusResponse status) {
    Table table =
        new Table(
            "instance",
            "member",
            "name",
            "address",
            "phase",
            "lastHeardMillis",
            "tenant",
            "demand",
            "granted",
            "held",
            "waiting");
    for (InstanceStatus instance : status.instances()) {
      for (MemberStatus member : instance.members()) {
        if (member.tenants().isEmpty()) {
          row(table, instance, member, new MemberTenantStatus("-", 0, 0, 0, 0));
        }
        member.tenants().forEach(tenant -> row(table, instance, member, tenant));
      }
    }
    return table;
  }

  private static void row(
      Table table, InstanceStatus instance, MemberStatus member, MemberTenantStatus tenant) {
    table.row(
        instance.id(),
        member.id(),
        member.name(),
        member.address(),
        member.phase(),
        member.lastHeardMillis(),
        tenant.tenant(),
        tenant.demand(),
        tenant.granted(),
        tenant.held(),
        tenant.waiting());
  }

  /** Sums of one role. */
  private static final class Role {
    private final Integer limit;
    private int guarantee;
    private int granted;
    private int held;

    Role(Integer limit) {
      this.limit = limit;
    }
  }

  private static Table limits(StatusResponse status) {
    Table table = new Table("instance", "role", "limit", "granted", "held", "guarantee");
    for (InstanceStatus instance : status.instances()) {
      Map<String, Role> roles = new TreeMap<>();
      for (TenantStatus tenant : instance.tenants()) {
        Integer limit = tenant.roleLimit();
        if (limit == null) {
          continue;
        }
        Role role =
            roles.computeIfAbsent(TenantId.parse(tenant.tenant()).role(), name -> new Role(limit));
        role.guarantee += tenant.guarantee();
        role.granted += tenant.granted();
        role.held += tenant.held();
      }
      roles.forEach(
          (name, role) ->
              table.row(instance.id(), name, role.limit, role.granted, role.held, role.guarantee));
    }
    return table;
  }
}
