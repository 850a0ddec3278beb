package io.pgsteward.protocol;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One atomic snapshot of a member on one instance: what it wants, what it goes by and what it
 * holds. Body of {@code POST /v1/members/{id}/sync}. Immutable.
 *
 * @param version version of this message; {@link #VERSION} today
 * @param instance the instance's name in the coordinator's configuration; null for the only one
 * @param name what the process calls itself, for people; may be empty
 * @param sequence grows with each snapshot of this member on this instance; a request whose
 *     sequence is not newer than the last one changes nothing
 * @param epoch the epoch of the last answer that was applied; 0 before the first
 * @param generation the generation of the last answer that was applied; 0 before the first
 * @param connectTimeoutMillis the longest that one opening of a connection can last
 * @param phase the member's own view of its session, for people
 * @param leaving true in the last requests of a member that closes: it wants nothing more and is
 *     forgotten once it holds nothing
 * @param renews true to be answered at once: the member had no answer for long, since it gave its
 *     calls up for newer figures, and its lease would end
 * @param tenants every tenant with demand, connections or a grant; a tenant left out has none
 */
public record SyncRequest(
    int version,
    @Nullable String instance,
    String name,
    long sequence,
    long epoch,
    long generation,
    long connectTimeoutMillis,
    MemberPhase phase,
    boolean leaving,
    boolean renews,
    List<TenantReport> tenants) {

  /** The version that this code speaks. */
  public static final int VERSION = 1;

  @SuppressWarnings("NullAway") // JSON leaves fields out
  public SyncRequest {
    name = name == null ? "" : name;
    phase = phase == null ? MemberPhase.JOINING : phase;
    tenants = tenants == null ? List.of() : Elements.copyOf("tenants", tenants);
    if (sequence < 0 || epoch < 0 || generation < 0 || connectTimeoutMillis < 0) {
      throw new IllegalArgumentException(
          "sequence, epoch, generation and connectTimeoutMillis are at least 0, but they were "
              + sequence
              + ", "
              + epoch
              + ", "
              + generation
              + " and "
              + connectTimeoutMillis);
    }
  }
}
