/* See live_view.h. Edge file: libuv, terminal, clock.
 *
 *   live_changed --(100 ms since the last frame?)--> draw, or draw_timer --> draw
 *   tick (1 s), SIGWINCH --> live_changed
 *
 * A frame is written over the last one: up by its lines, each line cleared to its end, the rest of
 * the screen cleared below. No mode of the terminal is changed, so none needs to be restored. */
#include "ctl/live/live_view.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <uv.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "ctl/cli/terminal_size.h"
#include "report/terminal.h"

#define FRAME_MS 100
#define TICK_MS 1000
#define NOTES_AT 2 /* after their sign */

struct live {
    const struct live_model *model;
    bool ascii, color;
    uv_timer_t draw_timer, tick;
    uv_signal_t winch;
    uint64_t drawn_ms; /* loop time of the last frame */
    unsigned n_lines;  /* of the last frame on the screen */
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

void live_changed(struct live *l)
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

struct live *live_new(struct uv_loop_s *loop, const struct live_model *model, bool ascii,
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

void live_note(struct live *l, const char *reason, const char *note)
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

void live_end(struct live *l)
{
    draw(l);
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    buf_puts(&out, "\n"); /* the tables follow, on the same terminal */
    put(&out);
    uv_close((uv_handle_t *)&l->draw_timer, NULL);
    uv_close((uv_handle_t *)&l->tick, NULL);
    uv_close((uv_handle_t *)&l->winch, NULL);
}

void live_free(struct live *l)
{
    if (l == NULL) {
        return;
    }
    buf_done(&l->frame);
    free(l);
}
