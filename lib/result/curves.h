/* The curves of a result: points that differ in the number of trainers alone, and what they say
 * about scaling. Pure; called by result_build.c. */
#pragma once

#include "result/result.h"

/* Fills r->curves. */
void curves_collect(struct result *r);
void curves_done(struct curves *curves);

/* The i-th size: the single one first. NULL: there is no such. */
const struct point_result *curve_size(const struct curve *c, size_t i);
/* Samples of all who train in a step: by the definition, or as its logs say; NaN: not known. */
double curve_batch(const struct point_result *p);
/* It has a throughput with an interval, in the unit of the others. */
bool curve_is_trusted(const struct curve *c, const struct point_result *p);
/* The measured point with the most trainers; NULL: none was measured. */
const struct point_result *curve_widest(const struct curve *c);
