/* Progress on stderr, see progress.h: the state is live_model.c; the live view and lines are made
 * here. Edge file: libuv, the terminal, the environment and the clock. */
#include "ctl/runs/progress.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <uv.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "ctl/live/live_model.h"
#include "report/terminal.h"

#define FRAME_MS 100
#define TICK_MS 1000
#define NOTES_AT 2 /* after their sign */

/* ---- the live view ----
 *
 *   live_changed --(100 ms since the last frame?)--> draw, or draw_timer --> draw
 *   tick (1 s), SIGWINCH --> live_changed
 *
 * It redraws in place, at most ten times a second and only when something changed; the clock in it
 * moves once a second. A frame is written over the last one: up by its lines, each line cleared to
 * its end, the rest of the screen cleared below. No mode of the terminal is changed, so none needs
 * to be restored. */

struct live {
    const struct live_model *model;
    bool ascii, color;
    uv_timer_t draw_timer, tick;
    uv_signal_t winch;
    uint64_t drawn_ms; /* loop time of the last frame */
    unsigned n_lines;  /* lines that the last frame has on the screen */
    struct buf frame;  /* the last one: an equal frame is not drawn */
};

static unsigned terminal_rows(void)
{
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 ? size.ws_row : 24;
}

static void put(const struct buf *text)
{
    /* The run does not fail because its progress cannot be shown. */
    (void)fwrite(buf_cstr(text), 1, text->len, stderr);
    (void)fflush(stderr);
}

static void move_up(const struct live *l, struct buf *out)
{
    if (l->n_lines > 0) {
        buf_printf(out, "\033[%uA\r", l->n_lines);
    }
}

static void draw(struct live *l)
{
    struct live_model_opts opts = {
        .columns = terminal_columns(STDERR_FILENO),
        .rows = terminal_rows(),
        .ascii = l->ascii,
        .color = l->color,
        .now_unix_ms = clock_unix_ms(),
    };
    struct buf frame = BUF_INIT, out = BUF_INIT;
    live_model_format(l->model, &opts, &frame);
    l->drawn_ms = uv_now(l->draw_timer.loop);
    if (l->n_lines == 0 || frame.len != l->frame.len ||
        memcmp(frame.data, l->frame.data, frame.len) != 0) {
        move_up(l, &out);
        l->n_lines = 0;
        for (size_t i = 0; i < frame.len; i++) {
            if (frame.data[i] == '\n') {
                buf_puts(&out, "\033[K");
                l->n_lines++;
            }
            buf_putc(&out, frame.data[i]);
        }
        buf_puts(&out, "\033[J");
        put(&out);
    }
    buf_done(&l->frame);
    l->frame = frame;
    buf_done(&out);
}

static void on_draw(uv_timer_t *timer)
{
    draw(timer->data);
}

static void live_changed(struct live *l)
{
    uint64_t since_ms = uv_now(l->draw_timer.loop) - l->drawn_ms;
    if (uv_is_active((uv_handle_t *)&l->draw_timer)) {
        return; /* a frame is due anyway */
    }
    uint64_t wait_ms = l->n_lines == 0 || since_ms >= FRAME_MS ? 0 : FRAME_MS - since_ms;
    (void)uv_timer_start(&l->draw_timer, on_draw, wait_ms, 0); /* fails on a closing handle only */
}

static void on_tick(uv_timer_t *timer)
{
    live_changed(timer->data);
}

static void on_winch(uv_signal_t *handle, int signum)
{
    (void)signum;
    struct live *l = handle->data;
    l->n_lines = 0; /* the terminal has wrapped the old frame: start below it */
    live_changed(l);
}

/* `model` is borrowed. */
static struct live *live_new(struct uv_loop_s *loop, const struct live_model *model, bool ascii,
                             bool color)
{
    struct live *l = xnew(struct live);
    l->model = model;
    l->ascii = ascii;
    l->color = color;
    (void)uv_timer_init(loop, &l->draw_timer); /* always 0 */
    (void)uv_timer_init(loop, &l->tick);
    (void)uv_signal_init(loop, &l->winch); /* without it only a resized view looks wrong */
    l->draw_timer.data = l->tick.data = l->winch.data = l;
    (void)uv_timer_start(&l->tick, on_tick, TICK_MS, TICK_MS);
    (void)uv_signal_start(&l->winch, on_winch, SIGWINCH);
    uv_unref((uv_handle_t *)&l->draw_timer); /* only the run keeps the loop alive */
    uv_unref((uv_handle_t *)&l->tick);
    uv_unref((uv_handle_t *)&l->winch);
    return l;
}

/* Prints a line above the view; it stays there. */
static void live_note(struct live *l, const char *reason, const char *note)
{
    _cleanup_(freep) char *text = xasprintf("%s: %s", reason, note);
    (void)text_replace_control(text, "", ' '); /* it may quote a process */
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    move_up(l, &out);
    buf_printf(&out, "\033[J%s ", l->ascii ? "!" : "⚠");
    wrap_text(&out, text, terminal_columns(STDERR_FILENO), NOTES_AT, NOTES_AT);
    put(&out);
    l->n_lines = 0;
    live_changed(l);
}

/* Draws the last state and closes the handles. The loop has to run once more before live_free. */
static void live_end(struct live *l)
{
    draw(l);
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    buf_puts(&out, "\n"); /* the tables follow, on the same terminal */
    put(&out);
    uv_close((uv_handle_t *)&l->draw_timer, NULL);
    uv_close((uv_handle_t *)&l->tick, NULL);
    uv_close((uv_handle_t *)&l->winch, NULL);
}

static void live_free(struct live *l)
{
    if (l == NULL) {
        return;
    }
    buf_done(&l->frame);
    free(l);
}

/* ---- what happens, in each mode ---- */

struct progress {
    enum progress_mode mode;
    struct live_model model;
    struct live *live;        /* in mode LIVE only */
    struct run_status status; /* as last shown */
    char *error; /* the error of the latest trials that failed, if it was printed; owned */
};

static bool terminal_can_live(void)
{
    const char *term = getenv("TERM"), *ci = getenv("CI");
    return isatty(STDERR_FILENO) && term != NULL && !str_eq(term, "dumb") &&
           (ci == NULL || ci[0] == '\0');
}

int progress_mode_choose(const struct cli *cli, const char *word, enum progress_mode *ret)
{
    static const char *const words[] = {
        [PROGRESS_NONE] = "none", [PROGRESS_PLAIN] = "plain", [PROGRESS_LIVE] = "live"};
    if (str_eq(word, "auto")) {
        *ret = cli->is_quiet ? PROGRESS_NONE : terminal_can_live() ? PROGRESS_LIVE : PROGRESS_PLAIN;
        return 0;
    }
    const int mode = str_index(word, words, COUNT_OF(words));
    if (mode >= 0) {
        *ret = (enum progress_mode)mode;
    }
    return mode < 0 ? mode : 0;
}

static int restore(struct live_model *m, const struct loaded_run *run, struct err *err)
{
    struct run_walk walk = loaded_run_walk(run);
    const struct attempt_row *row;
    int r;
    while ((r = run_walk_next(&walk, &row, err)) > 0) {
        live_model_restore(m, row);
    }
    return r;
}

int progress_new(const struct progress_params *params, struct progress **ret, struct err *err)
{
    struct progress *p = xnew(struct progress);
    p->mode = params->mode;
    live_model_init(&p->model, params->def);
    const int r = params->run == NULL ? 0 : restore(&p->model, params->run, err);
    if (r < 0) {
        progress_free(p);
        return r;
    }
    if (p->mode == PROGRESS_LIVE) {
        p->live = live_new(params->loop, &p->model, params->ascii, params->color);
    }
    *ret = p;
    return 0;
}

static void put_plain(struct progress *p, const char *text)
{
    char now[CLOCK_RFC3339_SIZE];
    clock_format_rfc3339(clock_unix_ms(), now);
    (void)fprintf(stderr, "%s run/%s %s\n", now, p->model.def->name, text); /* progress only */
}

static void show_status(struct progress *p, const struct run_status *st)
{
    _cleanup_(buf_done) struct buf text = BUF_INIT;
    buf_printf(&text, "phase=%s trials=%u/%u", run_phase_to_string(st->phase), st->trials_done,
               st->trials_total);
    if (st->has_current) {
        buf_printf(&text, " point=%u trial=%u attempt=%u", st->current.point, st->current.trial,
                   st->current.number);
    }
    put_plain(p, buf_cstr(&text));
}

void progress_status(struct progress *p, const struct run_status *status)
{
    live_model_status(&p->model, status, clock_unix_ms());
    const struct run_status *before = &p->status;
    const bool is_news = status->phase != before->phase ||
                         status->has_current != before->has_current ||
                         !attempt_id_eq(&status->current, &before->current);
    p->status = *status;
    if (p->live != NULL) {
        live_changed(p->live);
    } else if (p->mode != PROGRESS_NONE && is_news) {
        show_status(p, status);
    }
}

/* Events repeat the error of a trial, and so do the trials of a point: people read it once. */
static bool is_said(const struct progress *p, const char *text)
{
    return p->error != NULL && strstr(text, p->error) != NULL;
}

void progress_event(struct progress *p, enum event_type type, const char *reason, const char *note)
{
    if (type != EVENT_WARNING || is_said(p, note)) {
        return;
    }
    if (p->live != NULL) {
        live_note(p->live, reason, note);
    } else if (p->mode == PROGRESS_PLAIN) {
        _cleanup_(freep) char *text = xasprintf("warning %s: %s", reason, note);
        put_plain(p, text);
    }
}

void progress_note(struct progress *p, const char *text)
{
    if (p->mode == PROGRESS_PLAIN) {
        put_plain(p, text);
    }
}

static void show_attempt(struct progress *p, const struct attempt_row *row)
{
    const char *unit;
    const double x = live_model_throughput(&p->model, row, &unit);
    _cleanup_(buf_done) struct buf text = BUF_INIT;
    buf_printf(&text, "point=%u trial=%u attempt=%u outcome=%s", row->id.point, row->id.trial,
               row->id.number, attempt_outcome_to_string(row->outcome));
    if (!isnan(x)) {
        buf_printf(&text, " %s_per_s=%.4g", unit, x);
    }
    if (row->error != NULL && !is_said(p, row->error)) {
        buf_printf(&text, " error: %s", row->error);
        free(p->error);
        p->error = xstrdup(row->error);
    }
    put_plain(p, buf_cstr(&text));
}

void progress_attempt(struct progress *p, const struct attempt_row *row)
{
    live_model_attempt(&p->model, row);
    if (p->live != NULL) {
        live_changed(p->live);
    } else if (p->mode != PROGRESS_NONE) {
        show_attempt(p, row);
    }
}

void progress_record(struct progress *p, const struct replica_id *id, const struct record *record)
{
    live_model_record(&p->model, id, record);
    if (p->live != NULL) {
        live_changed(p->live);
    }
}

void progress_end(struct progress *p)
{
    if (p->live != NULL) {
        live_end(p->live);
    }
}

void progress_free(struct progress *p)
{
    if (p == NULL) {
        return;
    }
    live_free(p->live);
    free(p->error);
    live_model_done(&p->model);
    free(p);
}
