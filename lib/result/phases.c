/* See phases.h. */
#include "result/phases.h"

#include "result/result.h"

static bool counts_phases(const struct summary *s)
{
    for (int k = 0; k < PHASE_COUNT; k++) {
        if (s->phase_ns[k] > 0) {
            return s->steps > 0;
        }
    }
    return false;
}

struct step_means phases_of(const struct point_result *p)
{
    struct step_means m = {0};
    point_each_replica (rep, p) {
        if (!rep->has_summary || rep->row->id.role != point_leading_role(p->point) ||
            !counts_phases(&rep->summary)) {
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
