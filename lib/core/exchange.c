/* See exchange.h. */
#include "core/exchange.h"

#include <errno.h>
#include <string.h>

const char *const exchange_kind_names[EXCHANGE_COUNT] = {
    [EXCHANGE_PSERVER] = "PServer",
    [EXCHANGE_NONE] = "None",
    [EXCHANGE_ALL_REDUCE] = "AllReduce",
};

const char *exchange_kind_to_string(enum exchange_kind kind)
{
    return kind == EXCHANGE_OTHER ? NULL : exchange_kind_names[kind];
}

int exchange_kind_from_string(const char *s)
{
    for (int i = 0; i < EXCHANGE_COUNT; i++) {
        if (strcmp(s, exchange_kind_names[i]) == 0) {
            return i;
        }
    }
    return -EINVAL;
}
