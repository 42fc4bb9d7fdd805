/* Lines of words. Pure. */
#pragma once

#include <stddef.h>

#include "base/buf.h"

/* Breaks text at blanks so that no line has more than `columns` characters where words allow, and
 * ends it; lines after the first are indented. `used`: characters already on the first line. */
void wrap_text(struct buf *out, const char *text, size_t columns, size_t used, size_t indent);
/* Characters of UTF-8: every byte but those that continue one. */
size_t wrap_width(const char *text, size_t bytes);
