/* See exchange_nccl.h. */
#include "worker/comm/nccl/exchange_nccl.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/exit_code.h"
#include "base/mem.h"
#include "base/parse.h"
#include "exchange/ring_plan.h"
#include "worker/comm/link/heartbeat.h"
#include "worker/comm/nccl/nccl_api.h"
#include "worker/comm/nccl/nccl_watch.h"

/* ---- the GPU, which one thread uses ---- */

struct device {
    struct nccl_api api;
    int device;
    cuda_context context;
    cuda_stream stream; /* NULL until device_begin */
};

/* Returns the number of this process among those of its machine, which torchrun, Open MPI, MPICH
 * and srun set. Without it all ranks are on one machine, or each has GPUs of its own. */
static uint64_t local_rank(uint32_t rank)
{
    static const char *const names[] = {"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK",
                                        "MPI_LOCALRANKID", "SLURM_LOCALID"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        const char *text = getenv(names[i]);
        uint64_t found;
        if (text != NULL && parse_u64(text, &found) == 0) {
            return found;
        }
    }
    return rank;
}

/* Loads the libraries and takes the GPU of this rank among the processes of this machine (`rank` if
 * no launcher sets it), mod the number of GPUs that this process sees. Returns -ELIBACC if a
 * library is missing, and -ENODEV without a GPU. Then call device_close, in any case. */
static int device_open(struct device *d, uint32_t rank, struct err *err)
{
    const struct nccl_api *api = &d->api;
    int n = 0, device = -1;
    int r = nccl_api_load(&d->api, err);
    r = r < 0 ? r : cuda_check(api, api->cu_init(0), "cuInit", err);
    r = r < 0 ? r : cuda_check(api, api->cu_device_get_count(&n), "cuDeviceGetCount", err);
    if (r >= 0 && n == 0) {
        return err_set(err, ENODEV, "there is no GPU");
    }
    r = r < 0 ? r
              : cuda_check(api, api->cu_device_get(&device, (int)(local_rank(rank) % (unsigned)n)),
                           "cuDeviceGet", err);
    r = r < 0 ? r
              : cuda_check(api, api->cu_context_retain(&d->context, device),
                           "cuDevicePrimaryCtxRetain", err);
    d->device = device;
    return r;
}

/* Makes the stream. From now on the calls of this thread are for the GPU. */
static int device_begin(struct device *d, struct err *err)
{
    const int r =
        cuda_check(&d->api, d->api.cu_context_set_current(d->context), "cuCtxSetCurrent", err);
    return r < 0
               ? r
               : cuda_check(&d->api, d->api.cu_stream_create(&d->stream, 0), "cuStreamCreate", err);
}

/* The process ends, or has reported its failure: errors of calls that free are not reported. */
static void device_free_array(const struct device *d, cuda_ptr array)
{
    if (array != 0) {
        (void)d->api.cu_free(array);
    }
}

/* Allocates memory on the GPU and fills it with zeros. *ret is to be freed also after a failure. */
static int device_new_array(const struct device *d, size_t bytes, cuda_ptr *ret, struct err *err)
{
    const int r = cuda_check(&d->api, d->api.cu_alloc(ret, bytes), "cuMemAlloc", err);
    return r < 0 ? r : cuda_check(&d->api, d->api.cu_set_bytes(*ret, 0, bytes), "cuMemsetD8", err);
}

/* After a failure NCCL may still be at work on the GPU, and every call that frees memory or a
 * stream waits for it: then call none of them, and end the process. */
static void device_close(struct device *d)
{
    const struct nccl_api *api = &d->api;
    if (d->stream != NULL) {
        (void)api->cu_stream_destroy(d->stream);
    }
    if (d->context != NULL) {
        (void)api->cu_context_release(d->device);
    }
    nccl_api_unload(&d->api);
}

/* An address on the GPU as NCCL takes it. */
static void *device_at(cuda_ptr ptr)
{
    return (void *)(uintptr_t)ptr;
}

/* Convert the unique id to numbers and back, a byte each: a sum with zeros is exact. */
static void id_to_numbers(const struct nccl_id *id, float ret[static NCCL_ID_BYTES])
{
    for (size_t i = 0; i < NCCL_ID_BYTES; i++) {
        ret[i] = (float)(unsigned char)id->bytes[i];
    }
}

static void id_from_numbers(const float numbers[static NCCL_ID_BYTES], struct nccl_id *ret)
{
    for (size_t i = 0; i < NCCL_ID_BYTES; i++) {
        ret->bytes[i] = (char)(unsigned char)numbers[i];
    }
}

/* ---- the exchange ---- */

struct nccl {
    struct exchange base;
    struct exchange_ring_params params; /* those of the caller */
    struct exchange *ring;              /* owned */
    struct device gpu;
    struct nccl_watch watch;
    uint32_t n_ranks, rank;
    nccl_comm comm; /* NULL until the ranks are connected */
    int result;     /* the first failure */
    struct err err; /* its text */
    size_t n;       /* floats */
    size_t chunk;   /* floats of each rank in the two arrays */
    cuda_ptr all;   /* (n_ranks * chunk) on the GPU: gradients, then parameters */
    cuda_ptr own;   /* (chunk) on the GPU: this rank's part */
    float *sum;     /* (chunk) owned */
    bool is_in_step, is_done;
    const float *grads;
    float *new_params;
    size_t ready_offset;
    uint64_t t;                 /* steps that have ended */
    int64_t wait_ns, update_ns; /* of the step */
};

static size_t chunk_of(size_t n_params, uint32_t n_ranks)
{
    return (n_params + n_ranks - 1) / n_ranks;
}

size_t exchange_nccl_part(size_t n_params, uint32_t n_ranks, uint32_t rank)
{
    const size_t chunk = chunk_of(n_params, n_ranks), begin = chunk * rank;
    return begin >= n_params ? 0 : n_params - begin < chunk ? n_params - begin : chunk;
}

/* ---- failures ---- */

/* Returns 0, or the first failure with its text. */
static int result_of(const struct nccl *x, struct err *err)
{
    if (x->result < 0 && err != NULL) {
        *err = x->err;
    }
    return x->result;
}

/* Reports a failure of this rank to the others, which name it. Returns r. */
static int fail(struct nccl *x, int r, const struct err *err)
{
    if (x->result == 0) {
        x->result = r;
        x->err = *err;
        x->ring->ops->abandon(x->ring, EXIT_WORKER_RESOURCE, err->msg);
    }
    return r;
}

/* Waits for the work that nccl_watch_begin has announced. r is the result of the calls that began
 * it. */
static int finish_call(struct nccl *x, int r, struct err *err)
{
    const struct nccl_api *api = &x->gpu.api;
    r = r < 0 ? r
              : cuda_check(api, api->cu_stream_synchronize(x->gpu.stream), "cuStreamSynchronize",
                           err);
    r = nccl_watch_end(&x->watch, r, err);
    return r < 0 ? fail(x, r, err) : 0;
}

/* ---- the beginning ---- */

/* The ring calls this in place of an optimiser. */
static void keep_sum(void *ctx, uint64_t t, size_t offset, size_t n, float *params,
                     const float *sum, float scale)
{
    (void)ctx, (void)t, (void)offset, (void)scale;
    memcpy(params, sum, n * sizeof(float));
}

/* Sends NCCL's unique id from rank 0 to the others: a sum to which they add zeros. */
static int share_id(struct nccl *x, struct nccl_id *id, struct err *err)
{
    float mine[NCCL_ID_BYTES] = {0}, sums[NCCL_ID_BYTES] = {0};
    struct exchange_times times;
    if (x->rank == 0) {
        id_to_numbers(id, mine);
    }
    const int r = exchange_round(x->ring, mine, sums, &times, err);
    id_from_numbers(sums, id);
    return r;
}

static int init_rank(struct nccl *x, struct err *err)
{
    const struct nccl_api *api = &x->gpu.api;
    struct nccl_id id = {{0}};
    int r = device_begin(&x->gpu, err);
    /* NCCL adds what follows the last parameter too: zeros. */
    r = r < 0 ? r : device_new_array(&x->gpu, x->n_ranks * x->chunk * sizeof(float), &x->all, err);
    r = r < 0 ? r : device_new_array(&x->gpu, x->chunk * sizeof(float), &x->own, err);
    if (r >= 0 && x->rank == 0) {
        r = nccl_check(api, api->get_unique_id(&id), "ncclGetUniqueId", err);
    }
    if (r < 0) {
        return fail(x, r, err);
    }
    r = share_id(x, &id, err);
    if (r < 0) {
        return r; /* the ring has named its cause */
    }
    nccl_watch_begin(&x->watch, "ncclCommInitRank", NULL);
    r = nccl_check(api, api->comm_init_rank(&x->comm, (int)x->n_ranks, id, (int)x->rank),
                   "ncclCommInitRank", err);
    r = nccl_watch_end(&x->watch, r, err);
    return r < 0 ? fail(x, r, err) : 0;
}

/* Connects all ranks in the first call that needs them. */
static int connect_all(struct nccl *x, struct err *err)
{
    return x->comm != NULL || x->result < 0 ? result_of(x, err) : init_rank(x, err);
}

/* ---- a step ---- */

static int nccl_barrier(struct exchange *exchange, struct err *err)
{
    struct nccl *x = (struct nccl *)exchange;
    const int r = connect_all(x, err);
    return r < 0 ? r : x->ring->ops->barrier(x->ring, err);
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
    if (!x->is_in_step || x->result < 0 || offset >= x->ready_offset) {
        return;
    }
    struct err err;
    const struct device *gpu = &x->gpu;
    const int r = cuda_check(
        &gpu->api,
        gpu->api.cu_copy_to_device(x->all + offset * sizeof(float), x->grads + offset,
                                   (x->ready_offset - offset) * sizeof(float), gpu->stream),
        "cuMemcpyHtoDAsync", &err);
    x->ready_offset = offset;
    if (r < 0) {
        (void)fail(x, r, &err); /* end reports it */
    }
}

static int reduce(struct nccl *x, size_t n_own, struct err *err)
{
    const struct nccl_api *api = &x->gpu.api;
    nccl_watch_begin(&x->watch, "ncclReduceScatter", x->comm);
    int r = nccl_check(api,
                       api->reduce_scatter(device_at(x->all), device_at(x->own), x->chunk,
                                           NCCL_FLOAT32, NCCL_SUM, x->comm, x->gpu.stream),
                       "ncclReduceScatter", err);
    if (r >= 0 && n_own > 0) {
        r = cuda_check(api,
                       api->cu_copy_to_host(x->sum, x->own, n_own * sizeof(float), x->gpu.stream),
                       "cuMemcpyDtoHAsync", err);
    }
    return finish_call(x, r, err);
}

static int gather(struct nccl *x, float *own, size_t n_own, struct err *err)
{
    const struct nccl_api *api = &x->gpu.api;
    nccl_watch_begin(&x->watch, "ncclAllGather", x->comm);
    int r =
        n_own == 0
            ? 0
            : cuda_check(api,
                         api->cu_copy_to_device(x->own, own, n_own * sizeof(float), x->gpu.stream),
                         "cuMemcpyHtoDAsync", err);
    r = r < 0 ? r
              : nccl_check(api,
                           api->all_gather(device_at(x->own), device_at(x->all), x->chunk,
                                           NCCL_FLOAT32, x->comm, x->gpu.stream),
                           "ncclAllGather", err);
    r = r < 0 ? r
              : cuda_check(api,
                           api->cu_copy_to_host(x->new_params, x->all, x->n * sizeof(float),
                                                x->gpu.stream),
                           "cuMemcpyDtoHAsync", err);
    /* The gradients of the next step lie there, and zeros must follow the last parameter. */
    const size_t padding = (x->chunk * x->n_ranks - x->n) * sizeof(float);
    r = finish_call(x, r, err);
    r = r < 0 || padding == 0
            ? r
            : cuda_check(api, api->cu_set_bytes(x->all + x->n * sizeof(float), 0, padding),
                         "cuMemsetD8", err);
    return r < 0 ? fail(x, r, err) : 0;
}

/* All gradients are ready. */
static int finish(struct nccl *x, struct err *err)
{
    const uint32_t n_ranks = x->n_ranks, rank = x->rank;
    if (x->is_done || x->result < 0) {
        return result_of(x, err);
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
        const uint64_t moved = (uint64_t)(x->n_ranks - 1) * x->chunk * sizeof(float);
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
    struct exchange *ring = ((struct nccl *)exchange)->ring;
    return ring->ops->goodbye(ring, err);
}

static void nccl_abandon(struct exchange *exchange, int exit_code, const char *why)
{
    struct nccl *x = (struct nccl *)exchange;
    if (x->result == 0) {
        x->result = err_set(&x->err, ECANCELED, "%s", why);
    }
    x->ring->ops->abandon(x->ring, exit_code, why);
}

static void nccl_fault(const struct exchange *exchange, struct exchange_fault *ret)
{
    const struct exchange *ring = ((const struct nccl *)exchange)->ring;
    ring->ops->fault(ring, ret);
}

/* After a failure NCCL may still be at work on the GPU: see device_close. */
static void close_device(struct nccl *x)
{
    if (x->comm != NULL && x->result < 0) {
        return;
    }
    if (x->comm != NULL) {
        (void)x->gpu.api.comm_destroy(x->comm); /* the process ends */
    }
    device_free_array(&x->gpu, x->all);
    device_free_array(&x->gpu, x->own);
    device_close(&x->gpu);
}

static void nccl_free(struct exchange *exchange)
{
    struct nccl *x = (struct nccl *)exchange;
    if (x != NULL) {
        nccl_watch_stop(&x->watch);
        if (x->ring != NULL) {
            x->ring->ops->free(x->ring);
        }
        close_device(x);
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
    .free = nccl_free,
};

/* Takes a GPU, and opens the ring and the watch. */
static int open_all(struct nccl *x, struct err *err)
{
    struct exchange_ring_params ring = x->params;
    int r = device_open(&x->gpu, x->rank, err);
    if (r < 0) {
        fd_close(&ring.gang.listen_fd); /* nothing came there */
        return err_wrap(err, r, "transport NCCL");
    }
    ring.slices = ring_slices(NCCL_ID_BYTES, x->n_ranks);
    ring.apply = keep_sum;
    r = exchange_ring_new(&ring, &x->ring, err);
    const struct nccl_watch_params watch = {
        .api = &x->gpu.api,
        .ring = x->ring,
        .owner = &x->params.owner,
        .limit_ns = ring.gang.rendezvous_ns,
        .peer_ns = heartbeat_limit_ns(ring.gang.silence_ns) + HEARTBEAT_PERIOD_NS,
    };
    return r < 0 ? r : nccl_watch_start(&x->watch, &watch, err);
}

int exchange_nccl_new(const struct exchange_ring_params *ring, struct exchange **ret,
                      struct err *err)
{
    struct nccl *x = xnew(struct nccl);
    x->base.ops = &nccl_ops;
    x->params = *ring;
    x->n_ranks = ring->slices.n_servers;
    x->rank = ring->gang.self.index;
    x->n = ring->slices.n_params;
    x->chunk = chunk_of(x->n, x->n_ranks);
    x->sum = xnew_array(float, x->chunk + 1);
    const int r = open_all(x, err);
    if (r < 0) {
        nccl_free(&x->base);
        return r;
    }
    *ret = &x->base;
    return 0;
}
