/* Whether a pod gets a place in the cluster, and keeps it: gates, full nodes, preemption. */
#include "sim.h"

#include "base/str.h"

bool place_must_wait(struct sim_pod *p, void (*schedule)(void *ctx))
{
    const struct fault *f;
    p->unplaced = fault_is_on(FAULT_GATE, &f) ? "SchedulingGated"
                  /* With n=2 servers have a place, so half a gang runs. */
                  : fault_is_on(FAULT_FULL, &f) && (f->n == 1 || p->id.role != ROLE_PSERVER)
                      ? "Unschedulable"
                      : NULL;
    if (p->unplaced == NULL) {
        return false;
    }
    p->unplaced_ns = p->unplaced_ns == 0 ? sim.now_ns : p->unplaced_ns;
    sim_at(f->at_ns + f->length_ns + sim_time(DRAW_NODE, SIM_MS, SIM_S), schedule, p);
    return true;
}

static void add(json_t *list, const char *type, const char *status, const char *reason)
{
    json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s}", "type", type, "status", status,
                                          "reason", reason, "message", "simulated"));
}

json_t *place_conditions(const struct sim_pod *p)
{
    json_t *list = json_array();
    if (p->unplaced != NULL) {
        add(list, "PodScheduled", "False", p->unplaced);
    }
    if (p->is_collected) {
        add(list, "DisruptionTarget", "True", "DeletionByPodGC");
    } else if (p->preempted_by == PREEMPTED_BY_SCHEDULER) {
        add(list, "DisruptionTarget", "True", "PreemptionByScheduler");
    } else if (p->preempted_by == PREEMPTED_BY_QUEUE) {
        add(list, "TerminationTarget", "True", "WorkloadEvictedDueToPreempted");
    }
    return list;
}

bool place_was_missing(const char *run_uid, const struct attempt_id *id, int64_t least_ns)
{
    for (size_t i = 0; i < node_count(); i++) {
        const struct sim_pod *p = node_get(i);
        if (p->unplaced_ns != 0 && str_eq(p->run_uid, run_uid) &&
            attempt_id_eq(&p->id.attempt, id) && sim.now_ns - p->unplaced_ns >= least_ns) {
            return true;
        }
    }
    return false;
}
