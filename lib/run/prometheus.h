/* spec.metrics of a trial from Prometheus, or a server with its HTTP API, through libcurl on the
 * loop. They are added to the first summary of a replica that trains, before the row is saved, so
 * the store, tables and archives have them as they have those that a launcher adds.
 *
 * All queries of a trial are sent at once, and what is not answered within PROMETHEUS_WAIT_S stays
 * unknown: that is how long a bad server can hold up the next trial. Nothing waits for later
 * samples, since what is scraped after the measured steps does not belong to them; only a sample
 * that carries an older date of its own (cAdvisor's do) can be missed. */
#pragma once

#include "run/attempt.h"
#include "spec/run_def.h"

#define PROMETHEUS_WAIT_S 10

struct uv_loop_s;
struct prometheus;
/* `launcher` and `ns` (NULL: processes of this machine) are borrowed. *ret stays NULL if `url` is
 * NULL. -EINVAL: it is not the URL of a server. */
int prometheus_new(struct uv_loop_s *loop, const char *url, struct launcher *launcher,
                   const char *ns, struct prometheus **ret, struct err *err);
/* Run the loop once more afterwards: handles are closing. NULL is fine. */
void prometheus_free(struct prometheus *p);
/* Of an attempt that has succeeded. -EAGAIN: on_change of the launcher follows, and the call must
 * be made again. 0: appends to *ret_unknown which metrics are unknown, and why. */
int prometheus_add(struct prometheus *p, const struct run_def *def, struct attempt_output *output,
                   struct buf *ret_unknown);
