/* Ranges of one block of floats, 64-byte aligned; with base NULL only the sum is counted, so that
 * one function tells the size and hands out the places. */
#pragma once

#include <stddef.h>

struct carver {
    float *base;
    size_t used;
};

static inline float *carve(struct carver *c, size_t n)
{
    float *p = c->base == NULL ? NULL : c->base + c->used;
    c->used += (n + 15) / 16 * 16;
    return p;
}
