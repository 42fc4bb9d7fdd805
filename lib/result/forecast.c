/* See curves.h. */

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "core/json_field.h"
#include "result/curves.h"
#include "result/catalogue.h"

/* NULL: nothing speaks against it. Owned. */
static char *find_reason(const struct scaling_law *law, const struct forecast *f)
{
    const size_t n = f->curve->has_batch ? law->n_sizes : 0;
    const double least = law->smallest.n, most = FORECAST_MAX_FACTOR * law->largest.n;
    const double local = f->batch / f->n;
    const bool is_shared = law->is_strong && f->batch == law->largest.batch;
    if (n < SCALING_MIN_SIZES) {
        return xasprintf("it takes %d sizes with three trials and a known batch that %s counts, "
                         "and the run has %zu%s",
                         SCALING_MIN_SIZES, f->throughput.unit, n,
                         f->measured == NULL ? "" : " without this one");
    }
    if (f->curve->points.items[0]->point->replicas[ROLE_PSERVER] > 0) {
        return xstrdup("it is for workers that reduce among themselves; benchctl simulate "
                       "prints what parameter servers cannot exceed");
    }
    if (f->n < least || f->n > most) {
        return xasprintf("it must be from %.0f, the smallest size, to %.0f, %d times the largest "
                         "that counts",
                         least, most, FORECAST_MAX_FACTOR);
    }
    if (!is_shared && (local < law->least_each / SCALING_SAME_BATCH ||
                       local > law->most_each * SCALING_SAME_BATCH)) {
        return xasprintf("a batch of %.6g is %.3g a worker, and %.3g to %.3g were measured",
                         f->batch, local, law->least_each, law->most_each);
    }
    return NULL;
}

static void predict(struct forecast *f, const struct scaling_law *law)
{
    struct scaling_range x;
    const enum scaling_state state = scaling_predict(law, f->n, f->batch, &x);
    f->throughput.estimate = (struct estimate){
        state == SCALING_FITTED, x.value, true, x.low, x.high, .method = INTERVAL_MODEL_LOG};
    f->why = state == SCALING_SUPERLINEAR
                 ? xstrdup("a step grows faster than the number of workers, and the sizes do not "
                           "show how fast")
             : state == SCALING_UNSURE
                 ? xasprintf("these sizes leave it open between %.4g and %.4g", x.low, x.high)
                 : NULL;
}

struct forecast forecast_make(const struct curve *c, double n, double batch,
                              const struct point_result *without)
{
    VEC(struct scaling_size) sizes = {0};
    vec_each (const struct scaling_size, s, &c->sizes) {
        if (without == NULL || s->n != point_size(without->point)) {
            *vec_push(&sizes) = *s;
        }
    }
    const struct scaling_law law = scaling_fit(sizes.items, sizes.len);
    struct forecast f = {
        .curve = c,
        .n = n,
        .batch = batch,
        .throughput = {.unit = c->points.items[0]->throughput.unit, .scope = "job"},
        .straight = NAN,
        .measured = without,
    };
    if (c->has_batch && sizes.len > 0) {
        const bool is_shared = law.is_strong && sizes.len > 1;
        const double usual = law.largest.batch * (is_shared ? 1 : n / law.largest.n);
        f.straight = exp(law.smallest.logs.value) / law.smallest.n * n;
        f.batch = isnan(batch) ? usual : batch;
    }
    f.why = find_reason(&law, &f);
    if (f.why == NULL) {
        predict(&f, &law);
    }
    vec_done(&sizes);
    return f;
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
