/* See collective_nccl.h. */
#include "worker/comm/nccl/collective_nccl.h"

#include "base/mem.h"
#include "exchange/ring_plan.h"
#include "worker/comm/nccl/nccl_gang.h"

struct nccl_ranks {
    struct collective base;
    struct nccl_gang gang; /* its arrays: from, to (n_max) floats */
    size_t n_max;
    char *way; /* "NCCL 2.21.5", owned */
};

static bool is_on_gpu(const struct nccl_ranks *x, const float *p)
{
    const cuda_ptr at = (uintptr_t)p, bytes = x->n_max * sizeof(float);
    const cuda_ptr *const a = x->gang.arrays;
    return (at >= a[0] && at < a[0] + bytes) || (at >= a[1] && at < a[1] + bytes);
}

static int call_all_reduce(struct collective *c, const float *from, float *to, size_t n,
                           struct err *err)
{
    struct nccl_gang *g = &((struct nccl_ranks *)c)->gang;
    const struct nccl_api *api = &g->gpu.api;
    int r = nccl_gang_result(g, err);
    if (r < 0 || !is_on_gpu((struct nccl_ranks *)c, from)) {
        return r < 0 ? r : nccl_gang_sum(g, from, to, n, err);
    }
    nccl_watch_begin(&g->watch, "ncclAllReduce", g->comm);
    r = nccl_check(api,
                   api->all_reduce(from, to, n, NCCL_FLOAT32, NCCL_SUM, g->comm, g->gpu.stream),
                   "ncclAllReduce", err);
    return nccl_gang_finish(g, r, err);
}

static int call_write(struct collective *c, float *to, const float *numbers, size_t n,
                      struct err *err)
{
    struct nccl_gang *g = &((struct nccl_ranks *)c)->gang;
    const struct nccl_api *api = &g->gpu.api;
    nccl_watch_begin(&g->watch, "cuMemcpyHtoDAsync", g->comm);
    const int r = cuda_check(
        api, api->cu_copy_to_device((uintptr_t)to, numbers, n * sizeof(float), g->gpu.stream),
        "cuMemcpyHtoDAsync", err);
    return nccl_gang_finish(g, r, err);
}

static int call_read(struct collective *c, float *ret, const float *from, size_t n, struct err *err)
{
    struct nccl_gang *g = &((struct nccl_ranks *)c)->gang;
    const struct nccl_api *api = &g->gpu.api;
    nccl_watch_begin(&g->watch, "cuMemcpyDtoHAsync", g->comm);
    const int r = cuda_check(
        api, api->cu_copy_to_host(ret, (uintptr_t)from, n * sizeof(float), g->gpu.stream),
        "cuMemcpyDtoHAsync", err);
    return nccl_gang_finish(g, r, err);
}

/* The ring's thread does it. */
static int call_beat(struct collective *c, struct err *err)
{
    return nccl_gang_result(&((struct nccl_ranks *)c)->gang, err);
}

static const char *call_way(const struct collective *c, size_t n)
{
    (void)n;
    return ((const struct nccl_ranks *)c)->way;
}

static int call_goodbye(struct collective *c, struct err *err)
{
    struct exchange *ring = ((struct nccl_ranks *)c)->gang.ring;
    return ring->ops->goodbye(ring, err);
}

static void call_abandon(struct collective *c, int exit_code, const char *why)
{
    nccl_gang_abandon(&((struct nccl_ranks *)c)->gang, exit_code, why);
}

static void call_fault(const struct collective *c, struct exchange_fault *ret)
{
    const struct exchange *ring = ((const struct nccl_ranks *)c)->gang.ring;
    ring->ops->fault(ring, ret);
}

static enum exchange_transport call_transport(const struct collective *c)
{
    (void)c;
    return EXCHANGE_TRANSPORT_NCCL;
}

static void call_memory(const struct collective *c, struct collective_memory *ret)
{
    const cuda_ptr *const a = ((const struct nccl_ranks *)c)->gang.arrays;
    *ret = (struct collective_memory){nccl_device_at(a[0]), nccl_device_at(a[1])};
}

static void call_free(struct collective *c)
{
    struct nccl_ranks *x = (struct nccl_ranks *)c;
    if (x != NULL) {
        nccl_gang_done(&x->gang);
        free(x->way);
        free(x);
    }
}

static const struct collective_ops nccl_ops = {
    .all_reduce = call_all_reduce,
    .write = call_write,
    .read = call_read,
    .beat = call_beat,
    .way = call_way,
    .goodbye = call_goodbye,
    .abandon = call_abandon,
    .fault = call_fault,
    .transport = call_transport,
    .memory = call_memory,
    .free = call_free,
};

int collective_nccl_new(const struct collective_params *params, struct collective **ret,
                        struct exchange_fault *ret_fault, struct err *err)
{
    const size_t bytes[] = {params->n_max * sizeof(float), params->n_max * sizeof(float)};
    struct nccl_ranks *x = xnew(struct nccl_ranks);
    struct exchange_ring_params ring = {
        .gang = params->gang,
        .slices = {.n_servers = params->n_ranks},
        .owner = params->owner,
    };
    if (params->n_ranks > 1) {
        ring.next = params->addrs[ring_next(params->n_ranks, params->gang.self.index)];
    }
    ring.gang.differs = COLLECTIVE_DIFFERS;
    x->base.ops = &nccl_ops;
    x->n_max = params->n_max;
    *ret_fault = (struct exchange_fault){0};
    int r = nccl_gang_open(&x->gang, "backend nccl", &ring, err);
    _cleanup_(freep) char *version = r < 0 ? NULL : nccl_version_here();
    x->way = xasprintf("NCCL %s", version == NULL ? "unknown" : version);
    if (r >= 0) {
        r = nccl_gang_connect(&x->gang, bytes, err);
        call_fault(&x->base, ret_fault);
    }
    if (r < 0) {
        call_free(&x->base);
        return r;
    }
    *ret = &x->base;
    return 0;
}
