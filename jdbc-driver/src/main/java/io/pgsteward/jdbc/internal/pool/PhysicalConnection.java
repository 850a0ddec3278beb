package io.pgsteward.jdbc.internal.pool;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * One connection to PostgreSQL as HikariCP gets it. It notices its own end, whoever brings it
 * about: HikariCP, {@code abort}, a close through {@code unwrap}, or a broken socket; and it keeps
 * a validation within the deadline of the thread that borrows.
 *
 * <p>Thread-safe as far as JDBC asks: one thread uses it, any may close or abort it.
 */
final class PhysicalConnection extends DelegatingConnection implements Wires.Listener {

  /** Hears of the end of a connection. Called without locks. */
  interface Owner {

    /** The connection is being closed. Once. */
    void closing(PhysicalConnection physical);

    /**
     * Its close has returned. Once.
     *
     * @param gone whether its backend has certainly exited
     */
    void closed(PhysicalConnection physical, boolean gone);
  }

  /** No isolation. */
  static final int UNKNOWN = -1;

  private static final VarHandle LENT_AS;

  static {
    try {
      LENT_AS =
          MethodHandles.lookup()
              .findVarHandle(PhysicalConnection.class, "lentAs", Connection.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  final Slot slot;

  /** Process id of the backend; 0 when the driver does not tell. */
  final int pid;

  /** How long opening took. */
  final long openNanos;

  final Wires wires;

  private final int testMillis;
  private final Owner owner;
  private final AtomicBoolean closing = new AtomicBoolean();
  private final AtomicBoolean closed = new AtomicBoolean();
  private final AtomicInteger defaultIsolation;
  private volatile boolean ready;
  private volatile boolean closeFailed;
  private volatile @Nullable SQLException setupFailure;

  @SuppressWarnings("unused") // through LENT_AS
  private @Nullable Connection lentAs;

  /** Owned by the borrower: how long HikariCP's test may last, and when it began; 0: none. */
  private long lendNanos;

  private long testBegan;

  /**
   * @param testMillis the network timeout that HikariCP sets for a test
   * @param defaultIsolation the isolation of new connections, shared by the pool; {@link #UNKNOWN}
   *     at first
   */
  PhysicalConnection(
      Slot slot,
      Connection raw,
      long openNanos,
      int testMillis,
      AtomicInteger defaultIsolation,
      Wires wires,
      Owner owner) {
    super(raw);
    this.slot = slot;
    this.pid = SlotOpener.pidOf(raw);
    this.openNanos = openNanos;
    this.testMillis = testMillis;
    this.defaultIsolation = defaultIsolation;
    this.wires = wires;
    this.owner = owner;
  }

  /** The owning borrower is about to fetch it from HikariCP and has that much time. */
  void lending(long nanos) {
    lendNanos = nanos;
    testBegan = 0;
  }

  /** HikariCP's proxy that the borrower has got; needed to take it out of HikariCP's hands. */
  void lentAs(Connection proxy) {
    LENT_AS.setRelease(this, proxy);
    lendNanos = 0;
    if (testBegan != 0) {
      wires.closeBy(0);
    }
  }

  @Nullable Connection lentAs() {
    return (Connection) LENT_AS.getAcquire(this);
  }

  /** When HikariCP began to test it in the last borrow; 0 if it did not. */
  long testBegan() {
    return testBegan;
  }

  @Override
  public void setNetworkTimeout(@Nullable Executor executor, int milliseconds) throws SQLException {
    int wanted = milliseconds;
    if (lendNanos > 0 && testBegan == 0 && milliseconds == testMillis) {
      // The first call of a borrow sets the time for the test, the second one puts back the old.
      testBegan = wires.ticker().nanos();
      wires.closeBy(testBegan + lendNanos);
      long left = Math.max(1, TimeUnit.NANOSECONDS.toMillis(lendNanos));
      wanted = (int) Math.min(milliseconds, left);
    }
    raw.setNetworkTimeout(executor, wanted);
  }

  /** HikariCP has set the connection up. */
  void setReady() {
    ready = true;
  }

  /** What went wrong while HikariCP set the connection up. */
  SQLException setupFailure() {
    SQLException known = setupFailure;
    return known != null ? known : new SQLException("a new connection could not be set up");
  }

  private SQLException noted(SQLException failure) {
    setupFailure = failure;
    return failure;
  }

  // The calls of HikariCP's set-up: it tells nobody why one of them failed.

  @Override
  public void setReadOnly(boolean readOnly) throws SQLException {
    try {
      raw.setReadOnly(readOnly);
    } catch (SQLException e) {
      throw noted(e);
    }
  }

  @Override
  public void setAutoCommit(boolean autoCommit) throws SQLException {
    try {
      raw.setAutoCommit(autoCommit);
    } catch (SQLException e) {
      throw noted(e);
    }
  }

  @Override
  public void setTransactionIsolation(int level) throws SQLException {
    try {
      raw.setTransactionIsolation(level);
    } catch (SQLException e) {
      throw noted(e);
    }
  }

  /** Asked of PostgreSQL once per pool: each slot's HikariCP pool would ask again. */
  @Override
  public int getTransactionIsolation() throws SQLException {
    int known = defaultIsolation.get();
    if (!ready && known != UNKNOWN) {
      return known;
    }
    try {
      int isolation = raw.getTransactionIsolation();
      if (!ready) {
        defaultIsolation.set(isolation);
      }
      return isolation;
    } catch (SQLException e) {
      throw noted(e);
    }
  }

  /** During the set-up it has just answered the login, and is not asked again. */
  @Override
  public boolean isValid(int seconds) throws SQLException {
    return !ready || raw.isValid(seconds);
  }

  @Override
  public void setSchema(@Nullable String schema) throws SQLException {
    try {
      raw.setSchema(schema);
    } catch (SQLException e) {
      throw noted(e);
    }
  }

  @Override
  public void close() throws SQLException {
    closing();
    try {
      raw.close();
    } catch (SQLException | RuntimeException e) {
      closeFailed = true;
      throw e;
    } finally {
      wires.close();
      closed();
    }
  }

  /** As {@link #close}; what fails is seen by {@link Owner#closed}. */
  void closeQuietly() {
    try {
      close();
    } catch (SQLException e) {
      closeFailed = true;
    }
  }

  @Override
  public void abort(Executor executor) throws SQLException {
    if (wires.isEmpty()) {
      closing();
      try {
        raw.abort(executor);
      } finally {
        closed();
      }
    } else {
      raw.abort(executor);
    }
  }

  @Override
  public void closing() {
    if (closing.compareAndSet(false, true)) {
      owner.closing(this);
    }
  }

  @Override
  public void closed() {
    if (closed.compareAndSet(false, true)) {
      owner.closed(this, wires.isEmpty() ? !closeFailed : wires.goneNow());
    }
  }

  boolean isClosing() {
    return closing.get();
  }
}
