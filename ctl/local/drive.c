/* See drive.h. Edge file: libuv and signals.
 *
 * The first SIGINT, SIGTERM or SIGHUP asks the driver to cancel: it deletes every replica and ends
 * the run as Cancelled. A second one stops the loop; freeing the launcher kills what is left. */
#include "ctl/local/drive.h"

#include <signal.h>

#include <uv.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "ctl/local/carry.h"
#include "logparse/lines.h"
#include "run/driver.h"
#include "run/processes/processes.h"
#include "run/prometheus.h"
#include "spec/profile.h"

#define SILENCE_MS 10000 /* also between two lines about a trial that goes on */
#define LAST_LINE_MAX 80
#define SILENCE_TEXT                                                                               \
    "the programs have printed nothing for 10 s. A program may buffer its output in a pipe: "      \
    "flush "                                                                                       \
    "it after each line, or start it with python3 -u or stdbuf -oL"

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

struct drive {
    const struct drive_params *params;
    uv_loop_t loop;
    uv_signal_t signals[COUNT_OF(signals)];
    uv_timer_t timeout;
    uv_timer_t silence; /* always active, for nothing may be silent for long */
    uv_timer_t enough;  /* runs out at once: a record comes while its replica is being read */
    struct launcher *launcher;
    struct driver *driver;         /* NULL before and after its time */
    struct prometheus *prometheus; /* NULL: none */
    struct progress *progress;
    enum drive_end end;
    /* What the programs of the trial have printed so far, and what was said of it. */
    VEC(struct log_lines) heard; /* of each trainer or worker */
    uint64_t n_lines, n_steps;
    struct log_quote last;
    uint64_t said_ms; /* in the time of the loop */
    bool is_answered; /* output was missing, and that was said, or it had a figure */
    struct carry carry;
};

static void cancel(struct drive *d, enum drive_end end, const char *why)
{
    d->end = end;
    if (why != NULL && d->params->progress.mode != PROGRESS_NONE) {
        progress_event(d->progress, EVENT_WARNING, "Cancelling", why);
    }
    driver_cancel(d->driver);
}

static void on_signal(uv_signal_t *handle, int signum)
{
    (void)signum;
    struct drive *d = handle->data;
    if (d->driver == NULL) {
        return; /* it is ending already */
    }
    if (d->end == DRIVE_INTERRUPTED) {
        d->end = DRIVE_STOPPED;
        uv_stop(&d->loop);
    } else {
        cancel(d, DRIVE_INTERRUPTED,
               "stopping the run's processes; press Ctrl-C again to kill them");
    }
}

static void on_timer(uv_timer_t *timer)
{
    struct drive *d = timer->data;
    const bool is_timeout = timer == &d->timeout;
    if (d->end == DRIVE_FINISHED && d->driver != NULL) {
        cancel(d, is_timeout ? DRIVE_TIMEOUT : DRIVE_ENOUGH,
               is_timeout ? "--timeout expired" : NULL);
    }
}

/* Do all trainers and workers of other programs run, and has none printed for a while? */
static bool is_silent(const struct drive *d, const struct observed_replica *replicas, size_t n)
{
    const struct run_def *def = d->params->progress.def;
    const int64_t since_unix_ms = clock_steady_unix_ms() - SILENCE_MS;
    bool is_any = false;
    for (const struct observed_replica *r = replicas; r < replicas + n; r++) {
        const uint32_t system = def->matrix.points[r->id.attempt.point].system;
        if (r->id.role != ROLE_TRAINER && r->id.role != ROLE_WORKER) {
            continue;
        }
        if (r->state != REPLICA_RUNNING || r->output_unix_ms > since_unix_ms ||
            str_eq(def->spec->systems.items[system].profile, PROFILE_NATIVE)) {
            return false;
        }
        is_any = true;
    }
    return is_any;
}

/* `reason` names a warning; it is NULL for a line of progress. */
static void say(struct drive *d, const char *reason, const char *text)
{
    d->said_ms = uv_now(&d->loop);
    if (d->params->seen != NULL) {
        cli_note_prose(d->params->cli, "%s", text);
    } else if (reason != NULL) {
        progress_event(d->progress, EVENT_WARNING, reason, text);
    } else {
        progress_note(d->progress, text);
    }
}

static void on_silence(uv_timer_t *timer)
{
    struct drive *d = timer->data;
    _cleanup_(freep) struct observed_replica *replicas = NULL;
    size_t n = 0;
    if (!d->is_answered && d->launcher->ops->observe(d->launcher, &replicas, &n, NULL) >= 0 &&
        is_silent(d, replicas, n)) {
        d->is_answered = true;
        say(d, "NoOutput", SILENCE_TEXT);
    } else if (uv_now(&d->loop) - d->said_ms >= SILENCE_MS) {
        _cleanup_(buf_done) struct buf text = BUF_INIT;
        buf_printf(&text, "%llu lines so far, %llu of them read as steps",
                   (unsigned long long)d->n_lines, (unsigned long long)d->n_steps);
        const bool is_record = str_has_prefix(d->last.text, "{\"benchd\"");
        if (d->n_lines > 0 && !is_record) {
            buf_puts(&text, "; the last: ");
            buf_put_utf8(&text, d->last.text, LAST_LINE_MAX);
        }
        say(d, NULL, buf_cstr(&text));
    }
}

static void on_status(void *ctx, const struct run_status *status)
{
    progress_status(((struct drive *)ctx)->progress, status);
}

static void on_event(void *ctx, enum event_type type, const char *reason, const char *note)
{
    progress_event(((struct drive *)ctx)->progress, type, reason, note);
}

static void forget_lines(struct drive *d)
{
    vec_done_each(&d->heard, log_lines_done);
    d->n_lines = d->n_steps = 0;
}

static void on_attempt(void *ctx, const struct attempt_row *row)
{
    struct drive *d = ctx;
    forget_lines(d);
    carry_attempt(&d->carry, row);
    progress_attempt(d->progress, row);
}

static void on_record(void *ctx, const struct replica_id *id, const struct record *record)
{
    struct drive *d = ctx;
    d->n_steps += record->type == RECORD_STEP;
    d->is_answered = true;
    progress_record(d->progress, id, record);
    if (d->params->seen != NULL && try_take_record(d->params->seen, id, record)) {
        (void)uv_timer_start(&d->enough, on_timer, 0, 0); /* fails only while it closes */
    }
}

static void on_line(void *ctx, uint64_t number, const char *line, size_t len)
{
    (void)number;
    struct drive *d = ctx;
    log_quote_put(&d->last, ++d->n_lines, line, len);
}

static void on_output(void *ctx, const struct replica_id *id, const struct replica_text *text)
{
    struct drive *d = ctx;
    while (d->heard.len <= id->index) {
        log_lines_init(vec_push(&d->heard), on_line, d);
    }
    if (id->role != ROLE_PSERVER) { /* a part need not end with a line */
        log_lines_feed(&d->heard.items[id->index], text->data, text->len);
    }
    if (d->params->seen != NULL && try_take_text(d->params->seen, id, text)) {
        (void)uv_timer_start(&d->enough, on_timer, 0, 0); /* fails only while it closes */
    }
}

/* A signal that our parent made us ignore (nohup, a shell's background job) stays ignored. */
static bool is_ignored(int signum)
{
    struct sigaction action;
    return sigaction(signum, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

static void start_handles(struct drive *d)
{
    for (size_t i = 0; i < COUNT_OF(signals); i++) {
        (void)uv_signal_init(&d->loop, &d->signals[i]); /* fails only without a signal pipe */
        d->signals[i].data = d;
        if (!is_ignored(signals[i])) {
            (void)uv_signal_start(&d->signals[i], on_signal, signals[i]);
        }
        uv_unref((uv_handle_t *)&d->signals[i]); /* only the driver keeps the loop alive */
    }
    (void)uv_timer_init(&d->loop, &d->timeout); /* always 0 */
    (void)uv_timer_init(&d->loop, &d->enough);
    (void)uv_timer_init(&d->loop, &d->silence);
    d->timeout.data = d->enough.data = d->silence.data = d;
    if (d->params->timeout_ms > 0) {
        (void)uv_timer_start(&d->timeout, on_timer, (uint64_t)d->params->timeout_ms, 0);
        uv_unref((uv_handle_t *)&d->timeout);
    }
    (void)uv_timer_start(&d->silence, on_silence, SILENCE_MS, SILENCE_MS / 10); /* as `enough` */
    uv_unref((uv_handle_t *)&d->silence);
    /* The run must survive a reader of our output that exits. */
    (void)signal(SIGPIPE, SIG_IGN);
}

static void close_handles(struct drive *d)
{
    for (size_t i = 0; i < COUNT_OF(signals); i++) {
        uv_close((uv_handle_t *)&d->signals[i], NULL);
    }
    uv_close((uv_handle_t *)&d->timeout, NULL);
    uv_close((uv_handle_t *)&d->enough, NULL);
    uv_close((uv_handle_t *)&d->silence, NULL);
}

static int run_driver(struct drive *d, struct err *err)
{
    const bool is_heard = d->params->seen != NULL || d->params->progress.mode == PROGRESS_PLAIN;
    /* clang-format off */
    struct driver_params params = {
        .loop = &d->loop,
        .def = d->params->progress.def,
        .launcher = d->launcher,
        .store = d->params->store,
        .where = d->params->where,
        .prometheus = d->prometheus,
        .events = {.status = on_status, .event = on_event, .attempt = on_attempt,
                   .record = on_record, .ctx = d,
                   .output = is_heard ? on_output : NULL},
        /* A resumed run has no live replicas, so it starts like a new one after the trials that
         * are in the store, and its deadline counts from now. */
    };
    /* clang-format on */
    int r = driver_new(&params, &d->driver, err);
    if (r < 0) {
        return r;
    }
    carry_begin(&d->carry, d->params->store, d->params->progress.def);
    driver_start(d->driver);
    (void)uv_run(&d->loop, UV_RUN_DEFAULT); /* non-zero only after uv_stop: DRIVE_STOPPED */
    struct run_status status = {0};
    r = driver_finish(d->driver, &status, err);
    if (d->end == DRIVE_STOPPED) {
        r = 0;
    } else if (r >= 0 && status.phase != RUN_CANCELLED) {
        d->end = DRIVE_FINISHED; /* it ended before the cancellation took effect */
    }
    driver_free(d->driver);
    d->driver = NULL;
    carry_done(&d->carry);
    return r;
}

int drive(const struct drive_params *params, enum drive_end *ret_end, struct err *err)
{
    struct drive *d = xnew(struct drive);
    d->params = params;
    int r = uv_loop_init(&d->loop);
    if (r < 0) {
        free(d);
        return err_set_errno(err, -r, "event loop");
    }
    struct progress_params progress = params->progress;
    progress.loop = &d->loop;
    if ((r = progress_new(&progress, &d->progress, err)) < 0) {
        (void)uv_loop_close(&d->loop); /* it has no handle */
        free(d);
        return r;
    }
    start_handles(d);
    struct processes_params processes = {.loop = &d->loop, .benchworker = params->benchworker};
    r = processes_new(&processes, &d->launcher, err);
    if (r >= 0) {
        r = prometheus_new(&d->loop, params->prometheus, d->launcher, NULL, &d->prometheus, err);
        r = r < 0 ? r : run_driver(d, err);
        prometheus_free(d->prometheus);
        if (params->seen != NULL) {
            params->seen->is_unmet = processes_unmet_s(d->launcher) > 0;
        }
        d->launcher->ops->free(d->launcher);
    }
    progress_end(d->progress);
    close_handles(d);
    (void)uv_run(&d->loop, UV_RUN_DEFAULT); /* the close callbacks */
    (void)uv_loop_close(&d->loop);          /* every handle is closed */
    progress_free(d->progress);
    forget_lines(d);
    *ret_end = d->end;
    free(d);
    return r;
}
