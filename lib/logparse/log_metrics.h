/* What lines say in addition to a rate, as metrics of a log (core/metric_set.h): means over the
 * measured steps of what the program says of its devices, and the time of all evaluations and
 * checkpoints. Pure. */
#pragma once

#include "core/metric_set.h"
#include "logparse/values.h"

struct log_metrics {
    double sum[LOG_GROUP_COUNT], weight[LOG_GROUP_COUNT]; /* weight 0: no line has the group */
    int64_t rank[LOG_GROUP_COUNT];                        /* of a time: who said it first */
};

/* The evaluations and checkpoints that a line of that rank says: they were before its stamp. */
void log_metrics_pause(struct log_metrics *m, const struct log_values *v, int64_t rank);
/* The rest of a measured line of so many steps; NaN: unknown. */
void log_metrics_add(struct log_metrics *m, const struct log_values *v, double steps);
/* The time of evaluations and checkpoints so far. */
double log_metrics_paused_s(const struct log_metrics *m);
void log_metrics_put(const struct log_metrics *m, struct metrics *ret);
