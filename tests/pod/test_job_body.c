/* What benchd makes for a system that is a job object: no other kinds than the table has, and
 * nothing in them that would lend benchd's rights to the author of a definition. */
#include "tests/test.h"
#include "pod/job_body.h"

#include <errno.h>

#include "base/str.h"
#include "doc/json_pointer.h"
#include "small_definition.h"

#define JOB "apiVersion: batch/v1, kind: Job"
#define POD "containers: [{name: main, image: i}]"
#define JOB_OF(metadata, spec)                                                                     \
    "{" JOB ", metadata: {" metadata "}, spec: {template: {spec: {" spec " " POD "}}}}"
#define WHOLE JOB_OF("", "")
#define AT "{worker: {template: /spec/template}}"

static char *definition(const char *template, const char *set, const char *pods,
                        const char *objects)
{
    return xasprintf(
        "apiVersion: benchd.io/v1alpha1\nkind: Benchmark\nmetadata: {name: jobs}\nspec:\n"
        "  systems: [{name: a, profile: none, log: torch-ddp, job: {\n"
        "    template: %s,\n    set: [{path: /spec/parallelism, from: workers}, "
        "{path: /spec/template/spec/serviceAccountName, from: account}%s],\n"
        "    pods: %s,\n    objects: [%s],\n"
        "    succeeded: /status/a=b, failed: /status/a=c}}]\n"
        "  workload: {model: m, batchSize: 8, exchange: {kind: AllReduce}}\n"
        "  parameters: [{name: account}]\n"
        "  sweep: {grid: {workers: [2], account: [trainers, benchd, lab-benchd]}}\n"
        "  roles: {worker: {replicas: {from: workers}}}\n  repeats: {min: 1}\n",
        template, set, pods, objects);
}

#define CONFIG "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: b}}"
#define SERVICE(metadata, spec)                                                                    \
    "{apiVersion: v1, kind: Service, metadata: {name: s" metadata "}, spec: {" spec "}}"
#define NO_JOB                                                                                     \
    " is not one of Job (batch/v...), JobSet (jobset.x-k8s.io/v...), MPIJob (kubeflow.org/v...), " \
    "RayJob (ray.io/v...), TrainJob (trainer.kubeflow.org/v...)"
#define NO_OBJECT                                                                                  \
    " is not one of ConfigMap (v...), ComputeDomain (resource.nvidia.com/v...), "                  \
    "ResourceClaimTemplate (resource.k8s.io/v...), Service (v...)"
#define NO_FIELD ": benchd or the API server sets it"

static const struct row {
    const char *template, *set, *pods, *objects;
    const char *words; /* of the refusal; "": it is taken */
} rows[] = {
    {WHOLE, "", AT, "", ""},
    {WHOLE, "", AT, CONFIG, ""},
    {WHOLE, "", AT, SERVICE("", "clusterIP: None, selector: {a: b}, ports: [{port: 1}]"), ""},
    {WHOLE, "", AT,
     "{apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: {name: r}, spec: {}}",
     ""},
    {WHOLE, "", AT,
     "{apiVersion: resource.nvidia.com/v1beta1, kind: ComputeDomain, metadata: {name: d}, spec: "
     "{}}",
     ""},
    {JOB_OF("labels: {kueue.x-k8s.io/queue-name: q}, annotations: {a: b}", ""), "", AT, "", ""},
    /* kinds */
    {"{apiVersion: v1, kind: Pod, spec: {template: {spec: {" POD "}}}}", "", AT, "",
     "Pod (v1)" NO_JOB},
    {"{apiVersion: v1, kind: Job, spec: {}}", "", AT, "", "Job (v1)" NO_JOB},
    {"{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, spec: {}}", "", AT, "", NO_JOB},
    {"{apiVersion: batch/v1/namespaces/x/cronjobs?a=, kind: Job, spec: {}}", "", AT, "", NO_JOB},
    {"{apiVersion: batch/../../api/v1, kind: Job, spec: {}}", "", AT, "", NO_JOB},
    {"{apiVersion: batch/, kind: Job, spec: {}}", "", AT, "", NO_JOB},
    {"{apiVersion: [batch/v1], kind: Job, spec: {}}", "", AT, "", NO_JOB},
    {"{kind: Job, spec: {}}", "", AT, "", "required field 'apiVersion' is missing"},
    {"{apiVersion: v1, kind: ConfigMap, data: {}}", "", AT, "", NO_JOB},
    {"Job", "", AT, "", "must be a map, not a string"},
    {WHOLE, "", AT, "{apiVersion: v1, kind: Secret, metadata: {name: s}}", "Secret (v1)" NO_OBJECT},
    {WHOLE, "", AT,
     "{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: x}, spec: "
     "{podSelector: {}}}",
     NO_OBJECT},
    {WHOLE, "", AT, "{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: x}}",
     NO_OBJECT},
    {WHOLE, "", AT, "{" JOB ", metadata: {name: x}, spec: {}}", NO_OBJECT},
    /* metadata */
    {JOB_OF("name: x", ""), "", AT, "", "metadata.name" NO_FIELD},
    {JOB_OF("namespace: x", ""), "", AT, "", "metadata.namespace" NO_FIELD},
    {JOB_OF("managedFields: []", ""), "", AT, "", "metadata.managedFields" NO_FIELD},
    {JOB_OF("labels: {benchd.io/run: x}", ""), "", AT, "",
     "metadata.labels.benchd.io/run: the label is reserved"},
    {WHOLE, ", {path: /metadata/name, value: x}", AT, "", "metadata.name" NO_FIELD},
    {WHOLE, ", {path: /metadata/finalizers, value: [a]}", AT, "", "metadata.finalizers" NO_FIELD},
    {WHOLE, ", {path: /metadata/labels/benchd.io~1role, value: worker}", AT, "",
     "metadata.labels.benchd.io/role: the label"},
    {WHOLE, ", {path: /spec/template/metadata, value: {labels: {benchd.io/replica-index: '0'}}}",
     AT, "", "spec.template.metadata.labels.benchd.io/replica-index: the label is reserved"},
    {WHOLE, ", {path: /kind, value: Pod}", AT, "", "job.set changes the kind"},
    {WHOLE, ", {path: /apiVersion, value: v1}", AT, "", "Job (v1)" NO_JOB},
    {WHOLE, ", {path: /kind, value: JobSet}", AT, "", "job.set changes the kind"},
    {WHOLE, ", {path: /metadata, value: [a]}", AT, "", "metadata: must be a map"},
    {WHOLE, ", {path: /metadata/labels, value: [a]}", AT, "", "metadata.labels: must be a map"},
    {WHOLE, "", AT, "{apiVersion: v1, kind: ConfigMap, data: {}}",
     "metadata.name: an object needs a name"},
    {WHOLE, "", AT, "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: x}}",
     "metadata.namespace" NO_FIELD},
    /* Services */
    {WHOLE, "", AT, SERVICE("", "clusterIP: 10.0.0.1"),
     "spec.clusterIP: must be None (got 10.0.0.1)"},
    {WHOLE, "", AT, SERVICE("", "type: NodePort"), "spec.type: must be ClusterIP (got NodePort)"},
    {WHOLE, "", AT, SERVICE("", "externalIPs: [203.0.113.7]"),
     "spec.externalIPs: replicas are not reached from outside"},
    {WHOLE, "", AT, SERVICE("", "externalName: x.y"), "spec.externalName: replicas are not"},
    /* pods of any field of the object */
    {JOB_OF("", "volumes: [{name: s, secret: {secretName: benchd-archive}}],"), "", AT, "",
     "spec.template.spec.volumes[0].secret.secretName: 'benchd-archive' is benchd's own"},
    {WHOLE,
     ", {path: /spec/other, value: {a: [{template: {spec: {containers: [{envFrom: [{secretRef: "
     "{name: lab-benchd}}]}]}}}]}}",
     AT, "",
     "spec.other.a[0].template.spec.containers[0].envFrom[0].secretRef.name: 'lab-benchd' is "
     "benchd's own"},
    {WHOLE, ", {path: /spec/template/spec/serviceAccountName, value: benchd}", AT, "",
     "spec.template.spec.serviceAccountName: 'benchd'"},
    {WHOLE, "",
     "{worker: {template: /spec/template, add: {metadata: {labels: {benchd.io/role: x}}}}}", "",
     "spec.template.metadata.labels.benchd.io/role: the label is reserved"},
    {"{apiVersion: ray.io/v1, kind: RayJob, spec: {template: {spec: {" POD
     "}}, rayClusterSpec: {headGroupSpec: {serviceType: NodePort}}}}",
     "", AT, "", "spec.rayClusterSpec.headGroupSpec.serviceType: must be ClusterIP"},
    {"{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, spec: {template: {spec: {" POD
     "}}, initializer: {model: {secretRef: "
     "{name: a-0f4c1de2-key}}}}}",
     "", AT, "",
     "spec.initializer.model.secretRef.name: 'a-0f4c1de2-key' has the name of a run's key"},
    {"{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, spec: {template: {spec: {" POD
     "}}, volumeClaimPolicies: [{templates: [{spec: "
     "{dataSource: {kind: PersistentVolumeClaim, name: benchd}}}]}]}}",
     "", AT, "",
     "spec.volumeClaimPolicies[0].templates[0].spec.dataSource: a replica may not copy a volume"},
    /* where the pods are */
    {WHOLE, "", "{worker: {template: /metadata/managedFields/0/fieldsV1}}", "",
     "no pod template, which has spec.containers"},
    {WHOLE, "", "{worker: {template: /spec/podTemplateOverrides/-}}", "",
     "no pod template, which has spec.containers"},
    {"{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, spec: {}}", "",
     "{worker: {template: /spec/podTemplateOverrides/-}}", "", ""},
    {"{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, spec: {}}", "",
     "{worker: {template: /spec/runtimePatches/manager=x/y}}", "", ""},
    {"{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, spec: {}}", "",
     "{worker: {template: /spec/podTemplateOverrides/0/x}}", "",
     "no pod template, which has spec.containers"},
};

TEST(a_definition_says_which_objects_benchd_makes)
{
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        const struct row *row = &rows[i];
        _cleanup_(freep) char *text = definition(row->template, row->set, row->pods,
                                                 row->objects[0] == 0 ? CONFIG : row->objects);
        _cleanup_(freep) char *errors = definition_errors(text, NULL);
        if (row->words[0] == '\0' ? errors[0] != '\0' : strstr(errors, row->words) == NULL) {
            fail_msg("row %zu: expected '%s', got '%s'", i, row->words, errors);
        }
    }
}

static struct run_def *make(const char *template, const char *objects)
{
    static const struct run_def_params params = {.name = "jobs-1", .uid = "0f4c1de2-aaaa"};
    _cleanup_(freep) char *text = definition(template, "", AT, objects);
    return run_def_of(definition_load(text, NULL), &params);
}

/* A value of the sweep is not known when the definition is read. */
TEST(an_object_is_checked_before_it_is_sent)
{
    static const char *const words[] = {
        "", "Job: spec.template.spec.serviceAccountName: 'benchd' is benchd's own; use another one",
        ("Job: spec.template.spec.serviceAccountName: 'lab-benchd' is benchd's own; use another "
         "one")};
    _cleanup_(run_def_freep) struct run_def *def = make(WHOLE, CONFIG);
    for (uint32_t i = 0; i < def->matrix.n_points; i++) {
        const struct attempt_id attempt = {.point = i};
        _cleanup_(json_decrefp) json_t *body = NULL;
        struct err err = {0};
        assert_int_equal(job_body(def, &attempt, "replicas", &body, &err),
                         i % 3 == 0 ? 0 : -EINVAL);
        assert_string_equal(err.msg, words[i % 3]);
    }
}

TEST(python_writes_each_line_at_once)
{
    static const struct {
        const char *container, *env; /* NULL: none */
    } of[] = {
        {"", "[{\"name\":\"PYTHONUNBUFFERED\",\"value\":\"1\"}]"},
        {", env: [{name: A, value: b}]",
         "[{\"name\":\"A\",\"value\":\"b\"},{\"name\":\"PYTHONUNBUFFERED\",\"value\":\"1\"}]"},
        {", env: [{name: PYTHONUNBUFFERED, value: ''}]",
         "[{\"name\":\"PYTHONUNBUFFERED\",\"value\":\"\"}]"},
        {", command: [torchrun, --nproc_per_node=2, a.py]", NULL}, /* processes of one pipe */
        {", args: ['mpirun -n 2 python3 a.py']", NULL},
    };
    for (size_t i = 0; i < N_ROWS(of); i++) {
        print_message("# %s\n", of[i].container);
        _cleanup_(freep) char *job = xasprintf(
            "{" JOB ", spec: {template: {spec: {containers: [{name: main, image: i%s}]}}}}",
            of[i].container);
        _cleanup_(run_def_freep) struct run_def *def = make(job, CONFIG);
        json_auto_t *object = NULL;
        assert_int_equal(job_body(def, &(struct attempt_id){0}, NULL, &object, NULL), 0);
        const json_t *env = json_pointer_get(object, "/spec/template/spec/containers/0/env");
        _cleanup_(freep) char *got = env == NULL ? NULL : json_dumps(env, JSON_COMPACT);
        assert_true((got == NULL) == (of[i].env == NULL) &&
                    (got == NULL || str_eq(got, of[i].env)));
    }
}

TEST(a_service_selects_pods_of_its_run_only)
{
    static const char *const specs[] = {"clusterIP: None", "selector: {a: b}",
                                        "selector: {benchd.io/run-uid: other}"};
    for (size_t i = 0; i < N_ROWS(specs); i++) {
        _cleanup_(freep) char *service = xasprintf(SERVICE("", "%s"), specs[i]);
        _cleanup_(run_def_freep) struct run_def *def = make(WHOLE, service);
        const struct attempt_id attempt = {0};
        _cleanup_(json_decrefp) json_t *body = job_extra_body(def, &attempt, 0, "u-7");
        const json_t *uid = json_pointer_get(body, "/spec/selector/benchd.io~1run-uid");
        const json_t *address = json_pointer_get(body, "/spec/clusterIP");
        assert_string_equal(json_string_value(uid), "0f4c1de2-aaaa");
        assert_string_equal(json_string_value(address), "None");
        const json_t *owner = json_pointer_get(body, "/metadata/ownerReferences/0/uid");
        assert_string_equal(json_string_value(owner), "u-7");
        assert_string_equal(json_string_value(json_pointer_get(body, "/metadata/name")),
                            "s-jobs-1-p0t0a0");
    }
}

TEST(an_object_says_how_it_ended)
{
    static const struct {
        const char *succeeded, *failed, *status, *why; /* why: of a failure */
        enum job_verdict verdict;
    } of[] = {
        {"Complete", "Failed", "{}", NULL, JOB_GOES_ON},
        {"Complete", "Failed", "{conditions: [{type: Complete, status: 'False'}]}", NULL,
         JOB_GOES_ON},
        {"Complete", "Failed",
         "{conditions: [{type: Suspended, status: 'False'}, {type: Complete, status: 'True'}]}",
         NULL, JOB_SUCCEEDED},
        {"Complete", "Failed",
         "{message: m, conditions: [{type: Failed, status: 'True', reason: R, message: no pod}]}",
         "R: no pod", JOB_FAILED},
        {"/status/phase=Done", "/status/phase=Failed", "{phase: Done}", NULL, JOB_SUCCEEDED},
        {"/status/phase=Done", "/status/phase=Failed", "{phase: Don}", NULL, JOB_GOES_ON},
        {"/status/phase=Done", "/status/phase=Failed", "{phase: Failed, message: m}", "m",
         JOB_FAILED},
        {"/status/ready=2", "/status/failed=true", "{ready: 2}", NULL, JOB_SUCCEEDED},
        {"/status/ready=2", "/status/failed=true", "{ready: 2, failed: true}", "", JOB_FAILED},
        {"/status/list/0/a=b=c", "/status/none=null", "{list: [{a: b=c}]}", NULL, JOB_SUCCEEDED},
    };
    for (size_t i = 0; i < N_ROWS(of); i++) {
        print_message("# %s, %s: %s\n", of[i].succeeded, of[i].failed, of[i].status);
        _cleanup_(tree_freep) struct node *tree = NULL;
        struct diags diags = {0};
        assert_int_equal(
            tree_parse(of[i].status, strlen(of[i].status), &TREE_LIMITS_DEFAULT, &tree, &diags), 0);
        json_auto_t *object = json_pack("{s:o}", "status", tree_to_json(tree));
        json_auto_t *job =
            json_pack("{s:s, s:s}", "succeeded", of[i].succeeded, "failed", of[i].failed);
        _cleanup_(job_state_done) struct job_state state = {0};
        job_state_read(job, object, &state);
        assert_int_equal(state.verdict, of[i].verdict);
        assert_true(str_eq_or_null(state.why, of[i].why));
    }
}
