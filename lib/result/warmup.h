/* How many steps a point needs to warm up, found in its step times, and the number that its
 * definition fixes (measure.warmupSteps). It is a recommendation only; no figure depends on it.
 * Pure; called before the linter, which warns where the two disagree. */
#pragma once

#include "result/result.h"

/* Fills p->kept->warmup, by warmup_test.h: a change is chance in at most 1% of all
 * runs, and 2% or more. */
void warmup_find(const struct result *r, struct point_result *p);
/* Steps until the times settle, those of the fixed warm-up among them: of Enough at most so many,
 * of Short exactly. -1: of Unknown and Never. */
int64_t warmup_found(const struct result *r, const struct point_result *p);
/* "2 (found: 4)", "2 (found: at most 2)", "2 (found: none)"; of Unknown "2". */
void warmup_format(const struct result *r, const struct point_result *p, struct buf *out);

#define WARMUP_FALL_MIN 0.05 /* of the median, from the first half of the steps to the second */
/* Student's t test over the trials against "steps do not fall". 1: no trend, too few trials, or
 * less than WARMUP_FALL_MIN. */
double warmup_p_of_fall(const struct point_result *p);
