/* A value that is made when it is first asked for, and is then kept as long as the process. Any
 * thread may be first. */
#pragma once

#include <stdatomic.h>
#include <stddef.h>

struct kept {
    _Atomic(void *) value; /* NULL: not made yet */
};

static inline void *kept_get(struct kept *k)
{
    return atomic_load(&k->value);
}

/* Keeps `mine`, unless another thread was first. Returns the one that is kept; if that is not
 * `mine`, the caller frees its own. */
static inline void *kept_put(struct kept *k, void *mine)
{
    void *known = NULL;
    return atomic_compare_exchange_strong(&k->value, &known, mine) ? mine : known;
}
