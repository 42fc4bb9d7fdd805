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
/* The name that was probably meant; NULL: none. */
const char *embedded_suggest(const struct embedded *rows, size_t n, const char *name);
