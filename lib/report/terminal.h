/* Lines on a terminal: colour where it is wanted, words broken at its width. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "report/report.h"
#include "report/table.h"

#define TERMINAL_RED "\033[31m"
#define TERMINAL_GREEN "\033[32m"
#define TERMINAL_YELLOW "\033[33m"
#define TERMINAL_BOLD "\033[1m"

#define TERMINAL_TIGHT_GAP 2 /* between columns, where the usual 3 are too many */

struct terminal {
    unsigned columns;
    bool color, ascii;
    bool wide; /* tables are not held to the width */
};

struct terminal terminal_of(const struct report_opts *opts); /* with the usual width */
void terminal_colored(struct buf *out, const struct terminal *t, const char *color,
                      const char *text);
/* wrap_text (wrap.h) at the terminal's width. */
void terminal_wrapped(struct buf *out, const struct terminal *t, const char *text, size_t used,
                      unsigned indent);
/* An empty line and the table, with the wide gap or the tight one. False: it does not fit, and
 * nothing is written. */
bool terminal_table(struct buf *out, const struct terminal *t, struct table *table);
/* The same, but a table that does not fit is written in parts with `gap`, each with the first
 * n_heads columns. */
void terminal_parts(struct buf *out, const struct terminal *t, struct table *table, size_t n_heads,
                    unsigned gap);
