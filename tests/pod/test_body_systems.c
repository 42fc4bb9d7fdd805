/* What a system runs in its pods: its words and variables, and which systems cannot run there. */
#include "tests/test.h"
#include "pod/body.h"

#include "base/str.h"
#include "small_definition.h"
#include "body_fixture.h"

TEST(foreign_systems_need_a_command)
{
    _cleanup_(run_def_freep) struct run_def *def = make_run("spec:", "spec:");
    struct err err = {0};
    assert_int_equal(pod_check_systems(def->spec, &err), 0);
    free(def->spec->systems.items[0].profile);
    def->spec->systems.items[0].profile = xstrdup("pytorch");
    assert_int_equal(pod_check_systems(def->spec, &err), -EINVAL);
    assert_non_null(strstr(err.msg, "profile 'pytorch' needs programs that only the machine"));
    assert_non_null(strstr(err.msg, "--systems"));
    for (enum role role = 0; role < ROLE_COUNT; role++) {
        json_t *template = def->spec->roles[role].template;
        json_t *spec = json_object_get(template, "spec");
        json_t *container = json_array_get(json_object_get(spec, "containers"), 0);
        json_object_set_new(container, "command", json_pack("[s]", "python3"));
    }
    assert_int_equal(pod_check_systems(def->spec, &err), 0);
    json_decref(def->spec->roles[ROLE_TRAINER].template);
    def->spec->roles[ROLE_TRAINER].template = NULL;
    assert_int_equal(pod_check_systems(def->spec, &err), -ENOENT);
    assert_non_null(strstr(err.msg, "spec.roles.trainer has no template"));
}

/* A pod of a system's own image runs the image's command, with the arguments of the definition. */
TEST(an_image_of_its_own_brings_the_command)
{
    static const struct {
        const char *system, *args;
        bool is_good;
    } rows[] = {
        {"image: \"mine:1\"", NULL, true},
        {"image: \"mine:1\", args: [--fast]", "[\"--fast\"]", true},
        {"roles: {worker: {image: \"mine:1\"}}", NULL, true},
        {"args: [--fast]", NULL, false}, /* the template's image is not this system's */
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(freep) char *text = xasprintf(
            "apiVersion: benchd.io/v1alpha1\nkind: Benchmark\nmetadata: {name: sample}\nspec:\n"
            "  systems: [{name: mine, profile: other, %s}]\n"
            "  workload: {model: m, batchSize: 1, exchange: {kind: AllReduce}}\n"
            "  sweep: {grid: {workers: [2]}}\n"
            "  roles: {worker: {replicas: {from: workers}, "
            "template: {spec: {containers: [{name: main, image: \"benchworker:1\"}]}}}}\n",
            rows[i].system);
        struct spec *spec = definition_load(text, NULL);
        struct err err = {0};
        assert_int_equal(pod_check_systems(spec, &err), rows[i].is_good ? 0 : -EINVAL);
        _cleanup_(run_def_freep) struct run_def *def = make_run_of(spec);
        const struct replica_id worker = {{0, 1, 2}, ROLE_WORKER, 0};
        const struct gang_addresses unknown = {.is_pods = true};
        _cleanup_(json_decrefp) json_t *pod = NULL;
        assert_int_equal(pod_body(def, &worker, &unknown, POD_BY_DNS, &pod, &err), 0);
        json_t *container =
            json_array_get(json_object_get(json_object_get(pod, "spec"), "containers"), 0);
        assert_null(json_object_get(container, "command"));
        if (rows[i].is_good) {
            expect(pod, "spec/containers/0/image", "mine:1");
        }
        if (rows[i].args != NULL) {
            expect(pod, "spec/containers/0/args", rows[i].args);
        }
    }
}

/* Only processes of one machine have links of their own. */
TEST(pods_have_no_shaped_links)
{
    _cleanup_(run_def_freep) struct run_def *def = make_run("spec:", "spec:");
    struct err err = {0};
    def->spec->workload.link.bits_per_s = 1000000000;
    assert_int_equal(pod_check_systems(def->spec, &err), -EINVAL);
    assert_non_null(strstr(err.msg, "links are shaped between the processes of one machine"));
}

/* Our own values are data: Kubernetes must not expand them. */
TEST(values_are_not_expanded)
{
    struct run_def *def = make_run("dataset: {kind: Synthetic}", "dataset: {kind: CIFAR10, path: "
                                                                 "/d/$(BENCHD_RUN)/$$/$x}");
    _cleanup_(json_decrefp) json_t *pod = make_pod(def, POD_BY_DNS);
    assert_string_equal(env_of(pod, "BENCHD_DATA"), "cifar10:/d/$$(BENCHD_RUN)/$$$/$x");
    run_def_free(def);
}

/* Kubernetes expands a system's words and variables itself; benchd's own values must stay. */
TEST(a_system_in_a_pod)
{
    static const char text[] =
        "apiVersion: benchd.io/v1alpha1\nkind: Benchmark\nmetadata: {name: sample}\n"
        "spec:\n"
        "  systems: [{name: mine, profile: other, image: \"mine:1\", command: [run, $(RANK)], "
        "env: [{name: RANK, value: $(BENCHD_INDEX)}, {name: A, value: w}, {name: A, value: x}]}]\n"
        "  workload: {model: m, dataset: {kind: D, path: /$(X)}, batchSize: 1, "
        "exchange: {kind: AllReduce}}\n"
        "  sweep: {grid: {workers: [2]}}\n"
        "  roles: {worker: {replicas: {from: workers}}}\n";
    struct spec *spec = definition_load(text, NULL);
    struct err err = {0};
    assert_int_equal(pod_check_systems(spec, &err), 0);
    _cleanup_(run_def_freep) struct run_def *def = make_run_of(spec);
    const struct replica_id worker = {{0, 1, 2}, ROLE_WORKER, 0};
    const struct gang_addresses unknown = {.is_pods = true};
    _cleanup_(json_decrefp) json_t *pod;
    assert_int_equal(pod_body(def, &worker, &unknown, POD_BY_DNS, &pod, &err), 0);
    expect(pod, "spec/containers/0/image", "mine:1");
    expect(pod, "spec/containers/0/name", "main");
    expect(pod, "spec/containers/0/command", "[\"run\",\"$(RANK)\"]");
    assert_string_equal(env_of(pod, "RANK"), "$(BENCHD_INDEX)");
    assert_string_equal(env_of(pod, "A"), "x");
    assert_string_equal(env_of(pod, "BENCHD_DATA"), "D:/$$(X)");
    /* What a variable refers to must stand before it. */
    const json_t *list = json_object_get(
        json_array_get(json_object_get(json_object_get(pod, "spec"), "containers"), 0), "env");
    size_t index = 0, rank = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = json_string_value(json_object_get(json_array_get(list, i), "name"));
        index = str_eq(name, "BENCHD_INDEX") ? i : index;
        rank = str_eq(name, "RANK") ? i : rank;
    }
    assert_true(index < rank);
}

/* `expected` may have one %s, which stands for `value`. */
static void expect_with(const json_t *pod, const char *path, const char *expected,
                        const char *value)
{
    const char *mark = strstr(expected, "%s");
    _cleanup_(freep) char *wanted = mark == NULL ? xstrdup(expected)
                                                 : xasprintf("%.*s%s%s", (int)(mark - expected),
                                                             expected, value, mark + strlen("%s"));
    expect(pod, path, wanted);
}

/* A declared value goes in last: over the image of a system and of a role, and over patches. */
TEST(swept_images_and_nodes)
{
    static const char text[] =
        "apiVersion: benchd.io/v1alpha1\nkind: Benchmark\nmetadata: {name: sample}\n"
        "spec:\n"
        "  systems: [{name: mine, profile: other, command: [run], %s}]\n"
        "  workload: {model: m, batchSize: 1, exchange: {kind: AllReduce}}\n"
        "  sweep: {grid: {workers: [1], type: [one, two]}}\n"
        "  parameters: [{name: type, targets: [{roles: [worker], paths: [%s]}]}]\n"
        "  roles: {worker: {replicas: {from: workers}, template: {spec: {nodeSelector: {disk: "
        "ssd}, containers: [{name: main, image: \"template:1\"}]}}}}\n";
    static const struct {
        const char *system, *path; /* what the system says, what the parameter sets */
        const char *image, *nodes; /* of the pod; %s: the swept value */
    } rows[] = {
        {"env: [{name: A, value: b}]", "/spec/containers/0/image", "%s", "{\"disk\":\"ssd\"}"},
        {"image: all", "/spec/containers/0/image", "%s", "{\"disk\":\"ssd\"}"},
        {"image: all, roles: {worker: {image: own}}", "/spec/containers/0/image", "%s",
         "{\"disk\":\"ssd\"}"},
        {"image: all", "/spec/nodeSelector/gpu", "all", "{\"disk\":\"ssd\",\"gpu\":\"%s\"}"},
        {"image: all", "/spec/nodeSelector/example.com~1gpu", "all",
         "{\"disk\":\"ssd\",\"example.com/gpu\":\"%s\"}"},
        {"image: all, patches: [{roles: [worker], path: /spec/nodeSelector, value: {gpu: p100}}]",
         "/spec/nodeSelector/gpu", "all", "{\"gpu\":\"%s\"}"},
    };
    static const char *const values[] = {"one", "two"};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s', %s\n", rows[i].system, rows[i].path);
        _cleanup_(freep) char *full = xasprintf(text, rows[i].system, rows[i].path);
        _cleanup_(run_def_freep) struct run_def *def = make_run_of(definition_load(full, NULL));
        assert_int_equal(def->matrix.n_swept, 2);
        for (uint32_t point = 0; point < 2; point++) {
            const struct replica_id worker = {{point, 0, 0}, ROLE_WORKER, 0};
            const struct gang_addresses unknown = {.is_pods = true};
            _cleanup_(json_decrefp) json_t *pod;
            struct err err;
            assert_int_equal(pod_body(def, &worker, &unknown, POD_BY_DNS, &pod, &err), 0);
            expect_with(pod, "spec/containers/0/image", rows[i].image, values[point]);
            expect_with(pod, "spec/nodeSelector", rows[i].nodes, values[point]);
        }
    }
}

/* Of one system the variables differ by more than the index: each pod has a body of its own. */
TEST(rendezvous_in_pods)
{
    static const char text[] =
        "apiVersion: benchd.io/v1alpha1\nkind: Benchmark\nmetadata: {name: sample}\n"
        "spec:\n"
        "  systems:\n"
        "  - {name: mine, profile: torchrun, image: a, command: [a]}\n"
        "  - {name: alone, profile: none, image: a, command: [a]}\n"
        "  workload: {model: m, batchSize: 1, exchange: {kind: AllReduce}}\n"
        "  sweep: {grid: {workers: [2]}}\n"
        "  roles: {worker: {replicas: {from: workers}}}\n";
    _cleanup_(run_def_freep) struct run_def *def = make_run_of(definition_load(text, NULL));
    static char *list[] = {"w0.s:7164", "w1.s:7164"};
    const struct gang_addresses addresses = {.of_role = {[ROLE_WORKER] = list}, .is_pods = true};
    const struct replica_id second = {{0, 0, 0}, ROLE_WORKER, 1};
    const struct replica_id other = {{1, 0, 0}, ROLE_WORKER, 1};
    struct err err;
    json_t *pod;
    assert_int_equal(pod_body(def, &second, &addresses, POD_BY_DNS, &pod, &err), 0);
    assert_string_equal(env_of(pod, "MASTER_ADDR"), "w0.s");
    assert_string_equal(env_of(pod, "MASTER_PORT"), "7164");
    assert_string_equal(env_of(pod, "RANK"), "1");
    json_decref(pod);
    assert_int_equal(pod_body(def, &second, &addresses, POD_BY_IP, &pod, &err), -EINVAL);
    assert_string_equal(err.msg,
                        "system 'mine': variable MASTER_ADDR of worker needs the addresses "
                        "of role worker, which addressing IP does not give; write "
                        "addressing: DNS");
    assert_int_equal(pod_body(def, &other, &addresses, POD_BY_IP, &pod, &err), 0);
    json_decref(pod);
    assert_false(pod_body_is_alike(def, 0));
    assert_true(pod_body_is_alike(def, 1));
}

/* A ring of benchworker's own workers needs addresses before its pods run; one
 * worker alone does not. */
TEST(workers_by_ip)
{
    static const char text[] =
        "apiVersion: benchd.io/v1alpha1\nkind: Benchmark\nmetadata: {name: sample}\n"
        "spec:\n"
        "  systems: [{name: ours, profile: benchworker, image: a}]\n"
        "  workload: {model: vgg16-fluid-fc512, batchSize: 1, exchange: {kind: AllReduce}}\n"
        "  sweep: {grid: {workers: [1, 2]}}\n"
        "  roles: {worker: {replicas: {from: workers}}}\n";
    _cleanup_(run_def_freep) struct run_def *def = make_run_of(definition_load(text, NULL));
    static char *list[] = {"w0.s:7164", "w1.s:7164"};
    const struct gang_addresses addresses = {.of_role = {[ROLE_WORKER] = list}, .is_pods = true};
    const struct replica_id alone = {{0, 0, 0}, ROLE_WORKER, 0},
                            second = {{1, 0, 0}, ROLE_WORKER, 1};
    struct err err;
    json_t *pod;
    assert_int_equal(pod_body(def, &second, &addresses, POD_BY_DNS, &pod, &err), 0);
    assert_string_equal(env_of(pod, "BENCHD_WORKER_ADDRS"), "w0.s:7164,w1.s:7164");
    assert_string_equal(env_of(pod, "BENCHD_ROLE"), "worker");
    assert_string_equal(env_of(pod, "BENCHD_EXCHANGE"), "AllReduce");
    json_decref(pod);
    assert_int_equal(pod_body(def, &alone, &addresses, POD_BY_IP, &pod, &err), 0);
    json_decref(pod);
    assert_int_equal(pod_body(def, &second, &addresses, POD_BY_IP, &pod, &err), -EINVAL);
    assert_string_equal(err.msg, "system 'ours': a worker needs the address of the next one, which "
                                 "addressing IP does not give; write addressing: DNS");
}
