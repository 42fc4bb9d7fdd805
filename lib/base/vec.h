/* A growable array as a plain struct: VEC(struct point) points = {0};
 * Zero-initialised is empty. The vector owns its storage, not what its items point to. */
#pragma once

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
