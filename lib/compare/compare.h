/* Two runs side by side: did the candidate become slower than the base, or faster? The rules are in
 * docs/contracts/compare.md. Pure; called by `benchctl compare`. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "compare/comparison.h"

#define COMPARE_THRESHOLD_RATIO 0.02

struct compare_params {
    double threshold_ratio; /* a change below it is no change, in either direction */
    bool is_strict;         /* refuse runs that differ */
    /* Other runs, of which those of the base's definition, machine and build say how far
     * two runs of the same thing differ; the base and the candidate may be among them.
     * Borrowed for the call. */
    const struct result *const *history;
    size_t n_history;
};

/* The results are borrowed for the comparison's life. -EINVAL when these two do not compare: err
 * says what and why, *ret_fix (static) what to do; *ret is untouched. */
int comparison_new(const struct result *base, const struct result *candidate,
                   const struct compare_params *params, struct comparison **ret,
                   const char **ret_fix, struct err *err);
