/* What both kinds of comparison share: two runs (compare.c) and one run by an axis
 * (compare_axis.c). */
#pragma once

#include "compare/compare.h"

/* Geometric means over the measured points, after setting their number. */
void compare_take_means(struct comparison *c);
