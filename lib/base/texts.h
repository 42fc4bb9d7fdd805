/* Lists of owned texts. */
#pragma once

#include <string.h>

#include "base/buf.h"
#include "base/vec.h"

/* Zero-initialised is empty. */
struct texts {
    VEC(char *) list;
};

/* For qsort. */
static inline int texts_compare(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static inline bool texts_have(const struct texts *texts, const char *text)
{
    return vec_any(&texts->list, it, strcmp(*it, text) == 0);
}

/* "a, b and 3 more" */
#define TEXTS_NAMED 8
static inline void texts_put(const struct texts *texts, struct buf *out)
{
    for (size_t i = 0; i < texts->list.len && i < TEXTS_NAMED; i++) {
        buf_printf(out, "%s%s", i == 0 ? "" : ", ", texts->list.items[i]);
    }
    if (texts->list.len > TEXTS_NAMED) {
        buf_printf(out, " and %zu more", texts->list.len - TEXTS_NAMED);
    }
}

static inline void texts_done(struct texts *texts)
{
    vec_free(&texts->list);
}

/* ---- str_list.c: with NULL at the end, as a program's arguments and environment are ---- */

void str_list_free(char **list);        /* NULL is fine */
char **str_list_dup(char *const *list); /* of NULL: NULL */
/* Has a list of NAME=VALUE the name of this entry? */
bool str_list_sets(char *const *list, const char *entry);
