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
};

void terminal_colored(struct buf *out, const struct terminal *t, const char *color,
                      const char *text);
/* wrap_text (wrap.h) at the terminal's width. */
void terminal_wrapped(struct buf *out, const struct terminal *t, const char *text, size_t used,
                      unsigned indent);
