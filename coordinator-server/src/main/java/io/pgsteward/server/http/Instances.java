package io.pgsteward.server.http;

import io.pgsteward.coordination.ControlLoop;
import io.pgsteward.model.InstanceId;
import io.pgsteward.protocol.StatusResponse;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** The control loops of this coordinator by instance, in the configuration's order. Immutable. */
public final class Instances {

  private static final long STATUS_SECONDS = 5;

  private final Map<InstanceId, ControlLoop> loops;

  public Instances(Map<InstanceId, ControlLoop> loops) {
    this.loops = Collections.unmodifiableMap(new LinkedHashMap<>(loops));
  }

  Map<InstanceId, ControlLoop> loops() {
    return loops;
  }

  /**
   * The loop of the instance that a member names.
   *
   * @param name null for the only one
   * @throws Refusal with status 404 and the known names
   */
  ControlLoop named(@Nullable String name) {
    if (name == null && loops.size() == 1) {
      return loops.values().iterator().next();
    }
    ControlLoop loop = name == null || name.isBlank() ? null : loops.get(new InstanceId(name));
    if (loop == null) {
      throw new Refusal(
          404,
          "unknown-instance",
          (name == null
                  ? "the coordinator has several instances, so instance must be given"
                  : "the coordinator has no instance " + name)
              + "; it has "
              + String.join(", ", loops.keySet().stream().map(InstanceId::value).toList()));
    }
    return loop;
  }

  /** Every instance as it is now; fails if one does not answer within some seconds. */
  CompletableFuture<StatusResponse> status() {
    List<CompletableFuture<StatusResponse.InstanceStatus>> parts = new ArrayList<>();
    loops.values().forEach(loop -> parts.add(loop.status()));
    return CompletableFuture.allOf(parts.toArray(CompletableFuture[]::new))
        .orTimeout(STATUS_SECONDS, TimeUnit.SECONDS)
        .thenApply(all -> new StatusResponse(parts.stream().map(CompletableFuture::join).toList()));
  }
}
