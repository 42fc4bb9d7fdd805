/* See layout.h. */
#include "report/layout.h"

#include <math.h>
#include <string.h>

#include "base/text.h"
#include "base/vec_walk.h"
#include "report/run_labels.h"
#include "report/table.h"

#define GRID_MAX_POINTS 1000 /* a wider grid is not readable */
#define BATCH_SIZE "batch_size"

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

/* Every row of a rehearsal, a simulated or an imported run carries the words, but in a page, which
 * explains them at its top. Owned; NULL for a plain run. */
static char *run_word(const struct layout *l)
{
    struct buf marks = BUF_INIT;
    if (!l->is_page) {
        run_labels_put(l->result, &marks);
    }
    return marks.len == 0 ? NULL : buf_take(&marks);
}

/* The value of a swept point, as the head of a column. Owned. */
static char *head_text(const struct layout *l, const struct point *p, const char *name)
{
    struct buf text = BUF_INIT;
    if (l->is_page) {
        words_put_value(name, params_get(&p->params, name), WORDS_COUNTED, &text);
    } else {
        value_format(params_get(&p->params, name), &text);
    }
    return buf_take(&text);
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

/* ---- the grid ---- */

/* Heads of rows or columns: the swept points that are the first with their values, in order. */
struct heads {
    VEC(const struct point_result *) list;
};

static bool same_row(const struct layout *l, const struct point *a, const struct point *b)
{
    return a->system == b->system &&
           (l->words.names.len == 1 || same_value(&a->params, &b->params, l->words.names.items[0]));
}

static bool same_column(const struct layout *l, const struct point *a, const struct point *b)
{
    return same_value(&a->params, &b->params, l->words.names.items[l->words.names.len - 1]);
}

static void collect_heads(const struct layout *l, struct heads *heads,
                          bool (*same)(const struct layout *, const struct point *,
                                       const struct point *))
{
    result_each_swept (p, l->result) {
        if (!vec_any(&heads->list, it, same(l, (*it)->point, p->point))) {
            *vec_push(&heads->list) = p;
        }
    }
}

static const struct point_result *find_cell(const struct layout *l, const struct point *row,
                                            const struct point *column)
{
    return array_find(l->result->points, l->result->def->matrix.n_swept, p,
                      same_row(l, p->point, row) && same_column(l, p->point, column));
}

bool layout_shades_efficiency(const struct layout *l)
{
    return !l->own_baselines && !l->words.systems;
}

/* What a grid's cell is shaded by. */
static const struct estimate *shaded(const struct layout *l, const struct point_result *p)
{
    return layout_shades_efficiency(l) ? &p->efficiency.estimate : &p->throughput.estimate;
}

struct shading {
    double low, high; /* of all swept points */
};

static struct shading shading_of(const struct layout *l)
{
    struct shading s = {INFINITY, -INFINITY};
    result_each_swept (p, l->result) {
        if (shaded(l, p)->known) {
            s.low = fmin(s.low, shaded(l, p)->value);
            s.high = fmax(s.high, shaded(l, p)->value);
        }
    }
    return s;
}

/* In proportion to the value, so that small differences look small; of equal ones none. */
static int shade_of(const struct shading *s, const struct estimate *e)
{
    return !e->known || s->high <= s->low ? TABLE_NO_SHADE
                                          : (int)lround((TABLE_SHADES - 1) * e->value / s->high);
}

#define LINES_MAX_POINTS 100 /* of more points a page is too long; results --by line prints all */

bool layout_shows_lines(const struct layout *l, const struct point *p)
{
    return l->is_page && p->index < LINES_MAX_POINTS &&
           l->result->def->spec->systems.items[p->system].log != NULL;
}

static void link_lines(struct table *t, const struct layout *l, const struct point *p)
{
    if (layout_shows_lines(l, p)) {
        _cleanup_(freep) char *anchor = xasprintf(LAYOUT_LINES, p->index);
        table_link(t, "#", anchor);
    }
}

static void put_grid_cell(struct table *t, const struct layout *l, const struct shading *shading,
                          const struct point_result *p)
{
    if (p == NULL) { /* excluded from the sweep */
        table_cell(t, "-");
        return;
    }
    _cleanup_(buf_done) struct buf text = BUF_INIT;
    figure_format(&p->throughput, &text);
    if (p->efficiency.estimate.known && !l->own_baselines) {
        buf_printf(&text, " (%.1f%%)", 100 * p->efficiency.estimate.value);
    }
    table_cell(t, "%s", buf_cstr(&text));
    link_lines(t, l, p->point);
    table_shade(t, shade_of(shading, shaded(l, p)));
}

static struct table *grid_of(const struct layout *l, const struct heads *rows,
                             const struct heads *columns)
{
    const struct shading shading = shading_of(l);
    const bool row_name = l->words.names.len == 2, row_system = l->words.systems || !row_name;
    struct table *t = table_new();
    if (row_system) {
        table_column(t, "SYSTEM", TABLE_LEFT);
    }
    if (row_name) {
        table_named_column(t, l->words.names.items[0], TABLE_RIGHT);
    }
    vec_each (const struct point_result *const, column, &columns->list) {
        _cleanup_(freep) char *title =
            head_text(l, (*column)->point, l->words.names.items[l->words.names.len - 1]);
        table_column(t, title, TABLE_RIGHT);
    }
    vec_each (const struct point_result *const, row, &rows->list) {
        const struct point *like = (*row)->point;
        if (row_system) {
            table_cell(t, "%s", system_name(l, like));
        }
        if (row_name) {
            _cleanup_(buf_done) struct buf text = BUF_INIT;
            value_format(params_get(&like->params, l->words.names.items[0]), &text);
            table_cell(t, "%s", buf_cstr(&text));
        }
        vec_each (const struct point_result *const, column, &columns->list) {
            put_grid_cell(t, l, &shading, find_cell(l, like, (*column)->point));
        }
    }
    return t;
}

struct table *layout_grid(const struct layout *l)
{
    const uint32_t n_swept = l->result->def->matrix.n_swept;
    if (l->words.names.len < 1 || l->words.names.len > 2 || n_swept > GRID_MAX_POINTS ||
        l->mixed_units ||
        (l->words.names.len == 1 && layout_follows_system(l, l->words.names.items[0]))) {
        return NULL; /* the table of points has it, a row each */
    }
    struct heads rows = {0}, columns = {0};
    collect_heads(l, &rows, same_row);
    collect_heads(l, &columns, same_column);
    /* A zip's values are a diagonal: a grid of blanks, and a search for each of them. */
    const bool is_half_full = rows.list.len * columns.list.len <= 2 * (size_t)n_swept;
    const bool is_grid = rows.list.len > 1 && columns.list.len > 1; /* else it is a list */
    struct table *t = is_grid && is_half_full ? grid_of(l, &rows, &columns) : NULL;
    vec_done(&rows.list);
    vec_done(&columns.list);
    return t;
}

void layout_grid_caption(const struct layout *l, struct buf *out)
{
    buf_printf(out, "Throughput in %s%s", l->unit, l->own_baselines ? "" : " (efficiency)");
    _cleanup_(freep) char *word = run_word(l);
    if (word != NULL) {
        buf_printf(out, ", %s", word);
    }
    buf_printf(out,
               l->words.names.len == 2 ? ", by %s (rows) and %s (columns)" : ", by %s (columns)",
               l->words.names.items[0], l->words.names.items[l->words.names.len - 1]);
}

/* ---- one row a point ---- */

bool layout_any_interval(const struct layout *l, size_t offset)
{
    return swept_any(l->result, p,
                     point_figure(p, offset)->estimate.known &&
                         point_figure(p, offset)->estimate.has_interval);
}

static const struct resource_column {
    const char *title;
    size_t offset;
} resource_columns[] = {{"EFF/POD", KEPT_FIGURE(efficiency_per_pod)},
                        {"EFF/CPU", KEPT_FIGURE(efficiency_per_cpu)}};

/* Has a swept point another value of that figure than its efficiency per trainer? */
static bool says_more(const struct layout *l, size_t offset)
{
    result_each_swept (p, l->result) {
        const struct estimate *e = &point_figure(p, offset)->estimate;
        if (!l->own_baselines && e->known && fabs(e->value - p->efficiency.estimate.value) > 1e-9) {
            return true;
        }
    }
    return false;
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
    bool by_index, has_index;    /* the index in place of what varies; besides that */
    bool x_interval, e_interval; /* of throughput, of efficiency */
    bool range, trials, scaling;
    bool devices;
    bool resources[COUNT_OF(resource_columns)];
    char *word;  /* of the run; NULL: none; owned */
    char *title; /* of the throughput; owned */
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
        .x_interval = layout_any_interval(l, POINT_FIGURE(throughput)),
        .e_interval = layout_any_interval(l, POINT_FIGURE(efficiency)),
        .trials = !l->is_brief || swept_any(l->result, p, p->n_succeeded < p->n_trials),
        .scaling = !l->own_baselines,
        .word = (parts & LAYOUT_WORD) == 0 ? NULL : run_word(l),
        .title = l->is_brief && !l->mixed_units ? text_capitals(l->unit) : xstrdup("THROUGHPUT"),
    };
    c.has_index = l->is_page && !c.by_index; /* notes and warnings name points by it */
    c.range = (parts & LAYOUT_RANGE) != 0 || !c.x_interval;
    c.devices = !c.by_index && says_devices(l);
    for (size_t i = 0; i < COUNT_OF(resource_columns); i++) {
        c.resources[i] = c.scaling && (parts & LAYOUT_RESOURCES) != 0 &&
                         says_more(l, resource_columns[i].offset);
    }
    return c;
}

static void put_throughput(struct table *t, const struct layout *l,
                           const struct point_columns *with, const struct point_result *p)
{
    table_figure(t, with->title, &p->throughput);
    link_lines(t, l, p->point);
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

void layout_put_percents(struct table *t, const struct estimate *e, int decimals)
{
    table_known(t, "95% INTERVAL", e->known && e->has_interval, "%.*f..%.*f%%", decimals,
                100 * e->low, decimals, 100 * e->high);
}

static void put_row(struct table *t, const struct layout *l, const struct point_columns *with,
                    const struct point_result *p)
{
    const struct estimate *e = &p->efficiency.estimate;
    if (with->has_index) {
        table_number(t, "POINT", "%u", p->point->index);
    }
    layout_put_identity(t, l, p->point, with->by_index);
    if (with->devices) {
        table_number(t, "DEVICES", "%u", p->point->devices);
    }
    put_throughput(t, l, with, p);
    if (with->scaling && (with->parts & LAYOUT_SPEEDUP) != 0) {
        table_figure(t, "SPEEDUP", &p->speedup);
    }
    if (with->scaling) {
        table_percent(t, "EFFICIENCY", e->known ? e->value : NAN, false);
        if (with->e_interval) {
            layout_put_percents(t, e, 1);
        }
    }
    for (size_t i = 0; i < COUNT_OF(resource_columns); i++) {
        if (with->resources[i]) {
            const struct estimate *other = &point_figure(p, resource_columns[i].offset)->estimate;
            table_percent(t, resource_columns[i].title, other->known ? other->value : NAN, false);
        }
    }
    if (with->word != NULL) {
        table_text(t, "RUN", "%s", with->word);
    }
    table_end_row(t);
}

struct table *layout_points(const struct layout *l, unsigned parts)
{
    const struct point_columns with = columns_of(l, parts);
    struct table *t = table_new();
    result_each_swept (p, l->result) {
        put_row(t, l, &with, p);
    }
    free(with.word);
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

static bool has_job_batch(const struct layout *l)
{
    return l->result->def->spec->workload.batch_scope == BATCH_OF_JOB;
}

/* A parameter that all points share. A system without servers has its number of
 * trainers as workers. */
static void put_shared(const struct layout *l, const struct param *p, struct buf *out)
{
    const struct training_words training = matrix_training_words(&l->result->def->matrix);
    if (l->is_page && p->value.is_int && strcmp(p->name, "trainers") == 0) {
        buf_printf(out, "%lld %s; ", (long long)p->value.i,
                   p->value.i == 1 ? training.one : training.many);
        return;
    }
    words_put_value(p->name, &p->value, layout_form(l), out);
    if (l->is_page && strcmp(p->name, BATCH_SIZE) == 0 && !has_job_batch(l)) {
        buf_printf(out, " a %s", training.one);
    }
    buf_puts(out, "; ");
}

void layout_describe_run(const struct layout *l, struct buf *out)
{
    const struct run_def *def = l->result->def;
    const struct spec *spec = def->spec;
    const uint32_t n_swept = def->matrix.n_swept, n_added = def->matrix.n_points - n_swept;
    if (l->is_page && layout_has_systems_alone(l)) {
        buf_puts(out, "only the system varies; ");
    }
    if (!l->words.systems) {
        buf_printf(out, "%s; ", system_name(l, l->result->points[0].point));
    }
    vec_each (struct param, p, &l->result->points[0].point->params.list) {
        if (!words_has_name(&l->words.names, p->name)) {
            put_shared(l, p, out);
        }
    }
    if (has_job_batch(l)) {
        buf_puts(out, "a batch is of the whole job; ");
    }
    if (spec->workload.compute == COMPUTE_EMULATED) {
        buf_printf(out, "emulated %s, %.6g ms a step; ", matrix_training_words(&def->matrix).many,
                   (double)trace_step_ns(&spec->workload.trace) / 1e6);
    }
    buf_printf(out, "%u point%s", n_swept, plural(n_swept));
    if (n_added > 0 && l->is_page) {
        buf_printf(out, " to compare and %u baseline%s", n_added, plural(n_added));
    } else if (n_added > 0) {
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
