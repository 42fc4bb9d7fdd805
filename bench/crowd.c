/* A crowd of trainers and parameter servers on this machine, more than it has cores (script/bench
 * faults): real processes, real bytes, and trainers that sleep where they would compute.
 *
 *   crowd TRAINERS SERVERS STEPS COMPUTE_MS [TRANSPORT]
 *
 * TRANSPORT: Tcp (default) or SharedMemory, where each trainer has 61 MB of its own, to
 * which its gradients are copied. With 0 servers the trainers only sleep: what a step
 * takes without an exchange.
 *
 * The trainers send the same gradient, which they share, and receive the parameters into the same
 * memory: the last one to finish a step writes what the first one wrote. So 100 trainers need the
 * memory of one. What they receive is checked against one process that computes it alone: each
 * trainer checks an eighth of the slices after each step. The first step is not timed.
 *
 * Prints one JSON object. Exit code 1: a process failed, which has said why on stderr. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
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
#define MAX_PROCESSES 512
#define WARMUP 1
#define RENDEZVOUS_NS INT64_C(60000000000)
#define CHECKED_EACH 8

/* Shared by all processes. */
struct shared {
    int64_t step_ns[MAX_PROCESSES]; /* of trainer 0 */
    int64_t duration_ns;            /* of trainer 0, from the barrier to the end of the last step */
    int64_t trainer_cpu_ns[MAX_PROCESSES]; /* from the barrier to the end, without checking */
    struct ps_server_stats servers[MAX_PROCESSES]; /* round_ns is not kept */
};

struct crowd {
    uint32_t n_trainers, n_servers, steps;
    int64_t compute_ns;
    struct slices slices;
    uint8_t secret[AUTH_SECRET_SIZE], digest[AUTH_DIGEST_SIZE];
    uint16_t ports[MAX_PROCESSES];
    int listeners[MAX_PROCESSES];
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

static void serve(struct crowd *c, uint32_t index)
{
    struct ps_server_params p = {
        .self = id_of(ROLE_PSERVER, index),
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
    adam_init(&adam, slices_server_params(&c->slices, index));
    p.apply_ctx = &adam;
    p.params = xnew_array(float, slices_server_params(&c->slices, index)); /* they begin at 0 */
    struct ps_server_stats stats;
    struct fault fault;
    struct err err;
    int r = ps_server_run(&p, c->listeners[index], &stats, &fault, &err);
    must(r, "pserver", index, err.msg);
    stats.round_ns = NULL;
    c->shared->servers[index] = stats;
    _exit(0);
}

static void sleep_for(int64_t ns)
{
    struct timespec left = {ns / 1000000000, ns % 1000000000};
    while (nanosleep(&left, &left) < 0) {
        continue; /* a signal: sleep for the rest */
    }
}

static void check_params(struct crowd *c, uint32_t index, uint32_t step)
{
    if (c->n_servers == 0) {
        return; /* nothing was received */
    }
    const int64_t begin_ns = clock_thread_cpu_ns();
    for (uint32_t i = (index + step) % CHECKED_EACH; i < c->slices.n; i += CHECKED_EACH) {
        struct slice s = slices_get(&c->slices, i);
        uint32_t got = crc32c(0, c->params + s.offset, s.len * sizeof(float));
        bool is_right = got == c->want[(size_t)step * c->slices.n + i];
        must(is_right ? 0 : -1, "trainer", index, "it received a wrong sum");
    }
    c->checked_cpu_ns += clock_thread_cpu_ns() - begin_ns;
}

/* A forward pass of a third of the time, then a backward pass: in parts, with the bytes of VGG16's
 * layers, as the trainer of worker/role_trainer.c asks for parameters and hands over gradients. */
static const double bytes_share[] = {.002, .015, .1, .39, .46, .033}; /* conv1 to conv5, dense */
static const double compute_share[] = {.12, .18, .3, .3, .09, .01};
#define N_PARTS (sizeof(bytes_share) / sizeof(bytes_share[0]))

static void compute_forward(const struct crowd *c, struct exchange *x, uint32_t index)
{
    struct err err;
    double at = 0;
    for (size_t i = 0; i < N_PARTS; i++) {
        const size_t from = (size_t)(at * (double)N_PARAMS);
        at += bytes_share[i];
        const size_t to = i + 1 == N_PARTS ? N_PARAMS : (size_t)(at * (double)N_PARAMS);
        must(x->ops->need(x, from, to - from, &err), "trainer", index, err.msg);
        sleep_for((int64_t)(compute_share[i] / 3 * (double)c->compute_ns));
    }
}

static void compute_backward(const struct crowd *c, struct exchange *x)
{
    double at = 1;
    for (size_t i = N_PARTS; i-- > 0;) {
        sleep_for((int64_t)(compute_share[i] * 2 / 3 * (double)c->compute_ns));
        at -= bytes_share[i];
        x->ops->ready(x, i == 0 ? 0 : (size_t)(at * (double)N_PARAMS));
    }
}

static void apply_nothing(void *ctx, uint64_t t, size_t offset, size_t n, float *params,
                          const float *grad_sum, float grad_scale)
{
    (void)ctx, (void)t, (void)offset, (void)n, (void)params, (void)grad_sum, (void)grad_scale;
}

static struct exchange *open_exchange(struct crowd *c, uint32_t index)
{
    struct err err;
    struct exchange *x;
    if (c->n_servers == 0) {
        must(exchange_none_new(apply_nothing, NULL, N_PARAMS, &x, &err), "trainer", index, err.msg);
        return x;
    }
    struct net_addr *addrs = xnew_array(struct net_addr, c->n_servers);
    struct exchange_ps_params p = {
        .self = id_of(ROLE_TRAINER, index),
        .servers = addrs,
        .slices = c->slices,
        .n_trainers = c->n_trainers,
        .transport = c->transport,
        .rendezvous_ns = RENDEZVOUS_NS,
    };
    for (uint32_t s = 0; s < c->n_servers; s++) {
        char text[32];
        (void)snprintf(text, sizeof(text), "127.0.0.1:%u", c->ports[s]);
        must(net_addr_parse(text, &addrs[s], &err), "trainer", index, err.msg);
    }
    memcpy(p.secret, c->secret, sizeof(p.secret));
    memcpy(p.digest, c->digest, sizeof(p.digest));
    must(exchange_ps_new(&p, &x, &err), "trainer", index, err.msg);
    free(addrs);
    return x;
}

static void train(struct crowd *c, uint32_t index)
{
    struct exchange *x = open_exchange(c, index);
    struct exchange_times times;
    struct err err;
    int64_t barrier_ns = 0, cpu_ns = 0;
    for (uint32_t step = 0; step < c->steps + WARMUP; step++) {
        if (step == WARMUP) {
            must(x->ops->barrier(x, &err), "trainer", index, err.msg);
            barrier_ns = clock_monotonic_ns();
            c->checked_cpu_ns = 0;
            cpu_ns = clock_process_cpu_ns();
        }
        int64_t begin_ns = clock_monotonic_ns();
        compute_forward(c, x, index);
        if (step > WARMUP) {
            must(x->ops->end(x, &times, &err), "trainer", index, err.msg);
            check_params(c, index, step - 1);
        }
        must(x->ops->begin(x, c->grad, c->params, &err), "trainer", index, err.msg);
        compute_backward(c, x);
        if (step + 1 == WARMUP || step + 1 == c->steps + WARMUP) {
            must(x->ops->end(x, &times, &err), "trainer", index, err.msg);
            check_params(c, index, step);
        }
        if (index == 0 && step >= WARMUP) {
            c->shared->step_ns[step - WARMUP] = clock_monotonic_ns() - begin_ns;
            c->shared->duration_ns = clock_monotonic_ns() - barrier_ns;
        }
    }
    c->shared->trainer_cpu_ns[index] = clock_process_cpu_ns() - cpu_ns - c->checked_cpu_ns;
    must(x->ops->goodbye(x, &err), "trainer", index, err.msg);
    x->ops->free(x);
    _exit(0);
}

static void start_all(struct crowd *c)
{
    for (uint32_t i = 0; i < c->n_servers + c->n_trainers; i++) {
        pid_t pid = fork();
        must(pid, "parent", i, "fork failed");
        if (pid != 0) {
            continue;
        }
        if (i < c->n_servers) {
            serve(c, i);
        } else {
            for (uint32_t s = 0; s < c->n_servers; s++) {
                (void)close(c->listeners[s]); /* a server's end must be seen */
            }
            train(c, i - c->n_servers);
        }
    }
    for (uint32_t s = 0; s < c->n_servers; s++) {
        (void)close(c->listeners[s]);
    }
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

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void print_result(struct crowd *c, uint32_t n_failed)
{
    struct rusage used;
    (void)getrusage(RUSAGE_CHILDREN, &used); /* cannot fail */
    size_t early_bytes = 0;
    for (uint32_t s = 0; s < c->n_servers; s++) {
        early_bytes += c->shared->servers[s].early_peak_bytes;
    }
    int64_t receive_ns = 0, update_ns = 0, send_ns = 0, trainers_ns = 0;
    for (uint32_t s = 0; s < c->n_servers; s++) {
        const struct ps_server_stats *stats = &c->shared->servers[s];
        receive_ns += stats->receive.cpu_ns;
        update_ns += stats->update.cpu_ns;
        send_ns += stats->send.cpu_ns + stats->wait.cpu_ns;
    }
    for (uint32_t t = 0; t < c->n_trainers; t++) {
        trainers_ns += c->shared->trainer_cpu_ns[t];
    }
    qsort(c->shared->step_ns, c->steps, sizeof(int64_t), by_value);
    const double cpu_s = (double)used.ru_utime.tv_sec + (double)used.ru_stime.tv_sec +
                         (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
    printf("{\"trainers\": %" PRIu32 ", \"servers\": %" PRIu32 ", \"steps\": %" PRIu32
           ", \"compute_s\": %.3f, \"failed\": %" PRIu32 ", \"step_s\": %.3f, \"cpu_s\": %.1f"
           ", \"early_peak_bytes\": %zu, \"rss_peak_bytes\": %ld, \"mean_step_s\": %.4f"
           ", \"gradient_bytes\": %.0f, \"receive_cpu_s\": %.4f, \"update_cpu_s\": %.4f"
           ", \"send_cpu_s\": %.4f, \"trainers_cpu_s\": %.4f}\n",
           c->n_trainers, c->n_servers, c->steps, (double)c->compute_ns / 1e9, n_failed,
           (double)c->shared->step_ns[c->steps / 2] / 1e9, cpu_s, early_bytes,
           used.ru_maxrss * 1024, (double)c->shared->duration_ns / 1e9 / (double)c->steps,
           (double)N_PARAMS * sizeof(float) * c->n_trainers * c->steps, (double)receive_ns / 1e9,
           (double)update_ns / 1e9, (double)send_ns / 1e9, (double)trainers_ns / 1e9);
}

/* The four numbers of the command line; false: said why. */
static bool read_args(char **argv, struct crowd *c)
{
    static const int64_t min[] = {1, 0, 1, 0};
    static const int64_t max[] = {MAX_PROCESSES, MAX_PROCESSES, MAX_PROCESSES, 600000};
    int64_t v[4] = {0};
    for (int i = 0; i < 4; i++) {
        if (parse_i64_in(argv[i + 1], min[i], max[i], &v[i]) < 0) {
            (void)fprintf(stderr,
                          "crowd: '%s': expected a number from %" PRId64 " to %" PRId64 "\n",
                          argv[i + 1], min[i], max[i]);
            return false;
        }
    }
    c->n_trainers = (uint32_t)v[0];
    c->n_servers = (uint32_t)v[1];
    c->steps = (uint32_t)v[2];
    c->compute_ns = v[3] * 1000000;
    return true;
}

static void listen_all(struct crowd *c)
{
    struct err err;
    struct net_addr addr;
    for (uint32_t s = 0; s < c->n_servers; s++) {
        must(net_addr_parse("127.0.0.1:0", &addr, &err), "pserver", s, err.msg);
        c->listeners[s] = net_listen(&addr, &err);
        must(c->listeners[s], "pserver", s, err.msg);
        must(net_port(c->listeners[s], &c->ports[s], &err), "pserver", s, err.msg);
    }
}

int main(int argc, char **argv)
{
    const int transport = exchange_transport_from_string(argc == 6 ? argv[5] : "Tcp");
    if (argc < 5 || argc > 6 || transport < 0) {
        (void)fprintf(stderr, "usage: crowd TRAINERS SERVERS STEPS COMPUTE_MS [TRANSPORT]\n");
        return 2;
    }
    struct crowd *c = xnew(struct crowd);
    if (!read_args(argv, c)) {
        free(c);
        return 2;
    }
    c->transport = (enum exchange_transport)transport;
    c->slices = slices_plan(N_PARAMS, c->n_servers > 0 ? c->n_servers : 1, SLICES_MAX_BYTES);
    handshake_digest("crowd", 1, &EXCHANGE_MODE_SYNC, EXCHANGE_WIRE_FP32, c->n_trainers, &c->slices,
                     c->digest);
    struct err err;
    must(auth_nonce(c->secret, &err), "parent", 0, err.msg);
    c->grad = shared_memory(N_PARAMS * sizeof(float));
    c->params = shared_memory(N_PARAMS * sizeof(float));
    c->shared = shared_memory(sizeof(*c->shared));
    c->want = xnew_array(uint32_t, (size_t)(c->steps + WARMUP) * c->slices.n);
    make_gradient(c->grad);
    if (c->n_servers > 0) {
        compute_alone(c, c->params);
    }
    listen_all(c);
    start_all(c);
    uint32_t n_failed = wait_for_all();
    print_result(c, n_failed);
    free(c->want);
    free(c);
    return n_failed > 0;
}
