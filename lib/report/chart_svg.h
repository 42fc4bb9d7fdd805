/* Draws charts as SVG. Colours come from classes: s0 to s7 for series; chart_style (style.h) has
 * them for light and dark. A series differs by its shape, too. Each mark says what it is in a
 * <title>, which browsers show under the pointer and screen readers read. Pure. */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "report/chart.h"

/* `is_file`: a document of its own, with its style; else an element of an HTML page. */
void chart_svg(const struct chart *c, bool is_file, struct buf *out);
