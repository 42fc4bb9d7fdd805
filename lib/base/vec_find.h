/* The first item of a vector or an array for which a condition holds, on top of vec.h. */
#pragma once

#include "base/vec.h"

/* A pointer to it, NULL: none. The condition is an expression of `it`, a pointer to an item:
 * vec_find(&points, it, it->index == index). */
#define vec_find(vec, it, condition) array_find((vec)->items, (vec)->len, it, condition)
#define array_find(array, n, it, condition)                                                        \
    ({                                                                                             \
        __typeof__((array)[0]) *found_ = NULL;                                                     \
        for (size_t i_ = 0; found_ == NULL && i_ < (n); i_++) {                                    \
            __typeof__((array)[0]) *it = &(array)[i_];                                             \
            found_ = (condition) ? it : NULL;                                                      \
        }                                                                                          \
        found_;                                                                                    \
    })
