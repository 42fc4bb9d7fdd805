/* The settings of a replica, from the BENCHD_ environment variables (docs/contracts/environment.md)
 * or from options for use by hand; an option takes precedence. Used by role_trainer.c and
 * role_pserver.c. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/args.h"
#include "base/err.h"
#include "core/exchange_kind.h"
#include "core/replica.h"
#include "worker/comm/link/meet.h"
#include "exchange/slices.h"
#include "worker/model/model.h"

struct role_env {
    struct args args;        /* does not own the texts */
    struct arg_opt *options; /* the options of args; owned */
    enum role role;
    const char *run;
    int64_t point, trial, attempt, index;
    int64_t n_pservers, n_trainers; /* n_trainers counts workers in a ring */
    struct net_addr *peer_addrs;    /* (n_pservers), or (n_trainers) for a worker; owned */
    const char *listen;             /* NULL if not given */
    const char *secret_file;        /* NULL if not given */
    int64_t secret_fd;              /* -1 if not given */
    const char *summary_file;       /* NULL for stdout only */
    const struct model_def *model;
    const char *model_name, *data;
    int64_t batch_size, threads, seed, warmup_steps, steps;
    int64_t server_threads; /* the threads of each parameter server */
    enum exchange_kind exchange;
    struct exchange_mode mode;
    enum exchange_wire wire;
    enum exchange_transport transport; /* NCCL: of a worker */
    /* A trainer or worker that sleeps where it would compute; the next three are its own. */
    bool is_emulated;
    const char *trace;   /* emulation.h */
    double jitter_ratio; /* 0 to EMULATED_JITTER_MAX */
    int64_t arena_fd;    /* emulation.h; -1: not given */
    const char *compute, *jitter, *wire_name, *mode_name, *transport_name; /* as given */
    int64_t rendezvous_s, peer_timeout_s;
    bool prints_digest, prints_accuracy;
};

/* Returns 0, 1 if it printed the help, or -EINVAL. The texts are borrowed from argv and the
 * environment. */
int role_env_read(enum role role, int argc, char *const *argv, struct role_env *ret,
                  struct err *err);
void role_env_done(struct role_env *e);

/* How the replica meets the others: its identity in frames, the digest, the secret and the socket
 * that it listens on. A worker alone has neither secret nor socket. Returns -EINVAL if a setting is
 * wrong or missing; other errors are the machine's. */
int role_env_meet(const struct role_env *e, struct meet_params *ret, struct err *err);
struct frame_id role_env_id(const struct role_env *e);
/* The slices of the parameters, and the digest of what all replicas of the trial must agree on. */
struct slices role_env_slices(const struct role_env *e);
void role_env_digest(const struct role_env *e, uint8_t ret[static 32]);
