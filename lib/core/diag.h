/* Diagnostics: what is wrong with a definition, where, why, and what to do about it.
 *
 * Readers of definitions collect every problem instead of stopping at the first; the shells print
 * them all in the style  file:line:column: path: message  + source line + caret + "fix: ...". */
#pragma once

#include "base/buf.h"
#include "base/vec.h"

struct mark {
    unsigned line;   /* from 1; 0: no place (a value from the command line) */
    unsigned column; /* from 1, in characters */
};

struct diag {
    struct mark mark;
    char *origin;  /* NULL: the file; else where the value came from, e.g. "--set pservers=x" */
    char *path;    /* "spec.sweep.grid.pservers[2]"; "" for the document as a whole */
    char *message; /* what and why */
    char *fix;     /* what to do; NULL if the message says it all */
};

struct diags {
    VEC(struct diag) list; /* in the order of their place */
};

void diags_done(struct diags *d);
/* `fix` may be NULL. Everything is copied. */
void diags_add(struct diags *d, struct mark mark, const char *path, const char *fix,
               const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* All diagnostics, sorted by place, each with its source line and a caret. `text` is the file's
 * content (may be NULL). Ends with "N errors in FILE". */
void diags_format(const struct diags *d, const char *file, const char *text, struct buf *out);
