/* See chart_svg.h. */
#include "report/chart_svg.h"

#include <math.h>

#include "base/vec_sorted.h"
#include "base/vec_walk.h"
#include "report/chart_axis.h"
#include "report/style.h"
#include "report/table.h"
#include "report/terminal.h"
#include "result/number.h"

/* A phone of 360 px shows a chart in 334: so narrow, its text is not scaled down there. */
#define WIDTH_PX 330.0
#define TOP_PX 10.0
#define RIGHT_PX 10.0
#define LEFT_PX 50.0     /* numbers of the y axis */
#define PLOT_PX 190.0    /* height of a line chart's plot */
#define ROW_PX 17.0      /* of dots, bars and legends */
#define STACKED_PX 30.0  /* of a row that has its name above it */
#define CHAR_PX 6.2      /* of the text, on average */
#define MARK_PX 3.6      /* half of a mark */
#define MAX_BESIDE 24    /* characters of a name next to its row */
#define MAX_LINE 48      /* characters of a line */
#define LEGEND_PX 24.0   /* where its texts begin */
#define AXIS_END_PX 22.0 /* from the end of a row to the edge: half of the last number */
#define NARROW_PX 200.0  /* a plot with room for fewer numbers */
#define DODGE_PX 8.0     /* between marks that would lie on each other: a whole mark */
#define ASIDE_PX 20.0    /* the furthest that a mark goes aside, within the padding of the frame */

/* ---- pieces ---- */

static void put_open(struct buf *out, const struct chart *c, double height_px, bool is_file)
{
    buf_printf(out, "<svg %sviewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-labelledby=\"%s-title\">",
               is_file ? "xmlns=\"http://www.w3.org/2000/svg\" " : "", WIDTH_PX, height_px, c->id);
    if (is_file) {
        buf_printf(out, "<style>%s</style>", chart_style);
    }
    buf_printf(out, "\n<title id=\"%s-title", c->id);
    html_put(out, "\">", c->title, "</title>\n");
}

static void put_text(struct buf *out, double x, double y, const char *classes, const char *text)
{
    buf_printf(out, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s", x, y, classes);
    html_put(out, "\">", text, "</text>\n");
}

static void put_line(struct buf *out, double x1, double y1, double x2, double y2,
                     const char *classes)
{
    buf_printf(out, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" class=\"%s\"/>\n", x1,
               y1, x2, y2, classes);
}

/* The interval of a series' value, where it has both ends. */
static void put_whisker(struct buf *out, double x1, double y1, double x2, double y2, size_t series)
{
    if (!isfinite(x1 + y1 + x2 + y2)) {
        return;
    }
    _cleanup_(buf_done) struct buf classes = BUF_INIT;
    buf_printf(&classes, "s%zu w", series);
    put_line(out, x1, y1, x2, y2, buf_cstr(&classes));
}

static void put_title(struct buf *out, const char *text)
{
    html_put(out, "<title>", text, "</title>");
}

/* The bytes before the last character that a line holds, of a text with more. */
static size_t bytes_of_line(const char *text)
{
    size_t i = 0;
    for (size_t n = 0; n < MAX_LINE; i++) {
        n += ((unsigned char)text[i] & 0xc0) != 0x80; /* the first byte of a character */
    }
    return i - 1;
}

/* At most MAX_LINE characters; a longer text ends with an ellipsis and has
 * the whole in a <title>. */
static void put_name(struct buf *out, double x, double y, const char *classes, const char *name)
{
    if (text_width(name) <= MAX_LINE) {
        put_text(out, x, y, classes, name);
        return;
    }
    _cleanup_(freep) char *head = xstrndup(name, bytes_of_line(name));
    buf_printf(out, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">", x, y, classes);
    put_title(out, name);
    html_put(out, "", head, "…</text>\n");
}

static void format_value(double value, enum chart_unit unit, struct buf *out)
{
    /* A tick is a whole percentage, but for rounding. */
    const double change = round(1e4 * (value - 1)) / 100;
    if (unit == CHART_NUMBER) {
        buf_printf(out, "%.10g", value);
    } else if (unit == CHART_PERCENT) {
        buf_printf(out, "%.10g%%", 100 * value);
    } else {
        buf_printf(out, change == 0 ? "%.10g%%" : "%+.10g%%", change == 0 ? 0 : change);
    }
}

/* Shapes in turn; the second four are hollow, so that eight series differ without colour. */
static void put_mark(struct buf *out, double x, double y, size_t series, const char *text)
{
    const double r = MARK_PX;
    buf_printf(out, "<g class=\"s%zu%s\" transform=\"translate(%.1f %.1f)\">", series,
               series < 4 ? "" : " h", x, y);
    if (text != NULL) {
        put_title(out, text);
    }
    const char *hollow = series < 4 ? "" : " class=\"h\"";
    switch (series % 4) {
    case 0:
        buf_printf(out, "<circle r=\"%.1f\"%s/>", r, hollow);
        break;
    case 1:
        buf_printf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"%s/>", -r, -r,
                   2 * r, 2 * r, hollow);
        break;
    case 2:
        buf_printf(out, "<path d=\"M0 %.1fL%.1f %.1fL%.1f %.1fZ\"%s/>", -1.2 * r, 1.2 * r, r,
                   -1.2 * r, r, hollow);
        break;
    default:
        buf_printf(out, "<path d=\"M0 %.1fL%.1f 0L0 %.1fL%.1f 0Z\"%s/>", -1.4 * r, 1.4 * r, 1.4 * r,
                   -1.4 * r, hollow);
    }
    buf_puts(out, "</g>\n");
}

static void put_legend(struct buf *out, double y, size_t series, const char *name)
{
    put_mark(out, LEGEND_PX - 12, y - 4, series, NULL);
    put_name(out, LEGEND_PX, y, "n", name);
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
    const struct line_chart *chart;
    struct chart_axis x, y;
    double bottom_px;
    double dodge_px; /* from a series to the next */
};

/* Each x that was measured, sorted. */
struct x_values {
    VEC(double) list; /* owned */
};

static struct x_values x_values_of(const struct line_chart *c)
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
static double dodge_of(const struct line_chart *c, const struct chart_axis *x)
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

static struct line_plot line_plot_of(const struct line_chart *c)
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
    struct line_plot p = {.chart = c, .bottom_px = TOP_PX + PLOT_PX};
    p.y = chart_axis_nice(y_low, y_high, 5, p.bottom_px, TOP_PX);
    /* Marks keep some distance from the frame. */
    p.x = (struct chart_axis){
        .low = x_low,
        .high = x_high > x_low ? x_high : x_low + 1,
        .from_px = LEFT_PX + 24,
        .to_px = WIDTH_PX - RIGHT_PX - 22,
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
        format_value(value, p->chart->y_unit, &text);
        put_line(out, LEFT_PX, y, WIDTH_PX - RIGHT_PX, y, "g");
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
        if (p->chart->x_names.len > 0) {
            buf_puts(&text, p->chart->x_names.items[(size_t)value]);
        } else {
            buf_printf(&text, "%.10g", value);
        }
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

static void put_series(struct buf *out, const struct line_plot *p, size_t i)
{
    const struct chart_series *s = &p->chart->series.items[i];
    if (has_ideal(s)) {
        put_path(out, p, s, true, "i", i);
    }
    put_path(out, p, s, false, "l", i);
    vec_each (struct chart_mark, m, &s->marks) {
        const double x = chart_axis_px(&p->x, m->x) + dodge_px(p, i);
        put_whisker(out, x, chart_axis_px(&p->y, m->low), x, chart_axis_px(&p->y, m->high), i);
        put_mark(out, x, chart_axis_px(&p->y, m->value), i, m->text);
    }
}

static void put_lines(const struct chart *chart, bool is_file, struct buf *out)
{
    const struct line_chart *c = &chart->lines;
    const struct line_plot p = line_plot_of(c);
    const bool has_legend = c->series.len > 1;
    const bool with_ideal = vec_any(&c->series, s, has_ideal(s));
    const size_t n_rows = (has_legend ? c->series.len : 0) + (with_ideal ? 1 : 0);
    double y = p.bottom_px + 34;
    put_open(out, chart, y + ROW_PX * (double)n_rows + 8, is_file);
    put_y_axis(out, &p);
    put_x_axis(out, &p);
    if (isfinite(c->reference)) {
        const double px = chart_axis_px(&p.y, c->reference);
        put_line(out, LEFT_PX, px, WIDTH_PX - RIGHT_PX, px, "ref");
    }
    for (size_t i = 0; i < c->series.len; i++) {
        put_series(out, &p, i);
    }
    put_text(out, (LEFT_PX + WIDTH_PX - RIGHT_PX) / 2, y, "n m", chart->x_title);
    for (size_t i = 0; has_legend && i < c->series.len; i++) {
        y += ROW_PX;
        put_legend(out, y, i, c->series.items[i].name);
    }
    if (with_ideal) {
        y += ROW_PX;
        put_line(out, LEGEND_PX - 20, y - 4, LEGEND_PX - 4, y - 4, "ref");
        put_text(out, LEGEND_PX, y, "n", "dashed: ideal, the baseline times its number");
    }
    buf_puts(out, "</svg>\n");
}

/* ---- rows, of dots or bars ---- */

/* Names are next to their rows, or above them where one is long. */
struct row_space {
    bool is_stacked;
    double names_px;       /* where names end; of stacked ones, where they begin */
    double from_px, to_px; /* of the plot */
    double row_px, top_px, bottom_px;
    double band_px; /* of a row, without a name above it */
};

static struct row_space row_space_of(size_t longest, size_t n_rows, size_t n_series)
{
    struct row_space s = {.is_stacked = longest > MAX_BESIDE};
    s.names_px = s.is_stacked ? 2 : CHAR_PX * (double)longest + 6;
    s.from_px = s.is_stacked ? AXIS_END_PX : s.names_px + 8;
    s.to_px = WIDTH_PX - AXIS_END_PX;
    s.band_px = fmax(ROW_PX, DODGE_PX * (double)n_series + 3);
    s.row_px = s.band_px + (s.is_stacked ? STACKED_PX - ROW_PX : 0);
    s.top_px = TOP_PX;
    s.bottom_px = s.top_px + s.row_px * (double)n_rows;
    return s;
}

static unsigned n_ticks_of(const struct row_space *s)
{
    return s->to_px - s->from_px < NARROW_PX ? 3 : 4;
}

/* The middle of what a row shows. */
static double row_y_px(const struct row_space *s, size_t row)
{
    return s->top_px + s->row_px * ((double)row + 1) - s->band_px / 2;
}

static void put_row_name(struct buf *out, const struct row_space *s, size_t row, const char *name)
{
    const double y =
        s->is_stacked ? s->top_px + s->row_px * (double)row + 12.5 : row_y_px(s, row) + 4;
    put_name(out, s->names_px, y, s->is_stacked ? "k" : "k e", name);
}

static size_t longer(size_t longest, const char *name)
{
    const size_t n = text_width(name);
    return n > longest ? n : longest;
}

/* ---- dots ---- */

static struct chart_axis dot_axis(const struct dot_chart *c, const struct row_space *s)
{
    double low = c->unit == CHART_CHANGE ? INFINITY : 0, high = -INFINITY;
    widen(c->reference, &low, &high);
    vec_each (struct chart_series, row, &c->rows) {
        vec_each (struct chart_mark, m, &row->marks) {
            widen(m->value, &low, &high);
            widen(m->low, &low, &high);
            widen(m->high, &low, &high);
        }
    }
    return chart_axis_nice(low, high, n_ticks_of(s), s->from_px, s->to_px);
}

static void put_dots(const struct chart *chart, bool is_file, struct buf *out)
{
    const struct dot_chart *c = &chart->dots;
    size_t longest = 0;
    vec_each (const struct chart_series, row, &c->rows) {
        longest = longer(longest, row->name);
    }
    const struct row_space s = row_space_of(longest, c->rows.len, c->series.len);
    const struct chart_axis a = dot_axis(c, &s);
    const size_t n_legend = c->series.len > 1 ? c->series.len : 0;
    double y = s.bottom_px + 32;
    put_open(out, chart, y + ROW_PX * (double)n_legend + 8, is_file);
    put_value_axis(out, &a, c->unit, s.top_px, s.bottom_px);
    if (isfinite(c->reference)) {
        const double px = chart_axis_px(&a, c->reference);
        put_line(out, px, s.top_px, px, s.bottom_px, "ref");
    }
    for (size_t i = 0; i < c->rows.len; i++) {
        const struct chart_series *row = &c->rows.items[i];
        const double row_px = row_y_px(&s, i);
        vec_each (struct chart_mark, m, &row->marks) {
            /* Equal values of two series stay visible. */
            const double dodge = (double)m->series - (double)(c->series.len - 1) / 2;
            const double y_px = row_px + DODGE_PX * dodge;
            put_whisker(out, chart_axis_px(&a, m->low), y_px, chart_axis_px(&a, m->high), y_px,
                        m->series);
            put_mark(out, chart_axis_px(&a, m->value), y_px, m->series, m->text);
        }
    }
    for (size_t i = 0; i < c->rows.len; i++) { /* over the lines of the axis */
        put_row_name(out, &s, i, c->rows.items[i].name);
    }
    put_text(out, WIDTH_PX / 2, y, "n m", chart->x_title);
    for (size_t i = 0; i < n_legend; i++) {
        y += ROW_PX;
        put_legend(out, y, i, c->series.items[i]);
    }
    buf_puts(out, "</svg>\n");
}

/* ---- bars ---- */

static void put_bar(struct buf *out, const struct bar_chart *c, const struct bar_row *row,
                    const struct chart_axis *a, double row_px)
{
    double sum = 0;
    for (size_t k = 0; k < c->parts.len; k++) {
        if (!(row->parts[k] > 0)) {
            continue;
        }
        const double from = chart_axis_px(a, sum), to = chart_axis_px(a, sum + row->parts[k]);
        sum += row->parts[k];
        _cleanup_(buf_done) struct buf text = BUF_INIT;
        buf_printf(&text, "%s: %s ", row->name, c->parts.items[k]);
        number_format(row->parts[k], &text);
        buf_puts(&text, " ms");
        buf_printf(out,
                   "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" class=\"s%zu\">",
                   from, row_px - 5, fmax(to - from - 0.6, 0.4), 10.0, k);
        put_title(out, buf_cstr(&text));
        buf_puts(out, "</rect>\n");
    }
    if (isfinite(row->whole)) {
        const double px = chart_axis_px(a, row->whole);
        put_line(out, px, row_px - 7.5, px, row_px + 7.5, "whole");
    }
}

/* Is there anything of it to be seen? */
static bool has_part(const struct bar_chart *c, size_t part)
{
    return vec_any(&c->rows, row, row->parts[part] > 0);
}

static size_t count_parts(const struct bar_chart *c)
{
    size_t n = 0;
    for (size_t k = 0; k < c->parts.len; k++) {
        n += has_part(c, k);
    }
    return n;
}

static void put_bars(const struct chart *chart, bool is_file, struct buf *out)
{
    const struct bar_chart *c = &chart->bars;
    double high = 0;
    size_t longest = 0;
    vec_each (const struct bar_row, row, &c->rows) {
        longest = longer(longest, row->name);
        double sum = 0;
        for (size_t k = 0; k < c->parts.len; k++) {
            sum += row->parts[k] > 0 ? row->parts[k] : 0;
        }
        high = fmax(high, fmax(sum, isfinite(row->whole) ? row->whole : 0));
    }
    const struct row_space s = row_space_of(longest, c->rows.len, 1);
    const struct chart_axis a = chart_axis_nice(0, high, n_ticks_of(&s), s.from_px, s.to_px);
    double y = s.bottom_px + 32;
    put_open(out, chart, y + ROW_PX * (double)(count_parts(c) + 1) + 8, is_file);
    put_value_axis(out, &a, CHART_NUMBER, s.top_px, s.bottom_px);
    for (size_t i = 0; i < c->rows.len; i++) {
        put_bar(out, c, &c->rows.items[i], &a, row_y_px(&s, i));
    }
    for (size_t i = 0; i < c->rows.len; i++) { /* over the lines of the axis */
        put_row_name(out, &s, i, c->rows.items[i].name);
    }
    put_text(out, WIDTH_PX / 2, y, "n m", chart->x_title);
    for (size_t k = 0; k < c->parts.len; k++) {
        if (!has_part(c, k)) {
            continue;
        }
        y += ROW_PX;
        buf_printf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"10\" height=\"10\" class=\"s%zu\"/>\n",
                   LEGEND_PX - 17, y - 9, k);
        put_text(out, LEGEND_PX, y, "n", c->parts.items[k]);
    }
    y += ROW_PX;
    put_line(out, LEGEND_PX - 12, y - 11, LEGEND_PX - 12, y + 2, "whole");
    put_text(out, LEGEND_PX, y, "n", "the whole step");
    buf_puts(out, "</svg>\n");
}

/* ---- sparks ---- */

#define SPARK_WIDTH_PX 220.0
#define SPARK_HEIGHT_PX 44.0
#define SPARK_LEFT_PX 58.0 /* numbers of its scale */

/* Lines at zero and at the highest value, with their numbers. */
static void put_scale(struct buf *out, double high_ms)
{
    const double bottom = SPARK_HEIGHT_PX - 2;
    _cleanup_(buf_done) struct buf text = BUF_INIT;
    number_format(high_ms, &text);
    buf_puts(&text, " ms");
    buf_printf(out, "<path d=\"M%.0f 2H%.0fM%.0f %.0fH%.0f\" class=\"g\"/>\n", SPARK_LEFT_PX,
               SPARK_WIDTH_PX, SPARK_LEFT_PX, bottom, SPARK_WIDTH_PX);
    put_text(out, SPARK_LEFT_PX - 4, 10, "n e", buf_cstr(&text));
    put_text(out, SPARK_LEFT_PX - 4, bottom, "n e", "0");
}

/* Never a file of its own. */
static void put_spark(const struct chart *c, bool is_file, struct buf *out)
{
    const struct spark *s = &c->spark;
    (void)is_file;
    double high = 0; /* from zero, so that noise looks as small as it is */
    vec_each (double, value, &s->values) {
        high = fmax(high, *value);
    }
    const double scale = high > 0 ? (SPARK_HEIGHT_PX - 4) / high : 0;
    buf_printf(out, "<svg viewBox=\"0 0 %.0f %.0f\" role=\"img\">", SPARK_WIDTH_PX,
               SPARK_HEIGHT_PX);
    put_title(out, s->text);
    buf_putc(out, '\n');
    put_scale(out, high);
    buf_printf(out, "<path class=\"s0 l\" data-ms=\"%.6g\" data-steps=\"%u\" data-each=\"%u\" d=\"",
               high, s->n_steps, s->steps_each);
    for (size_t i = 0; i < s->values.len; i++) {
        const double share = s->values.len < 2 ? 0 : (double)i / (double)(s->values.len - 1);
        const double x = SPARK_LEFT_PX + share * (SPARK_WIDTH_PX - SPARK_LEFT_PX);
        buf_printf(out, "%c%.1f %.1f", i == 0 ? 'M' : 'L', x,
                   SPARK_HEIGHT_PX - 2 - scale * s->values.items[i]);
    }
    buf_puts(out, "\"/></svg>\n");
}

void chart_svg(const struct chart *c, bool is_file, struct buf *out)
{
    static void (*const put[])(const struct chart *, bool, struct buf *) = {
        [CHART_LINES] = put_lines,
        [CHART_DOTS] = put_dots,
        [CHART_BARS] = put_bars,
        [CHART_SPARK] = put_spark,
    };
    if (put[c->kind] != NULL) {
        put[c->kind](c, is_file, out);
    }
}
