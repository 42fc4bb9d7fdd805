/* See jobs_world.h. */
#include "jobs_world.h"

#include <errno.h>

#include "tests/test.h"
#include "base/str.h"
#include "kube/json.h"
#include "spec/spec_load.h"

static const char definition[] =
    "apiVersion: benchd.io/v1alpha1\nkind: Benchmark\nmetadata: {name: jobs}\nspec:\n"
    "  systems: [{name: a, profile: job, log: torch-ddp, job: {\n"
    "    template: {apiVersion: batch/v1, kind: Job, spec: {template: {spec: {volumes: [{name: c, "
    "configMap: {name: x}}],\n"
    "      containers: [{name: main, image: benchd.local/i}]}}}},\n"
    "    set: [{path: /spec/template/spec/volumes/0/configMap/name, object: settings}],\n"
    "    objects: [{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {a: "
    "b}}]}}]\n"
    "  workload: {model: m, batchSize: 8, exchange: {kind: AllReduce}}\n"
    "  sweep: {grid: {workers: [2]}}\n"
    "  roles: {worker: {replicas: {from: workers}}}\n"
    "  repeats: {min: 1}\n";

const struct replica_id workers[2] = {{{0, 0, 0}, ROLE_WORKER, 0}, {{0, 0, 0}, ROLE_WORKER, 1}};

void jobs_open(struct jobs_world *j)
{
    struct diags diags = {0};
    struct spec *spec;
    world_open(&j->w, POD_BY_DNS);
    j->w.launcher->ops->free(j->w.launcher);
    (void)uv_run(&j->w.loop, UV_RUN_DEFAULT);
    run_def_free(j->w.def);
    assert_int_equal(spec_load(definition, strlen(definition), NULL, &spec, &diags), 0);
    const struct run_def_params params = {.name = "jobs-1", .uid = "u-1"};
    assert_int_equal(run_def_new(spec, &params, &j->w.def, &diags), 0);
    make_launcher(&j->w, POD_BY_DNS);
}

void jobs_close(struct jobs_world *j)
{
    world_close(&j->w);
    json_decref(j->job);
    json_decref(j->extra);
}

static const char *words_of(const struct jobs_world *j)
{
    return j->faults.words != NULL ? j->faults.words : "no";
}

static void answer_post(struct jobs_world *j, struct kube_call *call)
{
    json_t *body = json_loads(call->req.body, 0, NULL);
    json_object_set_new(json_object_get(body, "metadata"), "uid", json_string("job-1"));
    json_object_set_new(json_object_get(body, "metadata"), "creationTimestamp",
                        json_string("2100-01-01T00:00:00Z"));
    const bool is_job = strstr(call->req.path, "/jobs") != NULL;
    const bool is_extra = strstr(call->req.path, "/configmaps") != NULL;
    json_t **place = is_job ? &j->job : &j->extra;
    if (j->is_queued && is_job) {
        json_object_set_new(json_object_get(body, "spec"), "suspend", json_true());
    }
    const bool is_known = is_job || is_extra;
    const int refusal = is_extra ? j->faults.refuse_extra : j->faults.refuse;
    const int r = is_known && *place != NULL ? -EEXIST : is_known ? refusal : 0;
    j->n_posts += is_job;
    if (r == 0 && is_known) {
        *place = json_incref(body);
    }
    _cleanup_(freep) char *text = json_dumps(body, 0);
    answer(&j->w, call, r, r < 0 ? words_of(j) : text);
    json_decref(body);
}

void jobs_serve(struct jobs_world *j)
{
    size_t n_mute = 0;
    for (struct kube_call *call; (call = fake_kube_open(n_mute)) != NULL;) {
        const bool is_of_job = strstr(call->req.path, "/jobs") != NULL ||
                               strstr(call->req.path, "/configmaps") != NULL;
        assert_string_equal(call->req.user == NULL ? "" : call->req.user,
                            is_of_job ? "system:serviceaccount:ns:benchd-jobs" : "");
        if (j->faults.mute != NULL && strstr(call->req.path, j->faults.mute) != NULL) {
            n_mute++;
        } else if (strstr(call->req.path, "/events?") != NULL && j->faults.events != NULL) {
            const bool is_of_pod = strstr(call->req.path, "regarding.uid") != NULL;
            answer(&j->w, call, 0, is_of_pod ? "{\"items\":[]}" : j->faults.events);
        } else if (call->req.method == KUBE_POST) {
            answer_post(j, call);
        } else if (call->req.method == KUBE_GET && strstr(call->req.path, "/jobs?") != NULL) {
            _cleanup_(freep) char *item = j->job == NULL ? xstrdup("") : json_dumps(j->job, 0);
            _cleanup_(freep) char *list = xasprintf("{\"items\":[%s]}", item);
            answer(&j->w, call, j->faults.refuse_list,
                   j->faults.refuse_list < 0 ? words_of(j) : list);
        } else if (call->req.method == KUBE_DELETE && strstr(call->req.path, "/jobs/") != NULL) {
            assert_non_null(strstr(call->req.body, "Foreground"));
            if (j->faults.refuse_delete < 0) {
                answer(&j->w, call, j->faults.refuse_delete, words_of(j));
                continue;
            }
            j->n_deletes++;
            json_object_set_new(json_object_get(j->job, "metadata"), "deletionTimestamp",
                                json_string("2026-01-01T00:00:00Z"));
            answer(&j->w, call, 0, "{}");
        } else {
            answer(&j->w, call, 0, "{}");
        }
    }
}

void jobs_pass(struct jobs_world *j, int64_t ms)
{
    for (int64_t at = 0; at < ms; at += 500) {
        pass_ms(&j->w, 500);
        jobs_serve(j);
    }
}

void jobs_create(struct jobs_world *j)
{
    const struct gang_spec gang = {.replicas = {[ROLE_WORKER] = 2}};
    struct gang_addresses addresses;
    for (size_t i = 0; i < 2; i++) {
        const struct replica_spec spec = {.id = workers[i]};
        struct launcher *l = j->w.launcher;
        assert_int_equal(l->ops->prepare(l, &gang, &addresses, NULL), 0);
        assert_int_equal(l->ops->create(l, &spec, NULL), 0);
    }
    turn(&j->w);
    jobs_serve(j);
    jobs_pass(j, 1000);
}

json_t *jobs_pod(const struct jobs_world *j, const char *name, const char *index,
                 const char *status)
{
    const json_t *template = json_object_get(json_object_get(j->job, "spec"), "template");
    json_t *made = json_deep_copy(template);
    json_t *metadata = json_object_get(made, "metadata");
    json_object_set_new(metadata, "name", json_string(name));
    json_object_set_new(metadata, "uid", json_string(name));
    json_object_set_new(metadata, "creationTimestamp", json_string("2026-01-01T00:00:00Z"));
    json_object_set_new(
        metadata, "ownerReferences",
        json_pack("[{s:s, s:s, s:b}]", "kind", "Job", "uid", "job-1", "controller", 1));
    json_object_set_new(json_object_get(metadata, "labels"),
                        "batch.kubernetes.io/job-completion-index",
                        index == NULL ? NULL : json_string(index));
    json_object_set_new(made, "status", json_loads(status, 0, NULL));
    return made;
}

void jobs_watch(struct jobs_world *j, enum kube_change change, const char *name, const char *index,
                const char *status)
{
    json_t *made = jobs_pod(j, name, index, status);
    notify(&j->w, change, made, NULL);
    json_decref(made);
}

const struct observed_replica *jobs_worker(struct jobs_world *j, size_t i)
{
    return seen(&j->w, &workers[i]);
}

void jobs_remove(struct jobs_world *j)
{
    for (size_t i = 0; i < 2; i++) {
        j->w.launcher->ops->remove(j->w.launcher, &workers[i], false);
    }
    turn(&j->w);
    jobs_serve(j);
}

void jobs_finish_deletion(struct jobs_world *j)
{
    jobs_pass(j, 1000);
    assert_true(j->w.launcher->ops->is_removing(j->w.launcher));
    assert_int_equal(j->n_deletes, 1);
    json_decref(j->job);
    j->job = NULL;
    const unsigned n_changes = j->w.n_changes;
    jobs_pass(j, 3000);
    assert_true(j->w.n_changes > n_changes);
}
