/* How the replicas of a trial exchange gradients. Pure. */
#pragma once

enum exchange_kind {
    EXCHANGE_PSERVER,
    EXCHANGE_NONE, /* one trainer, without a server */
};
#define EXCHANGE_COUNT 2

extern const char *const exchange_kind_names[EXCHANGE_COUNT]; /* "PServer", "None" */
const char *exchange_kind_to_string(enum exchange_kind kind);
int exchange_kind_from_string(const char *s); /* enum exchange_kind, or -EINVAL */
