/* The layout of the live view, see live_model.h:
 *
 *   vgg16-pserver-sweep-7k3fq   3/10 trials   1m12s   eta 3m
 *   waiting for the first step
 *    + 0   pservers=1 trainers=1  2/2  61.2 samples/s
 *    > 1   pservers=1 trainers=2  0/2  86.2 samples/s  step 5/16
 *    . 2   pservers=2 trainers=1  0/2
 *
 * If the points do not fit on the screen, the window follows the current one. No line is cut inside
 * a number: what does not fit whole is left out, the least important first. */
#include "ctl/live/live_model.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "ctl/cli/human.h"
#include "report/terminal.h"
#include "stats/stats.h"

#define LABEL_MAX 48
#define PIECE_GAP "   "

enum { COLOR_GREEN = 32, COLOR_RED = 31, COLOR_CYAN = 36 };

struct glyphs {
    const char *done, *failed, *running, *waiting, *more;
};
static const struct glyphs unicode_glyphs = {"✓", "✗", "▸", "·", "…"};
static const struct glyphs ascii_glyphs = {"+", "x", ">", ".", "..."};

/* Bytes of the first `characters` of s. */
static size_t utf8_prefix(const char *s, size_t characters)
{
    size_t i = 0;
    while (s[i] != '\0' && characters > 0) {
        i++;
        while (((unsigned char)s[i] & 0xc0) == 0x80) {
            i++;
        }
        characters--;
    }
    return i;
}

/* Of a terminal: the last column stays free, else some begin a new line there. */
static size_t line_width(const struct live_model_opts *opts)
{
    return opts->columns > 1 ? opts->columns - 1 : 1;
}

/* No line may be wider than the terminal: the view counts its lines to draw over them. What is cut
 * here is a terminal too narrow for one number. */
static void put_line(struct buf *out, const struct live_model_opts *opts, const char *line)
{
    buf_append(out, line, utf8_prefix(line, line_width(opts)));
    buf_putc(out, '\n');
}

/* A text of words that is cut at a blank where it is too long, with a mark. */
static void put_words(struct buf *out, const char *text, size_t width, const struct glyphs *g)
{
    if (text_width(text) <= width) {
        buf_puts(out, text);
        return;
    }
    const size_t mark = text_width(g->more) + 1;
    size_t len = width >= mark ? utf8_prefix(text, width - mark) : 0;
    while (len > 0 && text[len] != ' ') {
        len--;
    }
    buf_append(out, text, len);
    buf_printf(out, "%s%s", len == 0 ? "" : " ", width >= mark ? g->more : "");
}

/* Parts of a line that are shown whole or not at all. */
enum { MAX_PIECES = 4 };
struct pieces {
    char *text[MAX_PIECES]; /* in the order of the line; owned; NULL: none */
    size_t n;
};

static void pieces_add_take(struct pieces *p, struct buf *text)
{
    p->text[p->n++] = text->len == 0 ? NULL : xstrdup(buf_cstr(text));
    buf_done(text);
}

/* As many as fit into `room` characters, those first whose number comes first in `order`; each
 * after `gap`, but without one at the line's start. Frees them. */
static void pieces_put(struct pieces *p, const int *order, const char *gap, size_t room,
                       struct buf *line)
{
    bool is_in[MAX_PIECES] = {0};
    for (size_t i = 0; i < p->n; i++) {
        const char *text = p->text[order[i]];
        const size_t width = text == NULL ? 0 : text_width(text) + strlen(gap);
        if (text != NULL && width <= room) {
            is_in[order[i]] = true;
            room -= width;
        }
    }
    for (size_t i = 0; i < p->n; i++) {
        if (is_in[i]) {
            buf_printf(line, "%s%s", line->len == 0 ? "" : gap, p->text[i]);
        }
        free(p->text[i]);
    }
}

/* "step 5/8", or "warm-up 1/2". */
static void format_step(const struct live_model *m, struct buf *out)
{
    const struct live_model_current *c = &m->current;
    if (c->steps_done == 0) {
        buf_printf(out, "warm-up %u/%lld", c->warmup_done, (long long)m->def->spec->warmup_steps);
    } else {
        buf_printf(out, "step %u/%lld", c->steps_done, (long long)m->def->spec->steps);
    }
}

/* Four digits where it has fewer before the point; no power of ten. */
static void put_rate(struct buf *out, double per_s, const char *unit)
{
    buf_printf(out, per_s >= 1000 ? "%.0f %s/s" : "%.4g %s/s", per_s, unit);
}

static void format_rate(const struct live_model *m, struct buf *out)
{
    bool is_estimate;
    const char *unit;
    const double rate = live_model_rate(m, &is_estimate, &unit);
    if (rate > 0) {
        buf_puts(out, is_estimate ? "~" : "");
        put_rate(out, rate, unit);
    }
}

/* A value that all swept points share is left out. */
static bool varies(const struct run_def *def, const char *name)
{
    const struct value *first = params_get(&def->matrix.points[0].params, name);
    for (uint32_t i = 1; i < def->matrix.n_swept; i++) {
        const struct value *other = params_get(&def->matrix.points[i].params, name);
        if (first == NULL || other == NULL || !value_eq(first, other)) {
            return true;
        }
    }
    return false;
}

static void format_label(const struct run_def *def, uint32_t index, struct buf *out)
{
    const struct point *p = &def->matrix.points[index];
    if (def->spec->systems.len > 1) {
        buf_printf(out, "%s ", def->spec->systems.items[p->system].label);
    }
    buf_puts(out, p->is_baseline ? "baseline " : "");
    vec_each (const struct param, param, &p->params.list) {
        if (varies(def, param->name)) {
            buf_printf(out, "%s=", param->name);
            value_format(&param->value, out);
            buf_putc(out, ' ');
        }
    }
}

/* As wide as the longest label, but on a narrow terminal figures come before labels. */
static size_t label_width(const struct run_def *def, const struct live_model_opts *opts)
{
    const size_t half = opts->columns / 2 > 4 ? opts->columns / 2 - 4 : 0;
    const size_t most = half < LABEL_MAX ? half : LABEL_MAX;
    size_t width = 0;
    for (uint32_t i = 0; i < def->matrix.n_points; i++) {
        _cleanup_(buf_done) struct buf label = BUF_INIT;
        format_label(def, i, &label);
        const size_t len = text_width(buf_cstr(&label));
        width = len > width ? len : width;
    }
    return width > most ? most : width;
}

static void put_label(const struct live_model *m, const struct glyphs *g, uint32_t index,
                      size_t width, struct buf *line)
{
    _cleanup_(buf_done) struct buf label = BUF_INIT, cut = BUF_INIT;
    format_label(m->def, index, &label);
    put_words(&cut, buf_cstr(&label), width, g);
    const size_t used = text_width(buf_cstr(&cut));
    buf_printf(line, "%s%*s", buf_cstr(&cut), (int)(width > used ? width - used : 0), "");
}

static void format_point(const struct live_model *m, const struct live_model_opts *opts,
                         const struct glyphs *g, uint32_t index, size_t width, struct buf *line,
                         int *ret_color)
{
    static const int order[] = {0, 2, 1}; /* the rate, failures, the step */
    const struct live_model_point *vp = &m->points[index];
    bool is_current = m->current.is_active && m->current.id.point == index;
    const uint32_t n_trials = live_model_trials(m, index);
    bool is_done = vp->done >= n_trials;
    const char *glyph = is_current ? g->running : is_done ? g->done : g->waiting;
    *ret_color = is_current ? COLOR_CYAN : is_done ? COLOR_GREEN : 0;
    if (vp->failed > 0 && !is_current) {
        glyph = g->failed;
        *ret_color = COLOR_RED;
    }
    buf_printf(line, " %s %-3u ", glyph, index);
    put_label(m, g, index, width, line);
    buf_printf(line, " %u/%u", vp->done, n_trials);
    struct buf rate = BUF_INIT, step = BUF_INIT, failed = BUF_INIT;
    if (is_current) {
        format_rate(m, &rate);
        format_step(m, &step);
    } else if (vp->throughputs.len > 0) {
        put_rate(&rate, stats_median(vp->throughputs.items, vp->throughputs.len).value, vp->unit);
    }
    if (vp->failed > 0) {
        buf_printf(&failed, "%u failed", vp->failed);
    }
    struct pieces p = {0};
    pieces_add_take(&p, &rate);
    pieces_add_take(&p, &step);
    pieces_add_take(&p, &failed);
    const size_t used = text_width(buf_cstr(line)), all = line_width(opts);
    pieces_put(&p, order, "  ", all > used ? all - used : 0, line);
}

static void format_eta(const struct live_model *m, int64_t now_unix_ms, struct buf *out)
{
    char span[HUMAN_SIZE], least[HUMAN_SIZE];
    const int64_t eta_ms = live_model_eta_ms(m, now_unix_ms, false);
    if (eta_ms >= 0) {
        human_duration(eta_ms, span);
        human_duration(live_model_eta_ms(m, now_unix_ms, true), least);
        const bool is_range = !str_eq(least, span);
        buf_printf(out, "eta %s%s%s", is_range ? least : "", is_range ? " to " : "", span);
    }
}

static void format_header(const struct live_model *m, const struct live_model_opts *opts,
                          const struct glyphs *g, struct buf *out)
{
    static const int order[] = {0, 2, 1, 3}; /* trials, what is left, since when, rehearsal */
    _cleanup_(buf_done) struct buf line = BUF_INIT, trials = BUF_INIT, since = BUF_INIT,
                                   eta = BUF_INIT, rehearsal = BUF_INIT;
    uint32_t done = 0, n_trials = 0;
    for (uint32_t i = 0; i < m->def->matrix.n_points; i++) {
        done += m->points[i].done;
        n_trials += live_model_trials(m, i);
    }
    buf_printf(&trials, "%u/%u trials", done, n_trials);
    if (m->status.started_unix_ms > 0) {
        char span[HUMAN_SIZE];
        human_duration(opts->now_unix_ms - m->status.started_unix_ms, span);
        buf_puts(&since, span);
    }
    if (done < n_trials) {
        format_eta(m, opts->now_unix_ms, &eta);
    }
    buf_puts(&rehearsal, m->def->rehearsal ? "rehearsal" : "");
    /* The name gives way to the trials: it has up to 63 characters, and users do
     * not copy it from here. */
    const size_t all = line_width(opts), needed = trials.len + strlen(PIECE_GAP);
    const size_t room = all > needed ? all - needed : 0;
    if (text_width(m->def->name) <= room) {
        buf_puts(&line, m->def->name);
    } else if (room > text_width(g->more)) {
        buf_append(&line, m->def->name, room - text_width(g->more));
        buf_puts(&line, g->more);
    }
    struct pieces p = {0};
    pieces_add_take(&p, &trials);
    pieces_add_take(&p, &since);
    pieces_add_take(&p, &eta);
    pieces_add_take(&p, &rehearsal);
    const size_t used = text_width(buf_cstr(&line));
    pieces_put(&p, order, PIECE_GAP, all > used ? all - used : 0, &line);
    put_line(out, opts, buf_cstr(&line));
}

/* What is waited for. False: nothing, and no line. */
static bool format_news(const struct live_model *m, const struct live_model_opts *opts,
                        const struct glyphs *g, struct buf *out)
{
    _cleanup_(buf_done) struct buf line = BUF_INIT, waits = BUF_INIT;
    live_model_waits_for(m, &waits);
    if (waits.len > 0) {
        put_words(&line, buf_cstr(&waits), line_width(opts), g);
        put_line(out, opts, buf_cstr(&line));
    }
    return waits.len > 0;
}

/* The first of `shown` points, chosen so that the current one is among them. */
static uint32_t window_start(const struct live_model *m, uint32_t shown)
{
    uint32_t n = m->def->matrix.n_points;
    uint32_t at = m->current.is_active ? m->current.id.point : 0;
    uint32_t half = shown / 2;
    uint32_t start = at > half ? at - half : 0;
    return start + shown > n ? n - shown : start;
}

void live_model_format(const struct live_model *m, const struct live_model_opts *opts,
                       struct buf *out)
{
    const struct glyphs *g = opts->ascii ? &ascii_glyphs : &unicode_glyphs;
    format_header(m, opts, g, out);
    /* Above the points and below them: the header, what is hidden, the
     * cursor's own line, the news. */
    const uint32_t around = opts->rows > 4 && format_news(m, opts, g, out) ? 4 : 3;
    uint32_t n = m->def->matrix.n_points;
    uint32_t room = opts->rows > around ? opts->rows - around : 1;
    uint32_t shown = n < room ? n : room;
    uint32_t start = window_start(m, shown);
    const size_t width = label_width(m->def, opts);
    for (uint32_t i = start; i < start + shown; i++) {
        _cleanup_(buf_done) struct buf line = BUF_INIT, cut = BUF_INIT;
        int color = 0;
        format_point(m, opts, g, i, width, &line, &color);
        put_line(&cut, opts, buf_cstr(&line));
        if (opts->color && color != 0) {
            buf_printf(out, "\033[%dm%.*s\033[0m\n", color, (int)cut.len - 1, buf_cstr(&cut));
        } else {
            buf_append(out, cut.data, cut.len);
        }
    }
    if (shown < n) {
        _cleanup_(buf_done) struct buf line = BUF_INIT;
        buf_printf(&line, "   %u of %u points", shown, n);
        put_line(out, opts, buf_cstr(&line));
    }
}
