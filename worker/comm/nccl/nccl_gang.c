/* See nccl_gang.h. */
#include "worker/comm/nccl/nccl_gang.h"

#include <assert.h>
#include <string.h>

#include "base/exit_code.h"
#include "base/fd.h"
#include "exchange/ring_plan.h"
#include "worker/comm/link/heartbeat.h"

int nccl_gang_result(const struct nccl_gang *g, struct err *err)
{
    if (g->result < 0 && err != NULL) {
        *err = g->err;
    }
    return g->result;
}

void nccl_gang_abandon(struct nccl_gang *g, int exit_code, const char *why)
{
    if (g->result == 0) {
        g->result = err_set(&g->err, ECANCELED, "%s", why);
    }
    g->ring->ops->abandon(g->ring, exit_code, why);
}

int nccl_gang_fail(struct nccl_gang *g, int r, const struct err *err)
{
    if (g->result == 0) {
        g->result = r;
        g->err = *err;
        g->ring->ops->abandon(g->ring, EXIT_WORKER_RESOURCE, err->msg);
    }
    return r;
}

/* ---- what the watch asks for, in its thread ---- */

static bool knows_cause(void *ctx)
{
    const struct nccl_gang *g = ctx;
    struct exchange_fault fault;
    g->ring->ops->fault(g->ring, &fault);
    return fault.exit_code != 0;
}

static void tell(void *ctx, const char *why)
{
    struct nccl_gang *g = ctx;
    g->ring->ops->abandon(g->ring, EXIT_WORKER_RESOURCE, why);
}

static void give_up(void *ctx, const char *why)
{
    const struct nccl_gang *g = ctx;
    const struct exchange_fault fault = {.exit_code = EXIT_WORKER_RESOURCE};
    if (g->owner.on_fault != NULL) {
        g->owner.on_fault(g->owner.ctx, &fault, why);
    }
}

/* ---- the beginning ---- */

static void keep_sum(void *ctx, uint64_t t, size_t offset, size_t n, float *params,
                     const float *sum, float scale)
{
    (void)ctx, (void)t, (void)offset, (void)scale;
    memcpy(params, sum, n * sizeof(float));
}

int nccl_gang_open(struct nccl_gang *g, const char *what, const struct exchange_ring_params *ring,
                   struct err *err)
{
    struct exchange_ring_params own = *ring;
    *g = (struct nccl_gang){
        .gpu = NCCL_DEVICE_INIT,
        .owner = ring->owner,
        .n_ranks = ring->slices.n_servers,
        .rank = ring->gang.self.index,
    };
    int r = nccl_device_open(&g->gpu, g->rank, err);
    if (r < 0) {
        fd_close(&own.gang.listen_fd); /* nothing came there */
        return err_wrap(err, r, "%s", what);
    }
    own.slices = ring_slices(NCCL_GANG_SUMS, g->n_ranks);
    own.transport = EXCHANGE_TRANSPORT_TCP;
    own.window_bytes = RING_WINDOW_BYTES;
    own.apply = keep_sum;
    r = exchange_ring_new(&own, &g->ring, err);
    const struct nccl_watch_params watch = {
        .api = &g->gpu.api,
        .limit_ns = ring->gang.rendezvous_ns,
        .peer_ns = heartbeat_limit_ns(ring->gang.silence_ns) + HEARTBEAT_PERIOD_NS,
        .knows_cause = knows_cause,
        .tell = tell,
        .give_up = give_up,
        .ctx = g,
    };
    return r < 0 ? r : nccl_watch_start(&g->watch, &watch, err);
}

int nccl_gang_sum(struct nccl_gang *g, const float *from, float *to, size_t n, struct err *err)
{
    float mine[NCCL_GANG_SUMS] = {0}, sums[NCCL_GANG_SUMS] = {0};
    struct exchange_times times;
    assert(n <= NCCL_GANG_SUMS);
    memcpy(mine, from, n * sizeof(float));
    const int r = exchange_round(g->ring, mine, sums, &times, err);
    memcpy(to, sums, n * sizeof(float));
    return r;
}

static int share_id(struct nccl_gang *g, struct nccl_id *id, struct err *err)
{
    float numbers[NCCL_ID_BYTES] = {0};
    if (g->rank == 0) {
        nccl_id_to_numbers(id, numbers);
    }
    const int r = nccl_gang_sum(g, numbers, numbers, NCCL_ID_BYTES, err);
    if (r >= 0) {
        nccl_id_from_numbers(numbers, id);
    }
    return r;
}

int nccl_gang_connect(struct nccl_gang *g, const size_t bytes[static 2], struct err *err)
{
    const struct nccl_api *api = &g->gpu.api;
    struct nccl_id id = {{0}};
    if (g->comm != NULL || g->result < 0) {
        return nccl_gang_result(g, err);
    }
    int r = nccl_device_begin(&g->gpu, err);
    for (int i = 0; i < 2 && r >= 0; i++) {
        r = nccl_device_new_array(&g->gpu, bytes[i], &g->arrays[i], err);
    }
    if (r >= 0 && g->rank == 0) {
        r = nccl_check(api, api->get_unique_id(&id), "ncclGetUniqueId", err);
    }
    if (r < 0) {
        return nccl_gang_fail(g, r, err);
    }
    r = share_id(g, &id, err);
    if (r < 0) {
        return r; /* of the ring, which has named its cause */
    }
    nccl_watch_begin(&g->watch, "ncclCommInitRank", NULL);
    r = nccl_check(api, api->comm_init_rank(&g->comm, (int)g->n_ranks, id, (int)g->rank),
                   "ncclCommInitRank", err);
    r = nccl_watch_end(&g->watch, r, err);
    return r < 0 ? nccl_gang_fail(g, r, err) : 0;
}

int nccl_gang_finish(struct nccl_gang *g, int r, struct err *err)
{
    const struct nccl_api *api = &g->gpu.api;
    r = r < 0 ? r
              : cuda_check(api, api->cu_stream_synchronize(g->gpu.stream), "cuStreamSynchronize",
                           err);
    r = nccl_watch_end(&g->watch, r, err);
    return r < 0 ? nccl_gang_fail(g, r, err) : 0;
}

/* After a failure NCCL may still be at work on the GPU: see nccl_device_close. */
static void close_device(struct nccl_gang *g)
{
    if (g->comm != NULL && g->result < 0) {
        return;
    }
    if (g->comm != NULL) {
        (void)g->gpu.api.comm_destroy(g->comm); /* the process ends */
    }
    for (int i = 0; i < 2; i++) {
        nccl_device_free_array(&g->gpu, g->arrays[i]);
    }
    nccl_device_close(&g->gpu);
}

void nccl_gang_done(struct nccl_gang *g)
{
    nccl_watch_stop(&g->watch);
    if (g->ring != NULL) {
        g->ring->ops->free(g->ring);
    }
    close_device(g);
}
