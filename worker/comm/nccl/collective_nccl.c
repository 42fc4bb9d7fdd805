/* See collective_nccl.h. */
#include "worker/comm/nccl/collective_nccl.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/exit_code.h"
#include "base/fd.h"
#include "base/mem.h"
#include "worker/comm/link/comm_thread.h"
#include "worker/comm/link/heartbeat.h"
#include "worker/comm/nccl/nccl_device.h"
#include "worker/comm/nccl/nccl_watch.h"

#define BEAT_NS INT64_C(100000000)
/* A call asks without a pause for so long; then it lets others have the CPU between two questions;
 * and who has waited for a late rank for 50 ms sleeps for 1 ms between them. */
#define SPIN_NS INT64_C(50000)
#define NAP_FROM_NS INT64_C(50000000)

struct nccl_ranks {
    struct collective base;
    struct collective *mesh; /* owned */
    struct nccl_device gpu;
    uint32_t n_ranks, rank;
    size_t n_max;
    cuda_ptr from, to; /* (n_max) floats */
    nccl_comm comm;    /* NULL: not connected */
    /* NCCL may be at work on the arrays, or on connecting, until the process ends */
    bool has_failed;
    char *way; /* "NCCL 2.21.5", owned */
    int64_t limit_ns, peer_ns, beat_ns;
    int64_t blamed_ns; /* since when NCCL has reported an error; 0: it has not */
};

/* ---- waiting ---- */

/* What NCCL says of its work. If it blames its network, a peer may be gone, whom the mesh
 * finds within peer_ns. */
static int ask(struct nccl_ranks *x, int64_t now_ns, const char *what, struct err *err)
{
    const struct nccl_api *api = &x->gpu.api;
    int result = 0;
    const int r = x->comm == NULL ? 0 : api->comm_get_async_error(x->comm, &result);
    result = r != 0 ? r : result;
    if (result == 0 || result == NCCL_IN_PROGRESS) {
        return 0;
    }
    x->blamed_ns = x->blamed_ns != 0 ? x->blamed_ns : now_ns;
    const bool may_be_peer = result == NCCL_SYSTEM_ERROR || result == NCCL_REMOTE_ERROR;
    return may_be_peer && now_ns - x->blamed_ns < x->peer_ns ? 0
                                                             : nccl_check(api, result, what, err);
}

/* Life signs, if they are due, errors of NCCL, and the limit of what began at since_ns. */
static int look_around(struct nccl_ranks *x, const char *what, int64_t since_ns, struct err *err)
{
    const int64_t now_ns = clock_monotonic_ns();
    if (now_ns - x->beat_ns < BEAT_NS) {
        return 0;
    }
    x->beat_ns = now_ns;
    if (now_ns - since_ns >= x->limit_ns) {
        return err_set(err, ETIMEDOUT, "%s has not ended within %.0f s", what,
                       (double)x->limit_ns / 1e9);
    }
    const int e = x->mesh->ops->beat(x->mesh, err);
    return e < 0 ? e : ask(x, now_ns, what, err);
}

/* Until the stream is through. */
static int wait_stream(struct nccl_ranks *x, const char *what, struct err *err)
{
    const struct nccl_api *api = &x->gpu.api;
    const int64_t since_ns = clock_monotonic_ns();
    int result, e = 0;
    while ((result = api->cu_stream_query(x->gpu.stream)) == CUDA_NOT_READY && e >= 0) {
        e = look_around(x, what, since_ns, err);
        const int64_t waited_ns = clock_monotonic_ns() - since_ns;
        if (waited_ns >= NAP_FROM_NS) {
            (void)poll(NULL, 0, 1); /* no descriptor says that a stream is through */
        } else if (waited_ns >= SPIN_NS) {
            (void)sched_yield(); /* cannot fail */
        }
    }
    return e < 0 ? e : cuda_check(api, result, what, err);
}

/* A failure of NCCL or of the GPU is this rank's: the others get a report and name it. */
static int checked(struct nccl_ranks *x, int e, struct err *err)
{
    if (e < 0) {
        struct exchange_fault fault;
        x->has_failed = true;
        x->mesh->ops->fault(x->mesh, &fault);
        if (fault.exit_code == 0) {
            x->mesh->ops->abandon(x->mesh, EXIT_WORKER_RESOURCE, err->msg);
        }
        if (x->comm != NULL) {
            nccl_abort(&x->gpu.api, x->comm);
            x->comm = NULL;
        }
    }
    return e;
}

/* ---- calls ---- */

static bool is_on_gpu(const struct nccl_ranks *x, const float *p)
{
    const cuda_ptr at = (uintptr_t)p, bytes = x->n_max * sizeof(float);
    return (at >= x->from && at < x->from + bytes) || (at >= x->to && at < x->to + bytes);
}

/* NCCL has refused a call, maybe with an error that it had found before: then it is one like those
 * that it reports while it works. */
static int wait_refused(struct nccl_ranks *x, const char *what, int refused, struct err *err)
{
    const int64_t since_ns = clock_monotonic_ns();
    struct err found;
    int e = ask(x, since_ns, what, &found);
    while (e >= 0 && x->blamed_ns != 0) {
        (void)poll(NULL, 0, (int)(BEAT_NS / 1000000)); /* too early is as good */
        e = look_around(x, what, since_ns, &found);
    }
    if (e < 0) {
        *err = found;
    }
    return e < 0 ? e : refused;
}

static int call_all_reduce(struct collective *c, const float *from, float *to, size_t n,
                           struct err *err)
{
    struct nccl_ranks *x = (struct nccl_ranks *)c;
    if (!is_on_gpu(x, from)) {
        return x->mesh->ops->all_reduce(x->mesh, from, to, n, err);
    }
    if (x->has_failed) {
        return x->mesh->ops->beat(x->mesh, err); /* says what has ended it */
    }
    const struct nccl_api *api = &x->gpu.api;
    const int r = nccl_check(
        api, api->all_reduce(from, to, n, NCCL_FLOAT32, NCCL_SUM, x->comm, x->gpu.stream),
        "ncclAllReduce", err);
    return checked(
        x, r < 0 ? wait_refused(x, "ncclAllReduce", r, err) : wait_stream(x, "ncclAllReduce", err),
        err);
}

static int call_write(struct collective *c, float *to, const float *numbers, size_t n,
                      struct err *err)
{
    struct nccl_ranks *x = (struct nccl_ranks *)c;
    const struct nccl_api *api = &x->gpu.api;
    const int r = cuda_check(
        api, api->cu_copy_to_device((uintptr_t)to, numbers, n * sizeof(float), x->gpu.stream),
        "cuMemcpyHtoDAsync", err);
    return checked(x, r < 0 ? r : wait_stream(x, "cuMemcpyHtoDAsync", err), err);
}

static int call_read(struct collective *c, float *ret, const float *from, size_t n, struct err *err)
{
    struct nccl_ranks *x = (struct nccl_ranks *)c;
    const struct nccl_api *api = &x->gpu.api;
    const int r = cuda_check(
        api, api->cu_copy_to_host(ret, (uintptr_t)from, n * sizeof(float), x->gpu.stream),
        "cuMemcpyDtoHAsync", err);
    return checked(x, r < 0 ? r : wait_stream(x, "cuMemcpyDtoHAsync", err), err);
}

static int call_beat(struct collective *c, struct err *err)
{
    struct nccl_ranks *x = (struct nccl_ranks *)c;
    return x->mesh->ops->beat(x->mesh, err);
}

static const char *call_way(const struct collective *c, size_t n)
{
    (void)n;
    return ((const struct nccl_ranks *)c)->way;
}

static int call_goodbye(struct collective *c, struct err *err)
{
    struct nccl_ranks *x = (struct nccl_ranks *)c;
    return x->mesh->ops->goodbye(x->mesh, err);
}

static void call_abandon(struct collective *c, int exit_code, const char *why)
{
    struct nccl_ranks *x = (struct nccl_ranks *)c;
    x->has_failed = true;
    x->mesh->ops->abandon(x->mesh, exit_code, why);
}

static void call_fault(const struct collective *c, struct exchange_fault *ret)
{
    const struct nccl_ranks *x = (const struct nccl_ranks *)c;
    x->mesh->ops->fault(x->mesh, ret);
}

static enum exchange_transport call_transport(const struct collective *c)
{
    (void)c;
    return EXCHANGE_TRANSPORT_NCCL;
}

static void call_memory(const struct collective *c, struct collective_memory *ret)
{
    const struct nccl_ranks *x = (const struct nccl_ranks *)c;
    *ret = (struct collective_memory){nccl_device_at(x->from), nccl_device_at(x->to)};
}

static void call_free(struct collective *c)
{
    struct nccl_ranks *x = (struct nccl_ranks *)c;
    if (x == NULL) {
        return;
    }
    if (x->mesh != NULL) {
        x->mesh->ops->free(x->mesh);
    }
    if (!x->has_failed) {
        if (x->comm != NULL) {
            (void)x->gpu.api.comm_destroy(x->comm); /* nothing is under way */
        }
        nccl_device_free_array(&x->gpu, x->from);
        nccl_device_free_array(&x->gpu, x->to);
        nccl_device_close(&x->gpu);
    }
    free(x->way);
    free(x);
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

/* ---- the beginning ---- */

/* ncclCommInitRank waits for all ranks. It has a thread of its own, so that this one can beat; it
 * owns this if the other one has given up. */
struct connecting {
    struct nccl_device gpu; /* borrowed: a copy of that of nccl_ranks, which may have been freed */
    int n_ranks, rank;
    struct nccl_id id;
    nccl_comm comm;
    int result;
    struct err err;
    int done_fd; /* an eventfd */
};

static void *connect_main(void *arg)
{
    struct connecting *c = arg;
    const struct nccl_api *api = &c->gpu.api;
    c->result = nccl_device_use(&c->gpu, &c->err);
    if (c->result >= 0) {
        c->result = nccl_check(api, api->comm_init_rank(&c->comm, c->n_ranks, c->id, c->rank),
                               "ncclCommInitRank", &c->err);
    }
    const uint64_t one = 1;
    const ssize_t n = write(c->done_fd, &one, sizeof(one));
    (void)n; /* cannot fail: it is the first one */
    return NULL;
}

static void end_connecting(struct connecting *c)
{
    fd_close(&c->done_fd);
    free(c);
}

static int connect_all(struct nccl_ranks *x, const struct nccl_id *id, struct err *err)
{
    struct connecting *c = xnew(struct connecting);
    c->gpu = x->gpu;
    c->n_ranks = (int)x->n_ranks;
    c->rank = (int)x->rank;
    c->id = *id;
    c->done_fd = eventfd(0, EFD_CLOEXEC);
    pthread_t thread;
    const int code = c->done_fd < 0 ? errno : comm_thread_start(&thread, connect_main, c);
    if (code != 0) {
        end_connecting(c);
        return err_set_errno(err, code, "start the thread that connects");
    }
    const int64_t since_ns = clock_monotonic_ns();
    struct pollfd done = {.fd = c->done_fd, .events = POLLIN};
    int e = 0;
    while (e >= 0 &&
           poll(&done, 1, (int)(BEAT_NS / 1000000)) <= 0) { /* on an error it looks again */
        e = look_around(x, "ncclCommInitRank", since_ns, err);
    }
    if (e < 0) {
        (void)pthread_detach(thread); /* it may stay in NCCL until the process ends, with *c */
        return e;
    }
    (void)pthread_join(thread, NULL); /* it has said that it is done */
    e = c->result;
    x->comm = c->comm;
    if (e < 0) {
        *err = c->err;
    }
    end_connecting(c);
    return e;
}

static int share_id(struct nccl_ranks *x, struct nccl_id *id, struct err *err)
{
    float numbers[NCCL_ID_BYTES] = {0};
    if (x->rank == 0) {
        nccl_id_to_numbers(id, numbers);
    }
    const int r = x->mesh->ops->all_reduce(x->mesh, numbers, numbers, NCCL_ID_BYTES, err);
    if (r >= 0) {
        nccl_id_from_numbers(numbers, id);
    }
    return r;
}

/* What each rank does alone. The others have been met, and hear of a failure. */
static int prepare(struct nccl_ranks *x, struct nccl_id *id, struct err *err)
{
    const size_t bytes = x->n_max * sizeof(float);
    _cleanup_(freep) char *version = nccl_version_here();
    x->way = xasprintf("NCCL %s", version == NULL ? "unknown" : version);
    int r = nccl_device_begin(&x->gpu, err);
    r = r < 0 ? r : nccl_device_new_array(&x->gpu, bytes, &x->from, err);
    r = r < 0 ? r : nccl_device_new_array(&x->gpu, bytes, &x->to, err);
    return r < 0 || x->rank != 0
               ? r
               : nccl_check(&x->gpu.api, x->gpu.api.get_unique_id(id), "ncclGetUniqueId", err);
}

static int open_all(struct nccl_ranks *x, const struct collective_params *params,
                    struct exchange_fault *ret_fault, struct err *err)
{
    int r = nccl_device_open(&x->gpu, x->rank, err);
    if (r < 0) {
        if (params->gang.listen_fd >= 0) {
            (void)close(params->gang.listen_fd); /* nothing came there */
        }
        return err_wrap(err, r, "backend nccl");
    }
    struct collective_params p = *params;
    p.transport = EXCHANGE_TRANSPORT_TCP;
    p.n_max = 0;
    r = collective_mesh_new(&p, &x->mesh, ret_fault, err);
    if (r < 0) {
        return r;
    }
    struct nccl_id id = {{0}};
    r = prepare(x, &id, err);
    r = r < 0 ? r : share_id(x, &id, err);
    r = r < 0 ? r : connect_all(x, &id, err);
    r = checked(x, r, err);
    x->mesh->ops->fault(x->mesh, ret_fault);
    return r;
}

int collective_nccl_new(const struct collective_params *params, struct collective **ret,
                        struct exchange_fault *ret_fault, struct err *err)
{
    struct nccl_ranks *x = xnew(struct nccl_ranks);
    x->base.ops = &nccl_ops;
    x->gpu = NCCL_DEVICE_INIT;
    x->n_ranks = params->n_ranks;
    x->rank = params->gang.self.index;
    x->n_max = params->n_max;
    x->limit_ns = params->gang.rendezvous_ns;
    x->peer_ns = heartbeat_limit_ns(params->gang.silence_ns) + HEARTBEAT_PERIOD_NS;
    *ret_fault = (struct exchange_fault){0};
    const int r = open_all(x, params, ret_fault, err);
    if (r < 0) {
        call_free(&x->base);
        return r;
    }
    *ret = &x->base;
    return 0;
}
