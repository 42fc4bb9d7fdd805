/* See result_parts.h. */
#include <math.h>

#include "core/environment.h"
#include "result/result_parts.h"

/* NaN: none, or not said. */
static double cpu_limit(const json_t *environment)
{
    const double cpus = environment_number(environment, "cgroup_cpu_limit");
    return cpus > 0 ? cpus : NAN;
}

double resources_of_trial(const struct trial_result *t, uint32_t n_pods)
{
    double sum = t->n_replicas == n_pods ? 0 : NAN;
    for (size_t i = 0; i < t->n_replicas && !isnan(sum); i++) {
        sum += cpu_limit(t->replicas[i].environment);
    }
    return sum;
}

double resources_cpus(const struct run_def *def, const struct point_result *p)
{
    if (def->rehearsal) {
        return NAN;
    }
    if (def->cpus > 0) { /* a local run */
        return (double)point_busy_threads(p->point);
    }
    point_each_trial (t, p) {
        if (t->phase == TRIAL_SUCCEEDED) {
            return t->cpus;
        }
    }
    return NAN;
}
