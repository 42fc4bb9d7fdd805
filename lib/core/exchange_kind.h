/* How the replicas of a trial exchange gradients. Pure. */
#pragma once

#include "core/role.h"

enum exchange_kind {
    EXCHANGE_PSERVER,
    EXCHANGE_NONE,       /* one trainer, without a server */
    EXCHANGE_ALL_REDUCE, /* workers among themselves */
    EXCHANGE_OTHER,      /* a name that only the system under test knows; see exchange_name */
};
#define EXCHANGE_COUNT 3 /* those with a name of their own */

extern const char *const exchange_kind_names[EXCHANGE_COUNT]; /* "PServer", "None", "AllReduce" */
/* Which roles an exchange connects. One of a foreign name may have any servers, and has trainers or
 * workers. A launcher belongs to a system, not to its exchange. */
enum exchange_need { EXCHANGE_NEEDS_NONE, EXCHANGE_NEEDS_OPTIONAL, EXCHANGE_NEEDS_SOME };
enum exchange_need exchange_need(enum exchange_kind kind, enum role role);
int exchange_kind_from_string(const char *s); /* enum exchange_kind, or -EINVAL */

/* The format of gradients and parameters on the network. Sums and the
 * optimiser are always in fp32. */
enum exchange_wire { EXCHANGE_WIRE_FP32, EXCHANGE_WIRE_BF16 };
#define EXCHANGE_WIRE_COUNT 2
extern const char *const exchange_wire_names[EXCHANGE_WIRE_COUNT]; /* "Fp32", "Bf16" */
int exchange_wire_from_string(const char *s); /* enum exchange_wire, or -EINVAL */

#define EXCHANGE_SERVER_THREADS_MAX 64 /* of each parameter server */

/* How workers reach each other's numbers, or trainers and parameter servers. */
enum exchange_transport {
    EXCHANGE_TRANSPORT_AUTO, /* TCP; in a summary: not reported */
    EXCHANGE_TRANSPORT_TCP,
    EXCHANGE_TRANSPORT_NCCL, /* from GPU to GPU; never chosen by itself */
};
#define EXCHANGE_TRANSPORT_COUNT 3
/* "Auto", "Tcp", "Nccl" */
extern const char *const exchange_transport_names[EXCHANGE_TRANSPORT_COUNT];
int exchange_transport_from_string(const char *s); /* enum exchange_transport, or -EINVAL */
