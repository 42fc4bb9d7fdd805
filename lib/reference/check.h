/* Does what a source derived follow from its own figures? Called by reference_load. Pure. */
#pragma once

#include "reference/reference.h"

/* Reports each published figure outside the span of what the set's figures give, unless an erratum
 * names it; and each erratum of figures that are all as printed. */
void reference_check(const struct reference *r, struct diags *diags);
/* The published figure as a ratio (files write efficiencies in percent), NaN: none. */
double reference_published(const struct reference_row *row, enum reference_figure figure,
                           size_t column);
/* Is what is recomputed, rounded as the source does, another number than the published one? */
bool reference_differs(const struct reference *r, const struct reference_table *t,
                       enum reference_figure figure, size_t row, size_t column);
