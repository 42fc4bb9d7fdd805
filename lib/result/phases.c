/* See phases.h. */
#include "result/phases.h"

#include "result/result.h"

bool phases_are_counted(const struct replica_result *r, enum role role)
{
    bool any = false;
    for (int k = 0; k < PHASE_COUNT; k++) {
        any = any || r->summary.phase_ns[k] > 0;
    }
    return any && r->row->id.role == role && r->has_summary && r->summary.steps > 0;
}

struct step_means phases_of(const struct point_result *p)
{
    struct step_means m = {0};
    point_each_replica (rep, p) {
        if (!phases_are_counted(rep, point_leading_role(p->point))) {
            continue;
        }
        const double steps = rep->summary.steps;
        for (int k = 0; k < PHASE_COUNT; k++) {
            m.phase_ns[k] += (double)rep->summary.phase_ns[k] / steps;
        }
        m.step_ns += (double)rep->summary.duration_ns / steps;
        m.n_replicas++;
    }
    for (int k = 0; k < PHASE_COUNT && m.n_replicas > 0; k++) {
        m.phase_ns[k] /= (double)m.n_replicas;
    }
    m.step_ns /= m.n_replicas > 0 ? (double)m.n_replicas : 1;
    return m;
}

bool phase_is_own(enum phase phase)
{
    return phase == PHASE_DATA || phase == PHASE_FORWARD || phase == PHASE_BACKWARD ||
           phase == PHASE_UPDATE;
}

double phases_exchange_ns(const struct step_means *m)
{
    double sum = 0;
    for (int k = 0; k < PHASE_COUNT; k++) {
        sum += phase_is_own((enum phase)k) ? 0 : m->phase_ns[k];
    }
    return sum;
}
