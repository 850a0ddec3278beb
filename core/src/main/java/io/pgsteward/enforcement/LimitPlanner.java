package io.pgsteward.enforcement;

import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.TreeMap;

/**
 * Which connection limits should change now, so that PostgreSQL refuses what was not granted and
 * never what was. A pure function.
 *
 * <p>A role needs what its members may hold or what was seen, whichever is more, and what is about
 * to be granted. What the needs leave of the budget is headroom for roles below their guarantee:
 * their members can go on opening within it while no coordinator is there. Headroom is the first
 * thing to go when another role needs more.
 *
 * <p>Lowerings are always possible. Raises take only what the roles' counts ({@link
 * RoleLimit#counts}) leave of the budget, so a lowering pays for a raise only once it is proven.
 */
public final class LimitPlanner {

  /**
   * What a role is to be let have.
   *
   * @param role a role of the book
   * @param mayHold what its members may hold, and its strays
   * @param wanted slots that its members are to be granted once its limit has room for them
   * @param guarantee the sum of its tenants' guarantees
   */
  public record Need(String role, int mayHold, int wanted, int guarantee) {}

  /**
   * The changes.
   *
   * @param lowerings by role, to be committed with or before the raisings
   * @param raisings by role
   */
  public record Changes(Map<String, Integer> lowerings, Map<String, Integer> raisings) {

    /** No change at all. */
    public static final Changes NONE = new Changes(Map.of(), Map.of());

    public boolean isEmpty() {
      return lowerings.isEmpty() && raisings.isEmpty();
    }

    /** All of them, the lowerings first. */
    public Map<String, Integer> inOrder() {
      Map<String, Integer> all = new LinkedHashMap<>(lowerings);
      all.putAll(raisings);
      return all;
    }
  }

  /** PostgreSQL's most connections, and so the highest limit that makes sense. */
  private static final int MOST = 262_143;

  /** A role while it is planned. */
  private static final class Plan {
    final RoleLimit role;
    final Need need;
    final int needed;
    int headroom;

    Plan(RoleLimit role, Need need) {
      this.role = role;
      this.need = need;
      long needs = (long) Math.max(need.mayHold(), role.seen()) + need.wanted();
      this.needed = (int) Math.min(MOST, needs);
    }

    int target() {
      return needed + headroom;
    }

    boolean wantsHeadroom() {
      return target() < need.guarantee();
    }
  }

  private LimitPlanner() {}

  /**
   * Plans.
   *
   * @param needs in the order in which raises are served; a role of the book that is missing needs
   *     what was seen
   */
  public static Changes plan(int budget, LimitBook book, Collection<Need> needs) {
    List<Plan> plans = plans(book, needs);
    long spare = budget;
    for (Plan plan : plans) {
      spare -= plan.needed;
    }
    shareHeadroom(plans, spare);
    Map<String, Integer> lowerings = new TreeMap<>();
    for (Plan plan : plans) {
      int limit = plan.role.limit();
      if (limit == RoleLimit.UNLIMITED || plan.target() < limit) {
        lowerings.put(plan.role.role(), plan.target());
      }
    }
    return new Changes(lowerings, raisings(plans, budget - Math.min(budget + 1L, book.counts())));
  }

  private static List<Plan> plans(LimitBook book, Collection<Need> needs) {
    Map<String, RoleLimit> roles = new TreeMap<>();
    book.roles().forEach(role -> roles.put(role.role(), role));
    List<Plan> plans = new ArrayList<>();
    for (Need need : needs) {
      RoleLimit role = roles.remove(need.role());
      if (role != null) {
        plans.add(new Plan(role, need));
      }
    }
    roles.values().forEach(role -> plans.add(new Plan(role, new Need(role.role(), 0, 0, 0))));
    return plans;
  }

  /** One by one to the role that has the smallest part of its guarantee; then by name. */
  private static void shareHeadroom(List<Plan> plans, long spare) {
    PriorityQueue<Plan> queue = new PriorityQueue<>(LimitPlanner::neediestFirst);
    plans.stream().filter(Plan::wantsHeadroom).forEach(queue::add);
    for (long left = spare; left > 0 && !queue.isEmpty(); left--) {
      Plan neediest = queue.poll();
      neediest.headroom++;
      if (neediest.wantsHeadroom()) {
        queue.add(neediest);
      }
    }
  }

  /** target / guarantee, compared exactly by cross multiplication. */
  private static int neediestFirst(Plan a, Plan b) {
    int order =
        Long.compare(
            (long) a.target() * b.need.guarantee(), (long) b.target() * a.need.guarantee());
    return order != 0 ? order : a.need.role().compareTo(b.need.role());
  }

  private static Map<String, Integer> raisings(List<Plan> plans, long room) {
    Map<String, Integer> raisings = new LinkedHashMap<>();
    long left = room;
    for (Plan plan : plans) {
      left -= raise(plan, plan.needed, left, raisings);
    }
    for (Plan plan : plans) {
      left -= raise(plan, plan.target(), left, raisings);
    }
    return raisings;
  }

  private static long raise(Plan plan, int target, long left, Map<String, Integer> raisings) {
    int limit = raisings.getOrDefault(plan.role.role(), plan.role.limit());
    if (plan.role.limit() == RoleLimit.UNLIMITED || left < 0 || target <= limit) {
      return 0;
    }
    // Up to what the role counts already it costs nothing.
    long free = Math.max(0, Math.min(target, plan.role.counts()) - limit);
    long step = Math.min(target - limit, free + left);
    if (step > 0) {
      raisings.put(plan.role.role(), limit + Math.toIntExact(step));
    }
    return Math.max(0, step - free);
  }
}
