/* The pod of a replica: what benchd sets, who it is, where others find it. */
#include "tests/test.h"
#include "base/mem.h"
#include "pod/body.h"

#include "body_fixture.h"

TEST(pod_by_dns)
{
    _cleanup_(run_def_freep) struct run_def *def = make_run("spec:", "spec:");
    _cleanup_(json_decrefp) json_t *pod = make_pod(def, POD_BY_DNS);
    static const struct {
        const char *path, *value;
    } fields[] = {
        {"apiVersion", "v1"},
        {"kind", "Pod"},
        {"metadata/name", "sample-1-p0t1a2-trainer-0"},
        {"metadata/labels/benchd.io/", ""},
        {"metadata/annotations", "{\"benchd.io/parameters\":\"{\\\"batch_size\\\":16,"
                                 "\\\"pservers\\\":1,\\\"trainers\\\":1}\"}"},
        {"metadata/ownerReferences/0/kind", "BenchmarkRun"},
        {"metadata/ownerReferences/0/uid", UID},
        {"metadata/ownerReferences/0/controller", "true"},
        {"metadata/ownerReferences/0/blockOwnerDeletion", "true"},
        {"spec/restartPolicy", "Never"},
        {"spec/hostname", "p0t1a2-trainer-0"},
        {"spec/subdomain", "sample-1-0f4c1de2"},
        {"spec/automountServiceAccountToken", "false"},
        {"spec/enableServiceLinks", "false"},
        {"spec/activeDeadlineSeconds", "4200"},
        {"spec/securityContext/fsGroup", "65532"},
        {"spec/volumes/0", "{\"name\":\"benchd-key\",\"secret\":{\"secretName\":"
                           "\"sample-1-0f4c1de2-key\",\"defaultMode\":288}}"},
        {"spec/containers/0/command", "[\"benchworker\",\"trainer\"]"},
        {"spec/containers/0/terminationMessagePolicy", "FallbackToLogsOnError"},
        {"spec/containers/0/volumeMounts/0", "{\"name\":\"benchd-key\",\"mountPath\":"
                                             "\"/var/run/benchd\",\"readOnly\":true}"},
    };
    for (size_t i = 0; i < N_ROWS(fields); i++) {
        expect(pod, fields[i].path, fields[i].value);
    }
    const json_t *labels = json_object_get(json_object_get(pod, "metadata"), "labels");
    /* clang-format off */
    static const char *const expected[][2] = {
        {"app.kubernetes.io/managed-by", "benchd"}, {"benchd.io/benchmark", "sample"},
        {"benchd.io/run", "sample-1"},              {"benchd.io/point", "0"},
        {"benchd.io/trial", "1"},                   {"benchd.io/attempt", "2"},
        {"benchd.io/role", "trainer"},              {"benchd.io/replica-index", "0"},
        {"app.kubernetes.io/name", "benchd-run"},   {"app.kubernetes.io/instance", "sample-1"},
        {"app.kubernetes.io/part-of", "benchd"},    {"app.kubernetes.io/component", "trainer"},
    };
    /* clang-format on */
    for (size_t i = 0; i < N_ROWS(expected); i++) {
        assert_string_equal(json_string_value(json_object_get(labels, expected[i][0])),
                            expected[i][1]);
    }
    assert_string_equal(env_of(pod, "BENCHD_LISTEN"), "[::]:7164");
    assert_string_equal(env_of(pod, "BENCHD_TRAINER_ADDRS"), "p0t1a2-trainer-0.s:7164");
    assert_string_equal(env_of(pod, "BENCHD_SECRET_FILE"), "/var/run/benchd/key");
    assert_string_equal(env_of(pod, "BENCHD_SUMMARY_FILE"), "/dev/termination-log");
}

/* Where a run asks for a place of its own. */
TEST(placement)
{
    _cleanup_(run_def_freep) struct run_def *def = make_run("spec:", "spec:");
    def->options = (struct run_options){.topology_key = xstrdup("zone"), .exclusive_nodes = true};
    _cleanup_(json_decrefp) json_t *pod = make_pod(def, POD_BY_DNS);
#define REQUIRED "/requiredDuringSchedulingIgnoredDuringExecution"
    expect(pod, "spec/affinity/podAffinity" REQUIRED,
           "[{\"topologyKey\":\"zone\",\"labelSelector\":{\"matchLabels\":{\"benchd.io/run\":"
           "\"sample-1\",\"benchd.io/point\":\"0\",\"benchd.io/trial\":\"1\",\"benchd.io/attempt\":"
           "\"2\"}}}]");
    expect(pod, "spec/affinity/podAntiAffinity" REQUIRED,
           "[{\"topologyKey\":\"kubernetes.io/hostname\",\"labelSelector\":{\"matchExpressions\":[{"
           "\"key\":\"benchd.io/run\",\"operator\":\"Exists\"},{\"key\":\"benchd.io/lane\","
           "\"operator\":\"NotIn\",\"values\":[\"0f4c1de2-p0t1a2\"]}]},\"namespaceSelector\":{}}]");
    const json_t *labels = json_object_get(json_object_get(pod, "metadata"), "labels");
    assert_string_equal(json_string_value(json_object_get(labels, POD_LABEL_LANE)),
                        "0f4c1de2-p0t1a2");
}

TEST(pod_by_ip)
{
    _cleanup_(run_def_freep) struct run_def *def = make_run("spec:", "spec:");
    _cleanup_(json_decrefp) json_t *pod = make_pod(def, POD_BY_IP);
    expect(pod, "spec/hostname", "");
    expect(pod, "spec/subdomain", "");
    assert_string_equal(env_of(pod, "BENCHD_PSERVER_ADDRS"), "p0t1a2-pserver-0.s:7164");
    assert_null(env_of(pod, "BENCHD_TRAINER_ADDRS"));
}

TEST(another_number_is_the_same_as_another_pod)
{
    _cleanup_(run_def_freep) struct run_def *def = make_run("spec:", "spec:");
    static char *list[] = {"p0.s:7164"};
    struct gang_addresses addresses = {.of_role = {list, list}, .is_pods = true};
    for (int naming = POD_BY_IP; naming <= POD_BY_DNS; naming++) {
        for (enum role role = ROLE_PSERVER; role <= ROLE_TRAINER; role++) {
            const struct replica_id first = {{0, 1, 2}, role, 0}, other = {{0, 1, 2}, role, 17};
            _cleanup_(json_decrefp) json_t *made, *renumbered;
            assert_int_equal(
                pod_body(def, &first, &addresses, (enum pod_naming)naming, &renumbered, NULL), 0);
            assert_int_equal(
                pod_body(def, &other, &addresses, (enum pod_naming)naming, &made, NULL), 0);
            assert_false(json_equal(made, renumbered));
            pod_body_renumber(def, &other, (enum pod_naming)naming, renumbered);
            assert_true(json_equal(made, renumbered));
        }
    }
}

/* The pod says which replica it is; another run's uid, or a missing label,
 * and it is none of ours. */
TEST(identity_comes_back)
{
    _cleanup_(run_def_freep) struct run_def *def = make_run("spec:", "spec:");
    json_t *pod = make_pod(def, POD_BY_DNS);
    struct replica_id id;
    assert_true(identify(def, pod, &id));
    assert_true(replica_id_eq(&id, &trainer));
    json_t *metadata = json_object_get(pod, "metadata");
    json_object_del(json_object_get(metadata, "labels"), "benchd.io/trial");
    assert_false(identify(def, pod, &id));
    json_decref(pod);
    pod = make_pod(def, POD_BY_DNS);
    metadata = json_object_get(pod, "metadata");
    json_t *owner = json_array_get(json_object_get(metadata, "ownerReferences"), 0);
    json_object_set_new(owner, "uid", json_string("0f4c1de2-7777-4a4a-9999-000000000002"));
    assert_false(identify(def, pod, &id));
    json_decref(pod);
}

/* Labels can be edited; no number of theirs leads out of the matrix. */
TEST(a_replica_that_the_run_does_not_have_is_none)
{
    static const char *const wrong[][2] = {{"benchd.io/point", "99999"},
                                           {"benchd.io/point", "4294967295"},
                                           {"benchd.io/replica-index", "400000000"}};
    _cleanup_(run_def_freep) struct run_def *def = make_run("spec:", "spec:");
    const uint32_t n = def->matrix.points[trainer.attempt.point].replicas[ROLE_TRAINER];
    struct replica_id id;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        _cleanup_(json_decrefp) json_t *pod = make_pod(def, POD_BY_DNS);
        json_t *labels = json_object_get(json_object_get(pod, "metadata"), "labels");
        json_object_set_new(labels, wrong[i][0], json_string(wrong[i][1]));
        assert_false(identify(def, pod, &id));
    }
    json_t *pod = make_pod(def, POD_BY_DNS);
    json_t *labels = json_object_get(json_object_get(pod, "metadata"), "labels");
    for (uint32_t index = n - 1; index <= n; index++) {
        json_object_set_new(labels, "benchd.io/replica-index", json_sprintf("%u", (unsigned)index));
        assert_int_equal(identify(def, pod, &id), index < n);
    }
    json_object_set_new(labels, "benchd.io/point",
                        json_sprintf("%u", (unsigned)def->matrix.n_points));
    json_object_set_new(labels, "benchd.io/replica-index", json_string("0"));
    assert_false(identify(def, pod, &id));
    json_decref(pod);
}

TEST(addresses)
{
    _cleanup_(run_def_freep) struct run_def *def = make_run("spec:", "spec:");
    _cleanup_(freep) char *dns = pod_dns_address(def, &trainer);
    _cleanup_(freep) char *v4 = pod_ip_address("10.0.0.7");
    _cleanup_(freep) char *v6 = pod_ip_address("fd00::7");
    assert_string_equal(dns, "p0t1a2-trainer-0.sample-1-0f4c1de2:7164");
    assert_string_equal(v4, "10.0.0.7:7164");
    assert_string_equal(v6, "[fd00::7]:7164");
}
