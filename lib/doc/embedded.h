/* Files that are compiled into the programs, as rows of a name and a text;
 * lib/embed.py makes them. */
#pragma once

#include <stddef.h>

struct embedded {
    const char *name;
    const char *text;
};

/* NULL: no row has this name. */
const struct embedded *embedded_find(const struct embedded *rows, size_t n, const char *name);
/* The name that was probably meant, or the only one that begins so; NULL: none. */
const char *embedded_suggest(const struct embedded *rows, size_t n, const char *name);
/* "did you mean 'keras'?", or the names after `others`. Owned. */
char *embedded_fix(const struct embedded *rows, size_t n, const char *name, const char *others);
