/* See exchange_nccl.h. */
#include "worker/comm/nccl/exchange_nccl.h"

#include "base/clock.h"
#include "base/mem.h"
#include "worker/comm/nccl/nccl_gang.h"

struct nccl {
    struct exchange base;
    struct exchange_ring_params params; /* of the caller */
    struct nccl_gang gang;
    size_t n, chunk; /* floats; of each rank, in the buffers */
    float *sum;      /* (chunk) owned */
    bool is_in_step, is_done;
    const float *grads;
    float *new_params;
    size_t ready_offset;
    uint64_t t;                 /* steps that have ended */
    int64_t wait_ns, update_ns; /* of the step */
};

/* The arrays of the gang: (n_ranks * chunk) gradients, then parameters; (chunk) of this rank. */
enum { ALL, OWN };

static size_t chunk_of(size_t n_params, uint32_t n_ranks)
{
    return (n_params + n_ranks - 1) / n_ranks;
}

size_t exchange_nccl_part(size_t n_params, uint32_t n_ranks, uint32_t rank)
{
    const size_t chunk = chunk_of(n_params, n_ranks), begin = chunk * rank;
    return begin >= n_params ? 0 : n_params - begin < chunk ? n_params - begin : chunk;
}

/* What follows the last parameter is added too: zeros. */
static int connect_all(struct nccl *x, struct err *err)
{
    const size_t own = x->chunk * sizeof(float), bytes[] = {own * x->gang.n_ranks, own};
    return nccl_gang_connect(&x->gang, bytes, err);
}

/* ---- a step ---- */

static int nccl_barrier(struct exchange *exchange, struct err *err)
{
    struct nccl *x = (struct nccl *)exchange;
    const int r = connect_all(x, err);
    return r < 0 ? r : x->gang.ring->ops->barrier(x->gang.ring, err);
}

static int nccl_begin(struct exchange *exchange, const float *grads, float *params, struct err *err)
{
    struct nccl *x = (struct nccl *)exchange;
    const int r = connect_all(x, err);
    if (r < 0) {
        return r;
    }
    x->grads = grads;
    x->new_params = params;
    x->ready_offset = x->n;
    x->is_in_step = true;
    x->is_done = false;
    x->wait_ns = x->update_ns = 0;
    return 0;
}

static void nccl_ready(struct exchange *exchange, size_t offset)
{
    struct nccl *x = (struct nccl *)exchange;
    if (!x->is_in_step || x->gang.result < 0 || offset >= x->ready_offset) {
        return;
    }
    struct err err;
    const struct nccl_device *gpu = &x->gang.gpu;
    const int r = cuda_check(
        &gpu->api,
        gpu->api.cu_copy_to_device(x->gang.arrays[ALL] + offset * sizeof(float), x->grads + offset,
                                   (x->ready_offset - offset) * sizeof(float), gpu->stream),
        "cuMemcpyHtoDAsync", &err);
    x->ready_offset = offset;
    if (r < 0) {
        (void)nccl_gang_fail(&x->gang, r, &err); /* end reports it */
    }
}

static int reduce(struct nccl *x, size_t n_own, struct err *err)
{
    struct nccl_gang *g = &x->gang;
    const struct nccl_api *api = &g->gpu.api;
    nccl_watch_begin(&g->watch, "ncclReduceScatter", g->comm);
    int r = nccl_check(api,
                       api->reduce_scatter(nccl_device_at(g->arrays[ALL]),
                                           nccl_device_at(g->arrays[OWN]), x->chunk, NCCL_FLOAT32,
                                           NCCL_SUM, g->comm, g->gpu.stream),
                       "ncclReduceScatter", err);
    if (r >= 0 && n_own > 0) {
        r = cuda_check(
            api, api->cu_copy_to_host(x->sum, g->arrays[OWN], n_own * sizeof(float), g->gpu.stream),
            "cuMemcpyDtoHAsync", err);
    }
    return nccl_gang_finish(g, r, err);
}

static int gather(struct nccl *x, float *own, size_t n_own, struct err *err)
{
    struct nccl_gang *g = &x->gang;
    const struct nccl_api *api = &g->gpu.api;
    nccl_watch_begin(&g->watch, "ncclAllGather", g->comm);
    int r = n_own == 0 ? 0
                       : cuda_check(api,
                                    api->cu_copy_to_device(g->arrays[OWN], own,
                                                           n_own * sizeof(float), g->gpu.stream),
                                    "cuMemcpyHtoDAsync", err);
    r = r < 0 ? r
              : nccl_check(api,
                           api->all_gather(nccl_device_at(g->arrays[OWN]),
                                           nccl_device_at(g->arrays[ALL]), x->chunk, NCCL_FLOAT32,
                                           g->comm, g->gpu.stream),
                           "ncclAllGather", err);
    r = r < 0 ? r
              : cuda_check(api,
                           api->cu_copy_to_host(x->new_params, g->arrays[ALL], x->n * sizeof(float),
                                                g->gpu.stream),
                           "cuMemcpyDtoHAsync", err);
    /* The gradients of the next step lie there, and zeros must follow the last parameter. */
    const size_t padding = (x->chunk * g->n_ranks - x->n) * sizeof(float);
    r = nccl_gang_finish(g, r, err);
    r = r < 0 || padding == 0
            ? r
            : cuda_check(api, api->cu_set_bytes(g->arrays[ALL] + x->n * sizeof(float), 0, padding),
                         "cuMemsetD8", err);
    return r < 0 ? nccl_gang_fail(g, r, err) : 0;
}

/* All gradients are ready. */
static int finish(struct nccl *x, struct err *err)
{
    const uint32_t n_ranks = x->gang.n_ranks, rank = x->gang.rank;
    if (x->is_done || x->gang.result < 0) {
        return nccl_gang_result(&x->gang, err);
    }
    const int64_t begin_ns = clock_monotonic_ns();
    const size_t n_own = exchange_nccl_part(x->n, n_ranks, rank);
    float *own = x->new_params + x->chunk * rank;
    int r = reduce(x, n_own, err);
    if (r >= 0) {
        const int64_t at_ns = clock_monotonic_ns();
        x->params.apply(x->params.apply_ctx, x->t + 1, 0, n_own, own, x->sum,
                        1.0f / (float)n_ranks);
        x->update_ns = clock_monotonic_ns() - at_ns;
        r = gather(x, own, n_own, err);
    }
    x->t++;
    x->is_done = true;
    x->wait_ns = clock_monotonic_ns() - begin_ns - x->update_ns;
    return r;
}

static int nccl_need(struct exchange *exchange, size_t offset, size_t n, struct err *err)
{
    struct nccl *x = (struct nccl *)exchange;
    (void)offset, (void)n; /* all come at once */
    return x->is_in_step ? finish(x, err) : 0;
}

static int nccl_end(struct exchange *exchange, struct exchange_times *ret, struct err *err)
{
    struct nccl *x = (struct nccl *)exchange;
    const int r = finish(x, err);
    x->is_in_step = false;
    if (r >= 0) {
        const uint64_t moved = (uint64_t)(x->gang.n_ranks - 1) * x->chunk * sizeof(float);
        *ret = (struct exchange_times){.wait_ns = x->wait_ns,
                                       .update_ns = x->update_ns,
                                       .bytes_tx = 2 * moved,
                                       .bytes_rx = 2 * moved};
    }
    return r;
}

/* ---- the end ---- */

static int nccl_goodbye(struct exchange *exchange, struct err *err)
{
    struct exchange *ring = ((struct nccl *)exchange)->gang.ring;
    return ring->ops->goodbye(ring, err);
}

static void nccl_abandon(struct exchange *exchange, int exit_code, const char *why)
{
    nccl_gang_abandon(&((struct nccl *)exchange)->gang, exit_code, why);
}

static void nccl_fault(const struct exchange *exchange, struct exchange_fault *ret)
{
    const struct exchange *ring = ((const struct nccl *)exchange)->gang.ring;
    ring->ops->fault(ring, ret);
}

static enum exchange_transport nccl_transport(const struct exchange *exchange, const char **ret_why)
{
    (void)exchange;
    *ret_why = "";
    return EXCHANGE_TRANSPORT_NCCL;
}

static void nccl_free(struct exchange *exchange)
{
    struct nccl *x = (struct nccl *)exchange;
    if (x != NULL) {
        nccl_gang_done(&x->gang);
        free(x->sum);
        free(x);
    }
}

static const struct exchange_ops nccl_ops = {
    .barrier = nccl_barrier,
    .begin = nccl_begin,
    .ready = nccl_ready,
    .need = nccl_need,
    .end = nccl_end,
    .goodbye = nccl_goodbye,
    .abandon = nccl_abandon,
    .fault = nccl_fault,
    .transport = nccl_transport,
    .free = nccl_free,
};

int exchange_nccl_new(const struct exchange_ring_params *ring, struct exchange **ret,
                      struct err *err)
{
    struct nccl *x = xnew(struct nccl);
    x->base.ops = &nccl_ops;
    x->params = *ring;
    x->n = ring->slices.n_params;
    x->chunk = chunk_of(x->n, ring->slices.n_servers);
    x->sum = xnew_array(float, x->chunk + 1);
    const int r = nccl_gang_open(&x->gang, "transport Nccl", ring, err);
    if (r < 0) {
        nccl_free(&x->base);
        return r;
    }
    *ret = &x->base;
    return 0;
}
