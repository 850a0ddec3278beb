package io.pgsteward.server.http;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MultiGauge;
import io.micrometer.core.instrument.Tags;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.pgsteward.protocol.CoordinatorPhase;
import io.pgsteward.protocol.StatusResponse;
import io.pgsteward.protocol.StatusResponse.InstanceStatus;
import io.pgsteward.protocol.StatusResponse.TenantStatus;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import java.util.function.ToDoubleFunction;

/**
 * What {@code /metrics} shows. Gauges are rendered from the same snapshot as {@code /v1/status}
 * when somebody asks, so an instance or a tenant that is gone has no rows. Thread-safe: {@link
 * #render} locks, counters are atomic.
 */
final class Metrics {

  /** One gauge: its name, what it says, and where its figure comes from. */
  private record Figure<T>(String name, String description, ToDoubleFunction<T> value) {}

  private static final List<Figure<InstanceStatus>> OF_INSTANCES =
      List.of(
          of("pgsteward.budget", "what the whole system may open now", i -> i.budget().total()),
          of(
              "pgsteward.budget.max.connections",
              "the server's max_connections",
              i -> i.budget().maxConnections()),
          of(
              "pgsteward.budget.reserved",
              "connections that the server reserves",
              i -> i.budget().reserved()),
          of(
              "pgsteward.budget.foreign.peak",
              "most foreign connections of the last 60 s",
              i -> i.budget().foreignPeak()),
          of("pgsteward.budget.margin", "connections kept free", i -> i.budget().margin()),
          of(
              "pgsteward.budget.held.back",
              "connections not given out before a full window was observed",
              i -> i.budget().heldBack()),
          of(
              "pgsteward.budget.deficit",
              "by how much the parts of the budget pass max_connections",
              i -> i.budget().deficit()),
          of("pgsteward.granted", "sum of all grants", InstanceStatus::granted),
          of(
              "pgsteward.still.held",
              "what lowered grants may still hold beyond them",
              InstanceStatus::stillHeld),
          of(
              "pgsteward.strays",
              "connections of managed roles that no member reported",
              i -> i.strays().stream().mapToInt(StatusResponse.StrayStatus::count).sum()),
          of("pgsteward.members", "members", i -> i.members().size()),
          of(
              "pgsteward.epoch",
              "term of this coordinator, 0 without the lead",
              InstanceStatus::epoch),
          of(
              "pgsteward.leading",
              "1 if this coordinator leads",
              i -> i.phase() == CoordinatorPhase.STANDBY ? 0 : 1),
          of(
              "pgsteward.serving",
              "1 if it leads and has learned",
              i -> i.phase() == CoordinatorPhase.SERVING ? 1 : 0),
          of(
              "pgsteward.observation.age.seconds",
              "time since the last good look at PostgreSQL",
              i -> i.observationAgeMillis() < 0 ? Double.NaN : i.observationAgeMillis() / 1000.0),
          of(
              "pgsteward.observation.failing",
              "1 if the last look at PostgreSQL failed",
              i -> i.observationError() == null ? 0 : 1));

  private static final List<Figure<TenantStatus>> OF_TENANTS =
      List.of(
          of("pgsteward.tenant.guarantee", "the tenant's guarantee", TenantStatus::guarantee),
          of("pgsteward.tenant.demand", "slots it could use now", TenantStatus::demand),
          of("pgsteward.tenant.granted", "slots it may hold", TenantStatus::granted),
          of("pgsteward.tenant.held", "connections its members hold", TenantStatus::held),
          of("pgsteward.tenant.waiting", "threads that wait for a slot", TenantStatus::waiting),
          of(
              "pgsteward.tenant.unmet.guarantee",
              "slots of its guarantee that have demand and cannot be granted",
              TenantStatus::unmetGuarantee));

  private static <T> Figure<T> of(String name, String description, ToDoubleFunction<T> value) {
    return new Figure<>(name, description, value);
  }

  private static final String STANDBY = "pgsteward.standby";

  private final PrometheusMeterRegistry registry =
      new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
  private final Map<String, MultiGauge> gauges = new LinkedHashMap<>();
  private final Counter answered = syncs("answered");

  /** A member was answered. */
  void answered() {
    answered.increment();
  }

  /** A member was refused, for the reason that its answer's {@code error} names. */
  void refused(String error) {
    syncs(error).increment();
  }

  private Counter syncs(String outcome) {
    return Counter.builder("pgsteward.syncs")
        .description("syncs of members by how they ended")
        .tag("outcome", outcome)
        .register(registry);
  }

  /** Shows how many calls are open. */
  void calls(Supplier<Number> calls) {
    Gauge.builder("pgsteward.open.calls", calls)
        .description("syncs that are open now, parked ones included")
        .register(registry);
  }

  /** Everything in the text format of Prometheus. */
  synchronized String render(StatusResponse status) {
    for (Figure<InstanceStatus> figure : OF_INSTANCES) {
      List<MultiGauge.Row<?>> rows = new ArrayList<>();
      for (InstanceStatus instance : status.instances()) {
        rows.add(row(figure, instance, Tags.of("instance", instance.id())));
      }
      gauge(figure.name(), figure.description()).register(rows, true);
    }
    gauge(STANDBY, "1 for each instance on which another coordinator leads, or none does yet")
        .register(
            status.instances().stream()
                .filter(instance -> instance.phase() == CoordinatorPhase.STANDBY)
                .<MultiGauge.Row<?>>map(instance -> MultiGauge.Row.of(leader(instance), 1))
                .toList(),
            true);
    for (Figure<TenantStatus> figure : OF_TENANTS) {
      List<MultiGauge.Row<?>> rows = new ArrayList<>();
      for (InstanceStatus instance : status.instances()) {
        for (TenantStatus tenant : instance.tenants()) {
          Tags tags = Tags.of("instance", instance.id(), "tenant", tenant.tenant());
          rows.add(row(figure, tenant, tags));
        }
      }
      gauge(figure.name(), figure.description()).register(rows, true);
    }
    return registry.scrape();
  }

  private static <T> MultiGauge.Row<?> row(Figure<T> figure, T of, Tags tags) {
    return MultiGauge.Row.of(tags, figure.value().applyAsDouble(of));
  }

  private static Tags leader(InstanceStatus instance) {
    String leader = instance.leader() == null ? "" : instance.leader();
    return Tags.of("instance", instance.id(), "leader", leader);
  }

  private MultiGauge gauge(String of, String description) {
    return gauges.computeIfAbsent(
        of, name -> MultiGauge.builder(name).description(description).register(registry));
  }
}
