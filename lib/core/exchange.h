/* How the replicas of a trial exchange gradients. Pure. */
#pragma once

enum exchange_kind {
    EXCHANGE_PSERVER,
    EXCHANGE_NONE,       /* one trainer, without a server */
    EXCHANGE_ALL_REDUCE, /* workers among themselves */
    EXCHANGE_OTHER, /* a name that only the system under test knows; see workload_exchange_name */
};
#define EXCHANGE_COUNT 3 /* those with a name of their own */

extern const char *const exchange_kind_names[EXCHANGE_COUNT]; /* "PServer", "None", "AllReduce" */
const char *exchange_kind_to_string(enum exchange_kind kind); /* NULL: EXCHANGE_OTHER */
int exchange_kind_from_string(const char *s);                 /* enum exchange_kind, or -EINVAL */
