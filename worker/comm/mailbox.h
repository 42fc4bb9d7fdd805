/* Between a process that trains and the communication thread of its exchange: the calls of
 * exchange.h, which mailbox.c has, as jobs, one at a time. An exchange with a thread
 * (exchange_ps.c, exchange_ring.c) embeds a mailbox as its first member.
 *
 *     main thread                                       communication thread, in each turn
 *     begin, ready ... ready(0), need ..., end  --+
 *     barrier, goodbye, abandon                 --+-->  mailbox_look -> `doing`
 *     <- has_arrived, round_times, fault             -- mailbox_look, mailbox_finish, mailbox_end
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "exchange/slices.h"
#include "worker/comm/exchange.h"
#include "worker/comm/link/fault.h"
#include "worker/comm/link/heartbeat.h"

enum mailbox_job { JOB_NONE, JOB_ROUND, JOB_BARRIER, JOB_GOODBYE, JOB_ABANDON };

/* Of a round: when all gradients were sent, when the first parameters came, when all were there; 0:
 * not yet. */
struct round_times {
    int64_t sent_ns, first_ns, done_ns;
    uint64_t bytes_tx, bytes_rx;
};

struct mailbox_params {
    struct frame_id self;
    struct slices slices;
    struct exchange_owner owner;
    /* The one operation of exchange_ops that the mailbox does not have. */
    void (*free)(struct exchange *x);
};

struct mailbox {
    struct exchange base;
    struct exchange_ops ops; /* those of base */
    struct mailbox_params params;
    int wake_fd; /* readable when there may be news for the thread */
    pthread_t thread;
    bool has_thread; /* used by the main thread only, like the next three */
    bool is_in_step;
    int64_t need_wait_ns;   /* waited in need, in this step */
    int64_t waits_since_ns; /* since all was ready, if it has asked for nothing since; 0: no */

    pthread_mutex_t mutex; /* guards what follows, up to the next blank line */
    pthread_cond_t cond;
    enum mailbox_job job;
    bool job_done, ended;
    bool main_waits; /* in a call */
    const float *grads;
    float *new_params;
    size_t ready_offset; /* gradients from here on are final */
    bool *has_arrived;   /* (slices.n) the new parameters of the step; owned */
    struct round_times round_times;
    struct fault fault;

    /* Used by the communication thread only. */
    enum mailbox_job doing;
    bool begun;     /* the exchange has begun with `doing` */
    int64_t job_ns; /* when the job was taken */
    const float *doing_grads;
    float *doing_params;
    size_t doing_ready_offset;
    bool doing_main_waits;
    struct round_times doing_times;
    uint32_t n_passed_on;     /* new slices that the main thread knows of */
    struct watchdog watchdog; /* of the main thread, while it computes */
};

/* No other function before mailbox_start but mailbox_done. */
int mailbox_init(struct mailbox *b, const struct mailbox_params *params, struct err *err);
/* Starts the thread. `main` gets the exchange that embeds the mailbox. */
int mailbox_start(struct mailbox *b, void *(*main)(void *exchange), struct err *err);
/* Ends the thread, if mailbox_start has started it, and frees what the mailbox owns. */
void mailbox_done(struct mailbox *b);

/* ---- the communication thread ---- */

/* Once in each turn: takes a new job, and passes on which slices have come: `is_new` (slices.n), in
 * which n_new are true since the round has begun. */
void mailbox_look(struct mailbox *b, const bool *is_new, uint32_t n_new);
/* The job is done; of a round all slices have come. */
void mailbox_finish(struct mailbox *b);
/* -EDEADLK: everyone waits for the main thread, which is stuck. */
int mailbox_check_main(struct mailbox *b, int64_t now_ns, struct err *err);
/* Of the slice of a PARAMS frame that has arrived whole, so that the frame's checksum is that of
 * its bytes. -EPROTO: it is not what it must be. */
int mailbox_check_params(const struct mailbox *b, const struct frame *f, struct err *err);
/* The thread ends because of r: the fault gets its cause, unless it has one. True if the main
 * thread gave up, and knows. */
bool mailbox_fail(struct mailbox *b, struct fault *fault, int r, const struct err *err);
/* Calls on_fault; the peers got the fault before. */
void mailbox_report_fault(const struct mailbox *b, const struct fault *fault);
/* The last call of the thread: who waits gets the fault. */
void mailbox_end(struct mailbox *b, const struct fault *fault);
