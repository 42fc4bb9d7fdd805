/* The driver on the event loop, see driver.h. Edge file: uses the loop's timer.
 *
 * There is one timer. A change sets it to now, so that many changes in one iteration of the loop
 * lead to one pass; a plan that asks to be called again sets it to later. A pass runs every
 * minute at the latest: decisions depend on the observed state, never on having heard of every
 * change. The timer also keeps the loop alive while a run is driven. */
#include "run/driver.h"

#include <errno.h>

#include <uv.h>

#include "base/mem.h"
#include "run/attempt_packer.h"
#include "run/reconcile_pass.h"

#define DEFAULT_RESYNC_MS (INT64_C(60) * 1000)

struct driver {
    struct reconcile_pass pass;
    uv_timer_t timer;
    int64_t resync_ms;
    bool is_over;
    bool is_unwanted; /* it is over when nothing of it lives */
    int result;       /* 0, or the error that made the driver give up */
    struct err err;
};

static void on_timer(uv_timer_t *timer);

static void look_after(struct driver *d, int64_t wait_ms)
{
    if (wait_ms < 0 || wait_ms > d->resync_ms) {
        wait_ms = d->resync_ms;
    }
    if (!d->is_over) {
        /* Cannot fail: the callback is not NULL and the handle is not closing. */
        (void)uv_timer_start(&d->timer, on_timer, (uint64_t)wait_ms, 0);
    }
}

static void end(struct driver *d, int result)
{
    d->is_over = true;
    d->result = result;
    (void)uv_timer_stop(&d->timer); /* never fails */
    const struct driver_events *events = &d->pass.params.events;
    if (events->done != NULL) {
        events->done(events->ctx);
    }
}

static void on_timer(uv_timer_t *timer)
{
    struct driver *d = timer->data;
    int64_t wait_ms = -1;
    int r = d->result < 0 ? d->result : reconcile_pass_once(&d->pass, &wait_ms, &d->err);
    if (r < 0) {
        d->result = r;
        if (d->is_unwanted ? reconcile_pass_abandon(&d->pass) : reconcile_pass_stop(&d->pass)) {
            end(d, r);
        } else {
            look_after(d, -1);
        }
    } else if (r == PASS_FINISHED) {
        end(d, 0);
    } else {
        look_after(d, r == PASS_AGAIN ? 0 : wait_ms);
    }
}

static void on_change(void *ctx)
{
    look_after(ctx, 0);
}

static void on_record(void *ctx, const struct replica_id *id, const struct record *record)
{
    struct driver *d = ctx;
    const struct driver_events *events = &d->pass.params.events;
    if (events->record != NULL) {
        events->record(events->ctx, id, record);
    }
}

static void on_output(void *ctx, const struct replica_id *id, const struct replica_text *text)
{
    struct driver *d = ctx;
    const struct driver_events *events = &d->pass.params.events;
    events->output(events->ctx, id, text);
}

int driver_new(const struct driver_params *params, struct driver **ret, struct err *err)
{
    struct driver *d = xnew(struct driver);
    int r = reconcile_pass_init(&d->pass, params, err);
    if (r < 0) {
        reconcile_pass_done(&d->pass);
        free(d);
        return r;
    }
    d->resync_ms = params->resync_ms != 0 ? params->resync_ms : DEFAULT_RESYNC_MS;
    struct launcher *launcher = params->launcher;
    launcher->on_change = on_change;
    launcher->on_record = on_record;
    launcher->on_output = params->events.output == NULL ? NULL : on_output;
    launcher->ctx = d;
    d->pass.packer = attempt_packer_new(params->loop, launcher, params->store, on_change, d);
    (void)uv_timer_init(params->loop, &d->timer); /* never fails */
    d->timer.data = d;
    *ret = d;
    return 0;
}

void driver_start(struct driver *d)
{
    look_after(d, 0);
}

void driver_cancel(struct driver *d)
{
    d->pass.request = REQUEST_CANCEL;
    d->pass.params.launcher->is_hurried = true;
    look_after(d, 0);
}

void driver_suspend(struct driver *d)
{
    if (d->pass.request == REQUEST_NONE) { /* a cancellation is not revoked */
        d->pass.request = REQUEST_SUSPEND;
    }
    look_after(d, 0);
}

void driver_abandon(struct driver *d)
{
    if (d->result == 0 && !d->is_over) {
        d->is_unwanted = d->pass.params.launcher->is_hurried = true;
        d->result = err_set(&d->err, ECANCELED, "its results are not wanted any more");
    }
    look_after(d, 0);
}

int driver_finish(struct driver *d, struct run_status *ret, struct err *err)
{
    if (!d->is_over) {
        return err_set(err, ECANCELED, "run '%s': the event loop stopped before the run finished",
                       d->pass.params.def->name);
    }
    if (d->result < 0) {
        if (err != NULL) {
            *err = d->err;
        }
        return err_wrap(err, d->result, "run '%s'", d->pass.params.def->name);
    }
    *ret = d->pass.status;
    return 0;
}

static void on_timer_closed(uv_handle_t *handle)
{
    struct driver *d = handle->data;
    reconcile_pass_done(&d->pass);
    free(d);
}

void driver_free(struct driver *d)
{
    if (d == NULL) {
        return;
    }
    d->is_over = true;
    d->pass.params.launcher->on_change = NULL;
    d->pass.params.launcher->on_record = NULL;
    d->pass.params.launcher->on_output = NULL;
    uv_close((uv_handle_t *)&d->timer, on_timer_closed);
}
