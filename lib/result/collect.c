/* What a result keeps of the replicas of a point, see result_parts.h. */
#include <string.h>

#include "base/mem.h"
#include "result/catalogue.h"
#include "result/nodes.h"
#include "result/noise.h"
#include "result/phases.h"
#include "result/result_parts.h"
#include "result/warmup.h"

/* A line weighs more than a witness that is missing. */
static void collect_doubt(struct point_kept *kept, const struct replica_row *r)
{
    const char *doubt;
    const enum log_verdict verdict = log_reading_verdict(r->reading, &doubt);
    if (doubt != NULL && verdict > kept->verdict) {
        free(kept->doubt);
        kept->verdict = verdict;
        kept->doubt = verdict == LOG_VERDICT_DOUBTFUL
                          ? xasprintf("trial %u, %s/%u, %s", r->id.attempt.trial,
                                      role_to_string(r->id.role), r->id.index, doubt)
                          : xstrdup(doubt);
    }
}

static void collect_evaluations(const struct point_result *p)
{
    const struct trial_result *t = point_typical_trial(p);
    const int role = (int)point_leading_role(p->point);
    if (t == NULL || p->point->is_baseline) {
        return;
    }
    const struct replica_row *judge =
        t->evaluations_k == 0 ? NULL : attempt_row_find_replica(t->row, role, t->evaluations_from);
    const struct evaluations *e =
        judge == NULL || judge->summary == NULL ? NULL : judge->summary->evaluations;
    for (uint32_t i = 0; e != NULL && i < e->n; i++) {
        *vec_push(&p->kept->evaluations) = e->list[i];
    }
}

/* Of a system the first replica counts, in the order of points. */
static void collect_replica(struct point_kept *kept, struct system_result *s,
                            const struct replica_row *r)
{
    const struct summary_source *source = &replica_summary(r)->source;
    const struct summary_staleness *staleness = &replica_summary(r)->staleness;
    const bool is_read = replica_is_rated(r) && source->rule != NULL;
    if (is_read) {
        collect_doubt(kept, r);
    }
    if (is_read && s->rule == NULL) {
        *s = (struct system_result){xstrdup(source->rule), xstrdup_or_null(source->method),
                                    source->unit, r->id.role, source->is_job};
    }
    kept->has_job_log |= is_read && source->is_job;
    kept->has_step_lines |= source->method != NULL &&
                            strstr(source->method, " step lines") != NULL &&
                            strstr(source->method, " numbered ") == NULL;
    kept->staleness.slices += (double)staleness->slices;
    kept->staleness.missed += (double)staleness->slices * staleness->mean;
    kept->staleness.max =
        staleness->max > kept->staleness.max ? staleness->max : kept->staleness.max;
}

void result_collect_point(struct result *r, uint32_t point)
{
    struct point_result *p = &r->points[point];
    struct system_result *system = &r->systems[p->point->system];
    nodes_collect(r, p);
    warmup_find(r, p);
    phases_collect(p);
    figures_collect(p);
    point_each_replica (it, p) {
        collect_replica(p->kept, system, it);
    }
    if (!p->point->is_baseline) {
        replica_lines_add(r, p);
    }
    collect_evaluations(p);
    result_lint_point(r, p);
    for (size_t i = 0; i < p->n_trials; i++) {
        trial_noise_collect(r, &p->trials[i]);
    }
}
