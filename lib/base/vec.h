/* A growable array as a plain struct: VEC(struct point) points = {0};
 * Zero-initialised is empty. The vector owns its storage, not what its items point to. */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "base/mem.h"

#define VEC(type)                                                                                  \
    struct {                                                                                       \
        type *items;                                                                               \
        size_t len, cap;                                                                           \
    }

/* With asan a vector has no room to spare, so that it finds who reads beyond the last item. */
static inline size_t vec_grown(size_t cap)
{
#ifdef __SANITIZE_ADDRESS__
    return cap < 256 ? cap + 1 : cap * 2;
#else
    return cap == 0 ? 8 : cap * 2;
#endif
}

/* As qsort, also of no items. */
static inline void array_sort(void *items, size_t n, size_t size,
                              int (*compare)(const void *, const void *))
{
    if (n > 0) {
        qsort(items, n, size, compare);
    }
}

/* An order of doubles for array_sort and qsort. */
static inline int by_double(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Makes room for one more item and evaluates to a pointer to it (uninitialised). The pointer is
 * valid until the next push. */
#define vec_push(vec)                                                                              \
    ({                                                                                             \
        if ((vec)->len == (vec)->cap) {                                                            \
            (vec)->cap = vec_grown((vec)->cap);                                                    \
            (vec)->items = xreallocarray((vec)->items, (vec)->cap, sizeof(*(vec)->items));         \
        }                                                                                          \
        &(vec)->items[(vec)->len++];                                                               \
    })

/* Room for n more, and for no others: for arrays that stay as they are. n may be 0. */
#define vec_reserve(vec, n)                                                                        \
    do {                                                                                           \
        const size_t needed_ = (vec)->len + (size_t)(n);                                           \
        if (needed_ > (vec)->cap) {                                                                \
            (vec)->cap = needed_;                                                                  \
            (vec)->items = xreallocarray((vec)->items, needed_, sizeof(*(vec)->items));            \
        }                                                                                          \
    } while (0)

#define vec_done(vec)                                                                              \
    do {                                                                                           \
        free((vec)->items);                                                                        \
        (vec)->items = NULL;                                                                       \
        (vec)->len = (vec)->cap = 0;                                                               \
    } while (0)

/* The same, after done(&item) of each item. */
#define vec_done_each(vec, done)                                                                   \
    do {                                                                                           \
        for (size_t i_ = 0; i_ < (vec)->len; i_++) {                                               \
            done(&(vec)->items[i_]);                                                               \
        }                                                                                          \
        vec_done(vec);                                                                             \
    } while (0)
/* Of items that are pointers from malloc. */
#define vec_free(vec) vec_done_each(vec, freep)

/* Iterates by pointer: vec_each (struct point, p, &points) { ... } */
#define vec_each(type, it, vec)                                                                    \
    for (type *it = (vec)->items; it != NULL && it < (vec)->items + (vec)->len; it++)

/* ---- walks as expressions ----
 *
 * A condition or a number is an expression of `it`, a pointer to an item:
 * vec_find(&points, it, it->index == index). It must not contain another of these walks, which has
 * variables of the same names: call a function that has it. */

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

/* ---- vectors whose items have an order ---- */

/* Room for one more item at place `at`, which is at most the length; the items from there on move
 * up. Evaluates as vec_push. */
#define vec_insert(vec, at)                                                                        \
    ({                                                                                             \
        const size_t at_ = (at);                                                                   \
        (void)vec_push(vec);                                                                       \
        memmove(&(vec)->items[at_ + 1], &(vec)->items[at_],                                        \
                ((vec)->len - 1 - at_) * sizeof(*(vec)->items));                                   \
        &(vec)->items[at_];                                                                        \
    })

/* Takes out the item at place `at`; those after it move down. */
#define vec_remove(vec, at)                                                                        \
    do {                                                                                           \
        const size_t at_ = (at);                                                                   \
        assert(at_ < (vec)->len);                                                                  \
        (vec)->len--;                                                                              \
        memmove(&(vec)->items[at_], &(vec)->items[at_ + 1],                                        \
                ((vec)->len - at_) * sizeof(*(vec)->items));                                       \
    } while (0)

/* Is there an item for which `order` is 0? *ret is its place, or the one where it belongs. `order`
 * is an expression of `it`, a pointer to an item; < 0: the item is before. */
#define vec_search(vec, it, order, ret)                                                            \
    ({                                                                                             \
        size_t low_ = 0, high_ = (vec)->len;                                                       \
        bool is_found_ = false;                                                                    \
        while (low_ < high_ && !is_found_) {                                                       \
            const size_t middle_ = low_ + (high_ - low_) / 2;                                      \
            __typeof__((vec)->items) it = &(vec)->items[middle_];                                  \
            const int order_ = (order);                                                            \
            is_found_ = order_ == 0;                                                               \
            low_ = is_found_ ? middle_ : order_ < 0 ? middle_ + 1 : low_;                          \
            high_ = order_ > 0 ? middle_ : high_;                                                  \
        }                                                                                          \
        *(ret) = low_;                                                                             \
        is_found_;                                                                                 \
    })
