/* What a point uses in addition to its trainers: servers are not free. Pure; called by result.c. */
#pragma once

#include "result/result.h"

/* Replicas of all roles but a launcher, which computes nothing. */
uint32_t resources_pods(const struct point *point);
/* CPUs of all replicas. In a local run the busy threads. In a cluster the sum of the CPU limits
 * that the start records of a succeeded trial name. NaN: a replica has no limit or did not say, no
 * trial succeeded, or the run is a rehearsal, where threads share CPUs. */
double resources_cpus(const struct run_def *def, const struct point_result *p);
