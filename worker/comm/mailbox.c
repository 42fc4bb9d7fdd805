/* See mailbox.h. */
#include "worker/comm/mailbox.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/exit_code.h"
#include "base/mem.h"
#include "worker/comm/link/comm_thread.h"

static void wake(struct mailbox *b)
{
    const uint64_t one = 1;
    ssize_t n = write(b->wake_fd, &one, sizeof(one));
    (void)n; /* fails only when 2^64 wake-ups are pending */
}

static void lock(struct mailbox *b)
{
    (void)pthread_mutex_lock(&b->mutex); /* cannot fail: initialised, not recursive */
}

static void unlock(struct mailbox *b)
{
    (void)pthread_mutex_unlock(&b->mutex); /* cannot fail: this thread has locked it */
}

/* ---- the main thread ---- */

static int ended(const struct mailbox *b, struct err *err)
{
    return b->fault.exit_code != 0 ? fault_to_err(&b->fault, err)
                                   : err_set(err, EPIPE, "the exchange has ended");
}

/* Called with the mutex held; waits until the job is done. */
static int wait_job(struct mailbox *b, struct err *err)
{
    b->main_waits = true;
    wake(b);
    while (!b->job_done) {
        (void)pthread_cond_wait(&b->cond, &b->mutex); /* cannot fail: initialised and locked */
    }
    b->main_waits = false;
    return b->fault.exit_code != 0 ? fault_to_err(&b->fault, err) : 0;
}

static int do_job(struct mailbox *b, enum mailbox_job job, struct err *err)
{
    lock(b);
    int r;
    if (b->ended) {
        r = ended(b, err);
    } else {
        b->job = job;
        b->job_done = false;
        r = wait_job(b, err);
    }
    unlock(b);
    return r;
}

static int barrier(struct exchange *x, struct err *err)
{
    return do_job((struct mailbox *)x, JOB_BARRIER, err);
}

static int goodbye(struct exchange *x, struct err *err)
{
    return do_job((struct mailbox *)x, JOB_GOODBYE, err);
}

static int begin(struct exchange *x, const float *grads, float *params, struct err *err)
{
    struct mailbox *b = (struct mailbox *)x;
    lock(b);
    const int r = b->ended ? ended(b, err) : 0;
    if (r == 0) {
        b->job = JOB_ROUND;
        b->job_done = false;
        b->grads = grads;
        b->new_params = params;
        b->ready_offset = SIZE_MAX;
        memset(b->has_arrived, 0, b->params.slices.n * sizeof(bool));
        b->is_in_step = true;
        b->need_wait_ns = 0;
    }
    unlock(b);
    return r;
}

static void ready(struct exchange *x, size_t offset)
{
    struct mailbox *b = (struct mailbox *)x;
    b->waits_since_ns = offset == 0 ? clock_monotonic_ns() : 0;
    lock(b);
    b->ready_offset = offset;
    unlock(b);
    wake(b);
}

/* Called with the mutex held. */
static bool has_arrived(const struct mailbox *b, size_t offset, size_t n)
{
    for (uint32_t i = 0; i < b->params.slices.n; i++) {
        const struct slice s = slices_get(&b->params.slices, i);
        if (!b->has_arrived[i] && s.offset < offset + n && offset < s.offset + s.len) {
            return false;
        }
    }
    return true;
}

static int need(struct exchange *x, size_t offset, size_t n, struct err *err)
{
    struct mailbox *b = (struct mailbox *)x;
    if (!b->is_in_step) {
        return 0;
    }
    const int64_t begin_ns = clock_monotonic_ns();
    b->waits_since_ns = 0;
    lock(b);
    b->main_waits = true;
    while (!b->ended && !has_arrived(b, offset, n)) {
        (void)pthread_cond_wait(&b->cond, &b->mutex); /* cannot fail: initialised and locked */
    }
    b->main_waits = false;
    const int r = b->ended ? ended(b, err) : 0;
    unlock(b);
    b->need_wait_ns += clock_monotonic_ns() - begin_ns;
    return r;
}

/* What the caller has waited for, who has nothing else to do since begin_ns: the rest was hidden.
 * Parameters that come before all gradients are sent count as sending. */
static struct exchange_times exposed(const struct mailbox *b, int64_t begin_ns)
{
    const struct round_times *t = &b->round_times;
    const int64_t sent_ns = t->sent_ns > begin_ns ? t->sent_ns : begin_ns;
    const int64_t first_ns = t->first_ns > sent_ns ? t->first_ns : sent_ns;
    return (struct exchange_times){
        .send_ns = sent_ns - begin_ns,
        .wait_ns = first_ns - sent_ns,
        .receive_ns = (t->done_ns > first_ns ? t->done_ns - first_ns : 0) + b->need_wait_ns,
        .bytes_tx = t->bytes_tx,
        .bytes_rx = t->bytes_rx,
    };
}

static int round_end(struct exchange *x, struct exchange_times *ret, struct err *err)
{
    struct mailbox *b = (struct mailbox *)x;
    const int64_t begin_ns = b->waits_since_ns != 0 ? b->waits_since_ns : clock_monotonic_ns();
    lock(b);
    const int r = b->ended ? ended(b, err) : wait_job(b, err);
    if (r >= 0) {
        *ret = exposed(b, begin_ns);
    }
    b->is_in_step = false;
    unlock(b);
    return r;
}

static void abandon(struct exchange *x, int exit_code, const char *why)
{
    struct mailbox *b = (struct mailbox *)x;
    lock(b);
    if (!b->ended) {
        b->fault = (struct fault){.exit_code = exit_code, .peer = b->params.self};
        (void)snprintf(b->fault.message, sizeof(b->fault.message), "%s", why);
        b->job = JOB_ABANDON;
        b->job_done = false;
        (void)wait_job(b, NULL); /* it returns the fault set above */
    }
    unlock(b);
}

static struct exchange_fault fault_of(const struct fault *f)
{
    struct exchange_fault said = {.exit_code = f->exit_code};
    if (f->has_peer) {
        frame_id_name(&f->peer, said.peer);
    }
    return said;
}

static void get_fault(const struct exchange *x, struct exchange_fault *ret)
{
    struct mailbox *b = (struct mailbox *)(uintptr_t)x; /* const but for the mutex */
    lock(b);
    *ret = fault_of(&b->fault);
    unlock(b);
}

static const struct exchange_ops common_ops = {
    .barrier = barrier,
    .begin = begin,
    .ready = ready,
    .need = need,
    .end = round_end,
    .goodbye = goodbye,
    .abandon = abandon,
    .fault = get_fault,
};

int mailbox_init(struct mailbox *b, const struct mailbox_params *params, struct err *err)
{
    const int wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (wake_fd < 0) {
        return err_set_errno(err, errno, "eventfd");
    }
    b->ops = common_ops;
    b->ops.free = params->free;
    b->base.ops = &b->ops;
    b->params = *params;
    b->wake_fd = wake_fd;
    b->has_arrived = xnew_array(bool, params->slices.n);
    (void)pthread_mutex_init(&b->mutex, NULL); /* default attributes: cannot fail */
    (void)pthread_cond_init(&b->cond, NULL);
    return 0;
}

int mailbox_start(struct mailbox *b, void *(*main)(void *exchange), struct err *err)
{
    const int code = comm_thread_start(&b->thread, main, b);
    if (code != 0) {
        return err_set_errno(err, code, "start the communication thread");
    }
    b->has_thread = true;
    return 0;
}

void mailbox_done(struct mailbox *b)
{
    if (b->has_thread) {
        abandon(&b->base, EXIT_WORKER_PEER_LOST, "it left before the end");
        (void)pthread_join(b->thread, NULL); /* abandon has made it end */
    }
    (void)pthread_cond_destroy(&b->cond);
    (void)pthread_mutex_destroy(&b->mutex);
    (void)close(b->wake_fd); /* nothing to lose */
    free(b->has_arrived);
}

/* ---- the communication thread ---- */

void mailbox_look(struct mailbox *b, const bool *is_new, uint32_t n_new)
{
    lock(b);
    const bool is_free = b->doing == JOB_NONE && !b->job_done;
    if (b->doing != b->job && (is_free || b->job == JOB_ABANDON)) { /* which waits for no round */
        b->begun = false;
        b->job_ns = clock_monotonic_ns();
        b->doing = b->job;
        b->doing_grads = b->grads;
        b->doing_params = b->new_params;
    }
    b->doing_ready_offset = b->ready_offset;
    b->doing_main_waits = b->main_waits;
    if (b->n_passed_on < n_new) {
        b->n_passed_on = n_new;
        memcpy(b->has_arrived, is_new, b->params.slices.n * sizeof(bool));
        (void)pthread_cond_broadcast(&b->cond);
    }
    unlock(b);
}

void mailbox_finish(struct mailbox *b)
{
    lock(b);
    b->round_times = b->doing_times;
    if (b->doing == JOB_ROUND) {
        memset(b->has_arrived, true, b->params.slices.n * sizeof(bool));
    }
    b->job_done = b->job == b->doing; /* not if the main thread has given up since */
    (void)pthread_cond_broadcast(&b->cond);
    unlock(b);
    b->doing = JOB_NONE;
    b->begun = false;
    b->n_passed_on = 0;
}

int mailbox_check_main(struct mailbox *b, int64_t now_ns, struct err *err)
{
    if (!b->params.owner.watches_main || b->doing_main_waits) {
        b->watchdog = (struct watchdog){0};
        return 0;
    }
    const int64_t cpu_ns = clock_process_cpu_ns() - clock_thread_cpu_ns();
    if (!watchdog_is_stuck(&b->watchdog, cpu_ns, now_ns)) {
        return 0;
    }
    return err_set(err, EDEADLK,
                   "the main thread has done nothing for %.0f s: nobody reads its stdout, its data "
                   "do not come, or it was stopped",
                   (double)WATCHDOG_LIMIT_NS / 1e9);
}

int mailbox_check_params(const struct mailbox *b, const struct frame *f, struct err *err)
{
    const struct exchange_owner *owner = &b->params.owner;
    if (owner->checksums == NULL || f->step >= owner->n_checksums) {
        return 0;
    }
    const uint32_t want = owner->checksums[f->step * b->params.slices.n + f->slice];
    if (f->payload_crc != want) {
        return err_set(err, EPROTO,
                       "wrong parameters of step %" PRIu64 ", slice %" PRIu32
                       ": checksum %08" PRIx32 ", expected %08" PRIx32
                       "; the sum of the gradients is wrong",
                       f->step, f->slice, f->payload_crc, want);
    }
    return 0;
}

bool mailbox_fail(struct mailbox *b, struct fault *fault, int r, const struct err *err)
{
    const bool is_abandoned = b->doing == JOB_ABANDON;
    if (is_abandoned) {
        lock(b);
        *fault = b->fault;
        unlock(b);
    }
    fault_from_err(fault, r, &b->params.self, err);
    return is_abandoned;
}

void mailbox_report_fault(const struct mailbox *b, const struct fault *fault)
{
    const struct exchange_owner *owner = &b->params.owner;
    if (owner->on_fault != NULL) {
        const struct exchange_fault f = fault_of(fault);
        owner->on_fault(owner->ctx, &f, fault->message);
    }
}

void mailbox_end(struct mailbox *b, const struct fault *fault)
{
    lock(b);
    b->fault = *fault;
    b->ended = true;
    b->job_done = true;
    (void)pthread_cond_broadcast(&b->cond);
    unlock(b);
}
