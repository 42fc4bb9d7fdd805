/* One parameter server and trainers that only send: what the server's CPU time is for each byte of
 * gradients (script/bench exchange, part core).
 *
 *   crowd TRAINERS STEPS [TRANSPORT]
 *
 * TRANSPORT: Tcp (default) or SharedMemory, where each trainer has 61 MB of its own, to which its
 * gradients are copied. They send the same gradient, which they share, and receive the parameters
 * into the same memory: the last one to finish a step writes what the first one wrote. What they
 * receive is checked against one process that computes it alone: each trainer checks an eighth of
 * the slices after each step. The first step is not timed.
 *
 * Prints one JSON object. Exit code 1: a process failed, which has said why on stderr. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/parse.h"
#include "worker/comm/link/crc32c.h"
#include "worker/comm/ps/exchange_ps.h"
#include "worker/comm/link/handshake.h"
#include "worker/comm/ps/ps_server.h"
#include "worker/learner.h"
#include "worker/model/adam.h"
#include "worker/tensor/accumulate.h"

#define N_PARAMS ((size_t)15254602)
#define MAX_TRAINERS 512
#define WARMUP 1
#define RENDEZVOUS_NS INT64_C(60000000000)
#define CHECKED_EACH 8

/* Shared by all processes. */
struct shared {
    int64_t trainer_cpu_ns[MAX_TRAINERS]; /* from the barrier to the end, without checking */
    struct ps_server_stats server;        /* round_ns is not kept */
};

struct crowd {
    uint32_t n_trainers, steps;
    struct slices slices;
    uint8_t secret[AUTH_SECRET_SIZE], digest[AUTH_DIGEST_SIZE];
    int listener;
    float *grad, *params; /* (N_PARAMS) shared */
    enum exchange_transport transport;
    uint32_t *want; /* (steps + WARMUP, slices.n) CRCs of the parameters */
    struct shared *shared;
    int64_t checked_cpu_ns; /* of this process: what check_params has used */
};

static void must(int r, const char *who, uint32_t index, const char *why)
{
    if (r < 0) {
        (void)fprintf(stderr, "crowd: %s/%" PRIu32 ": %s\n", who, index, why);
        _exit(1);
    }
}

static void *shared_memory(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    must(p == MAP_FAILED ? -1 : 0, "parent", 0, "no memory");
    return p;
}

/* ---- what one process would compute ---- */

static void make_gradient(float *grad)
{
    uint32_t x = 1;
    for (size_t i = 0; i < N_PARAMS; i++) {
        x = x * 1664525u + 1013904223u;
        grad[i] = (float)(int32_t)x / (float)(1u << (16 + (x & 15u)));
    }
}

static void note_want(struct crowd *c, uint32_t step, const float *params)
{
    for (uint32_t i = 0; i < c->slices.n; i++) {
        struct slice s = slices_get(&c->slices, i);
        c->want[(size_t)step * c->slices.n + i] =
            crc32c(0, params + s.offset, s.len * sizeof(float));
    }
}

static void compute_alone(struct crowd *c, float *params)
{
    float *sum = xnew_array(float, N_PARAMS);
    memcpy(sum, c->grad, N_PARAMS * sizeof(float));
    for (uint32_t t = 1; t < c->n_trainers; t++) {
        grad_add(sum, c->grad, N_PARAMS);
    }
    struct adam adam = ADAM_DEFAULT;
    adam_init(&adam, N_PARAMS);
    for (uint32_t step = 0; step < c->steps + WARMUP; step++) {
        adam_apply(&adam, step + 1, 0, N_PARAMS, params, sum, 1.0f / (float)c->n_trainers);
        note_want(c, step, params);
    }
    adam_done(&adam);
    free(sum);
}

/* ---- the processes ---- */

static struct frame_id id_of(enum role role, uint32_t index)
{
    return (struct frame_id){frame_run_id("crowd", 0, 0), 0, role, index};
}

static void serve(struct crowd *c)
{
    struct ps_server_params p = {
        .self = id_of(ROLE_PSERVER, 0),
        .n_trainers = c->n_trainers,
        .slices = c->slices,
        .early_bytes = PS_SERVER_EARLY_BYTES,
        .transport = c->transport,
        .apply = learner_apply_adam,
        .rendezvous_ns = RENDEZVOUS_NS,
        .handshake_ns = RENDEZVOUS_NS,
    };
    memcpy(p.secret, c->secret, sizeof(p.secret));
    memcpy(p.digest, c->digest, sizeof(p.digest));
    struct adam adam = ADAM_DEFAULT;
    adam_init(&adam, N_PARAMS);
    p.apply_ctx = &adam;
    p.params = xnew_array(float, N_PARAMS); /* they begin at 0 */
    struct ps_server_stats stats;
    struct fault fault;
    struct err err;
    int r = ps_server_run(&p, c->listener, &stats, &fault, &err);
    must(r, "pserver", 0, err.msg);
    stats.round_ns = NULL;
    c->shared->server = stats;
    _exit(0);
}

static void check_params(struct crowd *c, uint32_t index, uint32_t step)
{
    const int64_t begin_ns = clock_thread_cpu_ns();
    for (uint32_t i = (index + step) % CHECKED_EACH; i < c->slices.n; i += CHECKED_EACH) {
        struct slice s = slices_get(&c->slices, i);
        uint32_t got = crc32c(0, c->params + s.offset, s.len * sizeof(float));
        bool is_right = got == c->want[(size_t)step * c->slices.n + i];
        must(is_right ? 0 : -1, "trainer", index, "it received a wrong sum");
    }
    c->checked_cpu_ns += clock_thread_cpu_ns() - begin_ns;
}

static struct exchange *open_exchange(struct crowd *c, uint32_t index)
{
    struct err err;
    struct exchange *x;
    struct net_addr server;
    uint16_t port;
    char text[32];
    must(net_port(c->listener, &port, &err), "trainer", index, err.msg);
    (void)snprintf(text, sizeof(text), "127.0.0.1:%u", port);
    must(net_addr_parse(text, &server, &err), "trainer", index, err.msg);
    (void)close(c->listener); /* the server's end must be seen */
    struct exchange_ps_params p = {
        .self = id_of(ROLE_TRAINER, index),
        .servers = &server,
        .slices = c->slices,
        .n_trainers = c->n_trainers,
        .transport = c->transport,
        .rendezvous_ns = RENDEZVOUS_NS,
    };
    memcpy(p.secret, c->secret, sizeof(p.secret));
    memcpy(p.digest, c->digest, sizeof(p.digest));
    must(exchange_ps_new(&p, &x, &err), "trainer", index, err.msg);
    return x;
}

static void train(struct crowd *c, uint32_t index)
{
    struct exchange *x = open_exchange(c, index);
    struct exchange_times times;
    struct err err;
    int64_t cpu_ns = 0;
    for (uint32_t step = 0; step < c->steps + WARMUP; step++) {
        if (step == WARMUP) {
            must(x->ops->barrier(x, &err), "trainer", index, err.msg);
            c->checked_cpu_ns = 0;
            cpu_ns = clock_process_cpu_ns();
        }
        must(x->ops->begin(x, c->grad, c->params, &err), "trainer", index, err.msg);
        x->ops->ready(x, 0);
        must(x->ops->end(x, &times, &err), "trainer", index, err.msg);
        check_params(c, index, step);
    }
    c->shared->trainer_cpu_ns[index] = clock_process_cpu_ns() - cpu_ns - c->checked_cpu_ns;
    must(x->ops->goodbye(x, &err), "trainer", index, err.msg);
    x->ops->free(x);
    _exit(0);
}

static void start_all(struct crowd *c)
{
    for (uint32_t i = 0; i <= c->n_trainers; i++) {
        pid_t pid = fork();
        must(pid, "parent", i, "fork failed");
        if (pid == 0 && i == 0) {
            serve(c);
        } else if (pid == 0) {
            train(c, i - 1);
        }
    }
    (void)close(c->listener);
}

/* ---- what came of it ---- */

/* Returns how many have failed. */
static uint32_t wait_for_all(void)
{
    uint32_t n_failed = 0;
    int status;
    while (wait(&status) > 0) {
        n_failed += !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    }
    return n_failed;
}

static void print_result(const struct crowd *c)
{
    const struct ps_server_stats *s = &c->shared->server;
    int64_t trainers_ns = 0;
    for (uint32_t i = 0; i < c->n_trainers; i++) {
        trainers_ns += c->shared->trainer_cpu_ns[i];
    }
    printf("{\"gradient_bytes\": %.0f, \"receive_cpu_s\": %.4f, \"update_cpu_s\": %.4f, "
           "\"send_cpu_s\": %.4f, \"trainers_cpu_s\": %.4f}\n",
           (double)N_PARAMS * sizeof(float) * c->n_trainers * c->steps,
           (double)s->receive.cpu_ns / 1e9, (double)s->update.cpu_ns / 1e9,
           (double)(s->send.cpu_ns + s->wait.cpu_ns) / 1e9, (double)trainers_ns / 1e9);
}

static void listen_at(struct crowd *c)
{
    struct err err;
    struct net_addr addr;
    must(net_addr_parse("127.0.0.1:0", &addr, &err), "pserver", 0, err.msg);
    c->listener = net_listen(&addr, &err);
    must(c->listener, "pserver", 0, err.msg);
}

int main(int argc, char **argv)
{
    const int transport = exchange_transport_from_string(argc == 4 ? argv[3] : "Tcp");
    int64_t n_trainers, steps;
    if (argc < 3 || argc > 4 || transport < 0 ||
        parse_i64_in(argv[1], 1, MAX_TRAINERS, &n_trainers) < 0 ||
        parse_i64_in(argv[2], 1, 512, &steps) < 0) {
        (void)fprintf(stderr, "usage: crowd TRAINERS STEPS [TRANSPORT], each 1 to 512\n");
        return 2;
    }
    struct crowd *c = xnew(struct crowd);
    c->n_trainers = (uint32_t)n_trainers;
    c->steps = (uint32_t)steps;
    c->transport = (enum exchange_transport)transport;
    c->slices = slices_plan(N_PARAMS, 1, SLICES_MAX_BYTES);
    handshake_digest("crowd", 1, &EXCHANGE_MODE_SYNC, EXCHANGE_WIRE_FP32, c->n_trainers, &c->slices,
                     c->digest);
    struct err err;
    must(auth_nonce(c->secret, &err), "parent", 0, err.msg);
    c->grad = shared_memory(N_PARAMS * sizeof(float));
    c->params = shared_memory(N_PARAMS * sizeof(float));
    c->shared = shared_memory(sizeof(*c->shared));
    c->want = xnew_array(uint32_t, (size_t)(c->steps + WARMUP) * c->slices.n);
    make_gradient(c->grad);
    compute_alone(c, c->params);
    listen_at(c);
    start_all(c);
    const uint32_t n_failed = wait_for_all();
    print_result(c);
    free(c->want);
    free(c);
    return n_failed > 0;
}
