/* See gate.h. */
#include "compare/gate.h"

#include <math.h>
#include <string.h>

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

static enum gate_outcome judge(enum margin_verdict margin)
{
    return outcome_of(margin == MARGIN_SLOWER, margin == MARGIN_NOT_SLOWER);
}

static void add(struct gate *g, struct gate_check check)
{
    *vec_push(&g->checks) = check;
}

static void add_comparison(struct gate *g)
{
    const struct comparison *c = g->comparison;
    vec_each (const struct compared_point, p, &c->points) {
        add(g, (struct gate_check){.kind = GATE_OF_POINT, .outcome = judge(p->margin), .point = p});
    }
    vec_each (const struct point_result *, p, &c->only_base) {
        add(g, (struct gate_check){
                   .kind = GATE_OF_MISSING, .outcome = GATE_CHECK_UNKNOWN, .missing = *p});
    }
    add(g, (struct gate_check){.kind = GATE_OF_COMPARISON, .outcome = judge(c->whole_margin)});
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

size_t gate_find_base(const struct result *candidate, const struct result *const *runs, size_t n,
                      const struct result **ret_level)
{
    _cleanup_(freep) const struct result **taken = xnew_array(const struct result *, n);
    _cleanup_(freep) const struct result **level = xnew_array(const struct result *, n + 1);
    size_t n_taken = 0, used = 0;
    for (size_t i = 0; i < n; i++) {
        if (isnan(compare_mean_log(candidate, runs[i], NULL)) ||
            (used > 0 && compare_leaves_level(ret_level, used, runs[i]))) {
            continue;
        }
        taken[n_taken++] = runs[i];
        const size_t n_level = compare_level_of(runs[i], taken, n_taken, level);
        if (n_level >= RUN_SPREAD_MIN_RUNS) {
            memcpy(ret_level, level, n_level * sizeof(*level));
            used = n_level;
        }
    }
    return used;
}
