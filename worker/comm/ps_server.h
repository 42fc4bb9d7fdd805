/* A parameter server: owns some slices of the parameters and serves all trainers of one trial.
 *
 *   RENDEZVOUS  accept, handshake; ends when every trainer is in, or at the limit, naming the missing
 *   TRAINING    rounds: gradients in, added in trainer order, applied, new parameters out to all.
 *               The barrier is one more thing that all trainers wait for; the clock starts there.
 *   DONE        after the last goodbye
 *
 * The first fault ends it: the peers are told whom to blame, then run returns. One thread does all,
 * in turns short enough to send a life sign each second. Strangers (wrong secret, another run or
 * attempt, garbage) are turned away and change nothing. */
#pragma once

#include <stdint.h>

#include "worker/comm/exchange.h"
#include "worker/comm/fault.h"
#include "worker/comm/frame.h"
#include "worker/comm/slices.h"

struct ps_server_params {
    struct frame_id self;
    uint8_t digest[AUTH_DIGEST_SIZE]; /* handshake_digest */
    uint8_t secret[AUTH_SECRET_SIZE];
    uint32_t n_trainers;
    struct slices slices;
    float *params; /* (slices_server_params) this server's slices one after the other; borrowed */
    exchange_apply_fn apply; /* `offset` counts in `params` */
    void *apply_ctx;
    int64_t rendezvous_ns; /* how long the trainers may take to come */
};

/* Since the barrier. */
struct ps_server_stats {
    int64_t duration_ns; /* to the end of the last round */
    int64_t receive_ns;  /* reading, checking and adding */
    int64_t update_ns;   /* in `apply` */
    int64_t send_ns;
    int64_t wait_ns; /* nothing to do */
    uint64_t bytes_tx, bytes_rx;
    int64_t *round_ns; /* (n_rounds) owned: end of the round before, or barrier, to end */
    size_t n_rounds;
};
void ps_server_stats_done(struct ps_server_stats *s);

/* Serves until the last goodbye. Takes over listen_fd. On failure *ret_fault says whom to blame. */
int ps_server_run(const struct ps_server_params *params, int listen_fd,
                  struct ps_server_stats *ret_stats, struct fault *ret_fault, struct err *err);
