/* Cuts 64-byte aligned ranges out of one block of floats. With base NULL it only counts, so that
 * one function can both compute the size of the block and assign the ranges. */
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

/* n divided by `of`, rounded up. */
static inline size_t ceil_div(size_t n, size_t of)
{
    return (n + of - 1) / of;
}
