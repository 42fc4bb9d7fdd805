/* A parameter server: owns some slices of the parameters and serves all trainers of one trial.
 *
 *   RENDEZVOUS  accepts connections and performs handshakes, until every trainer has joined. At the
 *               time limit it fails and names the missing trainers.
 *   TRAINING    rounds: receives gradients, adds them in trainer order, applies them and sends the
 *               new parameters to all trainers; in Async (ps_single.h) it applies each trainer's
 *               when they come, and sends the new parameters to that trainer. As many gradients as
 *               there are trainers count as a round. The measured time begins at the barrier. A
 *               trainer offers slices and sends those that it has credit for: so the memory for
 *               gradients that wait and the bytes on their way are limited (reduce.h, flow.h).
 *   DONE        after the last goodbye
 *
 * At the first fault the server reports to its peers which replica caused it, and ps_server_run
 * returns. Each of its threads (slices.n_threads) is a server with slices, connections and rounds
 * of its own, and shares nothing with the others but what ps_threads has. A trainer connects to
 * each. A thread works in turns that are short enough to send a heartbeat every second. Strangers
 * (wrong secret, another run or attempt, garbage, a second trainer of the same index) are rejected
 * and change nothing. The server listens until it ends, so that such a trainer gets the reason. */
#pragma once

#include <stdint.h>

#include "worker/comm/exchange.h"
#include "worker/comm/link/meet.h"
#include "core/exchange_kind.h"
#include "exchange/slices.h"

#define PS_SERVER_EARLY_BYTES ((size_t)64 << 20)

struct ps_server_params {
    struct meet_params gang; /* its digest: handshake_digest */
    uint32_t n_trainers;
    struct slices slices;
    enum exchange_wire wire;
    struct exchange_mode mode; /* its period is the trainers' affair */
    /* (slices_server_params of each thread) the threads' slices in order; borrowed */
    float *params;
    size_t early_bytes;      /* limit of the gradients that wait for those before them */
    exchange_apply_fn apply; /* `offset` counts in `params`; threads call it for different ranges */
    void *apply_ctx;
};

/* Measured from the barrier to the end of the last round. The four phases add up to the duration.
 * CPU time, bytes and counts are those of all threads, times and the last trainer those of the
 * first one: trainers begin a step on all threads together. Sending the last parameters and waiting
 * for the goodbyes are after it. */
struct ps_server_stats {
    int64_t duration_ns;
    int64_t receive_ns; /* reading, checking and adding */
    int64_t update_ns;  /* in `apply` */
    int64_t send_ns;
    int64_t wait_ns;             /* in poll */
    int64_t cpu_ns;              /* system calls included */
    uint64_t bytes_tx, bytes_rx; /* from the barrier to the goodbyes */
    int64_t *round_ns;           /* (n_rounds) owned: end of the round before, or barrier, to end */
    size_t n_rounds;
    /* The trainer that the others waited for longest: in how many measured rounds its gradients
     * were the last to be complete, and how long those of all others had been there by then. */
    uint32_t last_trainer, n_last;
    int64_t last_wait_ns;
    size_t early_peak_bytes; /* the most that waited for gradients before them */
    /* In Async, over the slices of measured steps. */
    uint64_t staleness_sum, staleness_max, n_stale;
};
void ps_server_stats_done(struct ps_server_stats *s);

/* Serves until the last goodbye. On failure *ret_fault names the cause. */
int ps_server_run(const struct ps_server_params *params, struct ps_server_stats *ret_stats,
                  struct fault *ret_fault, struct err *err);
