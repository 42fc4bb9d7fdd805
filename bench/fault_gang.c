/* See fault_gang.h. */
#include "fault_gang.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/exit_code.h"
#include "base/mem.h"
#include "exchange/ring_plan.h"
#include "worker/comm/link/crc32c.h"
#include "worker/comm/link/handshake.h"
#include "worker/comm/ps/ps_server.h"
#include "worker/learner.h"
#include "worker/model/adam.h"

#define SLICE_BYTES ((size_t)8 << 10)
#define MODEL "fault-trial"
#define PARTS 4 /* in which gradients become ready, and parameters are asked for */

uint32_t fault_gang_size(const struct fault_gang *g)
{
    return g->n_servers + g->n_workers;
}

static struct frame_id id_of(const struct fault_gang *g, uint32_t i)
{
    const enum role role = i < g->n_servers              ? ROLE_PSERVER
                           : g->family == FAMILY_PSERVER ? ROLE_TRAINER
                                                         : ROLE_WORKER;
    return (struct frame_id){frame_run_id("fault", 0, 0), 0, role,
                             i < g->n_servers ? i : i - g->n_servers};
}

void fault_gang_name(const struct fault_gang *g, uint32_t i, char ret[static 32])
{
    const struct frame_id id = id_of(g, i);
    frame_id_name(&id, ret);
}

/* ---- what one process would compute ---- */

/* The sums of these numbers show the order of the additions in their bits. */
static void make_gradient(const struct fault_gang *g, uint32_t rank, uint32_t step, float *grad)
{
    uint32_t x = (rank + 1) * 2654435761u + step * 40503u;
    for (size_t i = 0; i < g->n; i++) {
        x = x * 1664525u + 1013904223u;
        grad[i] = (float)(int32_t)x / (float)(1u << (x & 15u));
    }
}

/* Of a slice, begun by `first`. */
static void add_up(const struct fault_gang *g, float *const *grads, struct slice s, uint32_t first,
                   float *sum)
{
    memcpy(sum + s.offset, grads[first] + s.offset, s.len * sizeof(float));
    for (uint32_t k = 1; k < g->n_workers; k++) {
        const float *grad = grads[(first + k) % g->n_workers];
        for (size_t i = s.offset; i < s.offset + s.len; i++) {
            sum[i] += grad[i];
        }
    }
}

static void compute_alone(struct fault_gang *g)
{
    float *params = xnew_array(float, g->n), *sum = xnew_array(float, g->n);
    float *grads[FAULT_GANG_MAX];
    for (uint32_t r = 0; r < g->n_workers; r++) {
        grads[r] = xnew_array(float, g->n);
    }
    struct adam adam = ADAM_DEFAULT;
    adam_init(&adam, g->n);
    for (uint32_t step = 0; step < g->steps; step++) {
        for (uint32_t r = 0; r < g->n_workers; r++) {
            make_gradient(g, r, step, grads[r]);
        }
        for (uint32_t i = 0; i < g->slices.n; i++) {
            const struct slice s = slices_get(&g->slices, i);
            add_up(g, grads, s, g->family == FAMILY_RING ? ring_next(g->n_workers, s.server) : 0,
                   sum);
        }
        adam_apply(&adam, step + 1, 0, g->n, params, sum, 1.0f / (float)g->n_workers);
        g->want[step] = crc32c(0, params, g->n * sizeof(float));
    }
    adam_done(&adam);
    for (uint32_t r = 0; r < g->n_workers; r++) {
        free(grads[r]);
    }
    free(sum);
    free(params);
}

/* ---- the beginning ---- */

static int listen_all(struct fault_gang *g, struct err *err)
{
    const uint32_t n = g->family == FAMILY_PSERVER ? g->n_servers : g->n_workers;
    const pid_t pid = getpid();
    char host[32], text[64];
    /* Of this gang alone, so that no other one listens at the port of a process that has ended. */
    (void)snprintf(host, sizeof(host), "127.%d.%d.%d", pid >> 16 & 255, pid >> 8 & 255, pid & 255);
    for (uint32_t i = 0; i < n; i++) {
        struct sockaddr_in bound;
        socklen_t len = sizeof(bound);
        (void)snprintf(text, sizeof(text), "%s:0", host);
        int r = net_addr_parse(text, &g->addrs[i], err);
        g->listeners[i] = r < 0 ? r : net_listen(&g->addrs[i], err);
        if (g->listeners[i] < 0) {
            return g->listeners[i];
        }
        if (getsockname(g->listeners[i], (struct sockaddr *)&bound, &len) < 0) {
            return err_set_errno(err, errno, "getsockname");
        }
        (void)snprintf(text, sizeof(text), "%s:%u", host, ntohs(bound.sin_port));
        r = net_addr_parse(text, &g->addrs[i], err);
        if (r < 0) {
            return r;
        }
    }
    return 0;
}

int fault_gang_init(struct fault_gang *g, struct err *err)
{
    for (int i = 0; i < FAULT_GANG_MAX; i++) {
        g->listeners[i] = -1;
    }
    g->slices =
        slices_plan(g->n, g->family == FAMILY_PSERVER ? g->n_servers : g->n_workers, SLICE_BYTES);
    if (g->family == FAMILY_PSERVER) {
        handshake_digest(MODEL, 1, &EXCHANGE_MODE_SYNC, EXCHANGE_WIRE_FP32, g->n_workers,
                         &g->slices, g->digest);
    } else {
        exchange_ring_digest(MODEL, 1, &g->slices, EXCHANGE_TRANSPORT_TCP, g->digest);
    }
    g->want = xnew_array(uint32_t, g->steps);
    compute_alone(g);
    const int r = auth_nonce(g->secret, err);
    return r < 0 ? r : listen_all(g, err);
}

void fault_gang_done(struct fault_gang *g)
{
    for (int i = 0; i < FAULT_GANG_MAX; i++) {
        if (g->listeners[i] >= 0) {
            (void)close(g->listeners[i]); /* a listener has nothing to lose */
        }
    }
    free(g->want);
}

/* Those of others: an end of theirs must be seen. Returns its own, or -1. */
static int keep_listener(struct fault_gang *g, uint32_t own)
{
    for (uint32_t i = 0; i < FAULT_GANG_MAX; i++) {
        if (i != own && g->listeners[i] >= 0) {
            (void)close(g->listeners[i]);
            g->listeners[i] = -1;
        }
    }
    const int fd = own < FAULT_GANG_MAX ? g->listeners[own] : -1;
    if (fd >= 0) {
        g->listeners[own] = -1; /* whoever serves takes it over */
    }
    return fd;
}

/* Of process `i`, which listens as `own` does; FAULT_GANG_MAX: it does not. */
static struct meet_params meet_as(struct fault_gang *g, uint32_t i, uint32_t own)
{
    struct meet_params p = {
        .self = id_of(g, i),
        .listen_fd = keep_listener(g, own),
        .rendezvous_ns = g->silence_ns + FAULT_GANG_MEET_NS,
        .silence_ns = g->silence_ns,
    };
    memcpy(p.secret, g->secret, sizeof(p.secret));
    memcpy(p.digest, g->digest, sizeof(p.digest));
    return p;
}

/* ---- the ends ---- */

struct process {
    struct fault_gang *gang;
    struct fault_process *said; /* shared */
    uint32_t rank;              /* of a worker */
    float *grad, *params;       /* (n) */
};

/* The first one counts: its exit code. */
static int say(const struct process *p, int exit_code, const char *peer, const char *message)
{
    if (!atomic_exchange(&p->said->has_said, true)) {
        (void)snprintf(p->said->peer, sizeof(p->said->peer), "%s", peer);
        (void)snprintf(p->said->message, sizeof(p->said->message), "%s", message);
    }
    return exit_code;
}

static int say_fault(const struct process *p, const struct exchange_fault *fault,
                     const char *message)
{
    return say(p, fault->exit_code != 0 ? fault->exit_code : EXIT_WORKER_RESOURCE, fault->peer,
               message);
}

/* In the communication thread, while the main thread computes: as worker/role_trainer.c does. */
static void die_of_fault(void *ctx, const struct exchange_fault *fault, const char *message)
{
    _exit(say_fault(ctx, fault, message));
}

static void sleep_for(int64_t ns)
{
    struct timespec left = {ns / 1000000000, ns % 1000000000};
    while (nanosleep(&left, &left) < 0) {
        continue; /* a signal: sleep for the rest */
    }
}

/* Whether the parameters of a step that has ended are right. */
static bool check_params(const struct process *p, const float *params, uint32_t step)
{
    const struct fault_gang *g = p->gang;
    if (crc32c(0, params, g->n * sizeof(float)) != g->want[step]) {
        char message[64];
        (void)snprintf(message, sizeof(message), "step %u: wrong parameters", step);
        (void)say(p, FAULT_GANG_WRONG, "", message);
        return false;
    }
    atomic_store(&p->said->steps, step + 1);
    return true;
}

/* ---- a parameter server ---- */

static int serve(struct fault_gang *g, uint32_t i)
{
    struct ps_server_params p = {
        .gang = meet_as(g, i, i),
        .n_trainers = g->n_workers,
        .slices = g->slices,
        .early_bytes = PS_SERVER_EARLY_BYTES,
        .apply = learner_apply_adam,
    };
    const size_t n_own = slices_server_params(&g->slices, i);
    struct adam adam = ADAM_DEFAULT;
    adam_init(&adam, n_own);
    p.apply_ctx = &adam;
    p.params = xnew_array(float, n_own + 1);
    struct ps_server_stats stats;
    struct fault fault;
    struct err err;
    const struct process self = {.gang = g, .said = &g->processes[i]};
    if (ps_server_run(&p, &stats, &fault, &err) >= 0) {
        return EXIT_OK;
    }
    char peer[32] = "";
    if (fault.has_peer) {
        frame_id_name(&fault.peer, peer);
    }
    return say(&self, fault.exit_code, peer, err.msg);
}

/* ---- a trainer, or a worker of a ring ---- */

static int open_exchange(struct process *p, struct adam *adam, struct exchange **ret,
                         struct err *err)
{
    struct fault_gang *g = p->gang;
    if (g->family == FAMILY_PSERVER) {
        struct exchange_ps_params params = {
            .gang = meet_as(g, g->n_servers + p->rank, FAULT_GANG_MAX),
            .servers = g->addrs,
            .slices = g->slices,
            .owner = {.watches_main = true, .on_fault = die_of_fault, .ctx = p},
        };
        return exchange_ps_new(&params, ret, err);
    }
    struct exchange_ring_params params = {
        .gang = meet_as(g, p->rank, p->rank),
        .slices = g->slices,
        .next = g->addrs[ring_next(g->n_workers, p->rank)],
        .window_bytes = RING_WINDOW_BYTES,
        .apply = learner_apply_adam,
        .apply_ctx = adam,
        .owner = {.watches_main = true, .on_fault = die_of_fault, .ctx = p},
    };
    adam_init(adam, slices_server_params(&g->slices, p->rank));
    return exchange_ring_new(&params, ret, err);
}

/* Does what it is asked for. False: it has left. */
static bool obey(const struct process *p, struct exchange *x)
{
    switch (atomic_load(&p->said->order)) {
    case ORDER_ABANDON:
        x->ops->abandon(x, EXIT_WORKER_DATA, "its data is damaged");
        (void)say(p, EXIT_WORKER_DATA, "", "its data is damaged");
        return false;
    case ORDER_STICK:
        for (;;) {
            (void)pause(); /* the watchdog ends it */
        }
    default:
        return true;
    }
}

static size_t part_at(const struct fault_gang *g, size_t i)
{
    return g->n * i / PARTS;
}

/* The next forward pass, in which the last step's parameters come. */
static int forward(const struct process *p, struct exchange *x, struct err *err)
{
    int r = 0;
    for (size_t i = 0; i < PARTS && r >= 0; i++) {
        const size_t at = part_at(p->gang, i);
        r = x->ops->need(x, at, part_at(p->gang, i + 1) - at, err);
        sleep_for(p->gang->compute_ns / (2 * PARTS));
    }
    return r;
}

static void backward(const struct process *p, struct exchange *x)
{
    for (size_t i = PARTS; i-- > 0;) {
        sleep_for(p->gang->compute_ns / (2 * PARTS));
        x->ops->ready(x, part_at(p->gang, i));
    }
}

/* Step by step; 0, or what has ended it (*ret_code: already said). */
static int train_steps(const struct process *p, struct exchange *x, int *ret_code, struct err *err)
{
    const struct fault_gang *g = p->gang;
    struct exchange_times times;
    for (uint32_t step = 0; step < g->steps; step++) {
        if (!obey(p, x)) {
            *ret_code = EXIT_WORKER_DATA;
            return -1;
        }
        int r = step == 1 ? x->ops->barrier(x, err) : 0;
        if (r >= 0 && step > 1) {
            r = forward(p, x, err);
            r = r < 0 ? r : x->ops->end(x, &times, err);
        }
        if (r >= 0 && step > 1 && !check_params(p, p->params, step - 1)) {
            *ret_code = FAULT_GANG_WRONG;
            return -1;
        }
        if (r >= 0) {
            make_gradient(g, p->rank, step, p->grad);
            r = x->ops->begin(x, p->grad, p->params, err);
        }
        if (r < 0) {
            return r;
        }
        backward(p, x);
        if (step > 0 && step + 1 < g->steps) {
            continue; /* it is hidden by the next one */
        }
        r = x->ops->end(x, &times, err);
        if (r < 0) {
            return r;
        }
        if (!check_params(p, p->params, step)) {
            *ret_code = FAULT_GANG_WRONG;
            return -1;
        }
    }
    return x->ops->goodbye(x, err);
}

static int train(struct process *p)
{
    struct adam adam = ADAM_DEFAULT;
    struct exchange *x;
    struct err err;
    int code = EXIT_OK;
    if (open_exchange(p, &adam, &x, &err) < 0) {
        return say(p, EXIT_WORKER_RESOURCE, "", err.msg);
    }
    if (train_steps(p, x, &code, &err) < 0 && code == EXIT_OK) {
        struct exchange_fault fault;
        x->ops->fault(x, &fault);
        code = say_fault(p, &fault, err.msg);
    }
    x->ops->free(x);
    return code;
}

int fault_gang_run(struct fault_gang *g, uint32_t i)
{
    if (i < g->n_servers) {
        return serve(g, i);
    }
    struct process p = {
        .gang = g,
        .said = &g->processes[i],
        .rank = i - g->n_servers,
        .grad = xnew_array(float, g->n),
        .params = xnew_array(float, g->n),
    };
    return train(&p);
}
