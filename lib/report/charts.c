/* See charts.h. */
#include "report/charts.h"

#include <math.h>
#include <stdlib.h>

#include "base/str.h"
#include "report/layout.h"
#include "result/catalogue.h"
#include "result/phases.h"

#define MS_PER_NS 1e-6
#define KIND(id) (&figure_kinds[FIGURE_##id])

/* ---- of any chart ---- */

static void chart_series_done(struct chart_series *s)
{
    vec_each (struct chart_mark, m, &s->marks) {
        free(m->text);
    }
    vec_done(&s->marks);
    free(s->name);
}

void chart_done(struct chart *c)
{
    free(c->title);
    free(c->subtitle);
    free(c->x_title);
    vec_done_each(&c->series, chart_series_done);
    vec_free(&c->names);
    free(c->whole);
    free(c->missing);
}

/* How a chart is made; of lines also what y is. */
struct maker {
    const char *name;
    bool (*make)(const struct layout *l, const struct maker *m, struct chart *ret);
    const struct figure_kind *y;
    const char *title; /* where it has no y */
};

/* ---- words ---- */

static const char the_point[] = "the point"; /* the only one */

/* "pservers 2, trainers 4"; owned. */
static char *name_of(const struct point_words *words, const struct point *p, const char *none)
{
    struct buf text = BUF_INIT;
    words_put_point(words, p, none, &text);
    return buf_take(&text);
}

/* "pservers 2, trainers 4: 120.7 samples/s (95%: 118.1..122.9)". Owned. */
static char *mark_text(const struct layout *l, const struct point_result *p,
                       const struct figure_kind *y)
{
    const struct figure f = figure_of(p, y), shown = figure_shown(&f);
    _cleanup_(freep) char *name = name_of(&l->words, p->point, the_point);
    struct buf text = BUF_INIT;
    buf_printf(&text, "%s: ", name);
    if (y->is_percent) {
        words_put_percent(&f.estimate, &text);
    } else {
        words_put_estimate(&shown.estimate,
                           y == KIND(TIME_SPEEDUP)       ? "times as fast"
                           : str_eq(shown.unit, "ratio") ? ""
                                                         : shown.unit,
                           &text);
    }
    return buf_take(&text);
}

/* ---- lines: what x is, and which points make a line ---- */

/* The number of trainers, else the first parameter of numbers, of those that vary within a system.
 * NULL: none does. */
static const char *x_name(const struct layout *l)
{
    const char *number = NULL;
    vec_each (const char *, name, &l->words.names) {
        if (layout_follows_system(l, *name) ||
            swept_any(l->result, p, !params_get(&p->point->params, *name)->is_int)) {
            continue;
        }
        if (str_eq(*name, "trainers") || str_eq(*name, "workers")) {
            return *name;
        }
        number = number == NULL ? *name : number;
    }
    return number;
}

static bool is_same_line(const struct layout *l, const struct point *a, const struct point *b,
                         const char *x)
{
    return a->system == b->system &&
           vec_all(&l->words.names, name,
                   str_eq(*name, x) ||
                       value_eq(params_get(&a->params, *name), params_get(&b->params, *name)));
}

/* What a throughput, or the speedup of a time, would be at an efficiency of 1. */
static double ideal_of(const struct layout *l, const struct point_result *p,
                       const struct figure_kind *y)
{
    const bool is_time = y == KIND(TIME_SPEEDUP);
    const struct estimate e =
        figure_of(p, is_time ? KIND(TIME_EFFICIENCY) : KIND(EFFICIENCY)).estimate;
    const struct figure f = figure_of(p, y);
    return (is_time || y == KIND(THROUGHPUT)) && !l->own_baselines && e.known && e.value > 0
               ? figure_shown(&f).estimate.value / e.value
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

/* The first failure of a point without a figure. NULL: it has none, or has a figure. */
static const struct trial_result *failure_of(const struct point_result *p)
{
    return p->throughput.estimate.known
               ? NULL
               : array_find(p->trials, p->n_trials, t,
                            t->phase == TRIAL_FAILED || t->phase == TRIAL_METRICS_UNAVAILABLE);
}

static bool has_value(const struct chart_series *s)
{
    return vec_any(&s->marks, it, isfinite(it->value));
}

/* A mark without a value, which says why. */
static struct chart_mark *add_failed(struct chart_series *s, const struct layout *l,
                                     const struct point_result *p)
{
    _cleanup_(freep) char *name = name_of(&l->words, p->point, the_point);
    return add_mark(s, &(struct estimate){.value = NAN},
                    xasprintf("%s: failed: %s", name, failure_of(p)->error ?: "unknown cause"));
}

static void say_left_out(struct chart *c, size_t n)
{
    c->missing = n == 0 ? NULL : xasprintf("%zu more lines are in the table only.", n);
}

static void add_series(struct chart *c, const struct layout *l, const struct point *like,
                       const char *x, const struct figure_kind *y)
{
    struct point_words words = l->words;
    words.without = x; /* "fluid, pservers 2": everything that varies but x */
    struct chart_series s = {.name = name_of(&words, like, "")};
    result_each_swept (p, l->result) {
        const struct figure f = figure_of(p, y), shown = figure_shown(&f);
        if (!is_same_line(l, p->point, like, x) || (!f.estimate.known && failure_of(p) == NULL)) {
            continue;
        }
        struct chart_mark *mark = f.estimate.known
                                      ? add_mark(&s, &shown.estimate, mark_text(l, p, y))
                                      : add_failed(&s, l, p);
        mark->x = (double)params_get(&p->point->params, x)->i;
        mark->ideal = f.estimate.known ? ideal_of(l, p, y) : NAN;
        c->has_failed |= !f.estimate.known;
    }
    if (s.marks.len == 0) {
        free(s.name);
        return;
    }
    qsort(s.marks.items, s.marks.len, sizeof(*s.marks.items), by_double); /* x is the first field */
    *vec_push(&c->series) = s;
}

/* x: a name that varies; NULL if none exists. */
static bool make_lines(struct chart *c, const struct layout *l, const char *x,
                       const struct figure_kind *y)
{
    const struct point_result *first = l->result->points;
    size_t n_left_out = 0;
    if (x == NULL) {
        return false;
    }
    result_each_swept (p, l->result) {
        if (array_any(first, (size_t)(p - first), q, is_same_line(l, q->point, p->point, x))) {
            continue;
        }
        if (c->series.len < CHART_MAX_SERIES) {
            add_series(c, l, p->point, x, y);
        } else {
            n_left_out++;
        }
    }
    say_left_out(c, n_left_out);
    c->x_title = c->series.len == 0 ? NULL : xstrdup(x);
    return c->series.len > 0;
}

static bool lines(const struct layout *l, const struct maker *m, struct chart *ret)
{
    const struct figure_kind *y = m->y;
    const char *x = x_name(l);
    *ret = (struct chart){CHART_LINES, .id = m->name,
                          .unit = y->is_percent ? CHART_PERCENT : CHART_NUMBER,
                          .reference = y == KIND(EFFICIENCY) ? 1 : NAN};
    if ((y == KIND(THROUGHPUT) ? l->mixed_units
                               : l->own_baselines && !y->is_cost && !y->is_independent) ||
        !make_lines(ret, l, x, y)) {
        return false;
    }
    ret->title = xasprintf("%s by %s", y->title, x);
    ret->subtitle = y == KIND(THROUGHPUT)  ? xstrdup(l->unit)
                    : y == KIND(TIME_COST) ? xasprintf("of a trial, at %s", l->result->price)
                                           : words_meaning(y, l->result->def);
    /* One mark is a number. */
    return (ret->series.len > 1 || ret->series.items[0].marks.len > 1) &&
           vec_any(&ret->series, series, has_value(series));
}

/* ---- bars ---- */

static bool points(const struct layout *l, const struct maker *m, struct chart *ret)
{
    *ret = (struct chart){CHART_BARS, .id = m->name};
    if (x_name(l) != NULL || l->mixed_units || l->result->def->matrix.n_swept < 2) {
        return false;
    }
    result_each_swept (p, l->result) {
        const bool is_known = p->throughput.estimate.known;
        if (is_known || failure_of(p) != NULL) {
            struct chart_series row = {.name = name_of(&l->words, p->point, the_point),
                                       .whole = ideal_of(l, p, KIND(THROUGHPUT))};
            const struct figure shown = figure_shown(&p->throughput);
            (void)(is_known ? add_mark(&row, &shown.estimate, mark_text(l, p, KIND(THROUGHPUT)))
                            : add_failed(&row, l, p)); /* it is whole */
            *vec_push(&ret->series) = row;
        }
    }
    *vec_push(&ret->names) = xstrdup("measured");
    ret->title = xstrdup("Throughput by point");
    ret->x_title = xstrdup(l->unit);
    if (!l->own_baselines) {
        ret->whole =
            xasprintf("ideal: baseline times %s", matrix_size_words(&l->result->def->matrix).many);
    }
    return vec_any(&ret->series, series, has_value(series));
}

/* Owned; NULL: every measured point has phases. */
static char *missing_phases(const struct layout *l)
{
    size_t n = 0, n_measured = 0;
    result_each_swept (p, l->result) {
        n_measured += p->n_succeeded > 0;
        n += p->n_succeeded > 0 && phases_of_leading(p)->n_replicas == 0;
    }
    return n == 0 ? NULL
                  : xasprintf("%zu of %zu points have no bar, because their programs do not report "
                              "the parts of a step.",
                              n, n_measured);
}

static bool phases(const struct layout *l, const struct maker *m, struct chart *ret)
{
    const struct run_def *def = l->result->def;
    const bool shares_cpus = /* a point has more threads that compute than the run had CPUs */
        def->cpus > 0 && swept_any(l->result, p, point_busy_threads(p->point) > def->cpus);
    *ret = (struct chart){CHART_BARS, .id = m->name};
    result_each_swept (p, l->result) {
        const struct step_means means = *phases_of_leading(p);
        if (means.n_replicas == 0) {
            continue;
        }
        struct chart_series row = {.name = name_of(&l->words, p->point, the_point),
                                   .whole = MS_PER_NS * means.step_ns};
        for (unsigned k = 0; k < PHASE_COUNT; k++) {
            const struct estimate part = {.value = MS_PER_NS * means.phase_ns[k]};
            struct buf text = BUF_INIT;
            buf_printf(&text, "%s: %s ", row.name, phase_to_string((enum phase)k));
            words_put_estimate(&part, "ms", &text);
            add_mark(&row, &part, buf_take(&text))->series = k;
        }
        *vec_push(&ret->series) = row;
    }
    if (ret->series.len == 0) {
        return false;
    }
    for (int k = 0; k < PHASE_COUNT; k++) {
        *vec_push(&ret->names) = xstrdup(phase_to_string((enum phase)k));
    }
    ret->whole = xstrdup("the whole step");
    ret->missing = missing_phases(l);
    ret->subtitle = xasprintf(
        "means of all steps of all trials (a throughput is a median of trials); phases may "
        "overlap, so their sum may exceed the step%s",
        shares_cpus ? "; where processes share CPUs, a phase includes waiting for one" : "");
    ret->title = xasprintf("What a %s's step consists of", matrix_training_words(&def->matrix).one);
    ret->x_title = xstrdup("ms a step");
    return true;
}

/* ---- over time ---- */

/* The evaluations of the trial nearest to the point's median. Without marks: none is stored. */
static struct chart_series evaluations_of(const struct layout *l, const struct point_result *p,
                                          enum goal_kind kind)
{
    struct chart_series s = {.name = name_of(&l->words, p->point, the_point)};
    vec_each (const struct evaluation, e, &p->kept->evaluations) {
        const double t_s = (double)e->t_ms / 1e3;
        const struct estimate value = {.value = evaluation_value(e, kind)};
        if (!isnan(value.value)) {
            const bool is_loss = kind == GOAL_LOSS;
            add_mark(&s, &value,
                     xasprintf(is_loss ? "%s: loss %.4g after %.6g s" : "%s: %.2f%% after %.6g s",
                               s.name, (is_loss ? 1 : 100) * value.value, t_s))
                ->x = t_s;
        }
    }
    return s;
}

static const char loss_over_time[] = "loss-over-time";

static bool over_time(const struct layout *l, const struct maker *m, struct chart *ret)
{
    const struct goal *goal = &l->result->def->spec->goal;
    const bool is_loss = str_eq(m->name, loss_over_time);
    const enum goal_kind kind = is_loss ? GOAL_LOSS : GOAL_ACCURACY;
    size_t n_left_out = 0;
    *ret = (struct chart){CHART_LINES,
                          .id = m->name,
                          .title = xstrdup(m->title),
                          .subtitle = xstrdup(is_loss ? "loss" : "accuracy"),
                          .x_title = xstrdup("s of training"),
                          .x_is_time = true,
                          .unit = is_loss ? CHART_NUMBER : CHART_PERCENT,
                          .reference = goal->kind == kind ? goal->value : NAN};
    result_each_swept (p, l->result) {
        struct chart_series s = evaluations_of(l, p, kind);
        if (s.marks.len > 0 && ret->series.len < CHART_MAX_SERIES) {
            *vec_push(&ret->series) = s;
        } else {
            n_left_out += s.marks.len > 0;
            chart_series_done(&s);
        }
    }
    say_left_out(ret, n_left_out);
    return ret->series.len > 0;
}

/* ---- by name ---- */

/* In the order of a page. */
static const struct maker makers[] = {
    {"throughput", lines, KIND(THROUGHPUT)},
    {"efficiency", lines, KIND(EFFICIENCY)},
    {"time-to-accuracy-speedup", lines, KIND(TIME_SPEEDUP)},
    {"time-to-accuracy-cost", lines, KIND(TIME_COST)},
    {"accuracy-over-time", over_time, .title = "Accuracy over time"},
    {loss_over_time, over_time, .title = "Loss over time"},
    {"points", points},
    {CHART_PHASES, phases},
};

const char *charts_name(size_t i)
{
    return i < COUNT_OF(makers) ? makers[i].name : NULL;
}

bool charts_make(const struct layout *l, const char *name, struct chart *ret)
{
    const struct figure_kind *y = figure_find(name);
    const struct maker *m = array_find(makers, COUNT_OF(makers), it, str_eq(name, it->name));
    const struct maker of_figure = {y == NULL ? NULL : y->name, lines, y, NULL};
    m = m == NULL && y != NULL ? &of_figure : m;
    const bool is_made = m != NULL && m->make(l, m, ret);
    if (m != NULL && !is_made) {
        chart_done(ret);
    }
    return is_made;
}
