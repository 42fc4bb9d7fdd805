/* The driver: observes, reconciles, applies and collects, over launcher.h, store.h and a clock,
 * until the run is finished. `benchctl run --local` and benchd use the same driver. */
#pragma once

#include "base/err.h"
#include "run/driver_params.h"

struct driver;
int driver_new(const struct driver_params *params, struct driver **ret, struct err *err);
/* Starts driving; uv_run returns when the run is final or the driver gave up. */
void driver_start(struct driver *d);
/* Requests cancellation: the run ends as Cancelled, with no replica left. */
void driver_cancel(struct driver *d);
/* Requests suspension: the driver removes all replicas and finishes with the status Suspended. A
 * new driver with that status continues the run. A cancellation is not replaced. May be called
 * before driver_start. */
void driver_suspend(struct driver *d);
/* The results of the run are not wanted any more: removes all replicas and writes nothing to the
 * store, which may be full. driver_finish answers -ECANCELED. */
void driver_abandon(struct driver *d);
/* From `done` on, or after the loop: 0 and the final status, or the error that made the driver give
 * up (a full disk, a broken store). Stored rows are complete in any case, and a new driver
 * continues from them. A driver that has given up has removed nothing: replicas stay as long as the
 * launcher lets them, pods longer than local processes, and the new driver stores what they left.
 */
int driver_finish(struct driver *d, struct run_status *ret, struct err *err);
void driver_free(struct driver *d);
