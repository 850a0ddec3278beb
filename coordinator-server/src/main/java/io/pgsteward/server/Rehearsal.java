package io.pgsteward.server;

import io.pgsteward.model.Ticker;
import io.pgsteward.postgres.LimitRights;
import io.pgsteward.postgres.LoginRole;
import io.pgsteward.postgres.Observation;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * A server that stays as one look showed it, but for the limits that are set, and on which every
 * limit may be set. Changes nothing.
 */
final class Rehearsal implements LimitReconciler.Target {

  private final Observation look;
  private final Ticker ticker;
  private final Map<String, Integer> limits = new HashMap<>();

  Rehearsal(Observation look, Ticker ticker) {
    this.look = look;
    this.ticker = ticker;
  }

  @Override
  public Observation look() {
    Observation.Roles shown = look.roles();
    if (shown == null) {
      throw new IllegalStateException("the look shows no roles");
    }
    long started = ticker.nanos();
    List<LoginRole> roles = new ArrayList<>();
    for (LoginRole role : shown.all()) {
      int limit = limits.getOrDefault(role.name(), role.limit());
      roles.add(new LoginRole(role.name(), false, limit, true));
    }
    return new Observation(
        started,
        look.limits(),
        look.backends(),
        look.ownPid(),
        look.complete(),
        new Observation.Roles(roles, LimitRights.FUNCTION, ticker.nanos()));
  }

  @Override
  public void set(Map<String, Integer> changes) {
    limits.putAll(changes);
  }
}
