/* Walks over a vector or an array as expressions, on top of vec.h. A condition or a number is an
 * expression of `it`, a pointer to an item: vec_find(&points, it, it->index == index). It must not
 * contain another of these walks, which has variables of the same names: call a function that has
 * it. */
#pragma once

#include "base/vec.h"

/* The first item for which a condition holds, a pointer to it; NULL: none. */
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

/* For items that are pointers: the first item itself for which a condition holds. In the condition,
 * `item` is the item, not a pointer to it. */
#define vec_find_item(vec, item, condition)                                                        \
    array_find_item((vec)->items, (vec)->len, item, condition)
#define array_find_item(array, n, item, condition)                                                 \
    ({                                                                                             \
        __typeof__((array)[0]) *place_ = NULL;                                                     \
        for (size_t i_ = 0; place_ == NULL && i_ < (n); i_++) {                                    \
            __typeof__((array)[0]) item = (array)[i_];                                             \
            place_ = (condition) ? &(array)[i_] : NULL;                                            \
        }                                                                                          \
        place_ == NULL ? NULL : *place_;                                                           \
    })

/* For items that are pointers: takes out one that is there; the last one gets its place. */
#define vec_take_out(vec, item)                                                                    \
    do {                                                                                           \
        size_t i_ = 0;                                                                             \
        while ((vec)->items[i_] != (item)) {                                                       \
            i_++;                                                                                  \
        }                                                                                          \
        (vec)->items[i_] = (vec)->items[--(vec)->len];                                             \
    } while (0)

/* Whether a condition holds for some item, or for all (which is true without items). */
#define vec_any(vec, it, condition) array_any((vec)->items, (vec)->len, it, condition)
#define vec_all(vec, it, condition) array_all((vec)->items, (vec)->len, it, condition)
#define array_any(array, n, it, condition) (array_find(array, n, it, condition) != NULL)
#define array_all(array, n, it, condition) (!array_any(array, n, it, !(condition)))

/* The sum of a number of each item, or how many items a condition holds for. It has the type of one
 * number: cast the number if that is too narrow. */
#define vec_sum(vec, it, number) array_sum((vec)->items, (vec)->len, it, number)
#define array_sum(array, n, it, number)                                                            \
    ({                                                                                             \
        __typeof__((array)[0]) *it = (array);                                                      \
        __typeof__((number) + 0) sum_ = 0;                                                         \
        for (size_t i_ = 0; i_ < (n); i_++, it++) {                                                \
            sum_ += (number);                                                                      \
        }                                                                                          \
        sum_;                                                                                      \
    })
