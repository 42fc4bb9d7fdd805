/* Pods as anybody with rights on the namespace may write them: a pod that counts as a replica is
 * one that the definition has, and what is kept of a pod says the same as the pod. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/mem.h"
#include "base/str.h"
#include "pod/body.h"
#include "pod/state.h"
#include "result_fixture.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "fuzz_pod: %s\n", what);
        abort();
    }
}

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

static bool same(const struct pod_state *a, const struct pod_state *b)
{
    return a->state == b->state && a->failure == b->failure && a->wait == b->wait &&
           a->exit_code == b->exit_code && a->signal == b->signal &&
           a->has_started == b->has_started && a->started_unix_ms == b->started_unix_ms &&
           a->finished_unix_ms == b->finished_unix_ms && a->n_restarts == b->n_restarts &&
           a->is_node_lost == b->is_node_lost && a->is_simulated == b->is_simulated &&
           str_eq(a->ip, b->ip) && str_eq(pod_state_message(a), pod_state_message(b)) &&
           a->has_blamed == b->has_blamed;
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
    if (pod_identify(def, pod, &id)) {
        must(id.attempt.point < def->matrix.n_points, "a point that the definition lacks");
        must(id.role < ROLE_COUNT, "a role that does not exist");
        must(id.index < def->matrix.points[id.attempt.point].replicas[id.role],
             "an index that the point lacks");
    }
    struct pod_state whole, pruned;
    pod_state_read(pod, &id, &whole);
    const bool is_over = pod_is_over(pod), has_stopped = pod_has_stopped(pod);
    pod_prune(pod);
    pod_state_read(pod, &id, &pruned);
    must(same(&whole, &pruned), "what is kept of a pod says something else");
    must(is_over == pod_is_over(pod) && has_stopped == pod_has_stopped(pod), "another end");
    pod_state_done(&whole);
    pod_state_done(&pruned);
    json_decref(pod);
    return 0;
}
