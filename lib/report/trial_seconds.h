/* How long trials took, for readers who estimate the cost of more trials. Pure. */
#pragma once

#include "result/result.h"

/* Of the deciding attempts of all trials together; 0: not known, as of a run whose figures were
 * read from old logs. *ret_n: those trials. */
double trial_seconds_sum(const struct result *r, size_t *ret_n);
/* The median of a point's succeeded trials; 0: not known. */
/* "4.9 s", "49 s", "22 min", "3.4 h". */
void trial_seconds_put(double seconds, struct buf *out);
