/* See chart.h. */
#include "report/chart.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/style.h"
#include "report/table.h"
#include "report/terminal.h"

/* A phone of 360 px shows a chart in 334: so narrow, its text is not scaled down there. */
#define WIDTH_PX 330.0
#define TOP_PX 10.0
#define RIGHT_PX 10.0
#define LEFT_PX 50.0       /* numbers of the y axis */
#define PLOT_PX 190.0      /* height of a line chart's plot */
#define ROW_PX 17.0        /* of bars and legends */
#define NAME_PX 13.0       /* of the name above a row */
#define CHAR_PX 6.2        /* of the text, on average */
#define MAX_LINE 48        /* characters of a line */
#define LEGEND_PX 24.0     /* where its texts begin */
#define MAX_LABEL 16       /* characters of a name at the end of a line */
#define LABEL_PX 12.5      /* from such a name to the next */
#define LABEL_TEXT_PX 17.0 /* from the end of the plot to the name */
#define AXIS_END_PX 22.0   /* from the end of a row to the edge: half of the last number */
#define DODGE_PX 8.0       /* between marks that would lie on each other: a whole mark */
#define ASIDE_PX 20.0 /* the furthest that a mark goes aside, within the padding of the frame */

/* ---- axes ---- */

struct chart_axis chart_axis_nice(double low, double high, unsigned n_ticks, double from_px,
                                  double to_px)
{
    if (!(high > low)) { /* one value: something to both sides of it */
        const double margin = low == 0 ? 1 : fabs(low) / 2;
        high = low + margin;
        low -= margin;
    }
    const double raw = (high - low) / n_ticks, power = pow(10, floor(log10(raw))), f = raw / power;
    const double step = power * (f <= 1 ? 1 : f <= 2 ? 2 : f <= 2.5 ? 2.5 : f <= 5 ? 5 : 10);
    const double slack = step * 1e-9; /* of a value that is a tick but for rounding */
    return (struct chart_axis){.low = step * floor((low + slack) / step),
                               .high = step * ceil((high - slack) / step),
                               .step = step,
                               .from_px = from_px,
                               .to_px = to_px};
}

double chart_axis_px(const struct chart_axis *a, double value)
{
    return a->from_px + (value - a->low) / (a->high - a->low) * (a->to_px - a->from_px);
}

size_t chart_axis_n_ticks(const struct chart_axis *a)
{
    return (size_t)lround((a->high - a->low) / a->step) + 1;
}

double chart_axis_tick(const struct chart_axis *a, size_t i)
{
    return a->low + (double)i * a->step;
}

/* ---- pieces ---- */

static void put_text(struct buf *out, double x, double y, const char *classes, const char *text)
{
    buf_printf(out, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s", x, y, classes);
    html_put(out, "\">", text, "</text>\n");
}

/* A file has the title, which a page has in its text, above the drawing. */
static void put_open(struct buf *out, const struct chart *c, double height_px, bool is_file)
{
    const int above_px = is_file ? 16 : 0;
    buf_printf(out, "<svg %sviewBox=\"0 %d %.0f %.0f\" role=\"img\" aria-labelledby=\"%s-title\">",
               is_file ? "xmlns=\"http://www.w3.org/2000/svg\" " : "", -above_px, WIDTH_PX,
               height_px + above_px, c->id);
    buf_printf(out, is_file ? "<style>%s</style>\n" : "\n", chart_style);
    html_put(out, "<title id=\"", c->id, "-title\">");
    html_put(out, "", c->title, "</title>\n");
    if (is_file) { /* a subtitle of one word is the unit */
        const bool has_unit = c->subtitle != NULL && strchr(c->subtitle, ' ') == NULL;
        _cleanup_(freep) char *title =
            xasprintf("%s%s%s", c->title, has_unit ? ", " : "", has_unit ? c->subtitle : "");
        put_text(out, 2, -5, "", title);
    }
}

static void put_line(struct buf *out, double x1, double y1, double x2, double y2,
                     const char *classes)
{
    buf_printf(out, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" class=\"%s\"/>\n", x1,
               y1, x2, y2, classes);
}

static void put_title(struct buf *out, const char *text)
{
    html_put(out, "<title>", text, "</title>");
}

/* At most MAX_LINE characters; of a longer text, which ends with an ellipsis, a <title> has all. */
static void put_name(struct buf *out, double x, double y, const char *classes, const char *name)
{
    if (text_width(name) <= MAX_LINE) {
        put_text(out, x, y, classes, name);
        return;
    }
    size_t i = 0; /* the bytes before the last character that a line holds */
    for (size_t n = 0; n < MAX_LINE; i++) {
        n += ((unsigned char)name[i] & 0xc0) != 0x80; /* the first byte of a character */
    }
    _cleanup_(freep) char *head = xstrndup(name, i - 1);
    buf_printf(out, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">", x, y, classes);
    put_title(out, name);
    html_put(out, "", head, "…</text>\n");
}

static void format_value(double value, enum chart_unit unit, struct buf *out)
{
    const bool is_percent = unit == CHART_PERCENT;
    buf_printf(out, is_percent ? "%.10g%%" : "%.10g", is_percent ? 100 * value : value);
}

/* Shapes in turn; the second four are hollow, so that eight series differ without colour. */
static void put_mark(struct buf *out, double x, double y, size_t series, const char *text)
{
    static const char *const shapes[] = {
        "<circle r=\"3.6\"",
        "<rect x=\"-3.6\" y=\"-3.6\" width=\"7.2\" height=\"7.2\"",
        "<path d=\"M0 -4.3L4.3 3.6L-4.3 3.6Z\"",
        "<path d=\"M0 -5.0L5.0 0L0 5.0L-5.0 0Z\"",
    };
    const bool is_hollow = series >= COUNT_OF(shapes);
    buf_printf(out, "<g class=\"s%zu%s\" transform=\"translate(%.1f %.1f)\">", series,
               is_hollow ? " h" : "", x, y);
    if (text != NULL) {
        put_title(out, text);
    }
    buf_printf(out, "%s%s/></g>\n", shapes[series % COUNT_OF(shapes)],
               is_hollow ? " class=\"h\"" : "");
}

/* Where a point would have a mark that has failed. */
static void put_failed(struct buf *out, double x, double y, const char *text)
{
    buf_printf(out, "<g class=\"f\" transform=\"translate(%.1f %.1f)\">", x, y);
    put_title(out, text);
    buf_puts(out, "<path d=\"M-4 -4L4 4M-4 4L4 -4\"/></g>\n");
}

/* Numbers below the plot but for those that would touch the one before, and lines up through it. */
static void put_value_axis(struct buf *out, const struct chart_axis *a, enum chart_unit unit,
                           double top_px, double bottom_px)
{
    double free_px = -INFINITY;
    for (size_t i = 0; i < chart_axis_n_ticks(a); i++) {
        const double value = chart_axis_tick(a, i), x = chart_axis_px(a, value);
        _cleanup_(buf_done) struct buf text = BUF_INIT;
        format_value(value, unit, &text);
        put_line(out, x, top_px, x, bottom_px, "g");
        const double half_px = CHAR_PX * (double)text.len / 2;
        if (x - half_px > free_px) {
            put_text(out, x, bottom_px + 14, "n m", buf_cstr(&text));
            free_px = x + half_px + CHAR_PX / 2;
        }
    }
}

static void widen(double value, double *low, double *high)
{
    if (isfinite(value)) {
        *low = fmin(*low, value);
        *high = fmax(*high, value);
    }
}

/* ---- lines ---- */

struct line_plot {
    const struct chart *chart;
    struct chart_axis x, y;
    double bottom_px, right_px;
    bool has_labels; /* names at the ends of lines, and no legend */
    double dodge_px; /* from a series to the next */
};

/* Each x that was measured, sorted. */
struct x_values {
    VEC(double) list; /* owned */
};

static struct x_values x_values_of(const struct chart *c)
{
    struct x_values values = {0};
    vec_each (struct chart_series, s, &c->series) {
        vec_each (struct chart_mark, m, &s->marks) {
            size_t at;
            if (!vec_search(&values.list, it, (*it > m->x) - (*it < m->x), &at)) {
                *vec_insert(&values.list, at) = m->x;
            }
        }
    }
    return values;
}

/* Lines with the same x are side by side, so that marks and intervals do not hide each other; a
 * whole mark, where it does not reach into the next x. */
static double dodge_of(const struct chart *c, const struct chart_axis *x)
{
    const double n_steps = (double)c->series.len - 1;
    if (n_steps < 1 || c->x_is_time) {
        return 0;
    }
    struct x_values values = x_values_of(c);
    double gap_px = INFINITY;
    for (size_t i = 1; i < values.list.len; i++) {
        const double px =
            chart_axis_px(x, values.list.items[i]) - chart_axis_px(x, values.list.items[i - 1]);
        gap_px = px > 0 ? fmin(gap_px, px) : gap_px;
    }
    vec_done(&values.list);
    return fmin(fmin(DODGE_PX, 2 * ASIDE_PX / n_steps), fmax(gap_px / (n_steps + 1), 3));
}

/* A line of ideals, for which it takes two neighbours. */
static bool has_ideal(const struct chart_series *s)
{
    for (size_t i = 1; i < s->marks.len; i++) {
        if (isfinite(s->marks.items[i - 1].ideal) && isfinite(s->marks.items[i].ideal)) {
            return true;
        }
    }
    return false;
}

/* The width of the margin in which lines have their names; 0: they have a legend below, because a
 * name is too long, or lines end anywhere. */
static double margin_of(const struct chart *c)
{
    size_t longest = 0;
    vec_each (struct chart_series, s, &c->series) {
        const size_t width = text_width(s->name);
        longest = width > longest ? width : longest;
    }
    return c->x_is_time || c->series.len < 2 || longest > MAX_LABEL
               ? 0
               : LABEL_TEXT_PX + CHAR_PX * (double)longest;
}

static struct line_plot line_plot_of(const struct chart *c)
{
    double x_low = INFINITY, x_high = -INFINITY, y_low = 0, y_high = -INFINITY;
    widen(c->reference, &y_low, &y_high);
    vec_each (struct chart_series, s, &c->series) {
        vec_each (struct chart_mark, m, &s->marks) {
            widen(m->x, &x_low, &x_high);
            widen(m->value, &y_low, &y_high);
            widen(m->high, &y_low, &y_high);
            widen(m->ideal, &y_low, &y_high);
        }
    }
    const double margin = margin_of(c);
    struct line_plot p = {.chart = c,
                          .bottom_px = TOP_PX + PLOT_PX,
                          .right_px = WIDTH_PX - fmax(margin, RIGHT_PX),
                          .has_labels = margin > 0};
    p.y = chart_axis_nice(y_low, y_high, 5, p.bottom_px, TOP_PX);
    /* Marks keep some distance from the frame. */
    p.x = (struct chart_axis){
        .low = x_low,
        .high = x_high > x_low ? x_high : x_low + 1,
        .from_px = LEFT_PX + 24,
        .to_px = p.right_px - 22,
    };
    if (c->x_is_time) {
        p.x = chart_axis_nice(0, x_high, 5, LEFT_PX, WIDTH_PX - AXIS_END_PX);
    }
    p.dodge_px = dodge_of(c, &p.x);
    return p;
}

static void put_y_axis(struct buf *out, const struct line_plot *p)
{
    for (size_t i = 0; i < chart_axis_n_ticks(&p->y); i++) {
        const double value = chart_axis_tick(&p->y, i), y = chart_axis_px(&p->y, value);
        _cleanup_(buf_done) struct buf text = BUF_INIT;
        format_value(value, p->chart->unit, &text);
        put_line(out, LEFT_PX, y, p->right_px, y, "g");
        put_text(out, LEFT_PX - 6, y + 4, "n e", buf_cstr(&text));
    }
}

/* Each value of x that was measured has a number, unless it would touch the one before. */
static void put_x_axis(struct buf *out, const struct line_plot *p)
{
    if (p->chart->x_is_time) {
        put_value_axis(out, &p->x, CHART_NUMBER, TOP_PX, p->bottom_px);
        return;
    }
    struct x_values values = x_values_of(p->chart);
    double free_px = -INFINITY;
    for (size_t i = 0; i < values.list.len; i++) {
        const double value = values.list.items[i], px = chart_axis_px(&p->x, value);
        _cleanup_(buf_done) struct buf text = BUF_INIT;
        buf_printf(&text, "%.10g", value);
        const double half_px = CHAR_PX * (double)text.len / 2;
        if (px - half_px > free_px) {
            put_line(out, px, p->bottom_px, px, p->bottom_px + 4, "g");
            put_text(out, px, p->bottom_px + 16, "n m", buf_cstr(&text));
            free_px = px + half_px + CHAR_PX;
        }
    }
    vec_done(&values.list);
}

static double dodge_px(const struct line_plot *p, size_t series)
{
    return p->dodge_px * ((double)series - (double)(p->chart->series.len - 1) / 2);
}

static void put_path(struct buf *out, const struct line_plot *p, const struct chart_series *s,
                     bool is_ideal, const char *classes, size_t series)
{
    const char *move = "M";
    buf_puts(out, "<path d=\"");
    for (size_t i = 0; i < s->marks.len; i++) {
        const double value = is_ideal ? s->marks.items[i].ideal : s->marks.items[i].value;
        if (!isfinite(value)) {
            move = "M"; /* a gap */
            continue;
        }
        buf_printf(out, "%s%.1f %.1f", move,
                   chart_axis_px(&p->x, s->marks.items[i].x) + dodge_px(p, series),
                   chart_axis_px(&p->y, value));
        move = "L";
    }
    buf_printf(out, "\" class=\"s%zu %s\"/>\n", series, classes);
}

static void put_series(struct buf *out, const struct line_plot *p, size_t i)
{
    const struct chart_series *s = &p->chart->series.items[i];
    if (has_ideal(s)) {
        put_path(out, p, s, true, "i", i);
    }
    put_path(out, p, s, false, "l", i);
    _cleanup_(freep) char *whisker = xasprintf("s%zu w", i); /* the classes of an interval */
    vec_each (struct chart_mark, m, &s->marks) {
        const double x = chart_axis_px(&p->x, m->x) + dodge_px(p, i);
        if (!isfinite(m->value)) {
            put_failed(out, x, p->bottom_px - 7, m->text);
            continue;
        }
        if (isfinite(m->low + m->high)) {
            put_line(out, x, chart_axis_px(&p->y, m->low), x, chart_axis_px(&p->y, m->high),
                     whisker);
        }
        put_mark(out, x, chart_axis_px(&p->y, m->value), i, m->text);
    }
}

/* The names of the series, in the margin where lines end, each a row away or more from others. */
static void put_labels(struct buf *out, const struct line_plot *p)
{
    struct {
        double y_px;
        size_t series;
    } labels[CHART_MAX_SERIES];
    const size_t n = p->chart->series.len;
    for (size_t i = 0; i < n; i++) {
        labels[i].y_px = p->bottom_px;
        labels[i].series = i;
        vec_each (struct chart_mark, m, &p->chart->series.items[i].marks) {
            labels[i].y_px = isfinite(m->value) ? chart_axis_px(&p->y, m->value) : labels[i].y_px;
        }
    }
    qsort(labels, n, sizeof(*labels), by_double); /* y_px is the first field */
    for (size_t i = n; i-- > 0;) {
        const double lowest_px = p->bottom_px - LABEL_PX * (double)(n - 1 - i);
        labels[i].y_px = fmin(labels[i].y_px, lowest_px);
    }
    for (size_t i = 0; i < n; i++) {
        labels[i].y_px =
            i == 0 ? labels[i].y_px : fmax(labels[i].y_px, labels[i - 1].y_px + LABEL_PX);
        put_mark(out, p->right_px + 9, labels[i].y_px, labels[i].series, NULL);
        put_text(out, p->right_px + LABEL_TEXT_PX, labels[i].y_px + 4, "n",
                 p->chart->series.items[labels[i].series].name);
    }
}

static void put_lines(const struct chart *c, bool is_file, struct buf *out)
{
    const struct line_plot p = line_plot_of(c);
    const bool has_legend = c->series.len > 1 && !p.has_labels;
    const bool with_ideal = vec_any(&c->series, s, has_ideal(s));
    const size_t n_rows = (has_legend ? c->series.len : 0) + (with_ideal ? 1 : 0);
    double y = p.bottom_px + 34;
    put_open(out, c, y + ROW_PX * (double)n_rows + 8, is_file);
    put_y_axis(out, &p);
    put_x_axis(out, &p);
    if (isfinite(c->reference)) {
        const double px = chart_axis_px(&p.y, c->reference);
        put_line(out, LEFT_PX, px, p.right_px, px, "ref");
    }
    for (size_t i = 0; i < c->series.len; i++) {
        put_series(out, &p, i);
    }
    put_text(out, (LEFT_PX + p.right_px) / 2, y, "n m", c->x_title);
    if (p.has_labels) {
        put_labels(out, &p);
    }
    for (size_t i = 0; has_legend && i < c->series.len; i++) {
        y += ROW_PX;
        put_mark(out, LEGEND_PX - 12, y - 4, i, NULL);
        put_name(out, LEGEND_PX, y, "n", c->series.items[i].name);
    }
    if (with_ideal) {
        y += ROW_PX;
        put_line(out, LEGEND_PX - 20, y - 4, LEGEND_PX - 4, y - 4, "ref");
        put_text(out, LEGEND_PX, y, "n", "dashed: ideal, an efficiency of 1");
    }
    buf_puts(out, "</svg>\n");
}

/* ---- bars, each with its name above it ---- */

/* The middle of a bar. */
static double bar_y_px(size_t row)
{
    return TOP_PX + (NAME_PX + ROW_PX) * ((double)row + 1) - ROW_PX / 2;
}

static struct chart_axis bar_axis(const struct chart *c)
{
    double low = 0, high = -INFINITY;
    vec_each (struct chart_series, row, &c->series) {
        double sum = 0;
        vec_each (struct chart_mark, m, &row->marks) {
            widen(m->high, &low, &high);
            sum += m->value > 0 ? m->value : 0;
        }
        widen(sum, &low, &high);
        widen(row->whole, &low, &high);
    }
    return chart_axis_nice(low, high, 4, AXIS_END_PX, WIDTH_PX - AXIS_END_PX);
}

static void put_bar(struct buf *out, const struct chart_series *row, const struct chart_axis *a,
                    double row_px)
{
    double sum = 0;
    vec_each (struct chart_mark, m, &row->marks) {
        if (!(m->value > 0)) {
            if (isnan(m->value)) {
                put_failed(out, chart_axis_px(a, 0) + 7, row_px, m->text);
            }
            continue;
        }
        const double from = chart_axis_px(a, sum), to = chart_axis_px(a, sum + m->value);
        sum += m->value;
        buf_printf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" class=\"s%u\">",
                   from, row_px - 5, fmax(to - from - 0.6, 0.4), 10.0, m->series);
        put_title(out, m->text);
        buf_puts(out, "</rect>\n");
        if (isfinite(m->low + m->high)) {
            put_line(out, chart_axis_px(a, m->low), row_px, chart_axis_px(a, m->high), row_px,
                     "whole");
        }
    }
    if (isfinite(row->whole)) {
        const double px = chart_axis_px(a, row->whole);
        put_line(out, px, row_px - 7.5, px, row_px + 7.5, "whole");
    }
}

/* Is there anything of the part to be seen? */
static bool has_part(const struct chart *c, size_t part)
{
    return vec_any(&c->series, row, row->marks.items[part].value > 0);
}

static void put_bars(const struct chart *c, bool is_file, struct buf *out)
{
    const struct chart_axis a = bar_axis(c);
    const double bottom_px = bar_y_px(c->series.len - 1) + ROW_PX / 2;
    double y = bottom_px + 32;
    size_t n_legend = c->whole != NULL;
    for (size_t k = 0; k < c->names.len; k++) {
        n_legend += has_part(c, k);
    }
    put_open(out, c, y + ROW_PX * (double)n_legend + 8, is_file);
    put_value_axis(out, &a, c->unit, TOP_PX, bottom_px);
    for (size_t i = 0; i < c->series.len; i++) {
        put_bar(out, &c->series.items[i], &a, bar_y_px(i));
    }
    for (size_t i = 0; i < c->series.len; i++) { /* over the lines of the axis */
        put_name(out, 2, bar_y_px(i) - ROW_PX / 2 - 0.5, "k", c->series.items[i].name);
    }
    put_text(out, WIDTH_PX / 2, y, "n m", c->x_title);
    for (size_t k = 0; k < c->names.len; k++) {
        if (has_part(c, k)) {
            y += ROW_PX;
            buf_printf(out,
                       "<rect x=\"%.1f\" y=\"%.1f\" width=\"10\" height=\"10\" class=\"s%zu\"/>\n",
                       LEGEND_PX - 17, y - 9, k);
            put_text(out, LEGEND_PX, y, "n", c->names.items[k]);
        }
    }
    if (c->whole != NULL) {
        y += ROW_PX;
        put_line(out, LEGEND_PX - 12, y - 11, LEGEND_PX - 12, y + 2, "whole");
        put_text(out, LEGEND_PX, y, "n", c->whole);
    }
    buf_puts(out, "</svg>\n");
}

void chart_svg(const struct chart *c, bool is_file, struct buf *out)
{
    if (c->kind == CHART_LINES) {
        put_lines(c, is_file, out);
    } else if (c->kind == CHART_BARS) {
        put_bars(c, is_file, out);
    }
}
