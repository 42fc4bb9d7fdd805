/* What the curves of a result say about scaling, in sentences. Pure. */
#pragma once

#include "report/prose_verdict.h"
#include "report/layout.h"

#define SCALING_LINES_MAX 4 /* curves that have a line; the others are counted */

enum scaling_part {
    SCALING_VERDICT = 1, /* "4 trainers: 2.87x (72.0%; 95%: 68.1..75.2%)" */
    SCALING_MODEL = 2,   /* the peak and the useful number of trainers, or why there is no model */
    SCALING_LOSS = 4,    /* between which numbers of trainers each loses most, and by what */
    SCALING_SKIP_SMALL = 8, /* no line for curves with too few numbers of trainers for a model */
    SCALING_SHARE_REASONS = 16, /* why curves have no model: one line for those that share it */
};
/* One line a curve; the label is the curve's name, "" where there is one curve. `max` 0: all.
 * Lines for several curves come last, without a label. */
void prose_scaling_init(struct prose_verdict *lines, const struct layout *l, unsigned parts,
                        size_t max);
