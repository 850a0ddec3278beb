package io.pgsteward.ledger;

import io.pgsteward.model.TenantId;
import io.pgsteward.protocol.MemberPhase;
import java.util.Collections;
import java.util.Map;
import java.util.TreeMap;

/**
 * Everything that a member said in one request, checked and in the ledger's terms. Immutable.
 *
 * @param sequence grows with each snapshot of the member
 * @param generation the generation that the figures were measured against, or -1 if they were
 *     measured against another epoch
 * @param connectTimeoutNanos the longest that one opening can last
 * @param reports by tenant; a tenant left out has nothing
 */
public record Snapshot(
    String name,
    String address,
    MemberPhase phase,
    boolean leaving,
    long sequence,
    long generation,
    long connectTimeoutNanos,
    Map<TenantId, Report> reports) {

  public Snapshot {
    reports = Collections.unmodifiableMap(new TreeMap<>(reports));
  }
}
