/* One block of memory for everything a model keeps: parameters, gradients, activations are ranges
 * of it, planned from the layer table before it is allocated. 64-byte aligned, zeroed. Large
 * ones ask for huge pages: in a virtual machine they read memory 1.6 to 1.9 times as fast. */
#pragma once

#include <stddef.h>

#include "base/err.h"

struct arena {
    float *data;
    size_t n; /* floats */
};

/* -ENOMEM with the size in the text. */
int arena_new(struct arena *a, size_t n_floats, const char *what, struct err *err);
/* Asks for huge pages in memory that was not touched yet, whoever owns it. */
void arena_prefer_huge_pages(void *data, size_t bytes);
void arena_done(struct arena *a);
