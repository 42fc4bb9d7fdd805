/* See pivot.h. */
#include "result/pivot.h"

#include <math.h>
#include <string.h>

#include "base/parse.h"
#include "base/str.h"
#include "base/vec_sorted.h"
#include "base/vec_walk.h"
#include "result/phases.h"

#define MAX_CELLS 1000000
#define S_PER_HOUR 3600
#define COST_SAMPLES 1e6

static const char system_axis[] = "system";

const struct pivot_words pivot_figures[PIVOT_FIGURE_COUNT] = {
    [PIVOT_THROUGHPUT] = {"throughput", "Throughput", .offset = POINT_FIGURE(throughput),
                          .is_independent = true},
    [PIVOT_SPEEDUP] = {"speedup", "Speedup", .offset = POINT_FIGURE(speedup)},
    [PIVOT_EFFICIENCY] = {"efficiency", "Efficiency", .offset = POINT_FIGURE(efficiency),
                          .is_percent = true},
    [PIVOT_EFFICIENCY_PER_POD] = {"efficiency-per-pod", "Efficiency per pod",
                                  .offset = KEPT_FIGURE(efficiency_per_pod), .is_percent = true},
    [PIVOT_EFFICIENCY_PER_CPU] = {"efficiency-per-cpu", "Efficiency per CPU",
                                  .offset = KEPT_FIGURE(efficiency_per_cpu), .is_percent = true},
    [PIVOT_PRICE_INDEX] = {"price-index", "Price index N / S^2"},
    [PIVOT_COST] = {"cost", "Cost", .unit = "a million", .is_cost = true},
    [PIVOT_EXCHANGE] = {"exchange-share", "Share of the exchange in a trainer's step",
                        .is_percent = true},
    [PIVOT_TIME] = {"time-to-accuracy", "Time to accuracy", .offset = GOAL_FIGURE(time_to_accuracy),
                    .unit = "s", .is_of_time = true, .is_independent = true},
    [PIVOT_TIME_SPEEDUP] = {"time-to-accuracy-speedup", "Speedup of the time to accuracy",
                            .offset = GOAL_FIGURE(time_speedup), .is_of_time = true},
    [PIVOT_TIME_EFFICIENCY] = {"time-to-accuracy-efficiency", "Efficiency of the time to accuracy",
                               .offset = GOAL_FIGURE(time_efficiency), .is_percent = true,
                               .is_of_time = true},
    [PIVOT_TIME_COST] = {"time-to-accuracy-cost", "Cost of a trial up to its accuracy",
                         .unit = "a trial", .is_cost = true, .is_of_time = true},
};

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

static bool is_system(const char *axis)
{
    return axis == system_axis;
}

static bool same_on(const char *axis, const struct point *a, const struct point *b)
{
    return is_system(axis) ? a->system == b->system
                           : value_eq(params_get(&a->params, axis), params_get(&b->params, axis));
}

char *pivot_value(const struct pivot *p, const char *axis, const struct point *point)
{
    if (is_system(axis)) {
        return xstrdup(p->result->def->spec->systems.items[point->system].name);
    }
    struct buf text = BUF_INIT;
    value_format(params_get(&point->params, axis), &text);
    return buf_take(&text);
}

char *pivot_shown(const struct pivot *p, const char *axis, const struct point *point)
{
    return is_system(axis) ? xstrdup(p->result->def->spec->systems.items[point->system].label)
                           : pivot_value(p, axis, point);
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

/* The axis of this name, borrowed from the result; NULL if none exists. */
static const char *find_axis(const struct pivot *p, const char *name, size_t len)
{
    if (len == strlen(system_axis) && strncmp(name, system_axis, len) == 0) {
        return system_axis;
    }
    const struct param *param =
        vec_find(&point_at(p, 0)->params.list, it,
                 strlen(it->name) == len && strncmp(name, it->name, len) == 0);
    return param == NULL ? NULL : param->name;
}

static bool is_used(const struct pivot *p, const char *axis)
{
    return p->ratio_axis == axis || vec_any(&p->rows.axes, it, *it == axis) ||
           vec_any(&p->columns.axes, it, *it == axis);
}

static int no_axis(const struct pivot *p, const char *name, size_t len, struct err *err)
{
    _cleanup_(buf_done) struct buf axes = BUF_INIT;
    vec_each (const struct param, param, &point_at(p, 0)->params.list) {
        buf_printf(&axes, ", %s", param->name);
    }
    return err_set(err, EINVAL, "this run has no axis '%.*s'; it has system%s", (int)len, name,
                   buf_cstr(&axes));
}

/* Reads "a,b" into the rows or the columns. */
static int take_axes(struct pivot *p, const char *text, struct pivot_side *side, struct err *err)
{
    while (text != NULL) {
        const size_t len = strcspn(text, ",");
        const char *axis = find_axis(p, text, len);
        if (axis == NULL) {
            return no_axis(p, text, len, err);
        }
        if (is_used(p, axis)) {
            return err_set(err, EINVAL, "the axis '%s' is named twice", axis);
        }
        *vec_push(&side->axes) = axis;
        text = text[len] == ',' ? text + len + 1 : NULL;
    }
    return 0;
}

static bool is_at(const struct pivot *p, const char *axis, const struct point *point,
                  const char *value)
{
    _cleanup_(freep) char *text = pivot_value(p, axis, point);
    return str_eq(text, value);
}

static bool has_value(const struct pivot *p, const char *axis, const char *value)
{
    return array_any(p->result->points, n_points(p), it, is_at(p, axis, it->point, value));
}

/* "1, 2, 4": each value once, in the order of the points. */
static void put_values(const struct pivot *p, const char *axis, struct buf *out)
{
    for (uint32_t i = 0; i < n_points(p); i++) {
        _cleanup_(freep) char *text = pivot_value(p, axis, point_at(p, i));
        bool is_new = true;
        for (uint32_t k = 0; k < i && is_new; k++) {
            is_new = !is_at(p, axis, point_at(p, k), text);
        }
        if (is_new) {
            buf_printf(out, "%s%s", out->len == 0 ? "" : ", ", text);
        }
    }
}

/* "AXIS=A/B"; a value may hold a slash: the one that leaves two values of the axis. */
static int take_ratio(struct pivot *p, const char *text, struct err *err)
{
    const size_t len = strcspn(text, "=");
    const char *axis = find_axis(p, text, len);
    if (text[len] == '\0') {
        return err_set(err, EINVAL, "the ratio '%s' is not AXIS=A/B", text);
    }
    if (axis == NULL) {
        return no_axis(p, text, len, err);
    }
    const char *values = text + len + 1;
    for (const char *slash = values; (slash = strchr(slash, '/')) != NULL; slash++) {
        _cleanup_(freep) char *a = xstrndup(values, (size_t)(slash - values));
        if (has_value(p, axis, a) && has_value(p, axis, slash + 1) && !str_eq(a, slash + 1)) {
            p->ratio_axis = axis;
            p->ratio_a = take_ptr(a);
            p->ratio_b = xstrdup(slash + 1);
            return 0;
        }
    }
    _cleanup_(buf_done) struct buf known = BUF_INIT;
    put_values(p, axis, &known);
    return err_set(err, EINVAL,
                   "'%s' does not name two values of %s with a slash between them; it has %s",
                   values, axis, buf_cstr(&known));
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

/* factor / x^power, as exact as x; power is not 0. */
static struct estimate inverse_of(const struct estimate *x, double factor, double power)
{
    if (!x->known || !(x->value > 0) || !isfinite(factor)) {
        return (struct estimate){0};
    }
    struct estimate e = {.known = true, .value = factor / pow(x->value, power)};
    if (x->has_interval && x->low > 0) {
        e.has_interval = true;
        const double a = factor / pow(x->high, power), b = factor / pow(x->low, power);
        e.low = fmin(a, b);
        e.high = fmax(a, b);
        e.method = x->method;
    }
    return e;
}

static struct estimate price_index_of(const struct result *r, const struct point_result *p)
{
    const struct point *base = r->points[p->point->baseline_index].point;
    const double n = point_size(p->point), n_base = point_size(base);
    return inverse_of(&p->speedup.estimate, n / n_base, 2);
}

/* Of all its CPUs, pods or devices; NaN: they are not known. */
static double price_of_second(const struct pivot_price *price, const struct point_result *p)
{
    const double n = price->unit == PIVOT_CPU_HOUR   ? p->cpus
                     : price->unit == PIVOT_POD_HOUR ? (double)point_pods(p->point)
                     : p->point->devices > 0         ? (double)p->point->devices
                                                     : NAN;
    return price->amount * n / S_PER_HOUR;
}

static struct estimate time_cost_of(const struct pivot_price *price, const struct point_result *p)
{
    return inverse_of(&p->goal->time_to_accuracy.estimate, price_of_second(price, p), -1);
}

int pivot_set_price(struct result *r, const char *text)
{
    struct pivot_price price;
    const int code = pivot_price_parse(text, &price);
    for (uint32_t i = 0; code >= 0 && i < r->def->matrix.n_points; i++) {
        struct point_result *p = &r->points[i];
        p->goal->time_cost = (struct figure){time_cost_of(&price, p), "a trial", "job"};
    }
    r->price = code < 0 ? r->price : text;
    return code;
}

static struct estimate exchange_of(const struct point_result *p)
{
    const struct step_means m = p->kept->steps;
    return (struct estimate){
        .known = m.n_replicas > 0 && m.step_ns > 0,
        .value = m.step_ns > 0 ? phases_exchange_ns(&m) / m.step_ns : 0,
    };
}

static struct estimate figure_at(const struct pivot *pivot, const struct point_result *p)
{
    switch (pivot->figure) {
    case PIVOT_PRICE_INDEX:
        return price_index_of(pivot->result, p);
    case PIVOT_COST:
        return inverse_of(&p->throughput.estimate, price_of_second(&pivot->price, p) * COST_SAMPLES,
                          1);
    case PIVOT_EXCHANGE:
        return exchange_of(p);
    case PIVOT_TIME_COST:
        return time_cost_of(&pivot->price, p);
    default:
        return figure_shown(point_figure(p, pivot_figures[pivot->figure].offset)).estimate;
    }
}

/* The point at B that is like this one on all other axes; NULL: none. */
static const struct point_result *partner_of(const struct pivot *p, const struct point *a)
{
    for (uint32_t i = 0; i < n_points(p); i++) {
        const struct point *b = point_at(p, i);
        bool is_like = is_system(p->ratio_axis) || a->system == b->system;
        vec_each (const struct param, param, &a->params.list) {
            const bool divides = !is_system(p->ratio_axis) && str_eq(param->name, p->ratio_axis);
            is_like = is_like && (divides || same_on(param->name, a, b));
        }
        if (is_like && is_at(p, p->ratio_axis, b, p->ratio_b)) {
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
    const struct pivot_words *figure = &pivot_figures[p->figure];
    if (figure->is_independent) {
        const struct figure *x = point_figure(a, figure->offset);
        const struct figure *y = point_figure(b, figure->offset);
        return str_eq(x->unit, y->unit) ? stats_ratio(&x->estimate, &y->estimate, 1)
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

static struct pivot_summary summary_of(const struct estimate *cells, size_t n)
{
    struct pivot_summary s = {0, NAN, NAN, NAN, NAN};
    _cleanup_(freep) double *values = xnew_array(double, n);
    _cleanup_(freep) struct estimate *known = xnew_array(struct estimate, n);
    for (size_t i = 0; i < n; i++) {
        if (cells[i].known) {
            known[s.n] = cells[i];
            values[s.n++] = cells[i].value;
            s.least = fmin(s.least, cells[i].value);
            s.most = fmax(s.most, cells[i].value);
        }
    }
    if (s.n > 0) {
        s.median = stats_median(values, s.n).value;
        const struct estimate geomean = stats_geomean(known, s.n);
        s.geomean = geomean.known ? geomean.value : NAN;
    }
    return s;
}

static void summarise(struct pivot *p)
{
    const size_t n_rows = p->rows.heads.len, n_columns = p->columns.heads.len;
    p->row_summaries = xnew_array(struct pivot_summary, n_rows);
    for (size_t i = 0; i < n_rows; i++) {
        p->row_summaries[i] = summary_of(&p->cells[i * n_columns], n_columns);
    }
    p->whole = summary_of(p->cells, n_rows * n_columns);
}

static int fill(struct pivot *p, struct err *err)
{
    size_t n = 0; /* points that have a cell: all, or those at A */
    _cleanup_(freep) uint32_t *points = xnew_array(uint32_t, n_points(p));
    for (uint32_t i = 0; i < n_points(p); i++) {
        if (p->ratio_axis == NULL || is_at(p, p->ratio_axis, point_at(p, i), p->ratio_a)) {
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
    for (size_t i = 0; i < n; i++) {
        const struct point_result *a = &p->result->points[points[i]];
        const struct point_result *b = p->ratio_axis == NULL ? NULL : partner_of(p, a->point);
        p->cells[row_of[points[i]] * n_columns + column_of[points[i]]] =
            p->ratio_axis == NULL ? figure_at(p, a)
            : b == NULL           ? (struct estimate){0}
                                  : ratio_at(p, a, b);
    }
    summarise(p);
    return 0;
}

static void name_unit(struct pivot *p)
{
    bool is_mixed;
    const char *unit = p->figure == PIVOT_THROUGHPUT ? result_shown_unit(p->result, &is_mixed)
                                                     : pivot_figures[p->figure].unit;
    p->has_summaries = p->ratio_axis != NULL || unit == NULL;
    p->unit = p->has_summaries ? "ratio" : unit;
}

int pivot_new(const struct result *r, const struct pivot_params *params, struct pivot **ret,
              const char **ret_fix, struct err *err)
{
    struct pivot *p = xnew(struct pivot);
    *p = (struct pivot){.result = r, .figure = params->figure, .price = params->price};
    *ret_fix = "name swept parameters or system, with commas between them";
    int code = 0;
    if (pivot_figures[p->figure].is_of_time && r->def->spec->goal.kind == GOAL_NONE) {
        *ret_fix = "add 'timeToAccuracy: {accuracy: 0.8}' to spec.measure, and run it again";
        code = err_set(err, EINVAL,
                       "the definition of this run names neither an accuracy nor a loss to reach");
    } else if (pivot_figures[p->figure].is_cost && p->price.amount == 0) {
        *ret_fix = "add --price, " PIVOT_PRICE_FIX;
        code = err_set(err, EINVAL, "a cost needs a price");
    } else if (pivot_figures[p->figure].is_cost && p->price.unit == PIVOT_GPU_HOUR &&
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
        add_axes(p, params->rows != NULL, params->columns != NULL);
        name_unit(p);
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
    free(p->row_summaries);
    free(p);
}
