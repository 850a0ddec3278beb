package io.pgsteward.server;

import io.pgsteward.model.TenantId;
import io.pgsteward.protocol.StatusResponse;
import io.pgsteward.protocol.StatusResponse.InstanceStatus;
import io.pgsteward.protocol.StatusResponse.TenantStatus;
import java.io.PrintWriter;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Says why a tenant has as many slots as it has. */
@Command(
    name = "explain",
    description = "Says why a tenant has as many slots as it has, by a running coordinator.",
    mixinStandardHelpOptions = true)
final class ExplainCommand implements Callable<Integer> {

  @Parameters(paramLabel = "TENANT", description = "role@database or role@database/label")
  @SuppressWarnings("NullAway.Init")
  private String tenant;

  @Mixin
  @SuppressWarnings("NullAway.Init")
  private StatusOption status;

  @Spec
  @SuppressWarnings("NullAway.Init")
  private CommandSpec spec;

  @Override
  public Integer call() throws CommandException, InterruptedException {
    String name;
    try {
      name = TenantId.parse(tenant).toString();
    } catch (IllegalArgumentException e) {
      throw new CommandException(ExitCode.WRONG_CONFIG, String.valueOf(e.getMessage()), e);
    }
    PrintWriter out = spec.commandLine().getOut();
    StatusResponse answer = status.status();
    boolean known = false;
    for (InstanceStatus instance : answer.instances()) {
      for (TenantStatus one : instance.tenants()) {
        if (one.tenant().equals(name)) {
          new Explanation(instance, one).lines().forEach(out::println);
          known = true;
        }
      }
    }
    if (!known) {
      throw new CommandException(
          ExitCode.FAILED,
          "the coordinator at "
              + status.url()
              + " knows no tenant "
              + Table.printable(name)
              + ": no member names it and no entry without a star does; \"show tenants\" lists"
              + " those it knows",
          null);
    }
    return ExitCode.OK.code();
  }
}
