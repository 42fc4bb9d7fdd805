/* Figures of points in tables of their own, see sheets.h: times to an accuracy and accuracies after
 * a time, if the definition asks for them; those of PLACE_MORE; metrics (core/metric_set.h), if a
 * trial has others than those that each gang has. */
#include <math.h>

#include "base/str.h"
#include "report/layout.h"
#include "report/sheets.h"
#include "result/catalogue.h"

/* ---- times and accuracies ---- */

/* The best accuracy or loss of the trial whose best was the worst; NaN: not known of one. */
static double least_best(const struct goal *goal, const struct point_result *p)
{
    double least = NAN;
    point_each_trial (t, p) {
        if (t->phase != TRIAL_SUCCEEDED) {
            continue;
        }
        if (t->to_accuracy.state == TARGET_UNKNOWN) {
            return NAN;
        }
        const double best = t->to_accuracy.best;
        least = isnan(least) || goal_is_met(goal, least, best) ? best : least;
    }
    return least;
}

/* MLPerf's score: the mean time without the best and the worst; NaN of fewer than three. */
static double trimmed_mean(const struct point_result *p)
{
    double sum = 0, least = INFINITY, most = 0;
    point_each_trial (t, p) {
        const double s = t->phase == TRIAL_SUCCEEDED ? t->to_accuracy.s : 0;
        sum += s;
        least = s > 0 ? fmin(least, s) : least;
        most = fmax(most, s);
    }
    return p->n_reached < 3 ? NAN : (sum - least - most) / (double)(p->n_reached - 2);
}

/* What is said of the trials, besides their median time. */
static void put_reached(struct table *t, const struct layout *l, const struct point_result *p)
{
    const struct goal *goal = &l->result->def->spec->goal;
    const double best = least_best(goal, p);
    if (spec_is_imported(l->result->def->spec)) {
        table_value(t, "TRIMMED MEAN", trimmed_mean(p));
    }
    table_number(t, "REACHED", "%zu/%zu", p->n_reached, p->n_succeeded);
    if (goal->kind == GOAL_LOSS) {
        table_value(t, "BEST", best);
    } else {
        table_known(t, "BEST", !isnan(best), "%.2f%%", 100 * best);
    }
}

/* "S TO 80%", "AFTER 60 S", or as the catalogue says. Owned. */
static char *heading_of(const struct figure_kind *k, const struct spec *spec)
{
    return k == &figure_kinds[FIGURE_ACCURACY_AFTER_TIME]
               ? xasprintf("AFTER %.6g S", spec->accuracy_after_s)
           : k->heading != NULL           ? xstrdup(k->heading)
           : spec->goal.kind == GOAL_LOSS ? xasprintf("S TO LOSS %.6g", spec->goal.value)
                                          : xasprintf("S TO %.4g%%", 100 * spec->goal.value);
}

static void put_column(struct table *t, const struct layout *l, const struct layout_column *column,
                       const struct point_result *p)
{
    const struct figure f = figure_of(p, column->kind);
    const bool is_time = column->kind == &figure_kinds[FIGURE_TIME_TO_ACCURACY];
    const bool is_after = column->kind == &figure_kinds[FIGURE_ACCURACY_AFTER_TIME];
    _cleanup_(freep) char *heading = heading_of(column->kind, l->result->def->spec);
    if (is_time && !f.estimate.known && !isnan(least_best(&l->result->def->spec->goal, p))) {
        table_number(t, heading, "not reached");
        if (column->with_interval) {
            table_interval(t, "95% INTERVAL", &f);
        }
    } else {
        layout_put_figure(t, heading, &f,
                          !column->kind->is_percent ? LAYOUT_NUMBER
                          : is_after                ? 2
                                                    : 1,
                          column->with_interval);
    }
    if (is_time) {
        put_reached(t, l, p);
    } else if (is_after) {
        table_number(t, "KNOWN", "%zu/%zu", p->n_after, p->n_succeeded);
    }
}

static void put_caption(const struct layout *l, struct buf *out)
{
    const struct spec *spec = l->result->def->spec;
    const char *separator = "";
    if (spec->goal.kind != GOAL_NONE) {
        buf_puts(out, "Time to ");
        goal_format(&spec->goal, out);
        buf_puts(out, ", in seconds");
        if (l->result->price != NULL) {
            buf_printf(out, ", and its cost at %s", l->result->price);
        }
        separator = "; ";
    }
    if (spec->accuracy_after_s > 0) {
        buf_printf(out, "%s%sccuracy after %.6g s", separator, *separator == '\0' ? "A" : "a",
                   spec->accuracy_after_s);
    }
}

/* ---- metrics ---- */

static void put_metric(struct table *t, const struct layout *l, const char *name,
                       const struct figure *f)
{
    _cleanup_(freep) char *heading = text_capitals(name);
    layout_put_figure(t, heading, f, str_eq(f->unit, "ratio") ? 1 : LAYOUT_NUMBER,
                      swept_any(l->result, q, metric_of_point(q, name)->estimate.has_interval));
}

/* ---- the tables ---- */

static struct table *table_of(const struct layout *l, const struct layout_columns *columns,
                              const struct words_names *metrics, bool by_index)
{
    struct table *t = table_new();
    result_each_swept (p, l->result) {
        layout_put_identity(t, l, p->point, by_index);
        vec_each (const struct layout_column, column, &columns->list) {
            put_column(t, l, column, p);
        }
        vec_each (const char *const, name, metrics) {
            put_metric(t, l, *name, metric_of_point(p, *name));
        }
        table_end_row(t);
    }
    return t;
}

static void put_table(struct sheet *s, const struct layout *l, struct buf *caption,
                      const struct layout_columns *columns, const struct words_names *metrics)
{
    size_t n_heads = l->words.names.len + (l->words.systems ? 1 : 0);
    struct table *points = layout_points(l, 0);
    if (n_heads > 1 && !sheet_fits(s, points)) { /* it has the index, too */
        n_heads = 0;
    }
    table_free(points);
    sheet_table(s, caption, table_of(l, columns, metrics, n_heads == 0), n_heads > 0 ? n_heads : 1);
}

void sheet_other_figures(struct sheet *s, const struct layout *l)
{
    static const char *const of_any[] = {METRIC_SHARED, METRIC_START_SPREAD, METRIC_UNMET, NULL};
    struct layout_columns columns = layout_columns_of(l, LAYOUT_ACCURACY), more = {0};
    struct words_names metrics = {0};
    struct buf caption = BUF_INIT;
    metric_names_add(&metrics, l->result);
    if (!l->is_brief) {
        more = layout_columns_of(l, LAYOUT_MORE);
    }
    if (columns.list.len > 0) {
        put_caption(l, &caption);
        put_table(s, l, &caption, &columns, &(struct words_names){0});
    }
    if (more.list.len > 0) {
        buf_puts(&caption, "More figures");
        put_table(s, l, &caption, &more, &(struct words_names){0});
    }
    if (vec_any(&metrics, it, !str_is_one_of(*it, of_any))) {
        buf_puts(&caption, "Other figures, as medians over the trials");
        put_table(s, l, &caption, &(struct layout_columns){0}, &metrics);
    }
    vec_done(&columns.list);
    vec_done(&more.list);
    vec_done(&metrics);
}
