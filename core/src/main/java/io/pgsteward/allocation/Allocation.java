package io.pgsteward.allocation;

import io.pgsteward.model.TenantId;
import java.util.List;

/** Who gets how many slots: the answer of an {@link Allocator}. Immutable. */
public final class Allocation {

  private final List<Claim> claims;
  private final Claim[] byTenant;
  private final int[] slots;
  private final int[] unmet;
  private final int total;
  private final long totalUnmet;

  /**
   * @param claims the claims as they were given
   * @param byTenant the same in the order of their tenants, as are {@code slots} and {@code unmet}
   */
  Allocation(List<Claim> claims, Claim[] byTenant, int[] slots, int[] unmet) {
    this.claims = claims;
    this.byTenant = byTenant;
    this.slots = slots;
    this.unmet = unmet;
    int sum = 0;
    long sumUnmet = 0;
    for (int i = 0; i < slots.length; i++) {
      sum += slots[i];
      sumUnmet += unmet[i];
    }
    this.total = sum;
    this.totalUnmet = sumUnmet;
  }

  /** Slots of each claim, in the order in which the claims were given. */
  public int[] slots() {
    return inClaimOrder(slots);
  }

  /** Slots of a tenant; 0 for one that had no claim. */
  public int slotsOf(TenantId tenant) {
    int i = indexOf(tenant);
    return i < 0 ? 0 : slots[i];
  }

  /** Slots of the guarantee that each claim has demand for and does not get, in claim order. */
  public int[] unmetGuarantees() {
    return inClaimOrder(unmet);
  }

  /** Slots of its guarantee that a tenant has demand for and does not get; 0 without a claim. */
  public int unmetGuaranteeOf(TenantId tenant) {
    int i = indexOf(tenant);
    return i < 0 ? 0 : unmet[i];
  }

  /** Sum of all slots; at most the budget. */
  public int total() {
    return total;
  }

  /** Sum of all unmet guarantees. */
  public long totalUnmetGuarantee() {
    return totalUnmet;
  }

  private int[] inClaimOrder(int[] figures) {
    if (figures.length > 0 && claims.get(0) == byTenant[0] && isInTenantOrder()) {
      return figures.clone();
    }
    int[] ordered = new int[figures.length];
    int position = 0;
    for (Claim claim : claims) {
      ordered[position++] = figures[indexOf(claim.tenant())];
    }
    return ordered;
  }

  private boolean isInTenantOrder() {
    int position = 0;
    for (Claim claim : claims) {
      if (claim != byTenant[position++]) {
        return false;
      }
    }
    return true;
  }

  private int indexOf(TenantId tenant) {
    int low = 0;
    int high = byTenant.length - 1;
    while (low <= high) {
      int middle = (low + high) >>> 1;
      int order = byTenant[middle].tenant().compareTo(tenant);
      if (order == 0) {
        return middle;
      }
      if (order < 0) {
        low = middle + 1;
      } else {
        high = middle - 1;
      }
    }
    return -1;
  }

  @Override
  public String toString() {
    StringBuilder text = new StringBuilder("Allocation[");
    for (int i = 0; i < slots.length; i++) {
      text.append(i == 0 ? "" : ", ").append(byTenant[i].tenant()).append(' ').append(slots[i]);
      if (unmet[i] > 0) {
        text.append(" (unmet ").append(unmet[i]).append(')');
      }
    }
    return text.append(']').toString();
  }
}
