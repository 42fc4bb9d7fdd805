/* A whole gang in one process, for the tests of the exchange: parameter servers and trainers as
 * threads on loopback, a toy optimiser, free ports. */
#pragma once

#include <pthread.h>

#include "worker/comm/ps/exchange_ps.h"
#include "worker/comm/ps/ps_server.h"

#define RIG_MAX 8
#define RIG_RUN "rig"

struct rig_server {
    struct ps_server_params params;
    int listen_fd;
    uint16_t port;
    pthread_t thread;
    bool is_running;
    int result;
    int64_t cpu_ns; /* of its thread */
    struct ps_server_stats stats;
    struct fault fault;
    struct err err;
};

struct rig {
    size_t n_params;
    uint32_t n_servers, n_trainers;
    struct slices slices;
    enum exchange_wire wire;   /* as rig_set_wire said; FP32 */
    struct exchange_mode mode; /* as rig_set_mode said; Sync */
    uint8_t secret[AUTH_SECRET_SIZE];
    uint8_t digest[AUTH_DIGEST_SIZE];
    int64_t rendezvous_ns, handshake_ns;
    size_t early_bytes;
    exchange_apply_fn apply; /* rig_apply, or the test's */
    void *apply_ctx;
    struct rig_server servers[RIG_MAX];
};

/* Threads of each server of the rigs that are made from now on; 1 at first. */
extern uint32_t rig_threads;

/* p -= 0.5 * scale * sum: its bits show the order of additions. */
void rig_apply(void *ctx, uint64_t t, size_t offset, size_t n, float *params, const float *grad_sum,
               float grad_scale);
/* The initial parameters of everybody: (n_params). */
void rig_init_params(float *params, size_t n);
/* A trainer's gradient of a step: odd values of very different size. */
void rig_gradient(float *grad, size_t n, uint32_t trainer, uint64_t step);

/* Returns the port that a socket is bound to. */
uint16_t rig_port(int fd);
struct frame_id rig_id(enum role role, uint32_t index);
/* Binds free ports. max_bytes of a slice: 0 for the default. */
void rig_init(struct rig *r, size_t n_params, uint32_t n_servers, uint32_t n_trainers,
              size_t max_bytes);
/* Before anybody starts. */
void rig_set_wire(struct rig *r, enum exchange_wire wire);
void rig_set_mode(struct rig *r, const struct exchange_mode *mode);
void rig_start_server(struct rig *r, uint32_t s);
void rig_start_servers(struct rig *r);
void rig_join_servers(struct rig *r);
void rig_done(struct rig *r);
/* As a trainer of the rig would be given it; change what the test is about. */
struct exchange_ps_params rig_trainer(const struct rig *r, uint32_t index,
                                      struct net_addr addrs[RIG_MAX]);
