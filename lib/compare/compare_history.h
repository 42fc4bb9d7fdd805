/* Two runs, compared with other runs of the base: is their difference more than that between any
 * two runs of the same thing? The part of compare.c that asks the history. Pure. */
#pragma once

#include "compare/compare.h"

/* Of all comparisons of a thing with itself at most this share names a change. */
#define COMPARE_HISTORY_ALPHA 0.01

/* Did `other` succeed, and is it of the base's definition, machine and build? Everything that
 * `differs` looks at is the same, and so is what was asked for. */
bool compare_history_is_same(const struct result *base, const struct result *other);
/* Takes the runs of `history` that are the base's: the same definition, machine and build. Fills
 * n_base_runs and what is `between` of each point and of the whole. */
void compare_history_test(struct comparison *c, const struct result *const *history, size_t n);
/* What becomes of a change that the trials of the two runs show. */
enum change compare_history_judge(const struct comparison *c, const struct run_spread *between,
                                  double p_adjusted);
