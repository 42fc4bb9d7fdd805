/* The calls of a trainer on its exchange. Each call puts one job into the mailbox of the
 * communication thread (client_loop.c) and waits for it. See exchange_ps.h. */
#include "worker/comm/exchange_ps.h"

#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/exit_code.h"
#include "base/mem.h"
#include "worker/comm/client_internal.h"
#include "worker/comm/comm_thread.h"

static void wake(struct client *c)
{
    const uint64_t one = 1;
    ssize_t n = write(c->wake_fd, &one, sizeof(one));
    (void)n; /* fails only when 2^64 wake-ups are pending */
}

static int ended(const struct client *c, struct err *err)
{
    return c->fault.exit_code != 0 ? fault_to_err(&c->fault, err)
                                   : err_set(err, EPIPE, "the exchange has ended");
}

/* Called with the mutex held; waits until the job is done. */
static int wait_job(struct client *c, struct err *err)
{
    c->main_waits = true;
    wake(c);
    while (!c->job_done) {
        (void)pthread_cond_wait(&c->cond, &c->mutex); /* cannot fail: initialised and locked */
    }
    c->main_waits = false;
    return c->fault.exit_code != 0 ? fault_to_err(&c->fault, err) : 0;
}

static int do_job(struct client *c, enum client_job job, struct err *err)
{
    (void)pthread_mutex_lock(&c->mutex);
    int r;
    if (c->ended) {
        r = ended(c, err);
    } else {
        c->job = job;
        c->job_done = false;
        r = wait_job(c, err);
    }
    (void)pthread_mutex_unlock(&c->mutex);
    return r;
}

static int client_barrier(struct exchange *x, struct err *err)
{
    return do_job((struct client *)x, JOB_BARRIER, err);
}

static int client_begin(struct exchange *x, const float *grads, float *params, struct err *err)
{
    struct client *c = (struct client *)x;
    (void)pthread_mutex_lock(&c->mutex);
    const int r = c->ended ? ended(c, err) : 0;
    if (r == 0) {
        c->job = JOB_ROUND;
        c->job_done = false;
        c->grads = grads;
        c->new_params = params;
        c->ready_offset = SIZE_MAX;
        memset(c->has_arrived, 0, c->params.slices.n * sizeof(bool));
        c->is_in_step = true;
        c->need_wait_ns = 0;
    }
    (void)pthread_mutex_unlock(&c->mutex);
    return r;
}

static void client_ready(struct exchange *x, size_t offset)
{
    struct client *c = (struct client *)x;
    c->waits_since_ns = offset == 0 ? clock_monotonic_ns() : 0;
    (void)pthread_mutex_lock(&c->mutex);
    c->ready_offset = offset;
    (void)pthread_mutex_unlock(&c->mutex);
    wake(c);
}

/* Called with the mutex held. */
static bool has_arrived(const struct client *c, size_t offset, size_t n)
{
    for (uint32_t i = 0; i < c->params.slices.n; i++) {
        const struct slice s = slices_get(&c->params.slices, i);
        if (!c->has_arrived[i] && s.offset < offset + n && offset < s.offset + s.len) {
            return false;
        }
    }
    return true;
}

static int client_need(struct exchange *x, size_t offset, size_t n, struct err *err)
{
    struct client *c = (struct client *)x;
    if (!c->is_in_step) {
        return 0;
    }
    const int64_t begin_ns = clock_monotonic_ns();
    c->waits_since_ns = 0;
    (void)pthread_mutex_lock(&c->mutex);
    c->main_waits = true;
    while (!c->ended && !has_arrived(c, offset, n)) {
        (void)pthread_cond_wait(&c->cond, &c->mutex); /* cannot fail: initialised and locked */
    }
    c->main_waits = false;
    const int r = c->ended ? ended(c, err) : 0;
    (void)pthread_mutex_unlock(&c->mutex);
    c->need_wait_ns += clock_monotonic_ns() - begin_ns;
    return r;
}

/* What the caller has waited for, who has nothing else to do since begin_ns:
 * the rest was hidden. */
static struct exchange_times exposed(const struct client *c, int64_t begin_ns)
{
    const struct round_times *t = &c->round_times;
    const int64_t sent_ns = t->sent_ns > begin_ns ? t->sent_ns : begin_ns;
    const int64_t first_ns = t->first_ns > begin_ns ? t->first_ns : begin_ns;
    return (struct exchange_times){
        .send_ns = sent_ns - begin_ns,
        .wait_ns = first_ns > sent_ns ? first_ns - sent_ns : 0,
        .receive_ns = (t->done_ns > first_ns ? t->done_ns - first_ns : 0) + c->need_wait_ns,
        .bytes_tx = t->bytes_tx,
        .bytes_rx = t->bytes_rx,
    };
}

static int client_end(struct exchange *x, struct exchange_times *ret, struct err *err)
{
    struct client *c = (struct client *)x;
    const int64_t begin_ns = c->waits_since_ns != 0 ? c->waits_since_ns : clock_monotonic_ns();
    (void)pthread_mutex_lock(&c->mutex);
    int r = c->ended ? ended(c, err) : wait_job(c, err);
    if (r >= 0) {
        *ret = exposed(c, begin_ns);
    }
    c->is_in_step = false;
    (void)pthread_mutex_unlock(&c->mutex);
    return r;
}

static int client_goodbye(struct exchange *x, struct err *err)
{
    return do_job((struct client *)x, JOB_GOODBYE, err);
}

static void client_abandon(struct exchange *x, int exit_code, const char *why)
{
    struct client *c = (struct client *)x;
    (void)pthread_mutex_lock(&c->mutex);
    if (!c->ended) {
        c->fault = (struct fault){.exit_code = exit_code, .peer = c->params.self};
        (void)snprintf(c->fault.message, sizeof(c->fault.message), "%s", why);
        c->job = JOB_ABANDON;
        c->job_done = false;
        (void)wait_job(c, NULL); /* it returns the fault set above */
    }
    (void)pthread_mutex_unlock(&c->mutex);
}

static void client_fault(const struct exchange *x, struct exchange_fault *ret)
{
    struct client *c = (struct client *)(uintptr_t)x; /* const but for the mutex */
    (void)pthread_mutex_lock(&c->mutex);
    *ret = (struct exchange_fault){.exit_code = c->fault.exit_code};
    if (c->fault.has_peer) {
        frame_id_name(&c->fault.peer, ret->peer);
    }
    (void)pthread_mutex_unlock(&c->mutex);
}

static void free_memory(struct client *c)
{
    client_share_done(c);
    free(c->links);
    free(c->has_arrived);
    free(c->is_received);
    free(c);
}

static void client_free(struct exchange *x)
{
    if (x == NULL) {
        return;
    }
    struct client *c = (struct client *)x;
    client_abandon(x, EXIT_WORKER_PEER_LOST, "it left before the end");
    (void)pthread_join(c->thread, NULL); /* client_abandon has made it end */
    (void)pthread_cond_destroy(&c->cond);
    (void)pthread_mutex_destroy(&c->mutex);
    (void)close(c->wake_fd); /* nothing to lose */
    free_memory(c);
}

static enum exchange_transport client_transport(const struct exchange *x, const char **ret_why)
{
    struct client *c = (struct client *)(uintptr_t)x; /* const but for the mutex */
    (void)pthread_mutex_lock(&c->mutex);
    const enum exchange_transport transport = c->transport;
    (void)pthread_mutex_unlock(&c->mutex);
    *ret_why = c->why_tcp; /* it is written before `transport` */
    return transport == EXCHANGE_TRANSPORT_SHARED_MEMORY ? transport : EXCHANGE_TRANSPORT_TCP;
}

/* Servers read gradients of fp32 where they are; those of bf16 are copied there. */
static void client_memory(const struct exchange *x, struct exchange_memory *ret)
{
    const struct client *c = (const struct client *)x;
    *ret = (struct exchange_memory){
        .grads = c->params.wire == EXCHANGE_WIRE_FP32 ? c->lend.own.grads : NULL,
    };
}

static const struct exchange_ops client_ops = {
    .barrier = client_barrier,
    .begin = client_begin,
    .ready = client_ready,
    .need = client_need,
    .end = client_end,
    .goodbye = client_goodbye,
    .abandon = client_abandon,
    .fault = client_fault,
    .transport = client_transport,
    .memory = client_memory,
    .free = client_free,
};

int exchange_ps_new(const struct exchange_ps_params *params, struct exchange **ret, struct err *err)
{
    int wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (wake_fd < 0) {
        return err_set_errno(err, errno, "eventfd");
    }
    struct client *c = xnew(struct client);
    c->base.ops = &client_ops;
    c->params = *params;
    c->params.servers = NULL;
    c->wake_fd = wake_fd;
    c->links = xnew_array(struct link, params->slices.n_servers);
    c->has_arrived = xnew_array(bool, params->slices.n);
    c->is_received = xnew_array(bool, params->slices.n);
    for (uint32_t i = 0; i < params->slices.n_servers; i++) {
        link_init(c, &c->links[i], i, &params->servers[i]);
    }
    (void)pthread_mutex_init(&c->mutex, NULL); /* default attributes: cannot fail */
    (void)pthread_cond_init(&c->cond, NULL);
    client_share_init(c);
    int code = comm_thread_start(&c->thread, client_main, c);
    if (code != 0) {
        (void)close(wake_fd);
        free_memory(c);
        return err_set_errno(err, code, "start the communication thread");
    }
    *ret = &c->base;
    return 0;
}
