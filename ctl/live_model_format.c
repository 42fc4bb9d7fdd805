/* The layout of the live view, see live_model.h:
 *
 *   vgg16-pserver-sweep-7k3fq   3/10 trials   1m12s   eta 3m
 *    + 0   pservers=1 trainers=1  2/2  61.2 samples/s
 *    > 1   pservers=1 trainers=2  0/2  =====--- step 5/8  43.1 samples/s trainer/0
 *    . 2   pservers=2 trainers=1  0/2
 *
 * If the points do not fit on the screen, the window follows the current one. */
#include "ctl/live_model.h"

#include "base/str.h"
#include "ctl/human.h"
#include "result/stats.h"

#define BAR_WIDTH 8
#define LABEL_MAX 48
#define CHROME_LINES 3 /* the header, a line that says what is hidden, and the cursor's own */

enum { COLOR_GREEN = 32, COLOR_RED = 31, COLOR_CYAN = 36 };

struct glyphs {
    const char *done, *failed, *running, *waiting, *bar_full, *bar_empty;
};
static const struct glyphs unicode_glyphs = {"✓", "✗", "▸", "·", "━", "─"};
static const struct glyphs ascii_glyphs = {"+", "x", ">", ".", "=", "-"};

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

/* No line may be wider than the terminal: the view counts its lines to draw over them. */
static void put_line(struct buf *out, const struct live_model_opts *opts, const char *line)
{
    size_t len = utf8_prefix(line, opts->columns > 1 ? opts->columns - 1 : 1);
    buf_append(out, line, len);
    buf_putc(out, '\n');
}

static void format_bar(const struct live_model *m, const struct glyphs *g, struct buf *line)
{
    const struct live_model_current *c = &m->current;
    int64_t steps = m->def->spec->steps, full = c->steps_done * BAR_WIDTH / (steps > 0 ? steps : 1);
    for (int64_t i = 0; i < BAR_WIDTH; i++) {
        buf_puts(line, i < full ? g->bar_full : g->bar_empty);
    }
    if (c->steps_done == 0) {
        buf_printf(line, " warm-up %u/%lld", c->warmup_done, (long long)m->def->spec->warmup_steps);
        return;
    }
    buf_printf(line, " step %u/%lld", c->steps_done, (long long)steps);
    if (c->steps_ns > 0) {
        const enum role role = point_training_role(&m->def->matrix.points[c->id.point]);
        buf_printf(line, "  %.4g samples/s %s/0", (double)c->samples * 1e9 / (double)c->steps_ns,
                   role_to_string(role));
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
        buf_printf(out, "%s ", def->spec->systems.items[p->system].name);
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

static int label_width(const struct run_def *def)
{
    size_t width = 0;
    for (uint32_t i = 0; i < def->matrix.n_points; i++) {
        struct buf label = BUF_INIT;
        format_label(def, i, &label);
        width = label.len > width ? label.len : width;
        buf_done(&label);
    }
    return width > LABEL_MAX ? LABEL_MAX : (int)width;
}

static void format_point(const struct live_model *m, const struct glyphs *g, uint32_t index,
                         int width, struct buf *line, int *ret_color)
{
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
    struct buf label = BUF_INIT;
    format_label(m->def, index, &label);
    buf_printf(line, " %s %-3u %-*s %u/%u  ", glyph, index, width, buf_cstr(&label), vp->done,
               n_trials);
    buf_done(&label);
    if (is_current) {
        format_bar(m, g, line);
    } else if (vp->throughputs.len > 0) {
        struct estimate x = stats_median(vp->throughputs.items, vp->throughputs.len);
        buf_printf(line, "%.4g samples/s", x.value);
    }
    if (vp->failed > 0) {
        buf_printf(line, "  %u failed", vp->failed);
    }
}

static void format_header(const struct live_model *m, const struct live_model_opts *opts,
                          struct buf *out)
{
    struct buf line = BUF_INIT;
    char span[HUMAN_SIZE], least[HUMAN_SIZE];
    uint32_t done = 0, n_trials = 0;
    for (uint32_t i = 0; i < m->def->matrix.n_points; i++) {
        done += m->points[i].done;
        n_trials += live_model_trials(m, i);
    }
    buf_printf(&line, "%s   %u/%u trials", m->def->name, done, n_trials);
    if (m->status.started_unix_ms > 0) {
        human_duration(opts->now_unix_ms - m->status.started_unix_ms, span);
        buf_printf(&line, "   %s", span);
    }
    int64_t eta_ms = live_model_eta_ms(m, opts->now_unix_ms);
    if (eta_ms >= 0 && done < n_trials) {
        human_duration(eta_ms, span);
        human_duration(live_model_least_eta_ms(m, opts->now_unix_ms), least);
        const bool is_range = !str_eq(least, span);
        buf_printf(&line, "   eta %s%s%s", is_range ? least : "", is_range ? " to " : "", span);
    }
    buf_puts(&line, m->def->rehearsal ? "   rehearsal" : "");
    put_line(out, opts, buf_cstr(&line));
    buf_done(&line);
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
    format_header(m, opts, out);
    uint32_t n = m->def->matrix.n_points;
    uint32_t room = opts->rows > CHROME_LINES ? opts->rows - CHROME_LINES : 1;
    uint32_t shown = n < room ? n : room;
    uint32_t start = window_start(m, shown);
    int width = label_width(m->def);
    for (uint32_t i = start; i < start + shown; i++) {
        struct buf line = BUF_INIT, cut = BUF_INIT;
        int color = 0;
        format_point(m, g, i, width, &line, &color);
        put_line(&cut, opts, buf_cstr(&line));
        if (opts->color && color != 0) {
            buf_printf(out, "\033[%dm%.*s\033[0m\n", color, (int)cut.len - 1, buf_cstr(&cut));
        } else {
            buf_append(out, cut.data, cut.len);
        }
        buf_done(&line);
        buf_done(&cut);
    }
    if (shown < n) {
        struct buf line = BUF_INIT;
        buf_printf(&line, "   %u of %u points", shown, n);
        put_line(out, opts, buf_cstr(&line));
        buf_done(&line);
    }
}
