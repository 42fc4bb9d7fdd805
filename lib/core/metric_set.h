/* Metrics: figures of a replica or a trial other than its throughput, each a number with a name
 * that ends with its unit ("logged_tflops", "evaluation_s", "power_w"). What is not known is not
 * there. Pure. */
#pragma once

#include <stdbool.h>

#include <jansson.h>

#include "base/err.h"
#include "base/vec.h"

#define METRICS_WRITTEN_MAX 6 /* by a replica: its summary has no room for more */
#define METRICS_ASKED_MAX 8   /* of Prometheus, for a trial (spec/spec.h) */
#define METRICS_MAX 28        /* with these and those of its launcher */
#define METRIC_NAME_MAX 16

/* The metric of a trial on CPUs that has TFLOPS and MFU: the peak of a replica's threads. */
#define FLOPS_CPU_PEAK "cpu_peak_tflops"

/* The metrics of each gang's trial: decide/policy_overlap.h. */
#define METRIC_SHARED "shared_ratio"
#define METRIC_START_SPREAD "start_spread_s"
/* Of several workers on one machine: how long no process has ever listened on the MASTER_PORT that
 * they were given. It is unknown where one has. */
#define METRIC_UNMET "unmet_s"

bool metric_name_is_valid(const char *name);
extern const char *const metric_names_made[]; /* which results make from others; NULL at the end */

struct metric_value {
    char *name; /* owned; a-z, 0-9 and '_' */
    double value;
};
struct metrics {
    VEC(struct metric_value) list; /* names differ; in the order in which they came */
};
void metrics_done(struct metrics *m);
/* Sets or adds one; nothing where the value is not finite. */
void metrics_set(struct metrics *m, const char *name, double value);
/* Adds to one that is known, or sets it. */
void metrics_add(struct metrics *m, const char *name, double value);
/* Sets each of `more`, as long as there are no more than METRICS_MAX. */
void metrics_merge(struct metrics *m, const struct metrics *more);
double metrics_get(const struct metrics *m, const char *name); /* NaN: unknown */
/* "TFLOP/s", "ratio", "s", by the end of the name; "" of others. Static. */
const char *metric_unit(const char *name);

/* {"evaluation_s": 12.5}, owned; NULL without any. */
json_t *metrics_to_json(const struct metrics *m);
/* -EPROTO: it is something else, or has more than `most`. */
int metrics_from_json(const json_t *object, size_t most, struct metrics *ret, struct err *err);
