/* One run whose sweep has two values of something (an image, a build, a system): which is slower?
 * Its trials are interleaved, so the two trials of a block, one round of repeats, ran under the
 * same conditions, and what the whole run has in common cancels. The rules are in
 * docs/contracts/compare.md, "One run". Pure. */
#pragma once

#include "base/err.h"
#include "compare/comparison.h"

/* Of all comparisons of a thing with itself at most this share names a change, at any
 * point or as a whole. */
#define COMPARE_AXIS_ALPHA 0.01
#define COMPARE_AXIS_REPEATS 5 /* recommended to a reader with fewer */

struct compare_axis_params {
    const char *axis;       /* a name of the sweep, or "system" */
    double threshold_ratio; /* a change below it is no change, in either direction */
    double margin_ratio;    /* show that the candidate is not slower than this; 0: do not ask */
};

/* As comparison_new. -EINVAL also when the sweep has no such axis, or not two values of it, or did
 * not interleave its trials. */
int comparison_new_axis(const struct result *run, const struct compare_axis_params *params,
                        struct comparison **ret, const char **ret_fix, struct err *err);
