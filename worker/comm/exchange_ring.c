/* The calls of a worker on its exchange. Each call puts one job into the mailbox of the
 * communication thread (ring_loop.c) and waits for it. See exchange_ring.h. */
#include "worker/comm/exchange_ring.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/exit_code.h"
#include "base/mem.h"
#include "worker/comm/comm_thread.h"
#include "worker/comm/ring_internal.h"

void exchange_ring_digest(const char *model, uint64_t seed, const struct slices *slices,
                          enum exchange_transport transport, uint8_t ret[static AUTH_DIGEST_SIZE])
{
    _cleanup_(freep) char *text =
        xasprintf("AllReduce Sync Fp32 model=%s seed=%" PRIu64 " params=%zu workers=%" PRIu32
                  " slices=%" PRIu32 " transport=%s",
                  model, seed, slices->n_params, slices->n_servers, slices->n,
                  exchange_transport_names[transport]);
    auth_sha256(text, strlen(text), ret);
}

static void wake(struct ring *r)
{
    const uint64_t one = 1;
    ssize_t n = write(r->wake_fd, &one, sizeof(one));
    (void)n; /* fails only when 2^64 wake-ups are pending */
}

static int ended(const struct ring *r, struct err *err)
{
    return r->fault.exit_code != 0 ? fault_to_err(&r->fault, err)
                                   : err_set(err, EPIPE, "the exchange has ended");
}

/* Called with the mutex held; waits until the job is done. */
static int wait_job(struct ring *r, struct err *err)
{
    r->main_waits = true;
    wake(r);
    while (!r->job_done) {
        (void)pthread_cond_wait(&r->cond, &r->mutex); /* cannot fail: initialised and locked */
    }
    r->main_waits = false;
    return r->fault.exit_code != 0 ? fault_to_err(&r->fault, err) : 0;
}

static int do_job(struct ring *r, enum ring_job job, struct err *err)
{
    (void)pthread_mutex_lock(&r->mutex);
    int result;
    if (r->ended) {
        result = ended(r, err);
    } else {
        r->job = job;
        r->job_done = false;
        result = wait_job(r, err);
    }
    (void)pthread_mutex_unlock(&r->mutex);
    return result;
}

static int worker_barrier(struct exchange *x, struct err *err)
{
    return do_job((struct ring *)x, RING_BARRIER, err);
}

static int worker_begin(struct exchange *x, const float *grads, float *params, struct err *err)
{
    struct ring *r = (struct ring *)x;
    (void)pthread_mutex_lock(&r->mutex);
    const int result = r->ended ? ended(r, err) : 0;
    if (result == 0) {
        r->job = RING_ROUND;
        r->job_done = false;
        r->grads = grads;
        r->new_params = params;
        r->ready_offset = SIZE_MAX;
        memset(r->has_arrived, 0, r->params.slices.n * sizeof(bool));
        r->is_in_step = true;
        r->need_wait_ns = 0;
    }
    (void)pthread_mutex_unlock(&r->mutex);
    return result;
}

static void worker_ready(struct exchange *x, size_t offset)
{
    struct ring *r = (struct ring *)x;
    r->waits_since_ns = offset == 0 ? clock_monotonic_ns() : 0;
    (void)pthread_mutex_lock(&r->mutex);
    r->ready_offset = offset;
    (void)pthread_mutex_unlock(&r->mutex);
    wake(r);
}

/* Called with the mutex held. */
static bool has_arrived(const struct ring *r, size_t offset, size_t n)
{
    for (uint32_t i = 0; i < r->params.slices.n; i++) {
        const struct slice s = slices_get(&r->params.slices, i);
        if (!r->has_arrived[i] && s.offset < offset + n && offset < s.offset + s.len) {
            return false;
        }
    }
    return true;
}

static int worker_need(struct exchange *x, size_t offset, size_t n, struct err *err)
{
    struct ring *r = (struct ring *)x;
    if (!r->is_in_step) {
        return 0;
    }
    const int64_t begin_ns = clock_monotonic_ns();
    r->waits_since_ns = 0;
    (void)pthread_mutex_lock(&r->mutex);
    r->main_waits = true;
    while (!r->ended && !has_arrived(r, offset, n)) {
        (void)pthread_cond_wait(&r->cond, &r->mutex); /* cannot fail: initialised and locked */
    }
    r->main_waits = false;
    const int result = r->ended ? ended(r, err) : 0;
    (void)pthread_mutex_unlock(&r->mutex);
    r->need_wait_ns += clock_monotonic_ns() - begin_ns;
    return result;
}

/* What the caller has waited for, who has nothing else to do since begin_ns:
 * the rest was hidden. */
static struct exchange_times exposed(const struct ring *r, int64_t begin_ns)
{
    const struct ring_times *t = &r->times;
    const int64_t sent_ns = t->sent_ns > begin_ns ? t->sent_ns : begin_ns;
    const int64_t first_ns = t->first_ns > begin_ns ? t->first_ns : begin_ns;
    const int64_t after_ns = first_ns > sent_ns ? first_ns : sent_ns;
    return (struct exchange_times){
        .send_ns = sent_ns - begin_ns,
        .wait_ns = after_ns - sent_ns,
        .receive_ns = (t->done_ns > after_ns ? t->done_ns - after_ns : 0) + r->need_wait_ns,
        .bytes_tx = t->bytes_tx,
        .bytes_rx = t->bytes_rx,
    };
}

static int worker_end(struct exchange *x, struct exchange_times *ret, struct err *err)
{
    struct ring *r = (struct ring *)x;
    const int64_t begin_ns = r->waits_since_ns != 0 ? r->waits_since_ns : clock_monotonic_ns();
    (void)pthread_mutex_lock(&r->mutex);
    int result = r->ended ? ended(r, err) : wait_job(r, err);
    if (result >= 0) {
        *ret = exposed(r, begin_ns);
    }
    r->is_in_step = false;
    (void)pthread_mutex_unlock(&r->mutex);
    return result;
}

static int worker_goodbye(struct exchange *x, struct err *err)
{
    return do_job((struct ring *)x, RING_GOODBYE, err);
}

static void worker_abandon(struct exchange *x, int exit_code, const char *why)
{
    struct ring *r = (struct ring *)x;
    (void)pthread_mutex_lock(&r->mutex);
    if (!r->ended) {
        r->fault = (struct fault){.exit_code = exit_code, .peer = r->params.self};
        (void)snprintf(r->fault.message, sizeof(r->fault.message), "%s", why);
        r->job = RING_ABANDON;
        r->job_done = false;
        (void)wait_job(r, NULL); /* it returns the fault set above */
    }
    (void)pthread_mutex_unlock(&r->mutex);
}

static void worker_fault(const struct exchange *x, struct exchange_fault *ret)
{
    struct ring *r = (struct ring *)(uintptr_t)x; /* const but for the mutex */
    (void)pthread_mutex_lock(&r->mutex);
    *ret = (struct exchange_fault){.exit_code = r->fault.exit_code};
    if (r->fault.has_peer) {
        frame_id_name(&r->fault.peer, ret->peer);
    }
    (void)pthread_mutex_unlock(&r->mutex);
}

static enum exchange_transport worker_transport(const struct exchange *x, const char **ret_why)
{
    struct ring *r = (struct ring *)(uintptr_t)x; /* const but for the mutex */
    (void)pthread_mutex_lock(&r->mutex);
    const bool is_shared = r->transport == EXCHANGE_TRANSPORT_SHARED_MEMORY;
    *ret_why = is_shared ? "" : r->why_tcp;
    (void)pthread_mutex_unlock(&r->mutex);
    return is_shared ? EXCHANGE_TRANSPORT_SHARED_MEMORY : EXCHANGE_TRANSPORT_TCP;
}

static void worker_memory(const struct exchange *x, struct exchange_memory *ret)
{
    const struct shm_segment *s =
        &((const struct ring *)x)->share.segment; /* made before the thread */
    *ret = (struct exchange_memory){.grads = s->grads, .params = s->params};
}

static void free_memory(struct ring *r)
{
    if (r->params.listen_fd >= 0) {
        (void)close(r->params.listen_fd); /* a listener has nothing to lose */
    }
    ring_round_done(r);
    ring_share_done(r);
    free(r->has_arrived);
    free(r);
}

static void worker_free(struct exchange *x)
{
    if (x == NULL) {
        return;
    }
    struct ring *r = (struct ring *)x;
    worker_abandon(x, EXIT_WORKER_PEER_LOST, "it left before the end");
    (void)pthread_join(r->thread, NULL); /* worker_abandon has made it end */
    (void)pthread_cond_destroy(&r->cond);
    (void)pthread_mutex_destroy(&r->mutex);
    (void)close(r->wake_fd); /* nothing to lose */
    free_memory(r);
}

static const struct exchange_ops worker_ops = {
    .barrier = worker_barrier,
    .begin = worker_begin,
    .ready = worker_ready,
    .need = worker_need,
    .end = worker_end,
    .goodbye = worker_goodbye,
    .abandon = worker_abandon,
    .fault = worker_fault,
    .transport = worker_transport,
    .memory = worker_memory,
    .free = worker_free,
};

int exchange_ring_new(const struct exchange_ring_params *params, struct exchange **ret,
                      struct err *err)
{
    struct ring *r = xnew(struct ring);
    r->base.ops = &worker_ops;
    r->params = *params;
    r->n_ranks = params->slices.n_servers;
    r->listener = (struct net_listener){.fd = params->listen_fd};
    r->has_arrived = xnew_array(bool, params->slices.n);
    r->share = RING_SHARE_NONE;
    ring_round_init(r);
    r->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (r->wake_fd < 0) {
        const int code = errno;
        free_memory(r);
        return err_set_errno(err, code, "eventfd");
    }
    ring_share_init(r);
    ring_peers_init(r, &params->next);
    (void)pthread_mutex_init(&r->mutex, NULL); /* default attributes: cannot fail */
    (void)pthread_cond_init(&r->cond, NULL);
    int code = comm_thread_start(&r->thread, ring_main, r);
    if (code != 0) {
        (void)close(r->wake_fd);
        free_memory(r);
        return err_set_errno(err, code, "start the communication thread");
    }
    *ret = &r->base;
    return 0;
}
