/* See curves.h. */

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"
#include "core/json_field.h"
#include "result/curves.h"
#include "result/catalogue.h"

/* A step in samples of a worker: N / X = a + b load. */
static double load_of(double n, double batch)
{
    return n * log2(n) / batch;
}

/* What was measured, by rising n. */
struct measured {
    VEC(struct scaling_size) sizes;
    double least, most; /* samples on a worker */
    const struct point_result *first, *last;
};

static struct measured measured_of(const struct curve *c, const struct point_result *without)
{
    struct measured m = {.least = INFINITY, .most = 0};
    const struct point_result *p;
    for (size_t i = 0; (p = curve_size(c, i)) != NULL; i++) {
        const double n = point_size(p->point), batch = curve_batch(p);
        if (p == without || isnan(batch) || !curve_is_trusted(c, p)) {
            continue;
        }
        *vec_push(&m.sizes) =
            (struct scaling_size){n, load_of(n, batch), p->throughput.estimate.logs};
        m.first = m.first == NULL ? p : m.first;
        m.last = p;
        m.least = fmin(m.least, batch / n);
        m.most = fmax(m.most, batch / n);
    }
    return m;
}

/* NULL: nothing speaks against it. Owned. */
static char *find_reason(const struct measured *m, const struct forecast *f)
{
    static const char *const others[] = {"steps/s", "GB/s", "runs/s", NULL};
    const size_t n = m->sizes.len;
    const double local = f->batch / f->n;
    if (str_is_one_of(f->throughput.unit, others)) {
        return xasprintf("%s do not grow with a batch", f->throughput.unit);
    }
    if (n < SCALING_MIN_SIZES) {
        return xasprintf("it takes %d sizes with three trials and a known batch, and the run has "
                         "%zu%s",
                         SCALING_MIN_SIZES, n, f->measured == NULL ? "" : " without this one");
    }
    if (m->last->point->replicas[ROLE_PSERVER] > 0) {
        return xstrdup("it is for workers that reduce among themselves; benchctl simulate "
                       "prints what parameter servers cannot exceed");
    }
    const double least = m->sizes.items[0].n, most = FORECAST_MAX_FACTOR * m->sizes.items[n - 1].n;
    if (f->n < least || f->n > most) {
        return xasprintf("it must be from %.0f, the smallest size, to %.0f, %d times the largest "
                         "that counts",
                         least, most, FORECAST_MAX_FACTOR);
    }
    if (local < m->least / FORECAST_MAX_BATCH || local > m->most * FORECAST_MAX_BATCH) {
        return xasprintf("a batch of %.6g is %.3g a worker, and %.3g to %.3g were measured",
                         f->batch, local, m->least, m->most);
    }
    return NULL;
}

static char *reason_of_fit(const struct scaling_fit *fit, const struct scaling_range *x)
{
    return isnan(x->value) ? xstrdup("no a and b follow from these sizes")
           : fit->c[1] < 0 ? xstrdup("each worker did more the more of them there "
                                     "were, which no exchange explains")
           : x->high > FORECAST_MAX_RANGE * x->low
               ? xasprintf("these sizes leave it open between %.4g and %.4g", x->low, x->high)
               : NULL;
}

struct forecast forecast_make(const struct curve *c, double n, double batch,
                              const struct point_result *without)
{
    struct measured m = measured_of(c, without);
    struct forecast f = {
        .curve = c,
        .n = n,
        .batch = batch,
        .throughput = {.unit = c->points.items[0]->throughput.unit, .scope = "job"},
        .straight = NAN,
        .measured = without,
    };
    if (m.first != NULL) {
        f.straight = m.first->throughput.estimate.value / m.sizes.items[0].n * n;
        f.batch = isnan(batch) ? curve_batch(m.last) / m.sizes.items[m.sizes.len - 1].n * n : batch;
    }
    f.why = find_reason(&m, &f);
    if (f.why == NULL) {
        const struct scaling_fit fit = scaling_fit_model(SCALING_LOAD, m.sizes.items, m.sizes.len);
        const struct scaling_range x = scaling_predict(&fit, n, load_of(n, f.batch));
        f.why = reason_of_fit(&fit, &x);
        f.throughput.estimate = (struct estimate){
            f.why == NULL, x.value, true, x.low, x.high, .method = INTERVAL_MODEL_LOG};
    }
    vec_done(&m.sizes);
    return f;
}

struct forecast forecast_check(const struct curve *c)
{
    const struct point_result *widest = curve_widest(c);
    return forecast_make(c, point_size(widest->point), curve_batch(widest), widest);
}

void forecast_done(struct forecast *f)
{
    free(f->why);
}

json_t *forecast_to_json(const struct forecast *f)
{
    struct figure measured = {0};
    if (f->measured != NULL) {
        measured = f->measured->throughput;
        measured.batch = 0;
    }
    return JSON_OBJECT_OF(
        {"point", json_count(f->curve->points.items[0]->point->index)},
        {"workers", json_count((uint64_t)f->n)}, {"batch", json_number_or_null(f->batch)},
        {"throughput", figure_to_json(&f->throughput)},
        {"straightLine", json_number_or_null(f->straight)},
        {"measured", f->measured == NULL ? json_null() : figure_to_json(&measured)},
        {"reason", json_text_or_null(f->why)});
}
