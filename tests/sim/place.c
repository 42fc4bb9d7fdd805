/* Whether a pod gets a place in the cluster, and keeps it: gates, full nodes, preemption. */
#include "sim.h"

#include "base/str.h"

#define GIVEN_UP_NS (60 * SIM_S) /* half a gang without room, by then */

/* With n=2 servers have a place, or the first of those that need no peer, so half a gang runs. */
static bool has_place_in_full(const struct sim_pod *p, const struct fault *f)
{
    return f->n == 2 && (p->id.role == ROLE_PSERVER || (sim_prints(sim.seed) && p->id.index == 0));
}

bool place_must_wait(struct sim_pod *p, void (*schedule)(void *ctx))
{
    const struct fault *f;
    p->unplaced = fault_is_on(FAULT_GATE, &f)                               ? "SchedulingGated"
                  : fault_is_on(FAULT_FULL, &f) && !has_place_in_full(p, f) ? "Unschedulable"
                                                                            : NULL;
    if (p->unplaced == NULL) {
        return false;
    }
    p->unplaced_ns = p->unplaced_ns == 0 ? sim.now_ns : p->unplaced_ns;
    sim_at(f->at_ns + f->length_ns + sim_time(DRAW_NODE, SIM_MS, SIM_S), schedule, p);
    return true;
}

/* Attempts that run at the same time are of one run and of different points, one in each lane. */
void place_check_others(const struct sim_pod *p)
{
    const struct sim_run *run = user_find(p->run_uid);
    VEC(struct attempt_id) others = {0};
    for (size_t i = 0; i < node_count(); i++) {
        const struct sim_pod *other = node_get(i);
        const struct attempt_id *id = &other->id.attempt;
        const bool is_of_run = str_eq(other->run_uid, p->run_uid);
        if ((is_of_run && attempt_id_eq(id, &p->id.attempt)) || !node_is_alive(other) ||
            node_is_disowned(other) || node_is_disowned(p)) {
            continue;
        }
        if (!vec_any(&others, it, attempt_id_eq(it, id))) {
            *vec_push(&others) = *id;
        }
        if (!is_of_run || id->point == p->id.attempt.point || run == NULL ||
            others.len >= run->n_lanes) {
            sim_broken("%s starts while %s of another attempt runs", p->name, other->name);
        }
    }
    vec_done(&others);
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

bool place_lacks_room(const struct sim_pod *p)
{
    bool is_rejected = place_was_missing(p->run_uid, &p->id.attempt, 0);
    for (size_t i = 0; i < node_count(); i++) {
        const struct sim_pod *other = node_get(i);
        is_rejected =
            is_rejected || (other->rejection != NULL && str_eq(other->run_uid, p->run_uid) &&
                            attempt_id_eq(&other->id.attempt, &p->id.attempt));
    }
    /* On a full disk nothing is decided until it has space again. */
    const bool was_full = fault_was_on(
        FAULT_QUOTA, fault_was_on(FAULT_DISK_FULL, GIVEN_UP_NS) ? INT64_MAX / 2 : GIVEN_UP_NS);
    return is_rejected || was_full || sim_has_hidden_quota(sim.seed);
}
