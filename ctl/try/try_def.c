/* See try_def.h. */
#include "ctl/try/try_def.h"

#include "base/vec_walk.h"
#include "core/json_field.h"

static uint32_t replicas_of(const struct point *p)
{
    return array_sum(p->replicas, ROLE_COUNT, n, *n);
}

static bool is_smaller(const struct point *a, const struct point *b)
{
    return replicas_of(a) != replicas_of(b) ? replicas_of(a) < replicas_of(b)
                                            : point_busy_threads(a) < point_busy_threads(b);
}

const struct point *try_smallest_point(const struct run_def *def, uint32_t system)
{
    const struct point *best = NULL;
    for (uint32_t i = 0; i < def->matrix.n_swept; i++) {
        const struct point *p = &def->matrix.points[i];
        if (p->system == system && (best == NULL || is_smaller(p, best))) {
            best = p;
        }
    }
    return best;
}

json_t *try_definition(const struct run_def *def, const struct point *point, int64_t steps,
                       int64_t deadline_s, int64_t ttl_s)
{
    json_t *definition = json_deep_copy(def->spec->definition);
    json_t *spec = json_object_get(definition, "spec");
    json_t *params = params_to_json(&point->params);
    JSON_ADD(
        spec, {"sweep", json_pack("{s:[O]}", "points", params)},
        {"baseline", json_pack("{s:s, s:o}", "kind", "Point", "where", params)},
        {"repeats", json_pack("{s:i}", "min", 1)},
        {"measure", json_pack("{s:i, s:I}", "warmupSteps", 0, "steps", (json_int_t)steps)},
        {"failurePolicy", json_pack("{s:s, s:i}", "onTrialFailure", "Stop", "maxFailedTrials", 0)});
    json_object_del(spec, "thresholds");
    json_object_del(spec, "local");
    json_t *policy = json_object_get(spec, "runPolicy");
    if (policy == NULL) {
        policy = json_object();
        json_object_set_new(spec, "runPolicy", policy);
    }
    json_object_set_new(policy, "backoffLimit", json_integer(0));
    if (deadline_s > 0) {
        json_object_set_new(policy, "activeDeadlineSeconds", json_integer(deadline_s));
        json_object_set_new(policy, "ttlSecondsAfterFinished", json_integer(ttl_s));
    }
    return definition;
}
