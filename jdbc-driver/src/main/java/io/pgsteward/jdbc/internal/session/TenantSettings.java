package io.pgsteward.jdbc.internal.session;

import io.pgsteward.jdbc.internal.pool.TenantPoolSettings;
import io.pgsteward.model.TenantId;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Properties;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * What a DataSource wants for its tenant. Immutable; {@link #toString} shows no secret.
 *
 * @param pool how its connections are made and kept; its initial limit is not looked at
 * @param fallbackSlots what the tenant may hold without a coordinator; at least 0
 */
public record TenantSettings(TenantId tenant, TenantPoolSettings pool, int fallbackSlots) {

  public TenantSettings {
    if (fallbackSlots < 0) {
      throw new IllegalArgumentException(
          "fallbackSlots is at least 0, but it was " + fallbackSlots);
    }
  }

  /** Names of the settings in which these differ from others; never a value. */
  List<String> differences(TenantSettings other) {
    List<String> names = new ArrayList<>();
    TenantPoolSettings a = pool;
    TenantPoolSettings b = other.pool;
    compare(names, "url", a.url(), b.url());
    names.addAll(differences(a.properties(), b.properties()));
    compare(names, "driver", a.driver().getClass(), b.driver().getClass());
    compare(names, "applicationName", a.applicationName(), b.applicationName());
    compare(names, "fallbackSlots", fallbackSlots, other.fallbackSlots);
    compare(names, "maximumPoolSize", a.cap(), b.cap());
    compare(names, "maxWaiters", a.maxWaiters(), b.maxWaiters());
    compare(names, "connectTimeout", a.connectTimeout(), b.connectTimeout());
    compare(names, "closeTimeout", a.closeTimeout(), b.closeTimeout());
    compare(names, "vanishedClientTimeout", a.vanishedClientTimeout(), b.vanishedClientTimeout());
    compare(names, "validationTimeout", a.validationTimeout(), b.validationTimeout());
    compare(names, "maxLifetime", a.maxLifetime(), b.maxLifetime());
    compare(names, "idleTimeout", a.idleTimeout(), b.idleTimeout());
    compare(names, "keepaliveTime", a.keepaliveTime(), b.keepaliveTime());
    compare(
        names, "leakDetectionThreshold", a.leakDetectionThreshold(), b.leakDetectionThreshold());
    compare(names, "autoCommit", a.autoCommit(), b.autoCommit());
    compare(names, "readOnly", a.readOnly(), b.readOnly());
    compare(names, "transactionIsolation", a.transactionIsolation(), b.transactionIsolation());
    compare(names, "catalog", a.catalog(), b.catalog());
    compare(names, "schema", a.schema(), b.schema());
    compare(names, "connectionInitSql", a.connectionInitSql(), b.connectionInitSql());
    return names;
  }

  private static List<String> differences(Properties a, Properties b) {
    TreeSet<String> names = new TreeSet<>(a.stringPropertyNames());
    names.addAll(b.stringPropertyNames());
    names.removeIf(name -> Objects.equals(a.getProperty(name), b.getProperty(name)));
    return List.copyOf(names);
  }

  private static void compare(
      List<String> names, String name, @Nullable Object a, @Nullable Object b) {
    if (!Objects.equals(a, b)) {
      names.add(name);
    }
  }

  @Override
  public String toString() {
    return tenant.toString();
  }
}
