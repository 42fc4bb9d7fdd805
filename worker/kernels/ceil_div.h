/* n divided by `of`, rounded up. */
#pragma once

#include <stddef.h>

static inline size_t ceil_div(size_t n, size_t of)
{
    return (n + of - 1) / of;
}
