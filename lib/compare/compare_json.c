/* The document of docs/contracts/compare.md; see comparison.h. Keys have the contract's order. */
#include "compare/comparison.h"

#include <math.h>

#include "base/str.h"
#include "core/json_field.h"
#include "result/catalogue.h"
#include "result/result_json.h"

static json_t *put_figures(json_t *o, const struct point_result *p)
{
    return json_object_add(o, JSON_MEMBERS({"point", json_integer(p->point->index)},
                                           {"throughput", figure_to_json(&p->throughput)},
                                           {"trialsSucceeded", json_count(p->n_succeeded)}));
}

static json_t *welch_to_json(const struct compared_point *p)
{
    return JSON_OBJECT_OR_NULL(p->welch.known, {"t", json_number_or_null(p->welch.t)},
                               {"df", json_number_or_null(p->welch.df)},
                               {"p", json_number_or_null(p->welch.p)},
                               {"pAdjusted", json_number_or_null(p->welch_p_adjusted)});
}

/* Pairs of an axis. */
static json_t *paired_to_json(const struct comparison *c, const struct paired *p, double p_adjusted)
{
    return JSON_OBJECT_OR_NULL(c->axis != NULL && p->known, {"pairs", json_count(p->n)},
                               {"t", json_number_or_null(p->t)}, {"df", json_number_or_null(p->df)},
                               {"p", json_number_or_null(p->p)},
                               {"pAdjusted", json_number_or_null(p_adjusted)});
}

/* Of a point, or of the whole with the least limit of the points. */
static json_t *margin_to_json(const struct comparison *c, enum margin_verdict verdict, double low)
{
    return JSON_OBJECT_OR_NULL(verdict != MARGIN_NOT_ASKED, {"ratio", json_real(c->margin.ratio)},
                               {"low", json_number_or_null(low)},
                               {"verdict", json_string(margin_verdict_names[verdict])});
}

/* Against the runs of the base's level. */
static json_t *between_to_json(const struct comparison *c, const struct paired *b,
                               double p_adjusted)
{
    return JSON_OBJECT_OR_NULL(
        c->axis == NULL && b->known, {"runs", json_count(b->n)},
        {"spread", json_number_or_null(expm1(b->sd))}, {"ratio", json_number_or_null(exp(b->mean))},
        {"t", json_number_or_null(b->t)}, {"df", json_number_or_null(b->df)},
        {"p", json_number_or_null(b->p)}, {"pAdjusted", json_number_or_null(p_adjusted)});
}

/* What other programs took, and what remains without it. */
static json_t *busy_to_json(const struct compared_busy *b)
{
    return JSON_OBJECT_OR_NULL(b->alone.known, {"base", json_number_or_null(b->base_share)},
                               {"candidate", json_number_or_null(b->candidate_share)},
                               {"explained", json_number_or_null(exp(b->explained))},
                               {"remaining", json_number_or_null(exp(b->alone.mean))},
                               {"p", json_number_or_null(b->alone.p)},
                               {"pAdjusted", json_number_or_null(b->p_adjusted)});
}

/* How far runs of the base differ; of one run nothing needs to be known about others. */
static json_t *history_to_json(const struct comparison *c)
{
    return JSON_OBJECT_OR_NULL(c->axis == NULL, {"baseRuns", json_count(c->n_base_runs)},
                               {"together", between_to_json(c, &c->whole, c->whole_p_adjusted)},
                               {"others", busy_to_json(&c->busy)},
                               {"verdict", json_string(change_names[c->whole_change])});
}

static double margin_low(const struct paired *p)
{
    return p->known ? exp(paired_low_95(p)) : NAN;
}

static json_t *whole_to_json(const struct comparison *c)
{
    double low = INFINITY;
    vec_each (const struct compared_point, p, &c->points) {
        const double of_point = margin_low(&p->shown);
        low = isnan(low) || isnan(of_point) ? NAN : fmin(low, of_point);
    }
    return JSON_OBJECT_OF({"paired", paired_to_json(c, &c->whole, c->whole_p_adjusted)},
                          {"verdict", json_string(change_names[c->whole_change])},
                          {"margin", margin_to_json(c, c->whole_margin, low)});
}

static json_t *point_to_json(const struct comparison *c, const struct compared_point *p)
{
    return json_object_add(
        result_json_put_point(json_object(), c->base, p->base->point),
        JSON_MEMBERS({"base", put_figures(json_object(), p->base)},
                     {"candidate", put_figures(json_object(), p->candidate)},
                     {"ratio", figure_to_json(&p->ratio)}, {"welch", welch_to_json(p)},
                     {"between", between_to_json(c, &p->shown, p->p_adjusted)},
                     {"others", busy_to_json(&p->busy)},
                     {"paired", paired_to_json(c, &p->shown, p->p_adjusted)},
                     {"margin", margin_to_json(c, p->margin, margin_low(&p->shown))},
                     {"verdict", json_string(change_names[p->change])}));
}

/* A point that the other side does not have. */
static json_t *lone_to_json(const struct result *r, const struct point_result *p)
{
    return put_figures(result_json_put_point(json_object(), r, p->point), p);
}

static json_t *geomean_to_json(const struct comparison *c)
{
    return JSON_OBJECT_OF({"points", json_count(c->n_measured)},
                          {"base", figure_to_json(&c->geomean_base)},
                          {"candidate", figure_to_json(&c->geomean_candidate)},
                          {"ratio", figure_to_json(&c->geomean_ratio)});
}

static json_t *differences_to_json(const struct comparison *c)
{
    return JSON_ARRAY_OF(vec_each (const struct difference, d, &c->differences),
                         JSON_OBJECT_OF({"what", json_string(d->what)},
                                        {"base", json_text_or_null(d->base)},
                                        {"candidate", json_text_or_null(d->candidate)}));
}

static json_t *counts_of_changes(const struct comparison *c)
{
    json_t *o = json_object();
    for (int i = 0; i < CHANGE_COUNT; i++) {
        _cleanup_(freep) char *key = xstrdup(change_names[i]); /* "NoneShown": noneShown */
        key[0] = ascii_lower(key[0]);
        json_object_set_new(o, key, json_count(c->counts[i]));
    }
    return o;
}

json_t *comparison_to_json(const struct comparison *c)
{
    return JSON_OBJECT_OF(
        {"apiVersion", json_string("benchd.io/v1alpha1")},
        {"kind", json_string("BenchmarkComparison")},
        {"base", result_json_put_run(json_object(), c->base)},
        {"candidate", result_json_put_run(json_object(), c->candidate)},
        {"axis", JSON_OBJECT_OR_NULL(c->axis != NULL, {"name", json_string(c->axis)},
                                     {"base", json_text_or_null(c->axis_base)},
                                     {"candidate", json_text_or_null(c->axis_candidate)},
                                     {"blocks", json_count(c->n_blocks)})},
        {"rehearsal", json_boolean(c->base->def->rehearsal)},
        {"alpha", json_real(COMPARE_NAMED_ALPHA)}, {"threshold", json_real(c->threshold_ratio)},
        {"history", history_to_json(c)},
        {"points",
         JSON_ARRAY_OF(vec_each (const struct compared_point, p, &c->points), point_to_json(c, p))},
        {"geomean", geomean_to_json(c)},
        {"whole", c->axis == NULL && c->margin.ratio <= 0 ? json_null() : whole_to_json(c)},
        {"onlyInBase", JSON_ARRAY_OF(vec_each (const struct point_result *, p, &c->only_base),
                                     lone_to_json(c->base, *p))},
        {"onlyInCandidate",
         JSON_ARRAY_OF(vec_each (const struct point_result *, p, &c->only_candidate),
                       lone_to_json(c->candidate, *p))},
        {"differs", differences_to_json(c)},
        {"repeatsNeeded", JSON_OBJECT_OF({"toDecide", c->repeats_to_decide == 0
                                                          ? json_null()
                                                          : json_count(c->repeats_to_decide)})},
        {"counts", counts_of_changes(c)}, {"verdict", json_string(change_names[c->change])});
}
