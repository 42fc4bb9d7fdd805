/* Kueue, in a world with a queue: a quota for one gang, or two of a run with lanes; others use it,
 * too. It admits Workloads in the order of their creation, takes their places back, and is stopped;
 * an evicted Workload keeps its quota, and is called admitted, until somebody deletes it. */
#include "sim.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/parse.h"
#include "base/str.h"

#define LATE_NS (60 * SIM_S)

static const json_t *condition(const struct sim_object *o, const char *type)
{
    size_t i;
    json_t *item;
    json_array_foreach (json_object_get(json_object_get(o->json, "status"), "conditions"), i,
                        item) {
        if (str_eq(json_string_value(json_object_get(item, "type")), type)) {
            return item;
        }
    }
    return NULL;
}

static bool is_true(const struct sim_object *o, const char *type)
{
    const char *status = json_string_value(json_object_get(condition(o, type), "status"));
    return status != NULL && str_eq(status, "True");
}

static void say(struct sim_object *o, const char *type, const char *status, const char *words)
{
    json_t *all = json_object_get(o->json, "status");
    if (all == NULL) {
        all = json_pack("{s:[]}", "conditions");
        json_object_set_new(o->json, "status", all);
    }
    json_array_append_new(json_object_get(all, "conditions"),
                          json_pack("{s:s, s:s, s:s, s:s, s:s}", "type", type, "status", status,
                                    "reason", "Simulated", "message", words, "lastTransitionTime",
                                    server_meta(o, "creationTimestamp")));
}

static json_int_t pods_of(const struct sim_object *o)
{
    json_int_t n = 0;
    size_t i;
    json_t *set;
    json_array_foreach (json_object_get(json_object_get(o->json, "spec"), "podSets"), i, set) {
        n += json_integer_value(json_object_get(set, "count"));
    }
    return n;
}

static const char *owner_of(const struct sim_object *o)
{
    const json_t *list = json_object_get(json_object_get(o->json, "metadata"), "ownerReferences");
    const char *uid = json_string_value(json_object_get(json_array_get(list, 0), "uid"));
    return uid == NULL ? "" : uid; /* orphaned */
}

static struct attempt_id attempt_of(const struct sim_object *o)
{
    const json_t *labels = json_object_get(json_object_get(o->json, "metadata"), "labels");
    static const char *const keys[] = {"benchd.io/point", "benchd.io/trial", "benchd.io/attempt"};
    int64_t of[3] = {0};
    for (size_t i = 0; i < 3; i++) {
        (void)parse_i64_in(json_string_value(json_object_get(labels, keys[i])), 0, UINT32_MAX,
                           &of[i]); /* it has them */
    }
    return (struct attempt_id){(uint32_t)of[0], (uint32_t)of[1], (uint32_t)of[2]};
}

static struct sim_object *find(const char *run_uid, const struct attempt_id *id)
{
    for (size_t i = 0; i < server_count(KIND_WORKLOADS); i++) {
        struct sim_object *o = server_get(KIND_WORKLOADS, i);
        const struct attempt_id of = attempt_of(o);
        if (str_eq(owner_of(o), run_uid) && attempt_id_eq(&of, id)) {
            return o;
        }
    }
    return NULL;
}

/* ---- the queue ---- */

static void admit(struct sim_object *o)
{
    json_t *sets = json_array();
    size_t i;
    json_t *set;
    json_array_foreach (json_object_get(json_object_get(o->json, "spec"), "podSets"), i, set) {
        json_array_append_new(sets,
                              json_pack("{s:O, s:{s:s}}", "name", json_object_get(set, "name"),
                                        "flavors", "pods", "simulated"));
    }
    json_object_del(o->json, "status");
    say(o, "Admitted", "True", "admitted");
    json_object_set_new(json_object_get(o->json, "status"), "admission",
                        json_pack("{s:o}", "podSetAssignments", sets));
    sim_trace("queue: %s is admitted", o->name);
    server_changed(o);
}

static void evict(struct sim_object *o)
{
    const struct attempt_id id = attempt_of(o);
    if (is_true(o, "Admitted") && !is_true(o, "Evicted")) {
        say(o, "Evicted", "True", "somebody else has its place");
        json_object_set_new(o->json, "evicted_ns", json_integer(sim.now_ns));
        promise_excuse(owner_of(o), &id, "evicted");
        sim_trace("queue: %s is evicted", o->name);
        server_changed(o);
    }
}

/* A request may take effect late, after its sender is gone, and a watch may be late or lie. */
static bool is_quiet(void)
{
    return sim.now_ns - fault_last_ns(FAULT_GATE, false) > LATE_NS;
}

/* Others have its place when its pods have ended. Of a run that was deleted while no benchd led,
 * none deletes the Workloads: that is for the garbage collector, as it is with the pods. */
static void check_evicted(const struct sim_object *o)
{
    const struct sim_run *run = user_find(owner_of(o));
    const int64_t since_ns = json_integer_value(json_object_get(o->json, "evicted_ns"));
    if (is_true(o, "Evicted") && run != NULL && is_quiet() && !soon_is_left_to_garbage(run) &&
        sim.now_ns - since_ns > LATE_NS + run->grace_s * SIM_S) {
        sim_broken("%s is evicted and keeps its quota", o->name);
    }
}

static bool is_older(const struct sim_object *a, const struct sim_object *b)
{
    return b == NULL || strcmp(a->uid + 24, b->uid + 24) < 0; /* the last part counts */
}

static void look(void *ctx)
{
    (void)ctx;
    struct sim_object *next = NULL;
    json_int_t n_used = 0;
    const bool is_stopped = fault_is_on(FAULT_GATE, NULL); /* HoldAndDrain */
    for (size_t i = server_count(KIND_WORKLOADS); i > 0; i--) {
        struct sim_object *o = server_get(KIND_WORKLOADS, i - 1);
        if (owner_of(o)[0] == '\0') { /* whoever orphaned it deletes it */
            server_remove(o);
        } else if (is_true(o, "Admitted")) {
            n_used += pods_of(o);
            check_evicted(o);
            if (is_stopped) {
                evict(o);
            }
        } else if (is_older(o, next)) {
            next = o;
        }
    }
    const json_int_t quota = sim_lanes(sim.seed) > 1 ? 7 : 3; /* the largest gang: 4, or 3 */
    const bool is_others = fault_is_on(FAULT_QUOTA, NULL);    /* they have all of it */
    if (next != NULL && !is_stopped && !is_others && n_used + pods_of(next) <= quota) {
        admit(next);
    } else if (next != NULL && condition(next, "QuotaReserved") == NULL) {
        say(next, "QuotaReserved", "False",
            "insufficient unused quota for pods in flavor simulated");
        server_changed(next);
    }
    sim_after(sim_time(DRAW_NODE, 10 * SIM_MS, 2 * SIM_S), look, NULL);
}

void queue_begin(void)
{
    if (sim_has_queue(sim.seed)) {
        sim_after(SIM_S, look, NULL);
    }
}

bool queue_preempts(const struct sim_pod *p)
{
    struct sim_object *o = find(p->run_uid, &p->id.attempt);
    if (o != NULL) {
        evict(o);
    }
    return o != NULL;
}

void queue_serve_flavor(struct sim_answer *ret)
{
    *ret = (struct sim_answer){200, xstrdup("{\"metadata\":{\"name\":\"simulated\"},\"spec\":{}}"),
                               -1, 0};
}

/* ---- what must hold ---- */

void queue_pod_created(const struct sim_pod *p)
{
    const struct sim_object *o = find(p->run_uid, &p->id.attempt);
    if (sim_has_queue(sim.seed) && !node_is_disowned(p) && is_quiet() &&
        (o == NULL || !is_true(o, "Admitted"))) {
        sim_broken("%s is created, and no queue has admitted it", p->name);
    }
}

void queue_workload_deleted(const struct sim_object *o)
{
    const struct attempt_id id = attempt_of(o);
    for (size_t i = 0; i < node_count(); i++) {
        const struct sim_pod *p = node_get(i);
        if (node_is_alive(p) && str_eq(p->run_uid, owner_of(o)) &&
            attempt_id_eq(&p->id.attempt, &id) && is_quiet()) {
            sim_broken("the quota of %s is given back, and %s runs", o->name, p->name);
        }
    }
}

void queue_workload_lost(const struct sim_object *o)
{
    const struct attempt_id id = attempt_of(o);
    promise_excuse(owner_of(o), &id, "its Workload is lost");
}

bool queue_is_settled(const char **ret_why)
{
    static char why[256];
    if (server_count(KIND_WORKLOADS) > 0) {
        (void)snprintf(why, sizeof(why), "Workload %s is there",
                       server_get(KIND_WORKLOADS, 0)->name);
        *ret_why = why;
    }
    return server_count(KIND_WORKLOADS) == 0;
}
