/* Lines on a terminal: colour where it is wanted, words broken at its width. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

#define TERMINAL_RED "\033[31m"
#define TERMINAL_GREEN "\033[32m"
#define TERMINAL_YELLOW "\033[33m"
#define TERMINAL_BOLD "\033[1m"

struct terminal {
    unsigned columns; /* of a sheet also 0, which is 80 */
    bool color;
    bool ascii; /* no glyphs beyond ASCII */
    bool wide;  /* tables as wide as they are, with all columns */
    bool brief; /* of a run the answer, one table and at most three warnings */
};

void terminal_colored(struct buf *out, const struct terminal *t, const char *color,
                      const char *text);
/* Breaks text at blanks so that no line has more than `columns` characters where words allow, and
 * ends it; lines after the first are indented. `used`: characters already on the first line. */
void wrap_text(struct buf *out, const char *text, size_t columns, size_t used, size_t indent);
/* Characters of UTF-8: every byte but those that continue one. NULL has none. */
size_t text_width(const char *text);
/* Indented and not broken: lines of logs, and of YAML that will be copied. NULL: nothing. */
void put_details(const char *details, struct buf *out);
