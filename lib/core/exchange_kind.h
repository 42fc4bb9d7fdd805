/* How the replicas of a trial exchange gradients. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "core/replica.h"

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
extern const char *const exchange_wire_names[EXCHANGE_WIRE_COUNT]; /* "FP32", "BF16" */
int exchange_wire_from_string(const char *s); /* enum exchange_wire, or -EINVAL */

#define EXCHANGE_SERVER_THREADS_MAX 64 /* of each parameter server */

/* How workers reach each other's numbers, or trainers and parameter servers. */
enum exchange_transport {
    EXCHANGE_TRANSPORT_AUTO, /* TCP; in a summary: not reported */
    EXCHANGE_TRANSPORT_TCP,
    EXCHANGE_TRANSPORT_NCCL, /* from GPU to GPU; never chosen by itself */
};
#define EXCHANGE_TRANSPORT_COUNT 3
/* "Auto", "TCP", "NCCL" */
extern const char *const exchange_transport_names[EXCHANGE_TRANSPORT_COUNT];
int exchange_transport_from_string(const char *s); /* enum exchange_transport, or -EINVAL */

/* When trainers exchange, and for whom they wait. The worker asks these functions at run time, and
 * a definition is checked by them. Pure. All zero means Sync, after each step. */

enum exchange_mode_kind {
    EXCHANGE_SYNC, /* a step's gradients are added up and applied once */
    /* each trainer's gradients are applied on their own when they arrive; no trainer waits */
    EXCHANGE_ASYNC,
};
#define EXCHANGE_MODE_COUNT 2
extern const char *const exchange_mode_names[EXCHANGE_MODE_COUNT]; /* as in a definition */

struct exchange_mode {
    enum exchange_mode_kind kind;
    /* In Sync, a trainer updates its own parameters in this number of steps, then the servers
     * average them (local SGD; Stich 2019). 0 means that the servers update them in each step. */
    uint32_t local_steps;
};
#define EXCHANGE_MODE_SYNC ((struct exchange_mode){0})
#define EXCHANGE_LOCAL_STEPS_MAX 1000
#define EXCHANGE_MODE_TEXT_MAX 32 /* of exchange_mode_text, with the terminator */

/* Steps from one exchange to the next, at least 1. */
uint32_t exchange_mode_period(const struct exchange_mode *mode);
/* Does the exchange follow this step? Steps count from 0, with those of the warm-up. */
bool exchange_mode_follows(const struct exchange_mode *mode, uint64_t step);
bool exchange_mode_eq(const struct exchange_mode *a, const struct exchange_mode *b);

/* Why localSteps cannot be in this mode, or NULL. */
const char *exchange_mode_conflict(const struct exchange_mode *mode);

/* "Sync", "Async", "Sync localSteps=4": the same text is in the environment of a replica, in the
 * handshake, in results and in tables. */
void exchange_mode_text(const struct exchange_mode *mode, char ret[static EXCHANGE_MODE_TEXT_MAX]);
/* The reverse. -EINVAL, with the reason in *err. */
int exchange_mode_parse(const char *text, struct exchange_mode *ret, struct err *err);
