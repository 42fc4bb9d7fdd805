/* One block of memory for everything a model keeps: parameters, gradients, activations are ranges
 * of it, planned from the layer table before it is allocated. 64-byte aligned, zeroed. */
#pragma once

#include <stddef.h>

#include "base/err.h"

struct arena {
    float *data;
    size_t n; /* floats */
};

/* -ENOMEM with the size in the text. */
int arena_new(struct arena *a, size_t n_floats, const char *what, struct err *err);
void arena_done(struct arena *a);
