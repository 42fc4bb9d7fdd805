/* An HTML page as a person reads it, and what must hold of its markup. */
#pragma once

#include "base/buf.h"

/* Appends the text of `html` to `out`: one line for each heading, paragraph, list entry and table
 * row (cells between " | "), and for a chart the number of its titles. Fails the test unless every
 * element is closed in order, every id occurs once, every aria-labelledby names an id, each row of
 * a table is as wide as its head, and each chart has a title and finite numbers. */
void page_text(const char *html, struct buf *out);
