/* Does what a source derived follow from its own figures? Called by reference_load. Pure. */
#pragma once

#include "reference/reference.h"

/* Reports each published figure outside the span of what the set's figures give, unless an erratum
 * names it; and each erratum of figures that are all as printed. */
void reference_check(const struct reference *r, struct diags *diags);
/* A printed number as programs get it: files write efficiencies in percent. */
double reference_ratio(enum reference_figure figure, double printed);
/* The published figure as such a number, NaN: none. */
double reference_published(const struct reference_row *row, enum reference_figure figure,
                           size_t column);
/* Is what is recomputed, rounded as the source does, another number than the published one? */
bool reference_differs(const struct reference *r, const struct reference_table *t,
                       enum reference_figure figure, size_t row, size_t column);
