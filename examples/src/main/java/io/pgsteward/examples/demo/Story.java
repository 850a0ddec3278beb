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
import java.util.function.IntFunction;

/**
 * What happens in the demo, chapter by chapter: each says what one should see, makes it happen, and
 * checks what was seen.
 */
final class Story {

  private static final int WEB_MILLIS = 100;
  private static final int WORKER_MILLIS = 500;
  private static final int VISITORS = 2;

  /** Threads of worker at night: what it can use while it is alone. */
  private static final int NIGHT = 90;

  private static final Duration SOON = Duration.ofSeconds(25);
  private static final Duration STEADY = Duration.ofSeconds(5);

  /** Slots that may be on their way at one moment: given up, and not yet granted again. */
  private static final int MOVING = 2;

  private static final Duration SETTLED = Duration.ofSeconds(2);

  /** How often the steady seconds begin again because the budget moved in them. */
  private static final int STEADY_TRIES = 4;

  private final Stage stage;
  private final Promises promises;
  private final Machine machine;
  private final LiveTable table;
  private long coordinatorKilledMillis;
  private long failedBefore;
  private long committedBefore;
  private boolean applicationsShown;

  Story(Stage stage, Promises promises, Machine machine) {
    this.stage = stage;
    this.promises = promises;
    this.machine = machine;
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
    stage.join("worker", 3, NIGHT / 3, WORKER_MILLIS);
    checkShare(
        "worker alone holds all that it can use",
        budget -> Share.ofWorkerAlone(budget, NIGHT),
        start,
        "the start");
  }

  private void apiComesBack() throws InterruptedException {
    chapter(
        "The API comes back",
        "web starts with 60 threads in 4 processes, guarantee 30. The 60 slots above the two"
            + " guarantees are worth as much to either, up to what it can use: web 60, worker 40."
            + " Connections go as their transactions end; none is interrupted.");
    long start = System.nanoTime();
    stage.join("web", 4, 15, WEB_MILLIS);
    checkShare("each has its share exactly", Share::ofBoth, start, "4 JVMs were started");
    checkErrors("no transaction was interrupted");
  }

  private void eightMoreJoin() throws InterruptedException {
    chapter(
        "8 more processes join",
        "4 of web and 4 of worker, with 80 more threads. Nothing is reconfigured. Still 100 in"
            + " all, still 60 and 40, and each newcomer is served. While 8 JVMs start on "
            + machine.cores()
            + (machine.cores() == 1 ? " core" : " cores")
            + ", everything on this machine is slower: expect a dip in tx/s for some seconds, which"
            + " is the machine and not the pool.");
    long start = System.nanoTime();
    stage.join("web", 4, 10, WEB_MILLIS);
    stage.join("worker", 4, 10, WORKER_MILLIS);
    List<Application> newcomers = stage.applications().subList(7, stage.applications().size());
    boolean served =
        until(
            Duration.ofSeconds(40),
            () -> newcomers.stream().allMatch(application -> application.usage().committed() > 0));
    check("all 8 newcomers are served", served, seconds(start) + " after their JVMs were started");
    checkShare("still each has its share exactly", Share::ofBoth, start, "their start");
    checkErrors("no error while they join");
  }

  private void visitorsConnect() throws SQLException, InterruptedException {
    chapter(
        "An administrator and a monitor connect",
        "Two ordinary roles that PgSteward knows nothing of. They get in at once, since the margin"
            + " of 3 is kept free; the budget is then 98 for as long as they count (60 s after they"
            + " were last seen): web 59, worker 39.");
    table.mark("the visitors connect");
    long start = System.nanoTime();
    try (Connection administrator = visit("administrator");
        Connection monitor = visit("monitor")) {
      String in = millis(start);
      boolean answered = answers(administrator) && answers(monitor);
      check("both get in while all slots are in use", answered, in + " for both");
      boolean fell = until(SOON, () -> budget() <= Stage.BUDGET - VISITORS);
      check("the budget makes room for them", fell, "it is " + budget());
      checkShare("each has its share of what is left", Share::ofBoth, start, "they came");
    }
    table.mark("the visitors leave; they count for 60 s more");
    checkErrors("no error by their visit");
  }

  private void coordinatorIsKilled() throws InterruptedException {
    chapter(
        "The coordinator is killed (SIGKILL)",
        "First 5 s with it, to compare; then the kill, which a line marks. The query path does not"
            + " know it. Every process goes on with its last grant: no errors, no connection closed."
            + " From the kill on the figures are what the processes say.");
    double before = throughput(STEADY);
    stage.coordinator().kill();
    table.mark("the coordinator is killed");
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
    table.mark("the coordinator is started again");
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
    checkShare("it serves as before: each has its share", Share::ofBoth, start, "its start");
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
    table.mark(victim.name() + " is killed");
    boolean back = until(SOON, () -> membersKnown() == living() && isShared(Share::ofBoth));
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
    table.mark("every process is asked to end");
    List<Application> odd =
        stage.applications().stream()
            .filter(application -> !application.killed() && application.end() != 0)
            .toList();
    int ended = (int) stage.applications().stream().filter(a -> !a.killed()).count();
    check("every process exits by itself", odd.isEmpty(), (ended - odd.size()) + " of " + ended);
    Books books = Books.compare(stage);
    check("every transaction is in the books", books.agree(), books.toString());
    until(Duration.ofSeconds(5), () -> seen("web") == 0 && seen("worker") == 0);
    checkErrors("no error on the way home");
  }

  private void chapter(String title, String shouldSee) {
    sayErrors();
    failedBefore = stage.sumOfAll(Usage::failed);
    committedBefore = stage.sumOfAll(Usage::committed);
    applicationsShown = false;
    System.out.println();
    System.out.println("== " + title);
    System.out.println(Text.wrapped("   ", shouldSee));
    table.titles();
  }

  private void check(String promise, boolean kept, String seen) {
    promises.check(promise, kept, seen);
    if (!kept && !applicationsShown) {
      applicationsShown = true;
      stage.applications().forEach(application -> System.out.println("      " + application));
    }
  }

  /** Waits for the shares of the budget in force, and checks that they stay for some seconds. */
  private void checkShare(String promise, IntFunction<Share> shares, long start, String since)
      throws InterruptedException {
    boolean reached = until(SOON, () -> isShared(shares));
    String after = seconds(start) + " after " + since;
    hold(STEADY);
    for (int i = 1; i < STEADY_TRIES && reached && budgetMoved(); i++) {
      reached = until(SOON, () -> isShared(shares));
      hold(STEADY);
    }
    int budget = budget();
    Share share = shares.apply(budget);
    String odd = reached ? oddAt(share) : ", but that is not the share: " + share;
    check(
        promise,
        odd.isEmpty(),
        "PostgreSQL sees web "
            + seen("web")
            + " and worker "
            + seen("worker")
            + " on a budget of "
            + budget
            + ", "
            + after
            + odd);
  }

  /** Checks that nothing has failed in this chapter. */
  private void checkErrors(String promise) {
    long errors = stage.sumOfAll(Usage::failed) - failedBefore;
    check(
        promise,
        errors == 0,
        errors
            + " errors in "
            + (stage.sumOfAll(Usage::committed) - committedBefore)
            + " transactions of this chapter");
    sayErrors();
  }

  private void sayErrors() {
    for (Errors.Seen seen : stage.errors().drain()) {
      System.out.println("      " + seen.count() + " x " + seen.text());
    }
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

  /** Whether the last look at coordinator and PostgreSQL shows each with its share. */
  private boolean isShared(IntFunction<Share> shares) {
    Look look = stage.watch().latest();
    if (look == null) {
      return false;
    }
    Share share = shares.apply(look.status().budget().total());
    return share.is(look.granted("web"), look.granted("worker"))
        && share.is(seen("web"), seen("worker"));
  }

  private List<Look> steadyLooks() {
    return stage.watch().since(System.currentTimeMillis() - STEADY.toMillis());
  }

  private boolean budgetMoved() {
    return steadyLooks().stream().map(look -> look.status().budget().total()).distinct().count()
        > 1;
  }

  /**
   * What the steady seconds just past have shown beside these shares: empty if nothing. Asks every
   * look at the coordinator, and the server's own log for each role. A slot that moves between two
   * processes of a tenant is granted to neither for a moment, and may then count as still held.
   */
  private String oddAt(Share share) {
    long now = System.currentTimeMillis();
    long from = now - STEADY.toMillis();
    int webPeak = stage.witness().counted("web").peak(from, now).count();
    int workerPeak = stage.witness().counted("worker").peak(from, now).count();
    if (webPeak < share.web()
        || workerPeak < share.worker()
        || !share.isWithin(webPeak, workerPeak)) {
      return ", but its log had up to " + webPeak + " and " + workerPeak;
    }
    List<Look> looks = steadyLooks();
    if (looks.isEmpty()) {
      return ", but the coordinator did not answer";
    }
    return looks.stream()
        .filter(look -> !isAt(look, share))
        .findFirst()
        .map(
            look ->
                ", but once the coordinator had granted "
                    + look.granted("web")
                    + " and "
                    + look.granted("worker")
                    + " of "
                    + look.status().budget().total()
                    + " with "
                    + look.status().stillHeld()
                    + " still held")
        .orElse("");
  }

  private static boolean isAt(Look look, Share share) {
    int missing =
        share.total() - look.granted("web") - look.granted("worker") - look.status().stillHeld();
    return share.isWithin(look.granted("web"), look.granted("worker"))
        && missing >= 0
        && missing <= MOVING;
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
