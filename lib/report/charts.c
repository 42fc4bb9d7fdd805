/* See charts.h. */
#include "report/charts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "core/summary.h"
#include "report/compare_layout.h"
#include "compare/compare.h"
#include "result/number.h"
#include "result/phases.h"

#define MS_PER_NS 1e-6
#define MS_PER_US 1e-3
#define SPARK_MAX_VALUES 60
#define FIRST_STEP_TIMES 2 /* longer or shorter than the others */
#define FIRST_STEP_MIN 4   /* steps to say so */
#define MOST_OF 0.95       /* of the time that the throughput counts */
#define NS_PER_MS 1e6

static const struct point_result *swept_end(const struct result *r)
{
    return r->points + r->def->matrix.n_swept;
}

static const char *training_role(const struct result *r)
{
    return matrix_training_words(&r->def->matrix).one;
}

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

static char *point_name(const struct layout *l, const struct point_result *p)
{
    const struct point_words words = layout_words(l);
    return name_of(&words, p->point, "the point");
}

/* "2 pservers, 4 trainers: 120.7 samples/s (95%: 118.1..122.9)". Owned. */
static char *mark_text(const struct layout *l, const struct point_result *p, const struct figure *f,
                       const char *what)
{
    _cleanup_(freep) char *name = point_name(l, p);
    struct buf text = BUF_INIT;
    buf_printf(&text, "%s: %s", name, what);
    if (str_eq(f->unit, "ratio")) {
        words_put_percent(&f->estimate, &text);
    } else {
        words_put_estimate(&f->estimate, f->unit, &text);
    }
    return buf_take(&text);
}

/* ---- lines: what x is, and which points make a line ---- */

static bool is_number(const struct layout *l, const char *name)
{
    for (const struct point_result *p = l->result->points; p < swept_end(l->result); p++) {
        if (!params_get(&p->point->params, name)->is_int) {
            return false;
        }
    }
    return true;
}

/* The number of trainers, else the first parameter of numbers, else the first; of those that vary
 * within a system. NULL: none does. */
static const char *x_name(const struct layout *l)
{
    const char *number = NULL, *first = NULL;
    vec_each (const char *, name, &l->names) {
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
    vec_each (const char *, name, &l->names) {
        if (!str_eq(*name, x) &&
            !value_eq(params_get(&a->params, *name), params_get(&b->params, *name))) {
            return false;
        }
    }
    return true;
}

/* "fluid, 2 pservers": everything that varies but x. Owned. */
static char *line_name(const struct layout *l, const struct point *p, const char *x)
{
    struct point_words words = layout_words(l);
    words.without = x;
    return name_of(&words, p, "");
}

static double x_of(struct line_chart *c, const struct value *v, bool is_number)
{
    if (is_number) {
        return (double)v->i;
    }
    struct buf text = BUF_INIT;
    value_format(v, &text);
    for (size_t i = 0; i < c->x_names.len; i++) {
        if (str_eq(c->x_names.items[i], buf_cstr(&text))) {
            buf_done(&text);
            return (double)i;
        }
    }
    *vec_push(&c->x_names) = buf_take(&text);
    return (double)(c->x_names.len - 1);
}

static int compare_marks(const void *a, const void *b)
{
    const struct chart_mark *x = a, *y = b;
    return (x->x > y->x) - (x->x < y->x);
}

typedef const struct figure *figure_of_fn(const struct point_result *p);

static const struct figure *throughput_of(const struct point_result *p)
{
    return &p->throughput;
}

static const struct figure *efficiency_of(const struct point_result *p)
{
    return &p->efficiency;
}

/* What a throughput would be at an efficiency of 1. */
static double ideal_of(const struct layout *l, const struct point_result *p, const struct figure *f)
{
    const struct estimate *e = &p->efficiency.estimate;
    return f == &p->throughput && !l->own_baselines && e->known && e->value > 0
               ? f->estimate.value / e->value
               : NAN;
}

static void add_series(struct line_chart *c, const struct layout *l, const struct point *like,
                       const char *x, figure_of_fn *figure_of)
{
    const bool number = is_number(l, x);
    struct chart_series s = {.name = line_name(l, like, x)};
    for (const struct point_result *p = l->result->points; p < swept_end(l->result); p++) {
        const struct figure *f = figure_of(p);
        if (!is_same_line(l, p->point, like, x) || !f->estimate.known) {
            continue;
        }
        *vec_push(&s.marks) = (struct chart_mark){
            .x = x_of(c, params_get(&p->point->params, x), number),
            .y = f->estimate.value,
            .low = f->estimate.has_interval ? f->estimate.low : NAN,
            .high = f->estimate.has_interval ? f->estimate.high : NAN,
            .ideal = ideal_of(l, p, f),
            .text = mark_text(l, p, f, ""),
        };
    }
    if (s.marks.len == 0) {
        free(s.name);
        return;
    }
    qsort(s.marks.items, s.marks.len, sizeof(*s.marks.items), compare_marks);
    *vec_push(&c->series) = s;
}

static bool is_first_of_line(const struct layout *l, const struct point_result *p, const char *x)
{
    for (const struct point_result *q = l->result->points; q < p; q++) {
        if (is_same_line(l, q->point, p->point, x)) {
            return false;
        }
    }
    return true;
}

/* x: a name that varies; NULL if none exists. */
static bool make_lines(struct line_chart *c, const struct layout *l, const char *x,
                       figure_of_fn *figure_of)
{
    if (x == NULL) {
        return false;
    }
    for (const struct point_result *p = l->result->points; p < swept_end(l->result); p++) {
        if (!is_first_of_line(l, p, x)) {
            continue;
        }
        if (c->series.len < CHART_MAX_SERIES) {
            add_series(c, l, p->point, x, figure_of);
        } else {
            c->n_left_out++;
        }
    }
    if (c->series.len == 0) {
        line_chart_done(c);
        return false;
    }
    c->x_title = xstrdup(x);
    return true;
}

static bool make_throughput(struct line_chart *c, const struct layout *l, const char *x)
{
    if (l->mixed_units || !make_lines(c, l, x, throughput_of)) {
        return false;
    }
    c->title = xasprintf("Throughput by %s", x);
    c->y_title = xstrdup(l->unit);
    return true;
}

static bool make_efficiency(struct line_chart *c, const struct layout *l, const char *x)
{
    if (l->own_baselines || !make_lines(c, l, x, efficiency_of)) {
        return false;
    }
    c->title = xasprintf("Efficiency by %s", x);
    c->y_title = xasprintf("of the ideal, per %s", training_role(l->result));
    return true;
}

bool charts_throughput(const struct layout *l, struct line_chart *ret)
{
    *ret = (struct line_chart){.id = "throughput", .reference = NAN};
    return make_throughput(ret, l, x_name(l));
}

bool charts_efficiency(const struct layout *l, struct line_chart *ret)
{
    *ret = (struct line_chart){.id = "efficiency", .reference = 1, .y_unit = CHART_PERCENT};
    return make_efficiency(ret, l, x_name(l));
}

/* The number of servers, where it varies and is not the x axis already; else NULL. */
static const char *servers_name(const struct layout *l)
{
    const char *x = x_name(l);
    if (x == NULL) {
        return NULL;
    }
    vec_each (const char *, name, &l->names) {
        if (str_eq(*name, "pservers") && !str_eq(x, "pservers") && is_number(l, *name)) {
            return *name;
        }
    }
    return NULL;
}

/* Is there a line with two marks? Else no two points differ in their servers alone. */
static bool has_line(const struct line_chart *c)
{
    vec_each (const struct chart_series, s, &c->series) {
        if (s->marks.len > 1) {
            return true;
        }
    }
    return false;
}

static bool keep_lines(struct line_chart *c)
{
    if (!has_line(c)) {
        line_chart_done(c);
        return false;
    }
    return true;
}

bool charts_throughput_by_servers(const struct layout *l, struct line_chart *ret)
{
    *ret = (struct line_chart){.id = "throughput-by-pservers", .reference = NAN};
    return make_throughput(ret, l, servers_name(l)) && keep_lines(ret);
}

bool charts_efficiency_by_servers(const struct layout *l, struct line_chart *ret)
{
    *ret = (struct line_chart){
        .id = "efficiency-by-pservers", .reference = 1, .y_unit = CHART_PERCENT};
    return make_efficiency(ret, l, servers_name(l)) && keep_lines(ret);
}

/* ---- dots ---- */

static void add_dot(struct chart_row *row, unsigned series, const struct estimate *e,
                    char *text_take)
{
    *vec_push(&row->dots) = (struct chart_dot){
        .series = series,
        .value = e->value,
        .low = e->has_interval ? e->low : NAN,
        .high = e->has_interval ? e->high : NAN,
        .text = text_take,
    };
}

/* The ideal of a point, where it is known. */
static void add_ideal(struct chart_row *row, const struct layout *l, const struct point_result *p)
{
    const struct estimate ideal = {.value = ideal_of(l, p, &p->throughput)};
    if (isfinite(ideal.value)) {
        struct buf text = BUF_INIT;
        buf_printf(&text, "%s: ideal ", row->name);
        words_put_estimate(&ideal, p->throughput.unit, &text);
        add_dot(row, 1, &ideal, buf_take(&text));
    }
}

bool charts_points(const struct layout *l, struct dot_chart *ret)
{
    *ret = (struct dot_chart){.id = "points", .unit = CHART_NUMBER, .reference = NAN};
    if (x_name(l) != NULL || l->mixed_units || l->result->def->matrix.n_swept < 2) {
        return false;
    }
    for (const struct point_result *p = l->result->points; p < swept_end(l->result); p++) {
        if (p->throughput.estimate.known) {
            struct chart_row row = {.name = point_name(l, p)};
            add_dot(&row, 0, &p->throughput.estimate, mark_text(l, p, &p->throughput, ""));
            add_ideal(&row, l, p);
            *vec_push(&ret->rows) = row;
        }
    }
    if (ret->rows.len == 0) {
        return false;
    }
    *vec_push(&ret->series) = xstrdup("measured");
    if (!l->own_baselines) {
        *vec_push(&ret->series) = xasprintf("ideal: baseline times %s",
                                            matrix_training_words(&l->result->def->matrix).many);
    }
    ret->title = xstrdup("Throughput by point");
    ret->x_title = xstrdup(l->unit);
    return true;
}

bool charts_resources(const struct layout *l, struct dot_chart *ret)
{
    *ret = (struct dot_chart){.id = "resources", .unit = CHART_PERCENT, .reference = 1};
    if (l->own_baselines) {
        return false;
    }
    const char *role = training_role(l->result);
    bool has[3] = {false};
    for (const struct point_result *p = l->result->points; p < swept_end(l->result); p++) {
        const struct figure *figures[] = {&p->efficiency, &p->efficiency_per_pod,
                                          &p->efficiency_per_cpu};
        struct chart_row row = {0};
        for (unsigned i = 0; i < 3; i++) {
            if (figures[i]->estimate.known) {
                _cleanup_(freep) char *what =
                    i == 0 ? xasprintf("per %s ", role) : xstrdup(i == 1 ? "per pod " : "per CPU ");
                add_dot(&row, i, &figures[i]->estimate, mark_text(l, p, figures[i], what));
                has[i] = true;
            }
        }
        if (row.dots.len > 0) {
            row.name = point_name(l, p);
            *vec_push(&ret->rows) = row;
        }
    }
    if (ret->rows.len == 0) {
        dot_chart_done(ret);
        return false;
    }
    /* The last ones may be missing: what no replica said is known of no point. */
    *vec_push(&ret->series) = xasprintf("per %s", role);
    if (has[1] || has[2]) {
        *vec_push(&ret->series) = xstrdup("per pod: servers count, launchers do not");
    }
    if (has[2]) {
        *vec_push(&ret->series) = xstrdup("per CPU");
    }
    ret->title = xasprintf("Efficiency per %s and per pod", role);
    ret->x_title = xstrdup("of the ideal");
    return true;
}

bool charts_trials(const struct layout *l, struct dot_chart *ret)
{
    *ret = (struct dot_chart){.id = "trials", .unit = CHART_CHANGE, .reference = 1};
    for (const struct point_result *p = l->result->points; p < swept_end(l->result); p++) {
        struct chart_row row = {0};
        for (size_t i = 0; i < p->n_trials && p->n_succeeded > 1; i++) {
            const struct figure *f = &p->trials[i].throughput;
            if (p->trials[i].phase != TRIAL_SUCCEEDED || !f->estimate.known) {
                continue;
            }
            const struct estimate ratio = {
                .value = f->estimate.value / p->throughput.estimate.value,
            };
            _cleanup_(freep) char *name = point_name(l, p);
            struct buf text = BUF_INIT;
            buf_printf(&text, "%s, trial %u: ", name, p->trials[i].trial);
            number_format(f->estimate.value, &text);
            buf_printf(&text, " %s", f->unit);
            add_dot(&row, 0, &ratio, buf_take(&text));
        }
        if (row.dots.len > 0) {
            row.name = point_name(l, p);
            *vec_push(&ret->rows) = row;
        }
    }
    if (ret->rows.len == 0) {
        return false;
    }
    *vec_push(&ret->series) = xstrdup("a trial");
    ret->title = xstrdup("Spread of trials");
    ret->x_title = xstrdup("from the median of the point");
    return true;
}

bool charts_comparison(const struct comparison *c, struct dot_chart *ret)
{
    *ret = (struct dot_chart){.id = "comparison", .unit = CHART_CHANGE, .reference = 1};
    struct compare_identity id;
    compare_identity_init(&id, c);
    const struct point_words words = compare_identity_words(&id, c);
    vec_each (const struct compared_point, p, &c->points) {
        if (!p->ratio.estimate.known) {
            continue;
        }
        struct chart_row row = {.name = name_of(&words, p->base->point, "the point")};
        struct buf text = BUF_INIT;
        buf_printf(&text, "%s: ratio ", row.name);
        words_put_estimate(&p->ratio.estimate, "", &text);
        add_dot(&row, 0, &p->ratio.estimate, buf_take(&text));
        *vec_push(&ret->rows) = row;
    }
    compare_identity_done(&id);
    if (ret->rows.len == 0) {
        return false;
    }
    *vec_push(&ret->series) = xstrdup("the candidate");
    ret->title = xstrdup("The candidate's throughput against the base's");
    ret->x_title = xstrdup("change of throughput, with its 95% interval");
    return true;
}

/* ---- phases ---- */

static bool is_first_without(const struct layout *l, const struct point_result *p)
{
    for (const struct point_result *q = l->result->points; q < p; q++) {
        if (q->point->system == p->point->system && q->n_succeeded > 0 &&
            phases_of(q).n_replicas == 0) {
            return false;
        }
    }
    return true;
}

/* Owned; NULL: every measured point has phases. */
static char *missing_phases(const struct layout *l)
{
    struct buf systems = BUF_INIT;
    size_t n = 0, n_measured = 0;
    for (const struct point_result *p = l->result->points; p < swept_end(l->result); p++) {
        n_measured += p->n_succeeded > 0;
        if (p->n_succeeded == 0 || phases_of(p).n_replicas > 0) {
            continue;
        }
        n++;
        if (is_first_without(l, p)) {
            buf_printf(&systems, "%s%s", systems.len == 0 ? "" : ", ",
                       l->result->def->spec->systems.items[p->point->system].name);
        }
    }
    char *text = n == 0 ? NULL
                        : xasprintf("%zu of %zu points have no bar, because their programs do not "
                                    "report the parts of a step: %s.",
                                    n, n_measured, buf_cstr(&systems));
    buf_done(&systems);
    return text;
}

bool charts_phases(const struct layout *l, struct bar_chart *ret)
{
    *ret = (struct bar_chart){.id = "phases"};
    ret->rows = xnew_array(struct bar_row, l->result->def->matrix.n_swept);
    for (const struct point_result *p = l->result->points; p < swept_end(l->result); p++) {
        const struct step_means m = phases_of(p);
        if (m.n_replicas == 0) {
            continue;
        }
        struct bar_row *row = &ret->rows[ret->n_rows++];
        row->name = point_name(l, p);
        for (int k = 0; k < PHASE_COUNT; k++) {
            row->parts[k] = MS_PER_NS * m.phase_ns[k];
        }
        row->whole = MS_PER_NS * m.step_ns;
    }
    if (ret->n_rows == 0) {
        bar_chart_done(ret);
        return false;
    }
    for (int k = 0; k < PHASE_COUNT; k++) {
        *vec_push(&ret->parts) = xstrdup(phase_to_string((enum phase)k));
    }
    ret->missing = missing_phases(l);
    ret->title = xasprintf("What a %s's step consists of", training_role(l->result));
    ret->x_title = xstrdup("ms a step");
    return true;
}

/* ---- steps ---- */

static const struct trial_result *nearest_trial(const struct point_result *p)
{
    const struct trial_result *best = NULL;
    double distance = INFINITY;
    for (size_t i = 0; i < p->n_trials; i++) {
        const struct trial_result *t = &p->trials[i];
        const double d = fabs(t->throughput.estimate.value - p->throughput.estimate.value);
        if (t->phase == TRIAL_SUCCEEDED && t->throughput.estimate.known && d < distance) {
            best = t;
            distance = d;
        }
    }
    return best;
}

/* Means of as many neighbours as it takes to have few values. */
static void take_values(struct spark *spark, const struct summary *s)
{
    const uint32_t k = (s->n_series + SPARK_MAX_VALUES - 1) / SPARK_MAX_VALUES;
    spark->n_steps = s->steps;
    spark->steps_each = s->series_k * k;
    for (uint32_t i = 0; i < s->n_series; i += k) {
        const uint32_t end = i + k < s->n_series ? i + k : s->n_series;
        double sum = 0;
        for (uint32_t j = i; j < end; j++) {
            sum += s->series_us[j];
        }
        *vec_push(&spark->values) = MS_PER_US * sum / (end - i);
    }
}

static double sum_of(const struct spark *spark)
{
    double sum = 0;
    vec_each (double, value, &spark->values) {
        sum += *value;
    }
    return sum;
}

/* A first step that is no step like the others: a program that starts something else in it, or
 * returns before it has ended. */
static void put_first_step(const struct spark *spark, const struct summary *s, struct buf *out)
{
    if (spark->steps_each > 1 || spark->values.len < FIRST_STEP_MIN) {
        return;
    }
    const double first = spark->values.items[0];
    const double others = stats_middle(spark->values.items + 1, spark->values.len - 1);
    if (first < FIRST_STEP_TIMES * others && others < FIRST_STEP_TIMES * first) {
        return;
    }
    buf_puts(out, "; the first step differs from the others: ");
    number_format(first, out);
    buf_puts(out, " ms, their median is ");
    number_format(others, out);
    buf_puts(out, " ms. ");
    const double sum_ms = sum_of(spark), ms = (double)s->duration_ns / NS_PER_MS;
    if (first > others) {
        buf_puts(out, "It counts in the throughput; a higher measure.warmupSteps excludes it");
    } else if (sum_ms < MOST_OF * ms) {
        buf_puts(out, "All steps together take ");
        number_format(sum_ms, out);
        buf_puts(out, " of the ");
        number_format(ms, out);
        buf_puts(out, " ms that the throughput counts: the program may return from a step before "
                      "it has ended, and then these are not the times of its steps");
    } else {
        buf_puts(out, "It counts in the throughput");
    }
}

static char *spark_text(const struct spark *spark, const struct trial_result *t,
                        const struct replica_row *rep, const struct summary *s)
{
    double low = INFINITY, high = 0;
    vec_each (double, value, &spark->values) {
        low = fmin(low, *value);
        high = fmax(high, *value);
    }
    struct buf text = BUF_INIT;
    /* A launcher computes nothing: its log has the steps of all. */
    buf_printf(&text,
               "%s%s/%u of trial %u: ", s->source.is_job ? "the whole job, by the log of " : "",
               role_to_string(rep->id.role), rep->id.index, t->trial);
    number_format(low, &text);
    buf_puts(&text, " to ");
    number_format(high, &text);
    buf_puts(&text, " ms a step");
    if (spark->steps_each > 1) {
        buf_printf(&text, ", means of %u steps", spark->steps_each);
    }
    put_first_step(spark, s, &text);
    return buf_take(&text);
}

static bool make_spark(const struct layout *l, const struct point_result *p, struct spark *ret)
{
    const struct trial_result *t = nearest_trial(p);
    const struct replica_row *rep =
        t == NULL ? NULL : attempt_row_find_replica(t->row, (int)point_leading_role(p->point), 0);
    struct summary s;
    struct err err = {0};
    if (rep == NULL || summary_read(rep->summary_json, &rep->id, &s, &err) < 0) {
        return false;
    }
    *ret = (struct spark){0};
    if (s.n_series > 1) {
        take_values(ret, &s);
        ret->name = point_name(l, p);
        ret->text = spark_text(ret, t, rep, &s);
    }
    summary_done(&s);
    return ret->name != NULL;
}

bool charts_steps(const struct layout *l, struct sparks *ret)
{
    *ret = (struct sparks){0};
    for (const struct point_result *p = l->result->points; p < swept_end(l->result); p++) {
        struct spark spark;
        if (make_spark(l, p, &spark)) {
            *vec_push(&ret->list) = spark;
        }
    }
    return ret->list.len > 0;
}

void sparks_done(struct sparks *sparks)
{
    vec_each (struct spark, s, &sparks->list) {
        spark_done(s);
    }
    vec_done(&sparks->list);
}
