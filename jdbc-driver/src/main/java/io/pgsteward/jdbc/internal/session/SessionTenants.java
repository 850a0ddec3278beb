package io.pgsteward.jdbc.internal.session;

import io.pgsteward.model.TenantId;
import io.pgsteward.protocol.TenantGrant;
import java.util.List;
import java.util.Map;

/**
 * The tenants of a member as its session sees them: the seam between the exchange and the pools.
 * {@link #apply}, {@link #gone} and {@link #tidy} are called by the session's thread alone, {@link
 * #figures} by any.
 */
interface SessionTenants {

  /**
   * Makes the pools go by these limits, every lowering before any raise. Tenants without a pool are
   * passed over.
   *
   * @param refused why the coordinator refuses a tenant; tenants left out are not refused
   */
  void apply(Map<TenantId, Integer> limits, Map<TenantId, String> refused);

  /**
   * What every tenant with a pool wants and holds, for a report: the pools call out when demand
   * rises above these figures.
   */
  List<TenantFigures> report();

  /** The same figures, only looked at. */
  List<TenantFigures> figures();

  /** What an answer says of process ids that are gone: connections that close and have them are. */
  void gone(List<TenantGrant> grants);

  /** Drops what nobody has used for long. Called by the session's thread after each exchange. */
  void tidy();
}
