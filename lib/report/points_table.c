/* Tables of points, see layout.h: for people some of the figures, for programs all of them. */
#include <math.h>

#include "base/str.h"
#include "report/layout.h"
#include "result/catalogue.h"

/* ---- which columns ---- */

static bool any_interval(const struct layout *l, const struct figure_kind *k)
{
    return swept_any(l->result, p,
                     figure_of(p, k).estimate.known && figure_of(p, k).estimate.has_interval);
}

/* Has a swept point another value of that share than its efficiency per trainer, of 1% or more? */
static bool says_more(const struct layout *l, const struct figure_kind *k)
{
    result_each_swept (p, l->result) {
        const struct estimate e = figure_of(p, k).estimate;
        const double efficiency = point_figure(p, FIGURE_EFFICIENCY)->estimate.value;
        if (e.known && e.value >= 0.01 && fabs(e.value - efficiency) > 1e-9) {
            return true;
        }
    }
    return false;
}

/* Does a table with these parts have a column of the figure? */
static bool is_shown(const struct layout *l, const struct figure_kind *k, unsigned parts)
{
    switch (k->place) {
    case PLACE_TABLE:
        return !l->own_baselines;
    case PLACE_ROOM:
        return !l->own_baselines && (parts & LAYOUT_SPEEDUP) != 0;
    case PLACE_MORE:
        return (k->is_independent || !l->own_baselines) && says_more(l, k);
    case PLACE_ACCURACY:
        return figure_is_asked(k, l->result->def->spec) &&
               (k->is_cost ? l->result->price != NULL : k->is_independent || !l->own_baselines);
    case PLACE_ASKED:
        break;
    }
    return false;
}

struct layout_columns layout_columns_of(const struct layout *l, unsigned parts)
{
    static const unsigned tables[] = {
        [PLACE_MORE] = LAYOUT_MORE, [PLACE_ACCURACY] = LAYOUT_ACCURACY};
    struct layout_columns columns = {0};
    figure_each_kind (k) {
        if ((parts & LAYOUT_OTHERS) == tables[k->place] && is_shown(l, k, parts)) {
            const bool with =
                k->place != PLACE_ROOM && (parts & LAYOUT_SHORT) == 0 && any_interval(l, k);
            *vec_push(&columns.list) = (struct layout_column){k, with};
        }
    }
    return columns;
}

bool layout_has_columns(const struct layout *l, unsigned parts)
{
    struct layout_columns columns = layout_columns_of(l, parts);
    const bool has = columns.list.len > 0;
    vec_done(&columns.list);
    return has;
}

/* What a table of points has columns for. */
struct point_columns {
    struct point_words words; /* of layouts; none: rows have the index in their place */
    bool index;
    bool throughput; /* and what follows: */
    bool interval, width, range, trials, devices;
    char *title;                   /* of the throughput; owned */
    struct layout_columns figures; /* owned */
    struct words_names metrics;    /* owned */
};

/* Are devices known, and other numbers than those of replicas, which are parameters? */
static bool says_devices(const struct layout *l)
{
    const struct point_result *p =
        array_find(l->result->points, l->result->def->matrix.n_swept, it,
                   it->point->devices != point_training_replicas(it->point));
    return p != NULL && p->point->devices > 0;
}

static struct point_columns columns_of(const struct layout *l, unsigned parts)
{
    const bool by_index = (parts & LAYOUT_BY_INDEX) != 0 || !layout_has_words(l);
    const bool is_main = (parts & LAYOUT_OTHERS) == 0;
    struct point_columns c = {
        .words = by_index ? (struct point_words){.spec = l->words.spec} : l->words,
        /* In a page notes and warnings name points by it. */
        .index = by_index || (l->is_page && is_main),
        .throughput = is_main,
        .interval = any_interval(l, &figure_kinds[FIGURE_THROUGHPUT]),
        .width = (parts & LAYOUT_SHORTEST) != 0,
        .trials = !l->is_brief || swept_any(l->result, p, p->n_succeeded < p->n_trials),
        .devices = is_main && !by_index && says_devices(l),
        .title = l->is_brief && !l->mixed_units ? text_capitals(l->unit) : xstrdup("THROUGHPUT"),
    };
    c.range = (parts & LAYOUT_RANGE) != 0 || (!c.interval && (parts & LAYOUT_SHORT) == 0);
    if (parts & LAYOUT_METRICS) {
        metric_names_add(&c.metrics, l->result);
    } else {
        c.figures = layout_columns_of(l, parts);
    }
    return c;
}

static void columns_done(struct point_columns *c)
{
    vec_done(&c->figures.list);
    vec_done(&c->metrics);
    free(c->title);
}

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

/* What people get of the trials, besides their median time. */
static void put_reached(struct table *t, const struct spec *spec, const struct point_result *p)
{
    const double best = least_best(&spec->goal, p);
    if (spec_is_imported(spec)) {
        table_value(t, "TRIMMED MEAN", trimmed_mean(p));
    }
    table_number(t, "REACHED", "%zu/%zu", p->n_reached, p->n_succeeded);
    if (spec->goal.kind == GOAL_LOSS) {
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

/* ---- rows ---- */

static const char interval[] = "95% INTERVAL";

static void put_throughput(struct sheet *s, const struct layout *l,
                           const struct point_columns *with, const struct point_result *p)
{
    const struct figure *f = &p->throughput;
    const char *unit = f->estimate.known ? figure_shown(f).unit : NULL;
    row_figure(s, with->title, "throughput", f, ROW_NUMBER);
    row_text(s, l->mixed_units ? "UNIT" : NULL, "throughput_unit", unit);
    row_interval(s, with->interval && !with->width ? interval : NULL, "throughput", f, ROW_NUMBER);
    if (with->interval && with->width) {
        table_known(row_people(s), "95% WIDTH", f->estimate.has_interval, "%.0f%%",
                    100 * (f->estimate.high - f->estimate.low) / f->estimate.value);
    }
    row_method(s, "throughput_method", f);
    if (with->range) {
        row_number(s, "MIN", "throughput_min", figure_shown_value(f, p->throughput_min), 1);
        row_number(s, "MAX", "throughput_max", figure_shown_value(f, p->throughput_max), 1);
    }
    if (with->trials) {
        table_number(row_people(s), "TRIALS", "%zu/%zu", p->n_succeeded, p->n_trials);
    }
}

static void put_figure(struct sheet *s, const struct spec *spec, const struct layout_column *column,
                       const struct point_result *p)
{
    const struct figure_kind *k = column->kind;
    const struct figure f = figure_of(p, k);
    const bool is_time = k == &figure_kinds[FIGURE_TIME_TO_ACCURACY];
    const bool is_after = k == &figure_kinds[FIGURE_ACCURACY_AFTER_TIME];
    const int decimals = !k->is_percent ? ROW_NUMBER : is_after ? 2 : 1;
    _cleanup_(freep) char *heading = heading_of(k, spec);
    struct table *t = row_people(s);
    if (t != NULL && is_time && !f.estimate.known && !isnan(least_best(&spec->goal, p))) {
        table_number(t, heading, "not reached");
    } else {
        row_figure(s, heading, k->column, &f, decimals);
    }
    if (column->with_interval) {
        row_interval(s, interval, k->column, &f, decimals);
    }
    if (t != NULL && is_time) {
        put_reached(t, spec, p);
    } else if (is_after) {
        table_number(t, "KNOWN", "%zu/%zu", p->n_after, p->n_succeeded);
    }
}

/* What people read elsewhere. */
static void put_facts(struct sheet *s, const struct result *r, const struct point_result *p)
{
    static const struct figure none = {0};
    const struct run_def *def = r->def;
    const struct point_result *base = result_baseline(r, p);
    const struct exchange_mode mode = point_exchange(def->spec, p->point).mode;
    char mode_text[EXCHANGE_MODE_TEXT_MAX];
    exchange_mode_text(&mode, mode_text);
    row_method(s, "ratio_method", point_figure(p, FIGURE_EFFICIENCY));
    if (def->spec->goal.kind != GOAL_NONE) {
        row_count(s, NULL, "trials_reached", p->n_reached);
    }
    row_text(s, NULL, "baseline_kind", baseline_kind_names[def->spec->baseline.kind]);
    row_number(s, NULL, "baseline_point", base == NULL ? NAN : base->point->index, 1);
    row_figure(s, NULL, "baseline_throughput", base == NULL ? &none : &base->throughput,
               ROW_NUMBER);
    row_count(s, NULL, "trials_succeeded", p->n_succeeded);
    row_count(s, NULL, "trials_total", p->n_trials);
    row_bool(s, "rehearsal", def->rehearsal);
    row_bool(s, "simulated", r->simulated);
    row_count(s, NULL, "pods", point_pods(p->point));
    row_number(s, NULL, "cpus", p->cpus, 1);
    row_bool(s, "imported", spec_is_imported(def->spec));
    row_text(s, NULL, "mode", mode_text);
    if (p->point->devices > 0) {
        row_count(s, NULL, "devices", p->point->devices);
    }
}

static void put_row(struct sheet *s, const struct layout *l, const struct point_columns *with,
                    const struct point_result *p)
{
    const struct spec *spec = l->result->def->spec;
    row_text(s, NULL, "kind", p->point->is_baseline ? "baseline" : "point");
    row_text(s, NULL, "run", l->result->def->name);
    row_text(s, NULL, "benchmark", spec->name);
    row_count(s, with->index ? "POINT" : NULL, "point", p->point->index);
    row_system(s, &with->words, p->point);
    row_text(s, NULL, "phase", trial_phase_to_string(p->phase));
    row_params(s, &with->words.names, p->point);
    row_count(s, with->devices ? "DEVICES" : NULL, NULL, p->point->devices);
    if (with->throughput) {
        put_throughput(s, l, with, p);
    }
    vec_each (const struct layout_column, column, &with->figures.list) {
        put_figure(s, spec, column, p);
    }
    if (row_people(s) == NULL) {
        put_facts(s, l->result, p);
    }
    vec_each (const char *const, name, &with->metrics) {
        _cleanup_(freep) char *heading = text_capitals(*name);
        _cleanup_(freep) char *column = xasprintf("metric_%s", *name);
        const struct figure *f = metric_of_point(p, *name);
        const int decimals = str_eq(f->unit, "ratio") ? 1 : ROW_NUMBER;
        const bool has_interval =
            swept_any(l->result, q, metric_of_point(q, *name)->estimate.has_interval);
        row_figure(s, heading, column, f, decimals);
        row_interval(s, has_interval ? interval : NULL, column, f, decimals);
    }
    row_end(s);
}

struct table *points_table(struct sheet *s, const struct layout *l, unsigned parts)
{
    _cleanup_(columns_done) struct point_columns with = columns_of(l, parts);
    result_each_swept (p, l->result) {
        put_row(s, l, &with, p);
    }
    return row_take(s);
}

void points_put_all(struct sheet *s, const struct result *r)
{
    const struct layout l = {.result = r};
    _cleanup_(columns_done) struct point_columns with = {
        .words.spec = r->def->spec,
        .throughput = true,
        .range = true,
    };
    figure_each_kind (k) {
        if (k->column != NULL && k != &figure_kinds[FIGURE_THROUGHPUT] &&
            figure_is_asked(k, r->def->spec)) {
            *vec_push(&with.figures.list) = (struct layout_column){k, k->has_interval};
        }
    }
    words_add_all(&with.words, r);
    metric_names_add(&with.metrics, r);
    result_each_point (p, r) {
        put_row(s, &l, &with, p);
    }
    vec_done(&with.words.names);
}
