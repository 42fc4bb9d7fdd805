/* A render thread: makes answers that need the store, one at a time, from a reader of its own, for
 * the HTTP thread.
 *
 *   submit -> waiting (max_waiting) -> render thread -> on_done
 *
 * While a run is driven, documents are made within a share of a CPU (cpu_budget.h).
 *
 * benchd has two: one for /metrics and one for everything else, so that a scrape waits for no
 * reader and pays for none. Not more, because then the memory of one document at most is in use,
 * and because they would take the CPU from the daemon's loop. A job that waits
 * or reads for RENDER_TIMEOUT_NS is answered with 503. A document whose rows were read in time is
 * finished: building and printing it is not interrupted. */
#pragma once

#include "base/err.h"
#include "daemon/web/site.h"

#define RENDER_TIMEOUT_NS (10 * INT64_C(1000000000))

struct render_job {
    /* Set before the submission, borrowed until the job is done. */
    struct route route;
    struct web_request req;
    void *ctx; /* the caller's */
    /* The answer, once it is done: */
    int code;
    struct body *body; /* the caller's to free */
    bool must_retry_later;

    int64_t give_up_ns; /* render.c's own */
    struct render_job *next;
};

struct render_params {
    const struct daemon_view *view;
    const char *store_url;
    size_t max_waiting;    /* jobs; more are not taken */
    bool counts_submitter; /* its share has to do for the thread that submits, too */
    void (*on_done)(struct render_job *job); /* on the render thread; may not submit */
};
struct renderer;
int renderer_new(const struct render_params *params, struct renderer **ret, struct err *err);
/* False: too many wait, or the thread has been stopped; the job was not taken. */
bool renderer_submit(struct renderer *r, struct render_job *job);
/* Waits until the thread has ended: for as long as the current document takes. Jobs that waited are
 * done then, with 503. No on_done comes after this. */
void renderer_stop(struct renderer *r);
void renderer_free(struct renderer *r); /* Call renderer_stop first. Accepts NULL. */
