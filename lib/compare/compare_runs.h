/* May two runs be compared at all, which points do they share, and what else differs? The parts of
 * compare.c that look at runs; its statistics are there. Pure. */
#pragma once

#include "compare/compare.h"

/* Simulated figures compare with nothing, those of a rehearsal with a rehearsal's only. As
 * comparison_new. */
int compare_check_kind(const struct result *base, const struct result *candidate,
                       const char **ret_fix, struct err *err);
/* A throughput on both sides. */
bool compare_is_measured(const struct compared_point *p);
/* Fills points, only_base and only_candidate: points of one system are the same where what ran is,
 * however the sweeps were written. */
void compare_match(struct comparison *c);
/* Fills differences: what was trained, how long, on which machines. */
void compare_differences(struct comparison *c);
/* Of these only what the start records of both sides say. */
void compare_machines(struct comparison *c);
