/* See layout.h. */
#include "report/layout.h"

#include <math.h>
#include <string.h>

#include "base/str.h"
#include "result/catalogue.h"

/* All swept points have the same names (spec_load sees to it), so `name` is in both. */
static bool same_value(const struct params *a, const struct params *b, const char *name)
{
    return value_eq(params_get(a, name), params_get(b, name));
}

void layout_init(struct layout *l, const struct result *r)
{
    *l = (struct layout){.result = r, .words.spec = r->def->spec, .own_baselines = true};
    l->unit = result_shown_unit(r, &l->mixed_units);
    const struct point *first = r->points[0].point;
    result_each_swept (p, r) {
        words_add_differences(&l->words, first, p->point);
        l->own_baselines = l->own_baselines && p->point->baseline_index == p->point->index;
    }
}

void layout_done(struct layout *l)
{
    vec_done(&l->words.names);
}

static const char *system_name(const struct layout *l, const struct point *p)
{
    return l->result->def->spec->systems.items[p->system].label;
}

bool layout_follows_system(const struct layout *l, const char *name)
{
    result_each_swept (p, l->result) {
        for (const struct point_result *q = l->result->points; q < p; q++) {
            if (q->point->system == p->point->system) { /* the first one stands for all before p */
                if (!same_value(&q->point->params, &p->point->params, name)) {
                    return false;
                }
                break;
            }
        }
    }
    return true;
}

/* ---- one row a point ---- */

static bool any_interval(const struct layout *l, const struct figure_kind *k)
{
    result_each_swept (p, l->result) {
        const struct estimate e = figure_of(p, k).estimate;
        if (e.known && e.has_interval) {
            return true;
        }
    }
    return false;
}

bool layout_any_interval(const struct layout *l, enum figure_id id)
{
    return any_interval(l, &figure_kinds[id]);
}

static const struct estimate *efficiency_of(const struct point_result *p)
{
    return &point_figure(p, FIGURE_EFFICIENCY)->estimate;
}

/* Has a swept point another value of that share than its efficiency per trainer, of 1% or more? */
static bool says_more(const struct layout *l, const struct figure_kind *k)
{
    result_each_swept (p, l->result) {
        const struct estimate e = figure_of(p, k).estimate;
        if (e.known && e.value >= 0.01 && fabs(e.value - efficiency_of(p)->value) > 1e-9) {
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
        if ((parts & (LAYOUT_MORE | LAYOUT_ACCURACY)) == tables[k->place] &&
            is_shown(l, k, parts)) {
            const bool with = k->place != PLACE_ROOM && any_interval(l, k);
            *vec_push(&columns.list) = (struct layout_column){k, with};
        }
    }
    return columns;
}

void layout_put_words(struct table *t, const struct point_words *words, const struct point *p)
{
    if (words->systems) {
        table_text(t, "SYSTEM", "%s", words->spec->systems.items[p->system].label);
    }
    vec_each (const char *const, name, &words->names) {
        const struct value *v = params_get(&p->params, *name);
        _cleanup_(buf_done) struct buf text = BUF_INIT;
        if (v != NULL) {
            value_format(v, &text);
        }
        table_named(t, *name, v == NULL ? "-" : buf_cstr(&text));
    }
}

void layout_put_identity(struct table *t, const struct layout *l, const struct point *p,
                         bool by_index)
{
    if (by_index) {
        table_number(t, "POINT", "%u", p->index);
        return;
    }
    layout_put_words(t, &l->words, p);
}

/* What a table of points has columns for, besides what its parts say. */
struct point_columns {
    unsigned parts;
    bool by_index, has_index; /* the index in place of what varies; besides that */
    bool x_interval;          /* of throughput */
    bool range, trials;
    bool devices;
    struct layout_columns figures; /* owned */
    char *title;                   /* of the throughput; owned */
};

/* Are devices known, and other numbers than those of replicas, which are parameters? */
static bool says_devices(const struct layout *l)
{
    result_each_swept (p, l->result) {
        if (p->point->devices != point_training_replicas(p->point)) {
            return p->point->devices > 0;
        }
    }
    return false;
}

static struct point_columns columns_of(const struct layout *l, unsigned parts)
{
    struct point_columns c = {
        .parts = parts,
        .by_index = (parts & LAYOUT_BY_INDEX) != 0 || !layout_has_words(l),
        .x_interval = layout_any_interval(l, FIGURE_THROUGHPUT),
        .trials = !l->is_brief || swept_any(l->result, p, p->n_succeeded < p->n_trials),
        .figures = layout_columns_of(l, parts),
        .title = l->is_brief && !l->mixed_units ? text_capitals(l->unit) : xstrdup("THROUGHPUT"),
    };
    c.has_index = l->is_page && !c.by_index; /* notes and warnings name points by it */
    c.range = (parts & LAYOUT_RANGE) != 0 || !c.x_interval;
    c.devices = !c.by_index && says_devices(l);
    return c;
}

static void put_throughput(struct table *t, const struct layout *l,
                           const struct point_columns *with, const struct point_result *p)
{
    table_figure(t, with->title, &p->throughput);
    if (l->mixed_units) {
        table_text(t, "UNIT", "%s",
                   p->throughput.estimate.known ? figure_shown(&p->throughput).unit : "-");
    }
    if (with->x_interval) {
        table_interval(t, "95% INTERVAL", &p->throughput);
    }
    if (with->range) {
        table_value(t, "MIN", figure_shown_value(&p->throughput, p->throughput_min));
        table_value(t, "MAX", figure_shown_value(&p->throughput, p->throughput_max));
    }
    if (with->trials) {
        table_number(t, "TRIALS", "%zu/%zu", p->n_succeeded, p->n_trials);
    }
}

void layout_put_figure(struct table *t, const char *heading, const struct figure *f, int decimals,
                       bool with_interval)
{
    const struct estimate *e = &f->estimate;
    if (decimals == LAYOUT_NUMBER) {
        table_figure(t, heading, f);
    } else {
        table_known(t, heading, e->known, "%.*f%%", decimals, 100 * e->value);
    }
    if (with_interval && decimals == LAYOUT_NUMBER) {
        table_interval(t, "95% INTERVAL", f);
    } else if (with_interval) {
        table_known(t, "95% INTERVAL", e->known && e->has_interval, "%.*f..%.*f%%", decimals,
                    100 * e->low, decimals, 100 * e->high);
    }
}

static void put_row(struct table *t, const struct layout *l, const struct point_columns *with,
                    const struct point_result *p)
{
    if (with->has_index) {
        table_number(t, "POINT", "%u", p->point->index);
    }
    layout_put_identity(t, l, p->point, with->by_index);
    if (with->devices) {
        table_number(t, "DEVICES", "%u", p->point->devices);
    }
    put_throughput(t, l, with, p);
    vec_each (const struct layout_column, column, &with->figures.list) {
        const struct figure f = figure_of(p, column->kind);
        layout_put_figure(t, column->kind->heading, &f,
                          column->kind->is_percent ? 1 : LAYOUT_NUMBER, column->with_interval);
    }
    table_end_row(t);
}

struct table *layout_points(const struct layout *l, unsigned parts)
{
    struct point_columns with = columns_of(l, parts);
    struct table *t = table_new();
    result_each_swept (p, l->result) {
        put_row(t, l, &with, p);
    }
    vec_done(&with.figures.list);
    free(with.title);
    return t;
}

/* ---- in words ---- */

bool layout_has_systems_alone(const struct layout *l)
{
    return l->words.systems && vec_all(&l->words.names, name, layout_follows_system(l, *name));
}

bool layout_has_words(const struct layout *l)
{
    return l->words.systems || l->words.names.len > 0;
}

enum words_form layout_form(const struct layout *l)
{
    return l->is_page ? WORDS_COUNTED : WORDS_FULL;
}

void layout_describe_point(const struct layout *l, uint32_t point, struct buf *out)
{
    words_describe_point(&l->words, l->result->points[point].point, layout_form(l), out);
}

void layout_describe_place(const struct layout *l, uint32_t point, struct buf *out)
{
    buf_printf(out, "point %u", point);
    if (l->result->points[point].point->is_baseline) {
        buf_puts(out, " (baseline)");
    } else if (layout_has_words(l)) {
        buf_puts(out, " (");
        layout_describe_point(l, point, out);
        buf_putc(out, ')');
    }
}

/* Does some system count its steps in records? A system whose log is read runs as many as its
 * program wants, and a note says how many were found. */
static bool counts_steps(const struct spec *spec)
{
    return vec_any(&spec->systems, system, system->log == NULL);
}

void layout_describe_run(const struct layout *l, struct buf *out)
{
    const struct run_def *def = l->result->def;
    const struct spec *spec = def->spec;
    const uint32_t n_swept = def->matrix.n_swept, n_added = def->matrix.n_points - n_swept;
    if (!l->words.systems) {
        buf_printf(out, "%s; ", system_name(l, l->result->points[0].point));
    }
    vec_each (struct param, p, &l->result->points[0].point->params.list) {
        if (!words_has_name(&l->words.names, p->name)) {
            words_put_value(p->name, &p->value, layout_form(l), out);
            buf_puts(out, "; ");
        }
    }
    if (spec->workload.batch_scope == BATCH_OF_JOB) {
        buf_puts(out, "a batch is of the whole job; ");
    }
    if (spec->workload.compute == COMPUTE_EMULATED) {
        buf_printf(out, "emulated %s, %.6g ms a step; ", matrix_training_words(&def->matrix).many,
                   (double)trace_step_ns(&spec->workload.trace) / 1e6);
    }
    buf_printf(out, "%u point%s", n_swept, plural(n_swept));
    if (n_added > 0) {
        buf_printf(out, " and %u for the baseline", n_added);
    }
    if (spec->stop.is_set) {
        buf_printf(out, "; %lld to %lld trials each, for an interval within %.3g%%",
                   (long long)spec->min_repeats, (long long)spec->repeats,
                   100 * spec->stop.half_width_ratio);
    } else {
        buf_printf(out, "; %lld trial%s each", (long long)spec->repeats,
                   plural((uint64_t)spec->repeats));
    }
    if (spec->ends_after_steps) {
        buf_printf(out, ", which end the programs after %lld measured step%s",
                   (long long)spec->steps, plural((uint64_t)spec->steps));
    } else if (counts_steps(spec)) {
        buf_printf(out, ", of %lld step%s after %lld warm-up step%s", (long long)spec->steps,
                   plural((uint64_t)spec->steps), (long long)spec->warmup_steps,
                   plural((uint64_t)spec->warmup_steps));
    }
}

/* ---- metrics ---- */

const struct figure *metric_of_point(const struct point_result *p, const char *name)
{
    static const struct figure unknown = {.unit = ""};
    const struct point_metric *m = vec_find(&p->metrics, it, str_eq(it->name, name));
    return m == NULL ? &unknown : &m->figure;
}

void metric_names_add(struct words_names *names, const struct result *r)
{
    result_each_point (p, r) {
        vec_each (const struct point_metric, m, &p->metrics) {
            words_add_name(names, m->name);
        }
    }
}
