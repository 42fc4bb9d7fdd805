/* Whether the first pod of an attempt may be created, see pods_internal.h. */
#include "base/clock.h"
#include "base/str.h"
#include "pod/body.h"
#include "run/pods/pods_internal.h"

/* It is not of attempt `due` of the run, and its phase does not say that it has ended. */
static bool is_leftover(const struct pod_facts *pod, const struct run_def *def,
                        const struct attempt_id *due)
{
    struct replica_id id;
    return !pod_is_over(pod) && !(pod_identify(def, pod, &id) && attempt_id_eq(&id.attempt, due));
}

/* Its deletion was not requested, it is controlled by a BenchmarkRun, and something of it may run.
 * One run is driven at a time, so whoever drives another attempt may delete it. */
static bool is_abandoned(const struct pod_facts *pod)
{
    return !pod->is_going && pod->is_of_a_run && !pod_has_stopped(pod);
}

/* "pod 'a' on node 'n', terminating since 2026-01-01T00:00:00Z, and 3 more" */
static void say(const struct kube_object *o, size_t n_more, struct run_wait *ret)
{
    const struct pod_facts *pod = o->facts;
    const bool has_node = *pod->node != '\0', was_deleted = pod->asked_to_go_unix_ms != 0;
    const int64_t since_unix_ms = was_deleted ? pod->asked_to_go_unix_ms : pod->created_unix_ms;
    char since[CLOCK_RFC3339_SIZE] = "", more[40] = "";
    if (since_unix_ms != 0) {
        clock_format_rfc3339(since_unix_ms, since);
    }
    if (n_more > 0) {
        text_put(more, sizeof(more), ", and %zu more", n_more);
    }
    _cleanup_(freep) char *holder = pod_wait_holder(was_deleted ? pod->held_by : "");
    pod_wait_say(ret, "PodsRemain", "pod '%s' on %s%s%s, %s%s%s%s", o->name,
                 has_node ? "node '" : "no node", pod->node, has_node ? "'" : "",
                 was_deleted ? "terminating since " : "which nobody has deleted, created ", since,
                 holder, more);
}

/* Other pods that may still run when an attempt starts. */
struct others {
    struct attempt_id attempts[LANES_MAX]; /* the others of the run: each takes a lane */
    uint32_t n_attempts;
    bool is_barred;                  /* of the same point, or of another run */
    const struct kube_object *first; /* pod that is of no lane */
    size_t n_pods;
    const struct pod_member *dying; /* the same, perhaps not seen by the watch */
};

static void add_other(struct others *o, const struct pod_gang *g, const struct attempt_id *id)
{
    o->is_barred |= id->point == g->spec.attempt.point || id->point == POD_NO_POINT;
    if (o->n_attempts < LANES_MAX &&
        !array_any(o->attempts, o->n_attempts, it, attempt_id_eq(it, id))) {
        o->attempts[o->n_attempts++] = *id;
    }
}

/* Pods of ours that are not of the attempt that is due and may run. Begins to delete those that
 * nothing else deletes. */
static void find_leftovers(const struct pod_gang *g, struct others *o, int64_t now_ns)
{
    struct pods *l = g->owner;
    vec_each (struct kube_object *, it, &l->params.cache->objects) {
        const char *name = (*it)->name, *uid = (*it)->uid;
        const struct pod_facts *pod = (*it)->facts;
        struct replica_id id = {.attempt.point = POD_NO_POINT};
        if (!is_leftover(pod, l->params.def, &g->spec.attempt)) {
            continue;
        }
        const bool is_ours = pod_identify(l->params.def, pod, &id);
        add_other(o, g, &id.attempt);
        if (is_ours && l->n_lanes > 1 && pod_gang_find(l, &id) != NULL) {
            continue; /* of another lane */
        }
        o->first = o->n_pods++ == 0 ? *it : o->first;
        if (is_abandoned(pod) && pod_gang_find_dying(l, name, uid) == NULL) {
            *vec_push(&l->members) = pod_member_for_leftover(l, name, uid, pod, now_ns);
            pods_tick_soon(l);
        }
    }
}

/* The same of members, of which the watch may not have shown the pods. */
static void find_members(const struct pod_gang *g, struct others *o)
{
    vec_each (struct pod_member *, it, &g->owner->members) {
        const struct pod_member *m = *it;
        const bool is_dying = member_life_is_dying(m->life) && m->remains != POD_OVER;
        const bool is_of_lane = m->gang != g && m->life < MEMBER_DYING_POSTING &&
                                m->life != MEMBER_WANTED && !pod_member_has_ended(m);
        if (is_dying || is_of_lane) {
            add_other(o, g, &m->id.attempt);
        }
        o->dying = is_dying && o->dying == NULL ? m : o->dying;
    }
}

bool pod_lane_is_free(const struct pod_gang *g, struct run_wait *ret_wait, int64_t now_ns)
{
    struct others o = {0};
    if (!g->is_probed) {
        find_leftovers(g, &o, now_ns);
    }
    find_members(g, &o);
    if (!o.is_barred && o.n_attempts < g->owner->n_lanes) {
        return true;
    }
    if (o.first != NULL) {
        say(o.first, o.n_pods - 1, ret_wait);
    } else {
        pod_wait_say(ret_wait, "PodsRemain", "pod '%s' of an earlier attempt may still run",
                     o.dying == NULL ? "" : o.dying->name);
    }
    return false;
}
