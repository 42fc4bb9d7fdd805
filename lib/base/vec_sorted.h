/* Vectors whose items have an order, on top of vec.h. */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "base/vec.h"

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
