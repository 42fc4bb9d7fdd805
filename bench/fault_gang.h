/* The processes of a gang in which something goes wrong (fault_trial.c): parameter servers and
 * trainers, or workers of a ring. Small arrays, real connections, real optimisers; where they would
 * compute they sleep. Each checks the parameters after each step against one process that computed
 * them alone, and leaves in shared memory how it ended. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "base/err.h"
#include "worker/comm/ps/exchange_ps.h"
#include "worker/comm/ring/exchange_ring.h"

#define FAULT_GANG_MAX 16
#define FAULT_GANG_MEET_NS                                                                         \
    INT64_C(2000000000)     /* so much longer than a silent peer has all to meet */
#define FAULT_GANG_WRONG 99 /* exit code: the parameters are not the expected ones */

enum fault_family {
    FAMILY_PSERVER, /* servers apply Adam, each to its slices */
    FAMILY_RING,    /* workers apply it, each to its slices */
};
/* What a process shall do at its next step; the others are asked for nothing. */
enum fault_order { ORDER_NONE, ORDER_ABANDON, ORDER_STICK };

struct fault_process { /* in shared memory */
    atomic_int order;  /* enum fault_order */
    atomic_uint steps; /* that it has ended, with the expected parameters */
    atomic_bool has_said;
    char peer[32];              /* the replica that it names; "": none */
    char message[ERR_MSG_SIZE]; /* in words */
};

struct fault_gang {
    enum fault_family family;
    uint32_t n_servers, n_workers; /* trainers, or workers of a ring */
    uint32_t steps;
    size_t n; /* floats */
    int64_t compute_ns, silence_ns;
    struct slices slices;
    uint8_t secret[AUTH_SECRET_SIZE], digest[AUTH_DIGEST_SIZE];
    int listeners[FAULT_GANG_MAX]; /* the servers have one each, or the workers of a ring */
    struct net_addr addrs[FAULT_GANG_MAX];
    uint32_t *want;                  /* (steps) CRC-32Cs of all parameters */
    struct fault_process *processes; /* (servers, then workers) shared */
};

/* Binds ports and computes what must come out. The caller has filled the members before `slices`,
 * and `processes`. */
int fault_gang_init(struct fault_gang *g, struct err *err);
void fault_gang_done(struct fault_gang *g);
uint32_t fault_gang_size(const struct fault_gang *g);
/* "trainer/1" of process i. */
void fault_gang_name(const struct fault_gang *g, uint32_t i, char ret[static 32]);
/* The life of process i, from its fork to its exit code. */
int fault_gang_run(struct fault_gang *g, uint32_t i);
