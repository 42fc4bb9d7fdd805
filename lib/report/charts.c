/* See charts.h. */
#include "report/charts.h"

#include <math.h>
#include <stdlib.h>

#include "base/str.h"
#include "base/vec_walk.h"
#include "report/compare_layout.h"
#include "compare/comparison.h"
#include "core/summary.h"
#include "result/phases.h"

#define MS_PER_NS 1e-6

static const char *size_word(const struct result *r)
{
    return matrix_size_words(&r->def->matrix).one;
}

/* How a chart is made; of lines also what x and y are. */
struct maker {
    const char *name;
    bool (*make)(const struct layout *l, const struct maker *m, struct chart *ret);
    const char *(*x_of)(const struct layout *l);
    size_t figure; /* its offset in struct point_result */
    const char *title;
};

/* ---- words ---- */

/* "2 pservers, 4 trainers"; `none` where all points have the same name. Owned. */
static char *name_of(const struct point_words *words, const struct point *p, const char *none)
{
    struct buf text = BUF_INIT;
    words_put_point(words, p, WORDS_COUNTED, &text);
    if (text.len == 0) {
        buf_puts(&text, none);
    }
    return buf_take(&text);
}

char *charts_point_name(const struct layout *l, const struct point_result *p)
{
    return name_of(&l->words, p->point, "the point");
}

/* "2 pservers, 4 trainers: 120.7 samples/s (95%: 118.1..122.9)". Owned. */
static char *mark_text(const struct layout *l, const struct point_result *p, const struct figure *f,
                       const char *what)
{
    _cleanup_(freep) char *name = charts_point_name(l, p);
    struct buf text = BUF_INIT;
    buf_printf(&text, "%s: %s", name, what);
    if (str_eq(f->unit, "ratio") && f != &p->goal->time_speedup) {
        words_put_percent(&f->estimate, &text);
    } else {
        const struct figure shown = figure_shown(f);
        words_put_estimate(&shown.estimate,
                           f == &p->goal->time_speedup ? "times as fast" : shown.unit, &text);
    }
    return buf_take(&text);
}

/* ---- lines: what x is, and which points make a line ---- */

static bool is_number(const struct layout *l, const char *name)
{
    return !swept_any(l->result, p, !params_get(&p->point->params, name)->is_int);
}

/* The number of trainers, else the first parameter of numbers, else the first; of those that vary
 * within a system. NULL: none does. */
static const char *x_name(const struct layout *l)
{
    const char *number = NULL, *first = NULL;
    vec_each (const char *, name, &l->words.names) {
        if (layout_follows_system(l, *name)) {
            continue;
        }
        if (str_eq(*name, "trainers") || str_eq(*name, "workers")) {
            return *name;
        }
        number = number == NULL && is_number(l, *name) ? *name : number;
        first = first == NULL ? *name : first;
    }
    return number != NULL ? number : first;
}

static bool is_same_line(const struct layout *l, const struct point *a, const struct point *b,
                         const char *x)
{
    if (a->system != b->system) {
        return false;
    }
    return vec_all(&l->words.names, name,
                   str_eq(*name, x) ||
                       value_eq(params_get(&a->params, *name), params_get(&b->params, *name)));
}

static double x_of(struct line_chart *c, const struct value *v, bool is_number)
{
    if (is_number) {
        return (double)v->i;
    }
    struct buf text = BUF_INIT;
    value_format(v, &text);
    char **found = vec_find(&c->x_names, name, str_eq(*name, buf_cstr(&text)));
    if (found == NULL) {
        found = vec_push(&c->x_names);
        *found = buf_take(&text);
    }
    buf_done(&text);
    return (double)(found - c->x_names.items);
}

/* What a throughput or a speedup would be at an efficiency of 1. */
static double ideal_of(const struct layout *l, const struct point_result *p, const struct figure *f)
{
    const bool is_time = f == &p->goal->time_speedup;
    const struct estimate *e =
        is_time ? &p->goal->time_efficiency.estimate : &p->efficiency.estimate;
    return (is_time || f == &p->throughput) && !l->own_baselines && e->known && e->value > 0
               ? figure_shown(f).estimate.value / e->value
               : NAN;
}

static struct chart_mark *add_mark(struct chart_series *s, const struct estimate *e,
                                   char *text_take)
{
    struct chart_mark *mark = vec_push(&s->marks);
    *mark = (struct chart_mark){
        .value = e->value,
        .low = e->has_interval ? e->low : NAN,
        .high = e->has_interval ? e->high : NAN,
        .ideal = NAN,
        .text = text_take,
    };
    return mark;
}

static void add_series(struct line_chart *c, const struct layout *l, const struct point *like,
                       const char *x, size_t figure)
{
    const bool number = is_number(l, x);
    struct point_words words = l->words;
    words.without = x; /* "fluid, 2 pservers": everything that varies but x */
    struct chart_series s = {.name = name_of(&words, like, "")};
    result_each_swept (p, l->result) {
        const struct figure *f = point_figure(p, figure);
        if (!is_same_line(l, p->point, like, x) || !f->estimate.known) {
            continue;
        }
        const struct figure shown = figure_shown(f);
        struct chart_mark *mark = add_mark(&s, &shown.estimate, mark_text(l, p, f, ""));
        mark->x = x_of(c, params_get(&p->point->params, x), number);
        mark->ideal = ideal_of(l, p, f);
    }
    if (s.marks.len == 0) {
        free(s.name);
        return;
    }
    qsort(s.marks.items, s.marks.len, sizeof(*s.marks.items), by_double); /* x is the first field */
    *vec_push(&c->series) = s;
}

/* x: a name that varies; NULL if none exists. */
static bool make_lines(struct chart *ret, const struct layout *l, const char *x, size_t figure)
{
    struct line_chart *c = &ret->lines;
    const struct point_result *first = l->result->points;
    if (x == NULL) {
        return false;
    }
    result_each_swept (p, l->result) {
        if (array_any(first, (size_t)(p - first), q, is_same_line(l, q->point, p->point, x))) {
            continue;
        }
        if (c->series.len < CHART_MAX_SERIES) {
            add_series(c, l, p->point, x, figure);
        } else {
            c->n_left_out++;
        }
    }
    ret->x_title = c->series.len == 0 ? NULL : xstrdup(x);
    return c->series.len > 0;
}

/* The number of servers, where it varies and is not the x axis already; else NULL. */
static const char *servers_name(const struct layout *l)
{
    const char *x = x_name(l);
    if (x == NULL) {
        return NULL;
    }
    return vec_find_item(&l->words.names, name,
                         str_eq(name, "pservers") && !str_eq(x, "pservers") && is_number(l, name));
}

static bool lines(const struct layout *l, const struct maker *m, struct chart *ret)
{
    const bool is_efficiency = m->figure == POINT_FIGURE(efficiency);
    const bool is_throughput = m->figure == POINT_FIGURE(throughput);
    const bool is_cost = m->figure == GOAL_FIGURE(time_cost);
    const char *x = m->x_of(l);
    struct line_chart *c = &ret->lines;
    *ret = (struct chart){CHART_LINES, .id = m->name,
                          .lines = {.reference = is_efficiency ? 1 : NAN,
                                    .y_unit = is_efficiency ? CHART_PERCENT : CHART_NUMBER}};
    if ((is_throughput ? l->mixed_units : l->own_baselines && !is_cost) ||
        !make_lines(ret, l, x, m->figure)) {
        return false;
    }
    ret->title = xasprintf("%s by %s", m->title, x);
    c->y_title = is_efficiency   ? xasprintf("of the ideal, per %s", size_word(l->result))
                 : is_throughput ? xstrdup(l->unit)
                 : is_cost       ? xasprintf("of a trial, at %s", l->result->price)
                                 : xstrdup("the baseline's time over that of the point");
    /* One mark is a number; of servers, marks of other lines differ in more than these. */
    return vec_any(&c->series, s, s->marks.len > 1) ||
           (m->x_of != servers_name && c->series.len > 1);
}

/* ---- dots ---- */

/* The rows are complete. False: the chart has no row. */
static bool end_dots(struct chart *c, const char *series, const char *title, const char *x_title)
{
    if (c->dots.rows.len == 0) {
        return false;
    }
    *vec_push(&c->dots.series) = xstrdup(series);
    c->title = xstrdup(title);
    c->x_title = xstrdup(x_title);
    return true;
}

/* The ideal of a point, where it is known. */
static void add_ideal(struct chart_series *row, const struct layout *l,
                      const struct point_result *p)
{
    const struct estimate ideal = {.value = ideal_of(l, p, &p->throughput)};
    if (isfinite(ideal.value)) {
        struct buf text = BUF_INIT;
        buf_printf(&text, "%s: ideal ", row->name);
        words_put_estimate(&ideal, figure_shown(&p->throughput).unit, &text);
        add_mark(row, &ideal, buf_take(&text))->series = 1;
    }
}

static bool points(const struct layout *l, const struct maker *m, struct chart *ret)
{
    struct dot_chart *c = &ret->dots;
    *ret =
        (struct chart){CHART_DOTS, .id = m->name, .dots = {.unit = CHART_NUMBER, .reference = NAN}};
    if (x_name(l) != NULL || l->mixed_units || l->result->def->matrix.n_swept < 2) {
        return false;
    }
    result_each_swept (p, l->result) {
        if (p->throughput.estimate.known) {
            struct chart_series row = {.name = charts_point_name(l, p)};
            const struct figure shown = figure_shown(&p->throughput);
            add_mark(&row, &shown.estimate, mark_text(l, p, &p->throughput, ""));
            add_ideal(&row, l, p);
            *vec_push(&c->rows) = row;
        }
    }
    if (!end_dots(ret, "measured", "Throughput by point", l->unit)) {
        return false;
    }
    if (!l->own_baselines) {
        *vec_push(&c->series) =
            xasprintf("ideal: baseline times %s", matrix_size_words(&l->result->def->matrix).many);
    }
    return true;
}

static bool trials(const struct layout *l, const struct maker *m, struct chart *ret)
{
    struct dot_chart *c = &ret->dots;
    *ret =
        (struct chart){CHART_DOTS, .id = m->name, .dots = {.unit = CHART_CHANGE, .reference = 1}};
    result_each_swept (p, l->result) {
        struct chart_series row = {0};
        for (size_t i = 0; i < p->n_trials && p->n_succeeded > 1; i++) {
            const struct figure f = trial_throughput(&p->trials[i]);
            if (p->trials[i].phase != TRIAL_SUCCEEDED || !f.estimate.known) {
                continue;
            }
            const struct estimate ratio = {
                .value = f.estimate.value / p->throughput.estimate.value,
            };
            _cleanup_(freep) char *name = charts_point_name(l, p);
            struct buf text = BUF_INIT;
            buf_printf(&text, "%s, trial %u: ", name, p->trials[i].trial);
            words_put_figure(&f, &text);
            add_mark(&row, &ratio, buf_take(&text));
        }
        if (row.marks.len > 0) {
            row.name = charts_point_name(l, p);
            *vec_push(&c->rows) = row;
        }
    }
    return end_dots(ret, "a trial", "Spread of trials", "from the median of the point");
}

bool charts_comparison(const struct comparison *c, struct chart *ret)
{
    struct dot_chart *dots = &ret->dots;
    *ret = (struct chart){CHART_DOTS, .id = "comparison",
                          .dots = {.unit = CHART_CHANGE, .reference = 1}};
    struct point_words words = compare_words_of(c);
    vec_each (const struct compared_point, p, &c->points) {
        if (!p->ratio.estimate.known) {
            continue;
        }
        struct chart_series row = {.name = name_of(&words, p->base->point, "the point")};
        struct buf text = BUF_INIT;
        buf_printf(&text, "%s: ratio ", row.name);
        words_put_estimate(&p->ratio.estimate, "", &text);
        add_mark(&row, &p->ratio.estimate, buf_take(&text));
        *vec_push(&dots->rows) = row;
    }
    vec_done(&words.names);
    return end_dots(ret, "the candidate", "The candidate's throughput against the base's",
                    "change of throughput, with its 95% interval");
}

/* ---- phases ---- */

static bool is_first_without(const struct layout *l, const struct point_result *p)
{
    const struct point_result *first = l->result->points;
    return !array_any(first, (size_t)(p - first), q,
                      q->point->system == p->point->system && q->n_succeeded > 0 &&
                          q->kept->steps.n_replicas == 0);
}

/* Owned; NULL: every measured point has phases. */
static char *missing_phases(const struct layout *l)
{
    _cleanup_(buf_done) struct buf systems = BUF_INIT;
    size_t n = 0, n_measured = 0;
    result_each_swept (p, l->result) {
        n_measured += p->n_succeeded > 0;
        if (p->n_succeeded == 0 || p->kept->steps.n_replicas > 0) {
            continue;
        }
        n++;
        if (is_first_without(l, p)) {
            buf_printf(&systems, "%s%s", systems.len == 0 ? "" : ", ",
                       l->result->def->spec->systems.items[p->point->system].label);
        }
    }
    char *text = n == 0 ? NULL
                        : xasprintf("%zu of %zu points have no bar, because their programs do not "
                                    "report the parts of a step: %s.",
                                    n, n_measured, buf_cstr(&systems));
    return text;
}

#define PHASES                                                                                     \
    "means of all steps of all trials (a throughput is a median of trials); phases may overlap, "  \
    "so their sum may exceed the step"
static const char own_phases[] = PHASES;
static const char shared_phases[] =
    PHASES "; where processes share CPUs, a phase includes waiting for one";

/* Has a swept point more threads that compute than the run had CPUs? */
static bool has_shared_cpus(const struct run_def *def)
{
    return def->cpus > 0 &&
           array_any(def->matrix.points, def->matrix.n_swept, p, point_busy_threads(p) > def->cpus);
}

static bool phases(const struct layout *l, const struct maker *m, struct chart *ret)
{
    struct bar_chart *c = &ret->bars;
    *ret = (struct chart){CHART_BARS, .id = m->name};
    result_each_swept (p, l->result) {
        const struct step_means means = p->kept->steps;
        if (means.n_replicas == 0) {
            continue;
        }
        struct bar_row *row = vec_push(&c->rows);
        *row = (struct bar_row){.name = charts_point_name(l, p)};
        for (int k = 0; k < PHASE_COUNT; k++) {
            row->parts[k] = MS_PER_NS * means.phase_ns[k];
        }
        row->whole = MS_PER_NS * means.step_ns;
    }
    if (c->rows.len == 0) {
        return false;
    }
    for (int k = 0; k < PHASE_COUNT; k++) {
        *vec_push(&c->parts) = xstrdup(phase_to_string((enum phase)k));
    }
    c->missing = missing_phases(l);
    c->subtitle = has_shared_cpus(l->result->def) ? shared_phases : own_phases;
    ret->title = xasprintf("What a %s's step consists of",
                           matrix_training_words(&l->result->def->matrix).one);
    ret->x_title = xstrdup("ms a step");
    return true;
}

/* ---- over time ---- */

const struct trial_result *charts_nearest_trial(const struct point_result *p)
{
    const struct trial_result *best = NULL;
    double distance = INFINITY;
    point_each_trial (t, p) {
        const double d = fabs(t->throughput - p->throughput.estimate.value);
        if (t->phase == TRIAL_SUCCEEDED && !isnan(t->throughput) && d < distance) {
            best = t;
            distance = d;
        }
    }
    return best;
}

/* The evaluations of the trial nearest to the point's median. Without marks: none is stored. */
static struct chart_series evaluations_of(const struct layout *l, const struct point_result *p,
                                          enum goal_kind kind)
{
    struct chart_series s = {.name = charts_point_name(l, p)};
    const struct trial_result *t = charts_nearest_trial(p);
    const int role = (int)point_leading_role(p->point);
    if (t == NULL || t->evaluations_k == 0) {
        return s;
    }
    point_open(p);
    const struct replica_row *rep = attempt_row_find_replica(t->row, role, t->evaluations_from);
    struct summary summary;
    if (rep == NULL || summary_read(rep->summary_json, &rep->id, &summary, NULL) < 0) {
        return s;
    }
    const struct evaluations *e = summary.evaluations;
    for (uint32_t i = 0; e != NULL && i < e->n; i++) {
        const double t_s = (double)e->list[i].t_ms / 1e3;
        const struct estimate value = {.value = evaluation_value(&e->list[i], kind)};
        if (!isnan(value.value)) {
            const bool is_loss = kind == GOAL_LOSS;
            add_mark(&s, &value,
                     xasprintf(is_loss ? "%s: loss %.4g after %.6g s" : "%s: %.2f%% after %.6g s",
                               s.name, (is_loss ? 1 : 100) * value.value, t_s))
                ->x = t_s;
        }
    }
    summary_done(&summary);
    return s;
}

static const char loss_over_time[] = "loss-over-time";

static bool over_time(const struct layout *l, const struct maker *m, struct chart *ret)
{
    const struct goal *goal = &l->result->def->spec->goal;
    const bool is_loss = str_eq(m->name, loss_over_time);
    const enum goal_kind kind = is_loss ? GOAL_LOSS : GOAL_ACCURACY;
    struct line_chart *c = &ret->lines;
    *ret = (struct chart){CHART_LINES, .id = m->name, .title = xstrdup(m->title),
                          .x_title = xstrdup("s of training"),
                          .lines = {.y_title = xstrdup(is_loss ? "loss" : "accuracy"),
                                    .y_unit = is_loss ? CHART_NUMBER : CHART_PERCENT,
                                    .x_is_time = true,
                                    .reference = goal->kind == kind ? goal->value : NAN}};
    result_each_swept (p, l->result) {
        struct chart_series s = evaluations_of(l, p, kind);
        if (s.marks.len > 0 && c->series.len < CHART_MAX_SERIES) {
            *vec_push(&c->series) = s;
        } else {
            c->n_left_out += s.marks.len > 0;
            chart_series_done(&s);
        }
    }
    return c->series.len > 0;
}

/* ---- by name ---- */

/* In the order of a page. */
static const struct maker makers[] = {
    {"throughput", lines, x_name, POINT_FIGURE(throughput), "Throughput"},
    {"efficiency", lines, x_name, POINT_FIGURE(efficiency), "Efficiency"},
    {"time-to-accuracy-speedup", lines, x_name, GOAL_FIGURE(time_speedup),
     "Speedup of the time to accuracy"},
    {"time-to-accuracy-cost", lines, x_name, GOAL_FIGURE(time_cost),
     "Cost of the time to accuracy"},
    {"accuracy-over-time", over_time, .title = "Accuracy over time"},
    {loss_over_time, over_time, .title = "Loss over time"},
    {"points", points},
    {"throughput-by-pservers", lines, servers_name, POINT_FIGURE(throughput), "Throughput"},
    {"efficiency-by-pservers", lines, servers_name, POINT_FIGURE(efficiency), "Efficiency"},
    {"trials", trials},
    {"phases", phases},
};

const char *charts_name(size_t i)
{
    return i < COUNT_OF(makers) ? makers[i].name : NULL;
}

bool charts_make(const struct layout *l, const char *name, struct chart *ret)
{
    const struct maker *m = array_find(makers, COUNT_OF(makers), it, str_eq(name, it->name));
    const bool is_made = m != NULL && m->make(l, m, ret);
    if (m != NULL && !is_made) {
        chart_done(ret);
    }
    return is_made;
}
