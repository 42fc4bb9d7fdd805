/* A list of owned texts; zero-initialised is empty. */
#pragma once

#include <string.h>

#include "base/vec.h"

struct texts {
    VEC(char *) list;
};

/* For qsort. */
static inline int texts_compare(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static inline void texts_done(struct texts *texts)
{
    vec_free(&texts->list);
}
