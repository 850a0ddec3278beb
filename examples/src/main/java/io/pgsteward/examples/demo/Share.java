package io.pgsteward.examples.demo;

/**
 * What of a budget belongs to whom while both tenants want more than that. Immutable.
 *
 * @param web slots of web
 * @param worker slots of worker
 * @param odd 1 if one slot cannot be split evenly; either of them may have it
 */
record Share(int web, int worker, int odd) {

  static final int WEB_GUARANTEE = 30;
  static final int WORKER_GUARANTEE = 10;

  /** Above the guarantees a slot is worth as much to either. */
  static Share ofBoth(int budget) {
    int surplus = Math.max(0, budget - WEB_GUARANTEE - WORKER_GUARANTEE);
    return new Share(WEB_GUARANTEE + surplus / 2, WORKER_GUARANTEE + surplus / 2, surplus % 2);
  }

  /** Worker alone may use all it can. */
  static Share ofWorkerAlone(int budget, int demand) {
    return new Share(0, Math.min(demand, budget), 0);
  }

  int total() {
    return web + worker + odd;
  }

  /** Whether these figures are it, to the slot. */
  boolean is(int ofWeb, int ofWorker) {
    return ofWeb + ofWorker == total() && isWithin(ofWeb, ofWorker) && ofWeb >= web;
  }

  /** Whether neither has more. */
  boolean isWithin(int ofWeb, int ofWorker) {
    return ofWeb <= web + odd && ofWorker <= worker + odd;
  }

  @Override
  public String toString() {
    return odd == 0
        ? "web " + web + " and worker " + worker
        : "web " + web + " and worker " + worker + " with one more for either";
  }
}
