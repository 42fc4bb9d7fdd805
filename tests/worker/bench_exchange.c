/* Speed of the exchange alone: bench_exchange TRAINERS SERVERS ROUNDS [PARAMS [SLICE_BYTES
 * [TRANSPORT]]]. TRANSPORT: Tcp (default) or SharedMemory, with gradients in the exchange's memory.
 * Servers and trainers are threads of one process on loopback, the optimiser is rig_apply, so the
 * CPU figure is that of the whole job. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/parse.h"
#include "exchange_rig.h"

#define WARMUP 3

struct trainer {
    const struct rig *rig;
    uint32_t index;
    int rounds;
    pthread_t thread;
    int64_t *round_ns;
    int64_t cpu_begin_ns, cpu_end_ns;
    uint64_t bytes;
};

static void must(int r, const struct err *err)
{
    if (r < 0) {
        fprintf(stderr, "bench_exchange: %s\n", err->msg);
        exit(1);
    }
}

static void *train(void *arg)
{
    struct trainer *t = arg;
    struct net_addr addrs[RIG_MAX];
    struct exchange_ps_params params = rig_trainer(t->rig, t->index, addrs);
    struct exchange *x;
    struct err err;
    size_t n = t->rig->n_params;
    _cleanup_(freep) float *weights = aligned_alloc(64, (n + 16) / 16 * 64);
    must(exchange_ps_new(&params, &x, &err), &err);
    struct exchange_memory memory;
    x->ops->memory(x, &memory);
    _cleanup_(freep) float *own = aligned_alloc(64, (n + 16) / 16 * 64);
    if (own == NULL || weights == NULL) {
        abort();
    }
    float *grad = memory.grads != NULL ? memory.grads : own;
    rig_gradient(grad, n, t->index, 0);
    rig_init_params(weights, n);
    struct exchange_times times;
    for (int i = 0; i < WARMUP; i++) {
        must(exchange_round(x, grad, weights, &times, &err), &err);
    }
    must(x->ops->barrier(x, &err), &err);
    t->cpu_begin_ns = clock_process_cpu_ns();
    for (int i = 0; i < t->rounds; i++) {
        int64_t begin_ns = clock_monotonic_ns();
        must(exchange_round(x, grad, weights, &times, &err), &err);
        t->round_ns[i] = clock_monotonic_ns() - begin_ns;
        t->bytes += times.bytes_tx + times.bytes_rx;
    }
    t->cpu_end_ns = clock_process_cpu_ns();
    must(x->ops->goodbye(x, &err), &err);
    x->ops->free(x);
    return NULL;
}

static int by_time(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int64_t number(int argc, char **argv, int i, int64_t min, int64_t max, int64_t fallback)
{
    int64_t v = fallback;
    if (i < argc && parse_i64_in(argv[i], min, max, &v) < 0) {
        fprintf(stderr, "bench_exchange: '%s': a number from %" PRId64 " to %" PRId64 "\n", argv[i],
                min, max);
        exit(2);
    }
    return v;
}

int main(int argc, char **argv)
{
    _cleanup_(rig_done) struct rig rig;
    uint32_t n_trainers = (uint32_t)number(argc, argv, 1, 1, RIG_MAX, 1);
    uint32_t n_servers = (uint32_t)number(argc, argv, 2, 1, RIG_MAX, 1);
    int rounds = (int)number(argc, argv, 3, 1, 100000, 20);
    size_t n = (size_t)number(argc, argv, 4, 1, 1 << 28, 15254602);
    size_t slice = (size_t)number(argc, argv, 5, 128, SLICES_MAX_BYTES, SLICES_MAX_BYTES);
    const int transport = exchange_transport_from_string(argc > 6 ? argv[6] : "Tcp");
    if (transport < 0) {
        fprintf(stderr, "bench_exchange: '%s': Tcp or SharedMemory\n", argv[6]);
        exit(2);
    }
    rig_transport = (enum exchange_transport)transport;
    rig_init(&rig, n, n_servers, n_trainers, slice);
    rig_start_servers(&rig);
    struct trainer trainers[RIG_MAX] = {0};
    for (uint32_t i = 0; i < n_trainers; i++) {
        trainers[i] = (struct trainer){.rig = &rig, .index = i, .rounds = rounds};
        trainers[i].round_ns = xnew_array(int64_t, (size_t)rounds);
        if (pthread_create(&trainers[i].thread, NULL, train, &trainers[i]) != 0) {
            abort();
        }
    }
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < n_trainers; i++) {
        (void)pthread_join(trainers[i].thread, NULL);
        bytes += trainers[i].bytes;
    }
    rig_join_servers(&rig);
    int64_t servers_cpu_ns = 0;
    for (uint32_t i = 0; i < n_servers; i++) {
        servers_cpu_ns += rig.servers[i].cpu_ns;
    }
    const double gradient_bytes = (double)n * sizeof(float) * n_trainers * (rounds + WARMUP);
    qsort(trainers[0].round_ns, (size_t)rounds, sizeof(int64_t), by_time);
    double median_s = (double)trainers[0].round_ns[rounds / 2] / 1e9;
    double cpu_ns = (double)(trainers[0].cpu_end_ns - trainers[0].cpu_begin_ns);
    printf("trainers %u servers %u slices %u %s: round median %.1f ms, min %.1f ms; %.2f GB/s each "
           "way and trainer; %.3f CPU-ns per byte moved; servers: %.3f CPU-ns per gradient byte\n",
           n_trainers, n_servers, rig.slices.n, exchange_transport_names[transport], median_s * 1e3,
           (double)trainers[0].round_ns[0] / 1e6, (double)n * sizeof(float) / median_s / 1e9,
           cpu_ns / (double)bytes, (double)servers_cpu_ns / gradient_bytes);
    for (uint32_t i = 0; i < n_trainers; i++) {
        free(trainers[i].round_ns);
    }
    return 0;
}
