/* See gate.h. */
#include "compare/gate.h"

#include "base/mem.h"
#include "compare/compare_parts.h"

const char *const gate_verdict_names[] = {GATE_VERDICTS(ENUM_NAME)};
const char *const gate_outcome_names[] = {GATE_OUTCOMES(ENUM_NAME)};

/* ---- the checks ---- */

/* An older benchd may report Succeeded for a run with summaries that cannot be used. */
static enum gate_outcome summarize_run(const struct result *r)
{
    if (!run_phase_is_final(r->phase)) {
        return GATE_CHECK_UNKNOWN;
    }
    const bool is_whole = array_all(r->points, r->def->matrix.n_points, p,
                                    point_result_is_complete(p) && p->throughput.estimate.known);
    return is_whole && r->phase == RUN_SUCCEEDED ? GATE_CHECK_PASSED : GATE_CHECK_FAILED;
}

static enum gate_outcome outcome_of(bool has_failed, bool has_passed)
{
    return has_failed ? GATE_CHECK_FAILED : has_passed ? GATE_CHECK_PASSED : GATE_CHECK_UNKNOWN;
}

static enum gate_outcome judge(enum margin_verdict margin, enum change change)
{
    return margin != MARGIN_NOT_ASKED
               ? outcome_of(margin == MARGIN_SLOWER, margin == MARGIN_NOT_SLOWER)
               : outcome_of(change == CHANGE_SLOWER, change == CHANGE_FASTER ||
                                                         change == CHANGE_NONE ||
                                                         change == CHANGE_USUAL);
}

static void add(struct gate *g, struct gate_check check)
{
    *vec_push(&g->checks) = check;
}

static void add_comparison(struct gate *g)
{
    const struct comparison *c = g->comparison;
    vec_each (const struct compared_point, p, &c->points) {
        add(g, (struct gate_check){
                   .kind = GATE_OF_POINT, .outcome = judge(p->margin, p->change), .point = p});
    }
    vec_each (const struct point_result *, p, &c->only_base) {
        add(g, (struct gate_check){
                   .kind = GATE_OF_MISSING, .outcome = GATE_CHECK_UNKNOWN, .missing = *p});
    }
    add(g, (struct gate_check){.kind = GATE_OF_COMPARISON, .outcome = judge(c->margin, c->change)});
}

static enum gate_verdict verdict_of(const struct gate_check *check)
{
    const enum gate_outcome outcome = check->outcome;
    return outcome == GATE_CHECK_PASSED || outcome == GATE_CHECK_SKIPPED ? GATE_PASSED
           : check->kind == GATE_OF_THRESHOLD                            ? GATE_THRESHOLD
           : outcome != GATE_CHECK_FAILED                                ? GATE_INCONCLUSIVE
           : check->kind == GATE_OF_RUN                                  ? GATE_RUN_FAILED
                                                                         : GATE_SLOWER;
}

void gate_judge(const struct result *candidate, const struct comparison *comparison,
                const char *refusal, struct gate *ret)
{
    *ret = (struct gate){.candidate = candidate,
                         .comparison = comparison,
                         .refusal = refusal,
                         .verdict = GATE_PASSED};
    add(ret, (struct gate_check){.kind = GATE_OF_RUN, .outcome = summarize_run(candidate)});
    vec_each (const struct threshold_result, t, &candidate->thresholds) {
        add(ret, (struct gate_check){.kind = GATE_OF_THRESHOLD,
                                     .outcome = outcome_of(t->verdict == THRESHOLD_FAILED,
                                                           t->verdict == THRESHOLD_PASSED),
                                     .threshold = t});
    }
    vec_each (const struct threshold *, t, &candidate->skipped) {
        add(ret, (struct gate_check){
                     .kind = GATE_OF_THRESHOLD, .outcome = GATE_CHECK_SKIPPED, .skipped = *t});
    }
    if (comparison != NULL) {
        add_comparison(ret);
    } else if (refusal != NULL) {
        add(ret, (struct gate_check){.kind = GATE_OF_COMPARISON, .outcome = GATE_CHECK_UNKNOWN});
    }
    vec_each (const struct gate_check, check, &ret->checks) {
        const enum gate_verdict v = verdict_of(check);
        ret->verdict = v < ret->verdict ? v : ret->verdict;
    }
    if (ret->verdict > GATE_THRESHOLD && !gate_judges(ret)) {
        ret->verdict = GATE_THRESHOLD;
    }
}

size_t gate_count(const struct gate *g, enum gate_outcome outcome)
{
    return vec_sum(&g->checks, it, (size_t)(it->outcome == outcome));
}

bool gate_judges(const struct gate *g)
{
    return vec_any(&g->checks, check,
                   check->kind != GATE_OF_RUN && check->outcome != GATE_CHECK_SKIPPED);
}

void gate_done(struct gate *g)
{
    vec_done(&g->checks);
}

/* ---- the base ---- */

/* Those of the taken runs that are of a run's kind, it among them. */
static size_t take_kind(const struct result *of, const struct result *const *taken, size_t n,
                        const struct result **ret)
{
    size_t used = 0;
    for (size_t i = 0; i < n; i++) {
        if (taken[i] == of || compare_history_is_same(of, taken[i])) {
            ret[used++] = taken[i];
        }
    }
    return used;
}

/* Of the newest taken run that has enough of its kind. 0: none has. */
static size_t newest_kind(const struct result *const *taken, size_t n, const struct result **ret)
{
    for (size_t i = n; i > 0; i--) {
        const size_t used = take_kind(taken[i - 1], taken, n, ret);
        if (used >= GATE_MIN_RUNS) {
            return used;
        }
    }
    return 0;
}

/* 1: it may go on; 0: it is slower, or that is not known; -1: the two cannot be compared. */
static int is_no_slower(const struct result *const *base, size_t n, const struct result *other,
                        const struct compare_params *params)
{
    struct compare_params with = *params;
    struct comparison *c = NULL;
    const char *fix;
    struct err err;
    with.history = base;
    with.n_history = n;
    with.is_strict = false; /* another build is what a gate is for */
    if (comparison_new(base[n - 1], other, &with, &c, &fix, &err) < 0) {
        return -1;
    }
    const bool is_well = judge(MARGIN_NOT_ASKED, c->change) == GATE_CHECK_PASSED;
    comparison_free(c);
    return is_well ? 1 : 0;
}

size_t gate_find_base(const struct result *candidate, const struct result *const *runs, size_t n,
                      const struct compare_params *params, const struct result **ret_taken)
{
    _cleanup_(freep) const struct result **taken = xnew_array(const struct result *, n);
    _cleanup_(freep) const struct result **kind = xnew_array(const struct result *, n);
    size_t n_taken = 0;
    for (size_t i = 0; i < n; i++) {
        if (is_no_slower(&runs[i], 1, candidate, params) < 0) {
            continue;
        }
        const size_t n_kind = newest_kind(taken, n_taken, kind);
        if (n_kind == 0 || is_no_slower(kind, n_kind, runs[i], params) == 1) {
            taken[n_taken++] = runs[i];
        }
    }
    return newest_kind(taken, n_taken, ret_taken);
}
