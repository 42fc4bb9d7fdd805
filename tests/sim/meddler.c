/* Somebody with rights in the namespace who meddles with what benchd made: deletes or empties a
 * run's Secret, Service and EndpointSlices, writes other labels on its pods, and makes pods that
 * look like a run's, with labels that no run has. In worlds of sim_has_meddler(). */
#include "sim.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

static const enum sim_kind side_kinds[] = {KIND_SECRETS, KIND_SERVICES, KIND_SLICES};

static struct sim_object *any_object(enum sim_kind kind)
{
    const size_t n = server_count(kind);
    return n == 0 ? NULL : server_get(kind, sim_below(DRAW_MEDDLER, (uint32_t)n));
}

static struct sim_object *any_side_object(void)
{
    return any_object(side_kinds[sim_below(DRAW_MEDDLER, 3)]);
}

static void delete_side_object(void)
{
    struct sim_object *o = any_side_object();
    if (o != NULL) {
        sim_trace("meddler: deletes %s", o->name);
        node_excuse_all("a side object was deleted");
        server_delete(o, CASCADE_BACKGROUND);
    }
}

static void spoil_side_object(void)
{
    struct sim_object *o = any_side_object();
    if (o != NULL) {
        sim_trace("meddler: spoils %s", o->name);
        node_excuse_all("a side object was spoiled");
        if (o->kind == KIND_SLICES) {
            json_object_set_new(o->json, "endpoints", json_array());
        } else {
            (void)json_object_del(json_object_get(o->json, "metadata"), "labels");
        }
        server_changed(o);
    }
}

/* Of a run's pods, but not of any. */
static const struct {
    const char *key, *value;
} labels[] = {
    {"benchd.io/point", "4000000000"},
    {"benchd.io/point", "-1"},
    {"benchd.io/point", "x"},
    {"benchd.io/trial", "99999"},
    {"benchd.io/attempt", "4294967295"},
    {"benchd.io/attempt", ""},
    {"benchd.io/replica-index", "70000"},
    {"benchd.io/replica-index", "18446744073709551616"},
    {"benchd.io/role", "king"},
};
#define N_LABELS (sizeof(labels) / sizeof(labels[0]))

static void relabel(json_t *pod)
{
    const uint32_t i = sim_below(DRAW_MEDDLER, N_LABELS);
    json_t *of_pod = json_object_get(json_object_get(pod, "metadata"), "labels");
    json_object_set_new(of_pod, labels[i].key, json_string(labels[i].value));
}

static void relabel_pod(void)
{
    struct sim_object *o = any_object(KIND_PODS);
    if (o != NULL) {
        sim_trace("meddler: writes labels of %s", o->name);
        promise_excuse(o->pod->run_uid, &o->pod->id.attempt, "a pod was relabelled");
        relabel(o->json);
        server_changed(o);
    }
}

static void forge_pod(void)
{
    static unsigned n;
    const struct sim_object *o = any_object(KIND_PODS);
    if (o != NULL) {
        char name[32];
        (void)snprintf(name, sizeof(name), "forged-%u", n++);
        json_t *copy = json_deep_copy(o->json);
        json_object_set_new(json_object_get(copy, "metadata"), "name", json_string(name));
        json_object_del(json_object_get(copy, "metadata"), "deletionTimestamp");
        relabel(copy);
        char **owner = &server_create(KIND_PODS, copy)->pod->run_uid;
        free(*owner);
        *owner = xstrdup("");
    }
}

static void meddle(void *ctx)
{
    static void (*const ways[])(void) = {delete_side_object, spoil_side_object, relabel_pod,
                                         forge_pod};
    (void)ctx;
    if (sim.now_ns < sim.faults_end_ns) {
        ways[sim_below(DRAW_MEDDLER, 4)]();
        sim_after(sim_time(DRAW_MEDDLER, 10 * SIM_S, 90 * SIM_S), meddle, NULL);
    }
}

void meddler_begin(void)
{
    if (sim_has_meddler(sim.seed)) {
        sim_after(10 * SIM_S, meddle, NULL);
    }
}

/* ResourceQuota: it is being written by somebody else, or was not counted yet. */
bool meddler_hides_quota(struct sim_answer *ret)
{
    if (!sim_has_hidden_quota(sim.seed) || sim.now_ns >= sim.faults_end_ns ||
        !sim_one_in(DRAW_MEDDLER, 3)) {
        return false;
    }
    if (sim_one_in(DRAW_MEDDLER, 2)) {
        server_status(ret, 409, "Conflict",
                      "Operation cannot be fulfilled on resourcequotas \"q\": the object has been "
                      "modified; please apply your changes to the latest version and try again");
    } else {
        server_status(ret, 403, "Forbidden",
                      "pods \"p\" is forbidden: status unknown for quota: q, resources: pods");
    }
    return true;
}
