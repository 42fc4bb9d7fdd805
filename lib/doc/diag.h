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
    char *origin;  /* NULL: the file; else an option, e.g. "--set pservers=x", or with a line
                      another file */
    char *path;    /* "spec.sweep.grid.pservers[2]"; "" for the document as a whole */
    char *message; /* what and why */
    char *fix;     /* what to do; NULL if the message says it all */
};

/* more are only counted: they do not help a reader, and a hostile file has many */
#define DIAGS_MAX 100
struct diags {
    VEC(struct diag) list; /* in the order they were found; diags_format sorts */
    size_t n_dropped;      /* beyond DIAGS_MAX */
};

void diags_done(struct diags *d);
size_t diags_count(const struct diags *d); /* with those that were dropped */
/* `origin` as in struct diag; `fix` may be NULL. Everything is copied; control characters of quoted
 * input become '?'. */
void diags_add_from(struct diags *d, const char *origin, struct mark mark, const char *path,
                    const char *fix, const char *fmt, ...) __attribute__((format(printf, 6, 7)));
/* Of the file: diags_add(d, mark, path, fix, fmt, ...). */
#define diags_add(d, ...) diags_add_from(d, NULL, __VA_ARGS__)
/* The same with a message that was made, which is taken. */
void diags_add_text(struct diags *d, const char *origin, struct mark mark, const char *path,
                    const char *fix, char *message_take);
/* Appends what `from` holds to d, except what d already has (same place and message). */
void diags_move(struct diags *d, struct diags *from);
/* All diagnostics, sorted by place, each with its source line and a caret. `text` is the file's
 * content (may be NULL). Ends with "N errors in FILE", "... on the command line", or both. */
void diags_format(const struct diags *d, const char *file, const char *text, struct buf *out);
