package io.pgsteward.examples.demo;

import io.pgsteward.examples.demo.CoordinatorWatch.Look;
import io.pgsteward.protocol.CoordinatorPhase;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/**
 * What happens in the demo, chapter by chapter: each says what one should see, makes it happen, and
 * checks what was seen.
 */
final class Story {

  private static final int WEB_MILLIS = 100;
  private static final int WORKER_MILLIS = 500;
  private static final int VISITORS = 2;
  private static final Duration SOON = Duration.ofSeconds(25);
  private static final Duration STEADY = Duration.ofSeconds(5);

  /** Slots that may be on their way at one moment: given up, and not yet granted again. */
  private static final int MOVING = 2;

  private static final Duration SETTLED = Duration.ofSeconds(2);

  private final Stage stage;
  private final Promises promises;
  private final LiveTable table;
  private long coordinatorKilledMillis;

  Story(Stage stage, Promises promises) {
    this.stage = stage;
    this.promises = promises;
    this.table = new LiveTable(stage);
  }

  void tell() throws SQLException, InterruptedException {
    night();
    apiComesBack();
    eightMoreJoin();
    visitorsConnect();
    coordinatorIsKilled();
    coordinatorReturns();
    oneProcessIsKilled();
    everybodyGoesHome();
  }

  private void night() throws InterruptedException {
    chapter(
        "Night",
        "Only worker runs: 90 threads in 3 processes. It may use all it can: 90 of the budget of"
            + " 100, far above its guarantee of 10. (The coordinator first learns for one lease,"
            + " 3 s, and grants nothing.)");
    long start = System.nanoTime();
    stage.join("worker", 3, 30, WORKER_MILLIS);
    boolean reached = until(SOON, () -> granted(0, 90) && postgresSees(0, 90));
    String after = seconds(start);
    hold(STEADY);
    checkSteady("worker alone holds 90", reached, 0, 90, after + " after the start");
  }

  private void apiComesBack() throws InterruptedException {
    chapter(
        "The API comes back",
        "web starts with 60 threads in 4 processes, guarantee 30. The 50 slots above the two"
            + " guarantees are worth as much to either, up to what it can use: web 60, worker 40."
            + " Connections go as their transactions end; none is interrupted.");
    long start = System.nanoTime();
    stage.join("web", 4, 15, WEB_MILLIS);
    boolean reached = until(SOON, () -> granted(60, 40) && postgresSees(60, 40));
    String after = seconds(start);
    hold(STEADY);
    checkSteady(
        "web 60 and worker 40 exactly", reached, 60, 40, after + " after 4 JVMs were started");
    checkErrors("no transaction was interrupted");
  }

  private void eightMoreJoin() throws InterruptedException {
    chapter(
        "8 more processes join",
        "4 of web and 4 of worker, with 80 more threads. Nothing is reconfigured. Still 100 in"
            + " all, still 60 and 40, and each newcomer is served.");
    long start = System.nanoTime();
    stage.join("web", 4, 10, WEB_MILLIS);
    stage.join("worker", 4, 10, WORKER_MILLIS);
    List<Application> newcomers = stage.applications().subList(7, stage.applications().size());
    boolean served =
        until(
            Duration.ofSeconds(40),
            () -> newcomers.stream().allMatch(application -> application.usage().committed() > 0));
    check("all 8 newcomers are served", served, seconds(start) + " after their JVMs were started");
    boolean reached = until(SOON, () -> granted(60, 40) && postgresSees(60, 40));
    String after = seconds(start);
    hold(STEADY);
    checkSteady(
        "still web 60 and worker 40 exactly",
        reached,
        60,
        40,
        after + " after their JVMs were started");
  }

  private void visitorsConnect() throws SQLException, InterruptedException {
    chapter(
        "An administrator and a monitor connect",
        "Two ordinary roles that PgSteward knows nothing of. They get in at once, since the margin"
            + " of 3 is kept free; the budget is then 98 for as long as they count (60 s after they"
            + " were last seen): web 59, worker 39.");
    long start = System.nanoTime();
    try (Connection administrator = visit("administrator");
        Connection monitor = visit("monitor")) {
      String in = millis(start);
      boolean answered = answers(administrator) && answers(monitor);
      check("both get in while all slots are in use", answered, in + " for both");
      boolean reached =
          until(SOON, () -> granted(59, 39) && seen("web") <= 59 && seen("worker") <= 39);
      String after = seconds(start);
      hold(STEADY);
      checkSteady(
          "budget 98, web 59 and worker 39 exactly",
          reached && budget() == Stage.BUDGET - VISITORS,
          59,
          39,
          after + " after they came");
    }
  }

  private void coordinatorIsKilled() throws InterruptedException {
    chapter(
        "The coordinator is killed (SIGKILL)",
        "The query path does not know it. Every process goes on with its last grant: no errors, no"
            + " connection closed. The figures below are now what the processes say.");
    double before = throughput(STEADY);
    stage.coordinator().kill();
    coordinatorKilledMillis = System.currentTimeMillis();
    // Its lease and its park time pass in the meantime.
    hold(Duration.ofSeconds(5));
    double without = throughput(STEADY);
    checkErrors("queries go on without the coordinator");
    check(
        "throughput stays",
        without > before * 0.8,
        String.format(Locale.ROOT, "%.0f transactions/s before, %.0f without", before, without));
  }

  private void coordinatorReturns() throws InterruptedException {
    chapter(
        "The coordinator returns",
        "It knows nothing at first and learns for one lease, 3 s, from what the processes report."
            + " Nobody loses a connection. Then it serves as before. (It has not seen the visitors,"
            + " so its budget is 100 again.)");
    long start = System.nanoTime();
    stage.watch().budgetIsStillTheSame();
    stage.coordinator().startAgain();
    boolean serves = until(Duration.ofSeconds(30), this::serves);
    long learned =
        stage.watch().since(coordinatorKilledMillis).stream()
            .filter(look -> look.status().phase() == CoordinatorPhase.LEARNING)
            .mapToLong(Look::millis)
            .max()
            .orElse(coordinatorKilledMillis);
    // A slot that was on its way to another process when it died still goes with its transaction.
    long from = coordinatorKilledMillis + SETTLED.toMillis();
    long lost =
        stage.witness().sessions().stream()
            .filter(session -> session.role().equals("web") || session.role().equals("worker"))
            .filter(s -> s.endMillis() >= from && s.endMillis() <= learned)
            .count();
    check(
        "nobody loses a connection by its return",
        serves && lost == 0,
        lost
            + " connections ended from 2 s after its death to the end of learning, "
            + (learned - coordinatorKilledMillis) / 1000
            + " s");
    boolean again = until(SOON, () -> granted(60, 40) && postgresSees(60, 40));
    String after = seconds(start);
    hold(STEADY);
    checkSteady(
        "it serves as before: web 60 and worker 40", again, 60, 40, after + " after its start");
    checkErrors("no error by its return");
  }

  private void oneProcessIsKilled() throws InterruptedException {
    Application victim = stage.applications().get(0);
    chapter(
        victim.name() + " is killed (SIGKILL)",
        "It cannot say good-bye. Its slots come back once it has been silent for a lease and a"
            + " connect timeout (3 s + 2 s) and PostgreSQL shows none of its connections: the other"
            + " processes take them.");
    int held = victim.usage().held();
    long start = System.nanoTime();
    victim.kill();
    boolean back =
        until(SOON, () -> membersKnown() == living() && granted(60, 40) && postgresSees(60, 40));
    String after = seconds(start);
    check(
        "its " + held + " slots come back",
        back,
        "after " + after + " PostgreSQL sees " + seen("web") + " and " + seen("worker"));
    hold(Duration.ofSeconds(2));
    checkErrors("no error in the other processes");
  }

  private void everybodyGoesHome() throws SQLException, InterruptedException {
    chapter(
        "Everybody goes home",
        "Each process ends its transactions, closes its DataSource and exits by itself; every"
            + " transaction that it counted is in the books, once.");
    stage.applications().forEach(Application::askToEnd);
    List<Application> odd =
        stage.applications().stream()
            .filter(application -> !application.killed() && application.end() != 0)
            .toList();
    int ended = (int) stage.applications().stream().filter(a -> !a.killed()).count();
    check("every process exits by itself", odd.isEmpty(), (ended - odd.size()) + " of " + ended);
    Books books = Books.compare(stage);
    check("every transaction is in the books", books.agree(), books.toString());
    until(Duration.ofSeconds(5), () -> postgresSees(0, 0));
  }

  private void chapter(String title, String shouldSee) {
    System.out.println();
    System.out.println("== " + title);
    System.out.println(Text.wrapped("   ", shouldSee));
    table.titles();
  }

  private void check(String promise, boolean kept, String seen) {
    promises.check(promise, kept, seen);
    if (!kept) {
      stage.applications().forEach(application -> System.out.println("      " + application));
    }
  }

  /** Checks that the steady seconds just past have shown these grants and no others. */
  private void checkSteady(String promise, boolean reached, int web, int worker, String after) {
    String odd = reached ? oddAt(web, worker) : ", but that is not what was promised";
    check(
        promise,
        odd.isEmpty(),
        "PostgreSQL sees " + seen("web") + " and " + seen("worker") + ", " + after + odd);
  }

  private void checkErrors(String promise) {
    long errors = stage.sumOfAll(Usage::failed);
    check(
        promise,
        errors == 0,
        errors + " errors in " + stage.sumOfAll(Usage::committed) + " transactions so far");
  }

  private boolean until(Duration limit, BooleanSupplier isSo) throws InterruptedException {
    long end = System.nanoTime() + limit.toNanos();
    while (System.nanoTime() - end < 0) {
      if (isSo.getAsBoolean()) {
        return true;
      }
      table.rowIfDue();
      TimeUnit.MILLISECONDS.sleep(20);
    }
    return isSo.getAsBoolean();
  }

  private void hold(Duration time) throws InterruptedException {
    until(time, () -> false);
  }

  /** Transactions a second over the next while. */
  private double throughput(Duration time) throws InterruptedException {
    long before = stage.sumOfAll(Usage::committed);
    long start = System.nanoTime();
    hold(time);
    return (stage.sumOfAll(Usage::committed) - before) / ((System.nanoTime() - start) / 1e9);
  }

  private boolean serves() {
    Look look = stage.watch().latest();
    return look != null && look.status().phase() == CoordinatorPhase.SERVING;
  }

  private boolean granted(int web, int worker) {
    Look look = stage.watch().latest();
    return look != null && look.granted("web") == web && look.granted("worker") == worker;
  }

  /**
   * What the steady seconds just past have shown beside these grants: empty if nothing. Asks every
   * look at the coordinator, and the server's own log for each role. A slot that moves between two
   * processes of a tenant is granted to neither for a moment, and may then count as still held.
   */
  private String oddAt(int web, int worker) {
    long now = System.currentTimeMillis();
    long from = now - STEADY.toMillis();
    int webPeak = stage.witness().counted("web").peak(from, now).count();
    int workerPeak = stage.witness().counted("worker").peak(from, now).count();
    if (webPeak != web || workerPeak != worker) {
      return ", but its log had up to " + webPeak + " and " + workerPeak;
    }
    List<Look> looks = stage.watch().since(from);
    if (looks.isEmpty()) {
      return ", but the coordinator did not answer";
    }
    return looks.stream()
        .filter(look -> !isAt(look, web, worker))
        .findFirst()
        .map(
            look ->
                ", but once the coordinator had granted "
                    + look.granted("web")
                    + " and "
                    + look.granted("worker")
                    + " with "
                    + look.status().stillHeld()
                    + " still held")
        .orElse("");
  }

  private static boolean isAt(Look look, int web, int worker) {
    int missing =
        web + worker - look.granted("web") - look.granted("worker") - look.status().stillHeld();
    return look.granted("web") <= web
        && look.granted("worker") <= worker
        && missing >= 0
        && missing <= MOVING;
  }

  private boolean postgresSees(int web, int worker) {
    return seen("web") == web && seen("worker") == worker;
  }

  private int seen(String role) {
    return stage.witness().sampler().latest().count(role::equals);
  }

  private int budget() {
    Look look = stage.watch().latest();
    return look == null ? -1 : look.status().budget().total();
  }

  private long membersKnown() {
    Look look = stage.watch().latest();
    return look == null ? -1 : look.status().members().size();
  }

  private long living() {
    return stage.applications().stream().filter(Application::isAlive).count();
  }

  private Connection visit(String role) throws SQLException {
    return DriverManager.getConnection(
        stage.postgres().url("postgres"), role, Stage.password(role));
  }

  private static boolean answers(Connection connection) throws SQLException {
    try (Statement statement = connection.createStatement();
        ResultSet row = statement.executeQuery("SELECT count(*) FROM pg_stat_activity")) {
      return row.next();
    }
  }

  private static String seconds(long startNanos) {
    return String.format(Locale.ROOT, "%.1f s", (System.nanoTime() - startNanos) / 1e9);
  }

  private static String millis(long startNanos) {
    return (System.nanoTime() - startNanos) / 1_000_000 + " ms";
  }
}
