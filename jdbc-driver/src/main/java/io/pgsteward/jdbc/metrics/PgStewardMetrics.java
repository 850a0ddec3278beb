package io.pgsteward.jdbc.metrics;

import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.FunctionTimer;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.TimeGauge;
import io.micrometer.core.instrument.binder.MeterBinder;
import io.pgsteward.jdbc.PgStewardDataSource;
import io.pgsteward.jdbc.TenantSnapshot;
import java.sql.SQLException;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.function.ToDoubleFunction;
import java.util.function.ToLongFunction;
import javax.sql.DataSource;

/**
 * The meters of one DataSource: {@code pgsteward.*} with the tags {@code tenant} and {@code pool},
 * and the same facts under HikariCP's names {@code hikaricp.connections.*} with the tag {@code
 * pool}, so that dashboards made for HikariCP go on.
 *
 * <p>Under either name a figure is the sum of the tenant in this process. All are read when the
 * registry asks; a borrower pays nothing for them. Figures that one scrape reads within a few
 * milliseconds come from one snapshot.
 *
 * <pre>{@code
 * new PgStewardMetrics(dataSource).bindTo(registry);
 * }</pre>
 *
 * <p>In Spring a bean of this type is all it takes. Thread-safe.
 */
public final class PgStewardMetrics implements MeterBinder, AutoCloseable {

  private static final long SNAPSHOT_AGE_NANOS = TimeUnit.MILLISECONDS.toNanos(5);

  private final Source source;
  private final List<Registered> registered = new CopyOnWriteArrayList<>();

  private record Registered(MeterRegistry registry, Meter meter) {}

  /** The DataSource with its last snapshot. */
  private static final class Source {
    private final PgStewardDataSource dataSource;
    private TenantSnapshot last; // guarded by this
    private long readAt; // guarded by this

    Source(PgStewardDataSource dataSource) {
      this.dataSource = dataSource;
      this.last = dataSource.snapshot();
      this.readAt = System.nanoTime();
    }

    synchronized TenantSnapshot snapshot() {
      long now = System.nanoTime();
      if (now - readAt > SNAPSHOT_AGE_NANOS) {
        last = dataSource.snapshot();
        readAt = now;
      }
      return last;
    }
  }

  /**
   * The meters of a DataSource, which may stand behind a proxy that unwraps. Does not start it.
   *
   * @throws IllegalArgumentException if it is no {@link PgStewardDataSource} and wraps none, or if
   *     its settings are wrong
   */
  public PgStewardMetrics(DataSource dataSource) {
    source = new Source(unwrapped(dataSource));
  }

  private static PgStewardDataSource unwrapped(DataSource dataSource) {
    if (dataSource instanceof PgStewardDataSource ours) {
      return ours;
    }
    try {
      if (dataSource.isWrapperFor(PgStewardDataSource.class)) {
        return dataSource.unwrap(PgStewardDataSource.class);
      }
    } catch (SQLException e) {
      throw new IllegalArgumentException(
          dataSource.getClass().getName() + " does not unwrap to a PgStewardDataSource", e);
    }
    throw new IllegalArgumentException(
        dataSource.getClass().getName() + " is no PgStewardDataSource and wraps none");
  }

  @Override
  public void bindTo(MeterRegistry registry) {
    TenantSnapshot now = source.snapshot();
    Ours ours = new Ours(registry, Tags.of("tenant", now.tenant(), "pool", now.poolName()));
    ours.bind();
    Hikari hikari = new Hikari(registry, Tags.of("pool", now.poolName()));
    hikari.bind();
  }

  /** Takes the meters out of every registry they were bound to. */
  @Override
  public void close() {
    for (Registered each : registered) {
      each.registry().remove(each.meter());
    }
    registered.clear();
  }

  /** What both sets of names need. */
  private abstract class Names {
    private final MeterRegistry registry;
    private final Tags tags;

    Names(MeterRegistry registry, Tags tags) {
      this.registry = registry;
      this.tags = tags;
    }

    abstract void bind();

    void gauge(String name, String description, ToDoubleFunction<TenantSnapshot> figure) {
      keep(
          Gauge.builder(name, source, s -> figure.applyAsDouble(s.snapshot()))
              .tags(tags)
              .description(description)
              .strongReference(true)
              .register(registry));
    }

    void seconds(String name, String description, ToDoubleFunction<TenantSnapshot> nanos) {
      keep(
          TimeGauge.builder(
                  name, source, TimeUnit.NANOSECONDS, s -> nanos.applyAsDouble(s.snapshot()))
              .tags(tags)
              .description(description)
              .strongReference(true)
              .register(registry));
    }

    void counter(String name, String description, ToDoubleFunction<TenantSnapshot> count) {
      counter(name, description, Tags.empty(), count);
    }

    void counter(
        String name, String description, Tags more, ToDoubleFunction<TenantSnapshot> count) {
      keep(
          FunctionCounter.builder(name, source, s -> count.applyAsDouble(s.snapshot()))
              .tags(tags.and(more))
              .description(description)
              .register(registry));
    }

    void timer(
        String name,
        String description,
        ToLongFunction<TenantSnapshot> count,
        ToDoubleFunction<TenantSnapshot> totalNanos) {
      keep(
          FunctionTimer.builder(
                  name,
                  source,
                  s -> count.applyAsLong(s.snapshot()),
                  s -> totalNanos.applyAsDouble(s.snapshot()),
                  TimeUnit.NANOSECONDS)
              .tags(tags)
              .description(description)
              .register(registry));
    }

    private void keep(Meter meter) {
      registered.add(new Registered(registry, meter));
    }
  }

  /** {@code pgsteward.*}. */
  private final class Ours extends Names {
    Ours(MeterRegistry registry, Tags tags) {
      super(registry, tags);
    }

    @Override
    void bind() {
      gauge("pgsteward.limit", "Connections this process may hold", TenantSnapshot::limit);
      gauge("pgsteward.demand", "Connections it could use", TenantSnapshot::demand);
      gauge("pgsteward.held", "Connections it holds", TenantSnapshot::held);
      gauge("pgsteward.in.use", "Connections the application has", TenantSnapshot::inUse);
      gauge("pgsteward.idle", "Connections that wait to be used", TenantSnapshot::idle);
      gauge("pgsteward.opening", "Connections being opened", TenantSnapshot::opening);
      gauge("pgsteward.closing", "Connections being closed", TenantSnapshot::closing);
      gauge("pgsteward.waiting", "Threads that wait", TenantSnapshot::waiting);
      seconds(
          "pgsteward.longest.wait",
          "How long the first of them has waited",
          s -> s.longestWait().toNanos());
      events();
      coordinator();
    }

    private void events() {
      timer(
          "pgsteward.borrow",
          "Connections handed out, and the time waited for them",
          s -> s.counters().borrowed(),
          s -> s.counters().waitedNanos());
      timer(
          "pgsteward.open",
          "Connections opened, and the time it took",
          s -> s.counters().opened(),
          s -> s.counters().openingNanos());
      counter("pgsteward.timeouts", "Borrowers that got none", s -> s.counters().timedOut());
      counter("pgsteward.closes", "Connections closed", s -> s.counters().closed());
      counter(
          "pgsteward.open.failures",
          "Openings that failed",
          Tags.of("reason", "limit"),
          s -> s.counters().refusedOpens());
      counter(
          "pgsteward.open.failures",
          "Openings that failed",
          Tags.of("reason", "other"),
          s -> s.counters().failedOpens());
      counter(
          "pgsteward.nested.waits",
          "Borrowers that waited while their thread held a connection",
          s -> s.counters().nestedWaits());
      counter(
          "pgsteward.unconfirmed.closes",
          "Closes whose backend was not seen to exit in time",
          s -> s.counters().unconfirmedCloses());
    }

    private void coordinator() {
      gauge(
          "pgsteward.coordinator.usable",
          "1 while grants are had from the coordinator",
          s -> s.coordinator().usable() ? 1 : 0);
      seconds(
          "pgsteward.coordinator.lease.left",
          "What is left of the lease",
          s -> s.coordinator().leaseLeft().toNanos());
      gauge(
          "pgsteward.budget",
          "What the whole system may open on the server; -1 unknown",
          s -> s.coordinator().budget());
      gauge(
          "pgsteward.budget.granted",
          "What all tenants are granted; -1 unknown",
          s -> s.coordinator().granted());
      gauge(
          "pgsteward.tenant.granted",
          "What all processes are granted for the tenant; -1 unknown",
          s -> s.coordinator().tenantGranted());
    }
  }

  /** HikariCP's names. */
  private final class Hikari extends Names {
    Hikari(MeterRegistry registry, Tags tags) {
      super(registry, tags);
    }

    @Override
    void bind() {
      gauge("hikaricp.connections", "Total connections", s -> s.inUse() + s.idle());
      gauge("hikaricp.connections.active", "Active connections", TenantSnapshot::inUse);
      gauge("hikaricp.connections.idle", "Idle connections", TenantSnapshot::idle);
      gauge("hikaricp.connections.pending", "Pending threads", TenantSnapshot::waiting);
      gauge("hikaricp.connections.max", "Max connections: the limit now", TenantSnapshot::limit);
      gauge("hikaricp.connections.min", "Min connections: always 0", s -> 0);
      counter("hikaricp.connections.timeout", "Connection timeouts", s -> s.counters().timedOut());
      timer(
          "hikaricp.connections.acquire",
          "Connection acquire time",
          s -> s.counters().borrowed(),
          s -> s.counters().waitedNanos());
      timer(
          "hikaricp.connections.creation",
          "Connection creation time",
          s -> s.counters().opened(),
          s -> s.counters().openingNanos());
    }
  }
}
