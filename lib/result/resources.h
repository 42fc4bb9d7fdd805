/* What a point uses in addition to its trainers: servers are not free. Pure; called by
 * result_build.c and trial_result.c. */
#pragma once

#include "result/result.h"

/* Of a trial: the sum of the CPU limits that the start records of its replicas name. NaN: it has
 * other replicas than `n_pods` of them, or one has no limit or did not say. */
double resources_of_trial(const struct trial_result *t, uint32_t n_pods);
/* CPUs of all replicas. In a local run the busy threads. In a cluster those of the first
 * trial that succeeded. NaN: not known, no trial succeeded, or the run is a rehearsal, where
 * threads share CPUs. */
double resources_cpus(const struct run_def *def, const struct point_result *p);
