/* Numbers as people and as programs read them. Pure. */
#pragma once

#include "base/buf.h"

/* 4 significant digits, whole numbers beyond 9999 in full: 263.3, 16.74, 0.07864, 12346; below
 * 0.0001 with an exponent. "-" if not finite. */
void number_format(double value, struct buf *out);
/* "low..high". */
void number_format_range(double low, double high, struct buf *out);
/* The fewest digits that read back as the same double; nothing if not finite. */
void number_format_exact(double value, struct buf *out);
