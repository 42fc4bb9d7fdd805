/* See pivot.h. */
#include "result/pivot.h"

#include <math.h>
#include <string.h>

#include "base/parse.h"
#include "base/str.h"
#include "result/catalogue.h"

#define MAX_CELLS 1000000

static const char system_axis[] = "system";

const char *const pivot_price_words[] = {"CPU", "pod", "GPU"};

int pivot_price_parse(const char *text, struct pivot_price *ret)
{
    static const char *const units[] = {"cpu-hour", "pod-hour", "gpu-hour"};
    const char *slash = strchr(text, '/');
    const int unit = slash == NULL ? -1 : str_index(slash + 1, units, COUNT_OF(units));
    _cleanup_(freep) char *number = slash == NULL ? NULL : xstrndup(text, (size_t)(slash - text));
    double amount = 0;
    if (unit < 0 || parse_f64(number, &amount) < 0 || !(amount > 0 && amount <= 1e12)) {
        return -EINVAL;
    }
    *ret = (struct pivot_price){(enum pivot_price_unit)unit, amount};
    return 0;
}

/* ---- axes ---- */

bool axis_is_system(const char *axis)
{
    return axis == system_axis; /* a parameter may have its name */
}

static bool same_on(const char *axis, const struct point *a, const struct point *b)
{
    return axis_is_system(axis)
               ? a->system == b->system
               : value_eq(params_get(&a->params, axis), params_get(&b->params, axis));
}

const char *axis_find(const struct result *r, const char *name, size_t len)
{
    if (len == strlen(system_axis) && strncmp(name, system_axis, len) == 0) {
        return system_axis;
    }
    const struct param *param =
        vec_find(&r->points[0].point->params.list, it,
                 strlen(it->name) == len && strncmp(name, it->name, len) == 0);
    return param == NULL ? NULL : param->name;
}

int axis_refuse(const struct result *r, const char *name, size_t len, struct err *err)
{
    _cleanup_(buf_done) struct buf axes = BUF_INIT;
    vec_each (const struct param, param, &r->points[0].point->params.list) {
        buf_printf(&axes, ", %s", param->name);
    }
    return err_set(err, EINVAL, "run/%s has no axis '%.*s'; it has system%s", r->def->name,
                   (int)len, name, buf_cstr(&axes));
}

char *axis_value(const struct result *r, const char *axis, const struct point *point)
{
    const struct value *v = axis_is_system(axis) ? NULL : params_get(&point->params, axis);
    struct buf text = BUF_INIT;
    if (v == NULL) {
        return axis_is_system(axis) ? xstrdup(r->def->spec->systems.items[point->system].name)
                                    : NULL;
    }
    value_format(v, &text);
    return buf_take(&text);
}

char *axis_shown(const struct result *r, const char *axis, const struct point *point)
{
    return axis_is_system(axis) ? xstrdup(r->def->spec->systems.items[point->system].label)
                                : axis_value(r, axis, point);
}

void axis_values(const struct result *r, const char *axis, struct texts *ret)
{
    result_each_swept (p, r) {
        char *value = axis_value(r, axis, p->point);
        if (value == NULL || texts_have(ret, value)) {
            free(value);
        } else {
            *vec_push(&ret->list) = value;
        }
    }
}

static uint32_t n_points(const struct pivot *p)
{
    return p->result->def->matrix.n_swept;
}

static const struct point *point_at(const struct pivot *p, uint32_t i)
{
    return p->result->points[i].point;
}

static bool varies(const struct pivot *p, const char *axis)
{
    return !array_all(p->result->points, n_points(p), it, same_on(axis, point_at(p, 0), it->point));
}

static bool is_used(const struct pivot *p, const char *axis)
{
    return p->ratio_axis == axis || vec_any(&p->rows.axes, it, *it == axis) ||
           vec_any(&p->columns.axes, it, *it == axis);
}

/* Reads "a,b" into the rows or the columns. */
static int take_axes(struct pivot *p, const char *text, struct pivot_side *side, struct err *err)
{
    while (text != NULL) {
        const size_t len = strcspn(text, ",");
        const char *axis = axis_find(p->result, text, len);
        if (axis == NULL) {
            return axis_refuse(p->result, text, len, err);
        }
        if (is_used(p, axis)) {
            return err_set(err, EINVAL, "the axis '%s' is named twice", axis);
        }
        *vec_push(&side->axes) = axis;
        text = text[len] == ',' ? text + len + 1 : NULL;
    }
    return 0;
}

static bool is_at(const struct pivot *p, const struct point *point, const char *value)
{
    _cleanup_(freep) char *text = axis_value(p->result, p->ratio_axis, point);
    return str_eq(text, value);
}

/* "AXIS=A/B"; a value may hold a slash: the one that leaves two values of the axis. */
static int take_ratio(struct pivot *p, const char *text, struct err *err)
{
    const size_t len = strcspn(text, "=");
    const char *axis = axis_find(p->result, text, len);
    if (text[len] == '\0') {
        return err_set(err, EINVAL, "the ratio '%s' is not AXIS=A/B", text);
    }
    if (axis == NULL) {
        return axis_refuse(p->result, text, len, err);
    }
    const char *values = text + len + 1;
    _cleanup_(texts_done) struct texts known = {0};
    axis_values(p->result, axis, &known);
    for (const char *slash = values; (slash = strchr(slash, '/')) != NULL; slash++) {
        _cleanup_(freep) char *a = xstrndup(values, (size_t)(slash - values));
        if (texts_have(&known, a) && texts_have(&known, slash + 1) && !str_eq(a, slash + 1)) {
            p->ratio_axis = axis;
            p->ratio_a = take_ptr(a);
            p->ratio_b = xstrdup(slash + 1);
            return 0;
        }
    }
    _cleanup_(buf_done) struct buf list = BUF_INIT;
    texts_put(&known, &list);
    return err_set(err, EINVAL,
                   "'%s' does not name two values of %s with a slash between them; it has %s",
                   values, axis, buf_cstr(&list));
}

/* Axes that are named nowhere: the last is a column where no column is, the others are rows. */
static void add_axes(struct pivot *p, bool has_rows, bool has_columns)
{
    VEC(const char *) left = {0};
    if (!is_used(p, system_axis) && varies(p, system_axis)) {
        *vec_push(&left) = system_axis;
    }
    vec_each (const struct param, param, &point_at(p, 0)->params.list) {
        if (!is_used(p, param->name) && varies(p, param->name)) {
            *vec_push(&left) = param->name;
        }
    }
    for (size_t i = 0; i < left.len; i++) {
        const bool is_column = !has_columns && (has_rows || i + 1 == left.len);
        *vec_push(is_column ? &p->columns.axes : &p->rows.axes) = left.items[i];
    }
    vec_done(&left);
}

/* ---- cells ---- */

int pivot_set_price(struct result *r, const char *text)
{
    struct pivot_price price;
    const int code = pivot_price_parse(text, &price);
    for (uint32_t i = 0; code >= 0 && i < r->def->matrix.n_points; i++) {
        struct point_result *p = &r->points[i];
        const struct figure_kind *kind = &figure_kinds[FIGURE_TIME_COST];
        p->goal->time_cost = (struct figure){figure_at_price(p, kind, &price), kind->unit, "job"};
    }
    r->price = code < 0 ? r->price : text;
    return code;
}

static struct estimate figure_at(const struct pivot *pivot, const struct point_result *p)
{
    const struct estimate e = figure_at_price(p, pivot->figure, &pivot->price);
    const struct figure f = {.estimate = e, .batch = figure_of(p, pivot->figure).batch};
    return figure_shown(&f).estimate;
}

/* The point at B that is like this one on all other axes; NULL: none. */
static const struct point_result *partner_of(const struct pivot *p, const struct point *a)
{
    for (uint32_t i = 0; i < n_points(p); i++) {
        const struct point *b = point_at(p, i);
        bool is_like = axis_is_system(p->ratio_axis) || a->system == b->system;
        vec_each (const struct param, param, &a->params.list) {
            const bool divides =
                !axis_is_system(p->ratio_axis) && str_eq(param->name, p->ratio_axis);
            is_like = is_like && (divides || same_on(param->name, a, b));
        }
        if (is_like && is_at(p, b, p->ratio_b)) {
            return &p->result->points[i];
        }
    }
    return NULL;
}

/* Throughputs and times of two points are independent, so their ratio has an interval; of other
 * figures the baseline may be in both. */
static struct estimate ratio_at(const struct pivot *p, const struct point_result *a,
                                const struct point_result *b)
{
    if (p->figure->is_independent) {
        const struct figure x = figure_of(a, p->figure), y = figure_of(b, p->figure);
        return str_eq(x.unit, y.unit) ? stats_ratio(&x.estimate, &y.estimate, 1)
                                      : (struct estimate){0};
    }
    const struct estimate x = figure_at(p, a), y = figure_at(p, b);
    const bool known = x.known && y.known && y.value > 0;
    return (struct estimate){.known = known, .value = known ? x.value / y.value : 0};
}

/* ---- the table ---- */

/* The value of each point on the axes, as numbers in the order in which values first appear. */
struct ranks {
    size_t n_axes;
    uint32_t *of; /* n_axes numbers for each point; owned */
};

static struct ranks ranks_new(const struct pivot *p, const struct pivot_side *side)
{
    const size_t n_axes = side->axes.len;
    struct ranks ranks = {n_axes, xnew_array(uint32_t, n_axes * n_points(p))};
    for (size_t k = 0; k < n_axes; k++) {
        VEC(uint32_t) firsts = {0};
        for (uint32_t i = 0; i < n_points(p); i++) {
            size_t v = 0;
            while (v < firsts.len &&
                   !same_on(side->axes.items[k], point_at(p, firsts.items[v]), point_at(p, i))) {
                v++;
            }
            if (v == firsts.len) {
                *vec_push(&firsts) = i;
            }
            ranks.of[i * n_axes + k] = (uint32_t)v;
        }
        vec_done(&firsts);
    }
    return ranks;
}

static int compare_ranks(const struct ranks *ranks, uint32_t a, uint32_t b)
{
    for (size_t k = 0; k < ranks->n_axes; k++) {
        const uint32_t x = ranks->of[a * ranks->n_axes + k], y = ranks->of[b * ranks->n_axes + k];
        if (x != y) {
            return x < y ? -1 : 1;
        }
    }
    return 0;
}

/* Makes the heads of a side for the n points that have a cell. Owned: by the index of such a point,
 * which head it has. */
static size_t *number_heads(const struct pivot *p, const uint32_t *points, size_t n,
                            struct pivot_side *side)
{
    struct ranks ranks = ranks_new(p, side);
    size_t *head_of = xnew_array(size_t, n_points(p));
    size_t at;
    for (size_t i = 0; i < n; i++) {
        if (!vec_search(&side->heads, it, compare_ranks(&ranks, (*it)->index, points[i]), &at)) {
            *vec_insert(&side->heads, at) = point_at(p, points[i]);
        }
    }
    for (size_t i = 0; i < n; i++) {
        (void)vec_search(&side->heads, it, compare_ranks(&ranks, (*it)->index, points[i]),
                         &head_of[points[i]]); /* it is there */
    }
    free(ranks.of);
    return head_of;
}

struct pivot_summary pivot_summarise(const struct pivot *p, size_t from, size_t n)
{
    struct pivot_summary s = {0, NAN, NAN, NAN, NAN};
    _cleanup_(freep) double *values = xnew_array(double, n);
    _cleanup_(freep) struct estimate *known = xnew_array(struct estimate, n);
    for (const struct estimate *e = p->cells + from; e < p->cells + from + n; e++) {
        if (e->known) {
            known[s.n] = *e;
            values[s.n++] = e->value;
            s.least = fmin(s.least, e->value);
            s.most = fmax(s.most, e->value);
        }
    }
    if (s.n > 0) {
        s.median = stats_median(values, s.n).value;
        const struct estimate geomean = stats_geomean(known, s.n);
        s.geomean = geomean.known ? geomean.value : NAN;
    }
    return s;
}

static int fill(struct pivot *p, struct err *err)
{
    size_t n = 0; /* points that have a cell: all, or those at A */
    _cleanup_(freep) uint32_t *points = xnew_array(uint32_t, n_points(p));
    for (uint32_t i = 0; i < n_points(p); i++) {
        if (p->ratio_axis == NULL || is_at(p, point_at(p, i), p->ratio_a)) {
            points[n++] = i;
        }
    }
    _cleanup_(freep) size_t *row_of = number_heads(p, points, n, &p->rows);
    _cleanup_(freep) size_t *column_of = number_heads(p, points, n, &p->columns);
    const size_t n_rows = p->rows.heads.len, n_columns = p->columns.heads.len;
    if (n_rows > MAX_CELLS / n_columns) {
        return err_set(err, ERANGE, "the table would have %zu rows and %zu columns", n_rows,
                       n_columns);
    }
    p->cells = xnew_array(struct estimate, n_rows * n_columns);
    p->points = xnew_array(const struct point_result *, n_rows *n_columns);
    for (size_t i = 0; i < n; i++) {
        const struct point_result *a = &p->result->points[points[i]];
        const struct point_result *b = p->ratio_axis == NULL ? NULL : partner_of(p, a->point);
        const size_t at = row_of[points[i]] * n_columns + column_of[points[i]];
        p->points[at] = a;
        p->cells[at] = p->ratio_axis == NULL ? figure_at(p, a)
                       : b == NULL           ? (struct estimate){0}
                                             : ratio_at(p, a, b);
    }
    return 0;
}

int pivot_new(const struct result *r, const struct pivot_params *params, struct pivot **ret,
              const char **ret_fix, struct err *err)
{
    struct pivot *p = xnew(struct pivot);
    const struct figure_kind *usual = &figure_kinds[FIGURE_THROUGHPUT];
    *p = (struct pivot){.result = r,
                        .figure = params->figure == NULL ? usual : params->figure,
                        .price = params->price};
    *ret_fix = "name swept parameters or system, with commas between them";
    int code = 0;
    if (p->figure->needs == NEEDS_TIME && !figure_is_asked(p->figure, r->def->spec)) {
        *ret_fix = "add 'accuracyAfterTime: {seconds: 60}' to spec.measure, and run it again";
        code = err_set(err, EINVAL, "the definition of this run names no time for an accuracy");
    } else if (!figure_is_asked(p->figure, r->def->spec)) {
        *ret_fix = "add 'timeToAccuracy: {accuracy: \"0.8\"}' to spec.measure, and run it again";
        code = err_set(err, EINVAL,
                       "the definition of this run names neither an accuracy nor a loss to reach");
    } else if (p->figure->is_cost && p->price.amount == 0) {
        *ret_fix = "add --price, " PIVOT_PRICE_FIX;
        code = err_set(err, EINVAL, "a cost needs a price");
    } else if (p->figure->is_cost && p->price.unit == PIVOT_GPU_HOUR &&
               r->points[0].point->devices == 0) {
        *ret_fix = "write how many devices a pod has, or a price in /pod-hour";
        code = err_set(err, EINVAL, "a price in /gpu-hour needs devices, and no pod has any");
    }
    if (code == 0 && params->ratio != NULL) {
        code = take_ratio(p, params->ratio, err);
        *ret_fix = code < 0 ? "name an axis and two of its values: --ratio AXIS=A/B" : *ret_fix;
    }
    code = code < 0 ? code : take_axes(p, params->rows, &p->rows, err);
    code = code < 0 ? code : take_axes(p, params->columns, &p->columns, err);
    if (code == 0) {
        bool is_mixed;
        const char *unit = p->figure == usual ? result_shown_unit(r, &is_mixed) : p->figure->unit;
        p->has_summaries = p->ratio_axis != NULL || unit == NULL;
        p->unit = p->has_summaries ? "ratio" : unit;
        add_axes(p, params->rows != NULL, params->columns != NULL);
        code = fill(p, err);
    }
    if (code < 0) {
        pivot_free(p);
        return code;
    }
    *ret = p;
    return 0;
}

static void side_done(struct pivot_side *side)
{
    vec_done(&side->axes);
    vec_done(&side->heads);
}

void pivot_free(struct pivot *p)
{
    if (p == NULL) {
        return;
    }
    side_done(&p->rows);
    side_done(&p->columns);
    free(p->ratio_a);
    free(p->ratio_b);
    free(p->cells);
    free(p->points);
    free(p);
}
