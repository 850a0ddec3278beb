package io.pgsteward.model;

/**
 * What a tenant is promised and held to. Immutable.
 *
 * @param guarantee slots it gets whenever it has demand for them; 0 promises nothing
 * @param max slots it never passes; {@link #NO_MAX} leaves only the budget as a ceiling; 0 shuts
 *     the tenant out
 * @param weight its share of the slots above the guarantees, relative to other tenants; at least 1
 */
public record TenantPolicy(int guarantee, int max, int weight) {

  /** The {@code max} of a tenant that only the budget limits. */
  public static final int NO_MAX = Integer.MAX_VALUE;

  /** Guarantee 0, no max, weight 1. */
  public static final TenantPolicy DEFAULT = new TenantPolicy(0, NO_MAX, 1);

  /** Shuts a tenant out. */
  public static final TenantPolicy NOTHING = new TenantPolicy(0, 0, 1);

  /** The largest weight; keeps the exact comparison of shares within 64 bits. */
  public static final int LARGEST_WEIGHT = 1_000_000;

  public TenantPolicy {
    if (guarantee < 0) {
      throw new IllegalArgumentException("guarantee is at least 0, but it was " + guarantee);
    }
    if (max < guarantee) {
      throw new IllegalArgumentException(
          "max is at least the guarantee, but max was " + max + " and guarantee " + guarantee);
    }
    if (weight < 1 || weight > LARGEST_WEIGHT) {
      throw new IllegalArgumentException(
          "weight is 1 to " + LARGEST_WEIGHT + ", but it was " + weight);
    }
  }
}
