/* See nccl_watch.h. */
#include "worker/comm/nccl/nccl_watch.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/exit_code.h"
#include "base/mem.h"
#include "worker/comm/link/comm_thread.h"

#define LOOK_NS INT64_C(100000000)

/* Called with the mutex held: it is released while waiting. Waits until something
 * changes, LOOK_NS at most. */
static void wait_a_little(struct nccl_watch *w)
{
    const int64_t until_ns = clock_monotonic_ns() + LOOK_NS;
    const struct timespec until = {until_ns / 1000000000, until_ns % 1000000000};
    (void)pthread_cond_timedwait(&w->cond, &w->mutex, &until); /* too late is as good */
}

/* Called with the mutex held. What NCCL says of the communicator: 0 or an error. */
static int ask(struct nccl_watch *w, struct err *err)
{
    int result = 0;
    if (w->comm == NULL) {
        return 0;
    }
    const int r = w->params.api->comm_get_async_error(w->comm, &result);
    result = r != 0 ? r : result;
    return result == NCCL_IN_PROGRESS || nccl_check(w->params.api, result, w->what, err) == 0
               ? 0
               : result;
}

/* Then a peer may be gone. */
static bool blames_network(int result)
{
    return result == NCCL_SYSTEM_ERROR || result == NCCL_REMOTE_ERROR;
}

/* Called with the mutex held, while a call is under way. Sets w->result if it must not go on;
 * *ret_may_be_peer: NCCL blames its network. */
static void look(struct nccl_watch *w, bool *ret_may_be_peer)
{
    struct err err;
    const int result = ask(w, &err);
    if (result == 0 && clock_monotonic_ns() - w->since_ns >= w->params.limit_ns) {
        (void)err_set(&err, EIO, "%s has not ended within %.0f s", w->what,
                      (double)w->params.limit_ns / 1e9);
    } else if (result == 0) {
        return;
    }
    *ret_may_be_peer = blames_network(result);
    w->result = -EIO;
    w->err = err;
}

/* True if the ring has found the fault of a peer, which ends this rank. */
static bool knows_cause(const struct nccl_watch *w)
{
    struct exchange_fault fault;
    w->params.ring->ops->fault(w->params.ring, &fault);
    return fault.exit_code != 0;
}

/* Called with the mutex held. Waits for the ring to find the fault of a peer. */
static bool is_of_peer(struct nccl_watch *w)
{
    const int64_t until_ns = clock_monotonic_ns() + w->params.peer_ns;
    while (!knows_cause(w)) {
        if (w->stops || clock_monotonic_ns() >= until_ns) {
            return false;
        }
        wait_a_little(w);
    }
    return true;
}

/* Owned by the thread once no caller waits for it. */
struct aborting {
    int (*comm_abort)(nccl_comm comm);
    nccl_comm comm;
    int done_fd; /* an eventfd */
};

static void *abort_main(void *arg)
{
    struct aborting *a = arg;
    (void)a->comm_abort(a->comm); /* the process ends in any case */
    const uint64_t one = 1;
    const ssize_t n = write(a->done_fd, &one, sizeof(one));
    (void)n; /* cannot fail: it is the first one */
    return NULL;
}

/* Ends the work of `comm`, and frees it. NCCL may hang in that too: it is done in a thread of its
 * own, for which this one waits NCCL_WATCH_BACK_NS at most. */
static void abort_comm(const struct nccl_api *api, nccl_comm comm)
{
    struct aborting *a = xnew(struct aborting);
    *a = (struct aborting){api->comm_abort, comm, eventfd(0, EFD_CLOEXEC)};
    pthread_t thread;
    const bool has_begun = a->done_fd >= 0 && comm_thread_start(&thread, abort_main, a) == 0;
    struct pollfd done = {.fd = a->done_fd, .events = POLLIN};
    if (has_begun && poll(&done, 1, (int)(NCCL_WATCH_BACK_NS / 1000000)) <= 0) {
        (void)pthread_detach(thread); /* it may stay in NCCL until the process ends, with *a */
        return;
    }
    if (has_begun) {
        (void)pthread_join(thread, NULL); /* it has said that it is done */
    }
    fd_close(&a->done_fd);
    free(a);
}

/* Called with the mutex held, which is free while others are called. */
static void end_call(struct nccl_watch *w)
{
    const struct nccl_watch_params p = w->params;
    const struct err err = w->err; /* it does not change any more */
    const nccl_comm comm = w->comm;
    (void)pthread_mutex_unlock(&w->mutex);
    p.ring->ops->abandon(p.ring, EXIT_WORKER_RESOURCE, err.msg);
    const int64_t until_ns = clock_monotonic_ns() + NCCL_WATCH_BACK_NS;
    if (comm != NULL) {
        abort_comm(p.api, comm);
    }
    (void)pthread_mutex_lock(&w->mutex);
    while (w->what != NULL && clock_monotonic_ns() < until_ns) {
        wait_a_little(w);
    }
    if (w->what != NULL && p.owner->on_fault != NULL) {
        const struct exchange_fault fault = {.exit_code = EXIT_WORKER_RESOURCE};
        (void)pthread_mutex_unlock(&w->mutex);
        p.owner->on_fault(p.owner->ctx, &fault, err.msg);
        (void)pthread_mutex_lock(&w->mutex);
    }
}

static void *watch_main(void *arg)
{
    struct nccl_watch *w = arg;
    bool may_be_peer = false;
    (void)pthread_mutex_lock(&w->mutex);
    while (!w->stops && w->result == 0) {
        wait_a_little(w);
        if (w->what != NULL) {
            look(w, &may_be_peer);
        }
    }
    if (w->result != 0) {
        const bool is_peer = may_be_peer && is_of_peer(w);
        w->is_decided = true;
        (void)pthread_cond_broadcast(&w->cond);
        if (!is_peer) {
            end_call(w);
        }
    }
    (void)pthread_mutex_unlock(&w->mutex);
    return NULL;
}

int nccl_watch_start(struct nccl_watch *w, const struct nccl_watch_params *params, struct err *err)
{
    *w = (struct nccl_watch){.params = *params};
    pthread_condattr_t attr;
    (void)pthread_condattr_init(
        &attr); /* these cannot fail: default attributes, and a known clock */
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&w->cond, &attr);
    (void)pthread_condattr_destroy(&attr);
    (void)pthread_mutex_init(&w->mutex, NULL);
    const int code = comm_thread_start(&w->thread, watch_main, w);
    w->is_running = code == 0;
    return code == 0 ? 0 : err_set_errno(err, code, "start the thread that watches NCCL");
}

void nccl_watch_stop(struct nccl_watch *w)
{
    if (!w->is_running) {
        return;
    }
    (void)pthread_mutex_lock(&w->mutex);
    w->stops = true;
    (void)pthread_cond_broadcast(&w->cond);
    (void)pthread_mutex_unlock(&w->mutex);
    (void)pthread_join(w->thread, NULL); /* it ends within NCCL_WATCH_BACK_NS */
    (void)pthread_cond_destroy(&w->cond);
    (void)pthread_mutex_destroy(&w->mutex);
    w->is_running = false;
}

void nccl_watch_begin(struct nccl_watch *w, const char *what, nccl_comm comm)
{
    (void)pthread_mutex_lock(&w->mutex);
    w->what = what;
    w->comm = comm;
    w->since_ns = clock_monotonic_ns();
    (void)pthread_mutex_unlock(&w->mutex);
}

int nccl_watch_end(struct nccl_watch *w, int r, struct err *err)
{
    struct err refused;
    (void)pthread_mutex_lock(&w->mutex);
    const bool may_be_peer = r < 0 && w->result == 0 && blames_network(ask(w, &refused));
    w->what = NULL;
    (void)pthread_cond_broadcast(&w->cond);
    if (may_be_peer) {
        (void)is_of_peer(w); /* either way the call has failed */
    }
    while (w->result < 0 && !w->is_decided) {
        (void)pthread_cond_wait(&w->cond, &w->mutex); /* cannot fail: initialised and locked */
    }
    const int found = w->result;
    if (found < 0 && err != NULL) {
        *err = w->err;
    }
    (void)pthread_mutex_unlock(&w->mutex);
    return found < 0 ? found : r;
}
