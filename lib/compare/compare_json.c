/* The document of docs/contracts/compare.md; see compare.h. Keys have the contract's order. */
#include "compare/compare.h"

#include <math.h>

#include "core/json_field.h"
#include "compare/compare_axis.h"
#include "result/result_json.h"

static json_t *run_to_json(const struct result *r)
{
    json_t *o = json_object();
    result_json_put_run(o, r);
    return o;
}

static json_t *gate_to_json(const struct comparison *c)
{
    if (c->axis != NULL) {
        return json_null();
    }
    const struct permutation *g = &c->gate;
    size_t tested = 0;
    vec_each (const struct compared_point, p, &c->points) {
        tested += p->welch.known;
    }
    json_t *o = json_object();
    json_object_set_new(o, "test", json_string("StratifiedPermutation"));
    json_object_set_new(o, "points", json_integer((json_int_t)tested));
    json_object_set_new(o, "statistic", g->known ? json_number_or_null(g->statistic) : json_null());
    json_object_set_new(o, "p", g->known ? json_number_or_null(g->p) : json_null());
    json_object_set_new(o, "pLeast", g->known ? json_number_or_null(g->p_least) : json_null());
    json_object_set_new(o, "exact", json_boolean(g->is_exact));
    json_object_set_new(o, "arrangements", json_integer((json_int_t)g->n_arrangements));
    json_object_set_new(o, "seed", json_integer(COMPARE_SEED));
    json_object_set_new(o, "rejects", json_boolean(c->gate_rejects));
    return o;
}

static void put_figures(json_t *o, const struct point_result *p)
{
    json_object_set_new(o, "point", json_integer(p->point->index));
    json_object_set_new(o, "throughput", figure_to_json(&p->throughput));
    json_object_set_new(o, "trialsSucceeded", json_integer((json_int_t)p->n_succeeded));
}

static json_t *side_to_json(const struct point_result *p)
{
    json_t *o = json_object();
    put_figures(o, p);
    return o;
}

static json_t *welch_to_json(const struct compared_point *p)
{
    if (!p->welch.known) {
        return json_null();
    }
    json_t *o = json_object();
    json_object_set_new(o, "t", json_number_or_null(p->welch.t));
    json_object_set_new(o, "df", json_number_or_null(p->welch.df));
    json_object_set_new(o, "p", json_number_or_null(p->welch.p));
    json_object_set_new(o, "pAdjusted", json_number_or_null(p->p_adjusted));
    return o;
}

static json_t *axis_to_json(const struct comparison *c)
{
    if (c->axis == NULL) {
        return json_null();
    }
    json_t *o = json_object();
    json_object_set_new(o, "name", json_string(c->axis));
    json_object_set_new(o, "base", json_text_or_null(c->axis_base));
    json_object_set_new(o, "candidate", json_text_or_null(c->axis_candidate));
    json_object_set_new(o, "blocks", json_integer((json_int_t)c->n_blocks));
    return o;
}

static json_t *paired_to_json(const struct paired *p, double p_adjusted)
{
    if (!p->known) {
        return json_null();
    }
    json_t *o = json_object();
    json_object_set_new(o, "pairs", json_integer((json_int_t)p->n));
    json_object_set_new(o, "t", json_number_or_null(p->t));
    json_object_set_new(o, "df", json_number_or_null(p->df));
    json_object_set_new(o, "p", json_number_or_null(p->p));
    json_object_set_new(o, "pAdjusted", json_number_or_null(p_adjusted));
    json_object_set_new(o, "pSigns", json_number_or_null(p->p_signs));
    return o;
}

/* Of a point, or of the whole with the least limit of the points. */
static json_t *margin_to_json(const struct comparison *c, enum margin_verdict verdict, double low)
{
    if (verdict == MARGIN_NOT_ASKED) {
        return json_null();
    }
    json_t *o = json_object();
    json_object_set_new(o, "ratio", json_real(c->margin_ratio));
    json_object_set_new(o, "low", json_number_or_null(low));
    json_object_set_new(o, "verdict", json_string(margin_verdict_names[verdict]));
    return o;
}

static json_t *between_to_json(const struct run_spread *b, double p_adjusted)
{
    if (!b->known) {
        return json_null();
    }
    json_t *o = json_object();
    json_object_set_new(o, "runs", json_integer((json_int_t)b->n_runs));
    json_object_set_new(o, "spread", json_number_or_null(expm1(b->sd)));
    json_object_set_new(o, "ratio", json_number_or_null(exp(b->difference)));
    json_object_set_new(o, "t", json_number_or_null(b->t));
    json_object_set_new(o, "df", json_number_or_null(b->df));
    json_object_set_new(o, "p", json_number_or_null(b->p));
    json_object_set_new(o, "pAdjusted", json_number_or_null(p_adjusted));
    return o;
}

/* What other programs took, and what remains without it. */
static json_t *busy_to_json(const struct compared_busy *b)
{
    if (!b->alone.known) {
        return json_null();
    }
    json_t *o = json_object();
    json_object_set_new(o, "base", json_number_or_null(b->base_share));
    json_object_set_new(o, "candidate", json_number_or_null(b->candidate_share));
    json_object_set_new(o, "explained", json_number_or_null(exp(b->explained)));
    json_object_set_new(o, "remaining", json_number_or_null(exp(b->alone.difference)));
    json_object_set_new(o, "p", json_number_or_null(b->alone.p));
    json_object_set_new(o, "pAdjusted", json_number_or_null(b->p_adjusted));
    return o;
}

/* How far runs of the base differ; of one run nothing needs to be known about others. */
static json_t *history_to_json(const struct comparison *c)
{
    if (c->axis != NULL) {
        return json_null();
    }
    json_t *o = json_object();
    json_object_set_new(o, "baseRuns", json_integer((json_int_t)c->n_base_runs));
    json_object_set_new(o, "together", between_to_json(&c->between, c->between_p_adjusted));
    json_object_set_new(o, "others", busy_to_json(&c->busy));
    json_object_set_new(o, "verdict", json_string(change_names[c->whole_change]));
    return o;
}

static double margin_low(const struct paired *p)
{
    return p->known ? exp(paired_low_95(p)) : NAN;
}

static json_t *whole_to_json(const struct comparison *c)
{
    json_t *o = json_object();
    double low = INFINITY;
    vec_each (const struct compared_point, p, &c->points) {
        const double of_point = margin_low(&p->paired);
        low = isnan(low) || isnan(of_point) ? NAN : fmin(low, of_point);
    }
    json_object_set_new(o, "paired", paired_to_json(&c->whole, c->whole_p_adjusted));
    json_object_set_new(o, "verdict", json_string(change_names[c->whole_change]));
    json_object_set_new(o, "margin", margin_to_json(c, c->margin, low));
    return o;
}

static json_t *point_to_json(const struct comparison *c, const struct compared_point *p)
{
    json_t *o = json_object();
    result_json_put_point(o, c->base, p->base->point);
    json_object_set_new(o, "base", side_to_json(p->base));
    json_object_set_new(o, "candidate", side_to_json(p->candidate));
    json_object_set_new(o, "ratio", figure_to_json(&p->ratio));
    json_object_set_new(o, "welch", welch_to_json(p));
    json_object_set_new(o, "between", between_to_json(&p->between, p->between_p_adjusted));
    json_object_set_new(o, "others", busy_to_json(&p->busy));
    json_object_set_new(o, "paired", paired_to_json(&p->paired, p->p_adjusted));
    json_object_set_new(o, "margin", margin_to_json(c, p->margin, margin_low(&p->paired)));
    json_object_set_new(o, "verdict", json_string(change_names[p->change]));
    return o;
}

/* A point that the other side does not have. */
static json_t *lone_to_json(const struct result *r, const struct point_result *p)
{
    json_t *o = json_object();
    result_json_put_point(o, r, p->point);
    put_figures(o, p);
    return o;
}

static json_t *geomean_to_json(const struct comparison *c)
{
    json_t *o = json_object();
    json_object_set_new(o, "points", json_integer((json_int_t)c->n_measured));
    json_object_set_new(o, "base", figure_to_json(&c->geomean_base));
    json_object_set_new(o, "candidate", figure_to_json(&c->geomean_candidate));
    json_object_set_new(o, "ratio", figure_to_json(&c->geomean_ratio));
    return o;
}

static json_t *differences_to_json(const struct comparison *c)
{
    json_t *list = json_array();
    vec_each (const struct difference, d, &c->differences) {
        json_t *o = json_object();
        json_object_set_new(o, "what", json_string(d->what));
        json_object_set_new(o, "base", json_text_or_null(d->base));
        json_object_set_new(o, "candidate", json_text_or_null(d->candidate));
        json_array_append_new(list, o);
    }
    return list;
}

static json_t *counts_of_changes(const struct comparison *c)
{
    static const char *const keys[] = {
        [CHANGE_SLOWER] = "slower",
        [CHANGE_FASTER] = "faster",
        [CHANGE_INCONCLUSIVE] = "inconclusive",
        [CHANGE_SPREAD_UNKNOWN] = "spreadUnknown",
        [CHANGE_USUAL] = "usualSpread",
        [CHANGE_NONE] = "noneShown",
        [CHANGE_TOO_FEW] = "tooFewTrials",
        [CHANGE_NOT_MEASURED] = "notMeasured",
        [CHANGE_MACHINE_BUSY] = "machineBusy",
    };
    json_t *o = json_object();
    for (int i = 0; i < CHANGE_COUNT; i++) {
        json_object_set_new(o, keys[i], json_integer((json_int_t)c->counts[i]));
    }
    return o;
}

static json_t *count_or_null(size_t n)
{
    return n == 0 ? json_null() : json_integer((json_int_t)n);
}

static json_t *repeats_to_json(const struct comparison *c)
{
    json_t *o = json_object();
    json_object_set_new(o, "ifAllChanged", count_or_null(c->repeats_for_all));
    json_object_set_new(o, "ifOneChanged", count_or_null(c->repeats_for_one));
    json_object_set_new(o, "toDecide", count_or_null(c->repeats_to_decide));
    return o;
}

json_t *comparison_to_json(const struct comparison *c)
{
    json_t *points = json_array(), *only_base = json_array(), *only_candidate = json_array();
    vec_each (const struct compared_point, p, &c->points) {
        json_array_append_new(points, point_to_json(c, p));
    }
    vec_each (const struct point_result *, p, &c->only_base) {
        json_array_append_new(only_base, lone_to_json(c->base, *p));
    }
    vec_each (const struct point_result *, p, &c->only_candidate) {
        json_array_append_new(only_candidate, lone_to_json(c->candidate, *p));
    }
    json_t *o = json_object();
    json_object_set_new(o, "apiVersion", json_string("benchd.io/v1alpha1"));
    json_object_set_new(o, "kind", json_string("BenchmarkComparison"));
    json_object_set_new(o, "base", run_to_json(c->base));
    json_object_set_new(o, "candidate", run_to_json(c->candidate));
    json_object_set_new(o, "axis", axis_to_json(c));
    json_object_set_new(o, "rehearsal", json_boolean(c->base->def->rehearsal));
    json_object_set_new(o, "alpha",
                        json_real(c->axis == NULL ? COMPARE_ALPHA : COMPARE_AXIS_ALPHA));
    json_object_set_new(o, "threshold", json_real(c->threshold_ratio));
    json_object_set_new(o, "gate", gate_to_json(c));
    json_object_set_new(o, "history", history_to_json(c));
    json_object_set_new(o, "points", points);
    json_object_set_new(o, "geomean", geomean_to_json(c));
    json_object_set_new(o, "whole", c->axis == NULL ? json_null() : whole_to_json(c));
    json_object_set_new(o, "onlyInBase", only_base);
    json_object_set_new(o, "onlyInCandidate", only_candidate);
    json_object_set_new(o, "differs", differences_to_json(c));
    json_object_set_new(o, "repeatsNeeded", repeats_to_json(c));
    json_object_set_new(o, "counts", counts_of_changes(c));
    json_object_set_new(o, "verdict", json_string(change_names[c->change]));
    return o;
}
