/* Times an all-reduce through the exchange of workers, each a process of its own:
 *
 *     bench_ring RANKS ROUNDS FLOATS TRANSPORT MEMORY
 *
 * TRANSPORT: Tcp or SharedMemory. MEMORY: `own`, gradients and parameters lie in the exchange's
 * memory; `any`, elsewhere. The optimiser is a copy: what comes back is the sum. Prints the median
 * and the best round of rank 0 and the CPU time of all ranks, per byte of the message. */
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
#include "ring_rig.h"
#include "worker/tensor/arena.h"
#include "worker/tensor/one_pass.h"

enum { WARMUP = 3 };

struct shared { /* between the processes: what each used */
    int64_t cpu_ns[RING_MAX];
};

static void must(int r, const struct err *err)
{
    if (r < 0) {
        fprintf(stderr, "bench_ring: %s\n", err->msg);
        exit(1);
    }
}

static void keep_sum(void *ctx, uint64_t t, size_t offset, size_t n, float *params,
                     const float *sum, float scale)
{
    (void)ctx, (void)t, (void)offset, (void)scale;
    one_pass_copy(params, sum, n);
}

static int by_time(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void run(struct ring_rig *rig, uint32_t rank, int rounds, bool is_own, struct shared *shared)
{
    struct err err = {0};
    struct exchange *x;
    struct exchange_times times;
    const size_t n = rig->n_params;
    struct exchange_ring_params p = ring_rig_params(rig, rank);
    p.apply = keep_sum;
    must(exchange_ring_new(&p, &x, &err), &err);
    struct exchange_memory memory = {0};
    x->ops->memory(x, &memory);
    struct arena grads = {0}, params = {0};
    if (!is_own || memory.grads == NULL) {
        must(arena_new(&grads, n, "gradients", &err), &err);
        must(arena_new(&params, n, "parameters", &err), &err);
        memory = (struct exchange_memory){grads.data, params.data};
    }
    rig_gradient(memory.grads, n, rank, 0);
    int64_t *ns = xnew_array(int64_t, (size_t)rounds + WARMUP);
    int64_t cpu_ns = 0;
    for (int i = 0; i < rounds + WARMUP; i++) {
        must(x->ops->barrier(x, &err), &err);
        cpu_ns = i == WARMUP ? clock_process_cpu_ns() : cpu_ns;
        const int64_t begin_ns = clock_monotonic_ns();
        must(exchange_round(x, memory.grads, memory.params, &times, &err), &err);
        ns[i] = clock_monotonic_ns() - begin_ns;
    }
    shared->cpu_ns[rank] = clock_process_cpu_ns() - cpu_ns;
    const char *why;
    const enum exchange_transport used = x->ops->transport(x, &why);
    must(x->ops->goodbye(x, &err), &err);
    if (rank == 0) {
        qsort(ns + WARMUP, (size_t)rounds, sizeof(*ns), by_time);
        printf("%u ranks, %zu bytes, %s, memory %s: median %.3f ms, best %.3f ms, worst %.3f ms",
               rig->n_ranks, n * sizeof(float), exchange_transport_names[used],
               is_own ? "own" : "any", (double)ns[WARMUP + rounds / 2] / 1e6,
               (double)ns[WARMUP] / 1e6, (double)ns[WARMUP + rounds - 1] / 1e6);
    }
    x->ops->free(x);
    arena_done(&grads);
    arena_done(&params);
    free(ns);
}

static int64_t number(int argc, char **argv, int i, int64_t min, int64_t max, int64_t fallback)
{
    int64_t v = fallback;
    if (i < argc && parse_i64_in(argv[i], min, max, &v) < 0) {
        fprintf(stderr, "bench_ring: '%s': a number from %" PRId64 " to %" PRId64 "\n", argv[i],
                min, max);
        exit(2);
    }
    return v;
}

int main(int argc, char **argv)
{
    const uint32_t n_ranks = (uint32_t)number(argc, argv, 1, 1, RING_MAX, 2);
    const int rounds = (int)number(argc, argv, 2, 1, 100000, 20);
    const size_t n = (size_t)number(argc, argv, 3, 1, 1 << 28, 15254602);
    const int transport = exchange_transport_from_string(argc > 4 ? argv[4] : "SharedMemory");
    const bool is_own = argc <= 5 || strcmp(argv[5], "any") != 0;
    if (transport < 0) {
        fprintf(stderr, "bench_ring: '%s': Tcp or SharedMemory\n", argv[4]);
        return 2;
    }
    ring_rig_transport = (enum exchange_transport)transport;
    struct ring_rig rig;
    ring_rig_init(&rig, n, n_ranks, 0);
    struct shared *shared =
        mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        return 1;
    }
    for (uint32_t i = 1; i < n_ranks; i++) {
        if (fork() == 0) {
            run(&rig, i, rounds, is_own, shared);
            return 0;
        }
    }
    run(&rig, 0, rounds, is_own, shared);
    int64_t cpu_ns = 0;
    while (wait(NULL) > 0) {
    }
    for (uint32_t i = 0; i < n_ranks; i++) {
        cpu_ns += shared->cpu_ns[i];
    }
    printf("; CPU %.3f ns a byte\n", (double)cpu_ns / rounds / (double)(n * sizeof(float)));
    return 0;
}
