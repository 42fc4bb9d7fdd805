/* Pods as anybody with rights on the namespace may write them: a pod that counts as a replica is
 * one that the definition has, and what a pod's facts say of its containers agrees. */
#include "fuzz.h"

#include <jansson.h>

#include "pod/body.h"
#include "pod/state.h"
#include "result_fixture.h"

/* Its uid is "u1". */
static const struct run_def *definition(void)
{
    static struct fixture f; /* kept: it is made once */
    if (f.def == NULL) {
        fixture_init(&f, "{grid: {pservers: [1, 2], trainers: [1, 2]}}", "  repeats: {min: 2}\n",
                     0);
        free(f.def->uid);
        f.def->uid = xstrdup("u1");
    }
    return f.def;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_t *pod = json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES, NULL);
    if (!json_is_object(pod)) {
        json_decref(pod);
        return 0;
    }
    const struct run_def *def = definition();
    struct replica_id id = {{0, 0, 0}, ROLE_TRAINER, 0};
    _cleanup_(freep) struct pod_facts *facts = pod_facts_decode(pod);
    json_decref(pod); /* they need it no longer */
    if (pod_identify(def, facts, &id)) {
        must(id.attempt.point < def->matrix.n_points, "a point that the definition lacks");
        must(id.role < ROLE_COUNT, "a role that does not exist");
        must(id.index < def->matrix.points[id.attempt.point].replicas[id.role],
             "an index that the point lacks");
    }
    must(facts->main == NULL || (facts->main >= facts->containers + facts->n_init &&
                                 facts->main < facts->containers + facts->n_containers),
         "a container that counts and is none of the pod's");
    _cleanup_(pod_state_done) struct pod_state state;
    pod_state_read(facts, &id, &state);
    must(!pod_has_stopped(facts) || facts->main == NULL || state.has_started,
         "stopped without a start");
    must(state.state != REPLICA_RUNNING || !pod_has_stopped(facts), "it runs and has stopped");
    return 0;
}
