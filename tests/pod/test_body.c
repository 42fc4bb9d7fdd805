/* The objects a run makes: what benchd sets, what of the template stays, what it refuses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "definition.h"

#include <string.h>

#include "base/base64.h"
#include "base/mem.h"
#include "base/str.h"
#include "pod/body.h"
#include "pod/ssh_key.h"

#define N_ROWS(a) (sizeof(a) / sizeof((a)[0]))
#define UID "0f4c1de2-7777-4a4a-9999-000000000001"

static struct run_def *make_run(const char *from, const char *to)
{
    _cleanup_(freep) char *text = definition_with(from, to);
    struct spec *spec = definition_load(text, NULL);
    struct run_def_params params = {.name = "sample-1", .uid = UID};
    struct run_def *def;
    struct diags diags = {0};
    assert_int_equal(run_def_new(spec, &params, &def, &diags), 0);
    return def;
}

static const struct replica_id trainer = {{0, 1, 2}, ROLE_TRAINER, 0};

static json_t *make_pod(const struct run_def *def, enum pod_naming naming)
{
    static char *pservers[] = {"p0t1a2-pserver-0.s:7164"};
    static char *trainers[] = {"p0t1a2-trainer-0.s:7164"};
    struct gang_addresses addresses = {
        .of_role =
            {[ROLE_PSERVER] = pservers, [ROLE_TRAINER] = naming == POD_BY_DNS ? trainers : NULL},
        .is_pods = true,
    };
    json_t *pod;
    struct err err = {0};
    if (pod_body(def, &trainer, &addresses, naming, &pod, &err) < 0) {
        fail_msg("%s", err.msg);
    }
    return pod;
}

/* What a path of keys and numbers leads to, as text; "" if it leads nowhere. Owned. */
static char *at(const json_t *value, const char *path)
{
    _cleanup_(freep) char *copy = xstrdup(path);
    char *save = NULL;
    for (char *key = strtok_r(copy, "/", &save); key != NULL; key = strtok_r(NULL, "/", &save)) {
        value = json_is_array(value) ? json_array_get(value, (size_t)(key[0] - '0'))
                                     : json_object_get(value, key);
    }
    if (json_is_string(value)) {
        return xstrdup(json_string_value(value));
    }
    char *text = value == NULL ? NULL : json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
    return text == NULL ? xstrdup("") : text;
}

static void expect(const json_t *value, const char *path, const char *expected)
{
    _cleanup_(freep) char *got = at(value, path);
    if (!str_eq(got, expected)) {
        fail_msg("%s: expected '%s', got '%s'", path, expected, got);
    }
}

static const char *env_of(const json_t *pod, const char *name)
{
    const json_t *containers = json_object_get(json_object_get(pod, "spec"), "containers");
    const json_t *list = json_object_get(json_array_get(containers, 0), "env");
    const char *found = NULL;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        if (str_eq(json_string_value(json_object_get(item, "name")), name)) {
            assert_null(found); /* each name once */
            found = json_string_value(json_object_get(item, "value"));
        }
    }
    return found;
}

static void pod_by_dns(void **state)
{
    (void)state;
    struct run_def *def = make_run("spec:", "spec:");
    json_t *pod = make_pod(def, POD_BY_DNS);
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
    };
    /* clang-format on */
    for (size_t i = 0; i < N_ROWS(expected); i++) {
        assert_string_equal(json_string_value(json_object_get(labels, expected[i][0])),
                            expected[i][1]);
    }
    assert_string_equal(env_of(pod, "BENCHD_LISTEN"), "0.0.0.0:7164");
    assert_string_equal(env_of(pod, "BENCHD_TRAINER_ADDRS"), "p0t1a2-trainer-0.s:7164");
    assert_string_equal(env_of(pod, "BENCHD_SECRET_FILE"), "/var/run/benchd/key");
    assert_string_equal(env_of(pod, "BENCHD_SUMMARY_FILE"), "/dev/termination-log");
    json_decref(pod);
    run_def_free(def);
}

static void pod_by_ip(void **state)
{
    (void)state;
    struct run_def *def = make_run("spec:", "spec:");
    json_t *pod = make_pod(def, POD_BY_IP);
    expect(pod, "spec/hostname", "");
    expect(pod, "spec/subdomain", "");
    assert_string_equal(env_of(pod, "BENCHD_PSERVER_ADDRS"), "p0t1a2-pserver-0.s:7164");
    assert_null(env_of(pod, "BENCHD_TRAINER_ADDRS"));
    json_decref(pod);
    run_def_free(def);
}

static void another_number_is_the_same_as_another_pod(void **state)
{
    (void)state;
    struct run_def *def = make_run("spec:", "spec:");
    static char *list[] = {"p0.s:7164"};
    struct gang_addresses addresses = {.of_role = {list, list}, .is_pods = true};
    for (int naming = POD_BY_IP; naming <= POD_BY_DNS; naming++) {
        for (enum role role = ROLE_PSERVER; role <= ROLE_TRAINER; role++) {
            const struct replica_id first = {{0, 1, 2}, role, 0}, other = {{0, 1, 2}, role, 17};
            json_t *made, *renumbered;
            assert_int_equal(
                pod_body(def, &first, &addresses, (enum pod_naming)naming, &renumbered, NULL), 0);
            assert_int_equal(
                pod_body(def, &other, &addresses, (enum pod_naming)naming, &made, NULL), 0);
            assert_false(json_equal(made, renumbered));
            pod_body_renumber(def, &other, (enum pod_naming)naming, renumbered);
            assert_true(json_equal(made, renumbered));
            json_decref(made);
            json_decref(renumbered);
        }
    }
    run_def_free(def);
}

static void foreign_systems_need_a_command(void **state)
{
    (void)state;
    struct run_def *def = make_run("spec:", "spec:");
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
    run_def_free(def);
}

/* The pod says which replica it is; another run's uid, or a missing label, and it is none of ours. */
/* Only processes of one machine have links of their own. */
static void pods_have_no_shaped_links(void **state)
{
    (void)state;
    struct run_def *def = make_run("spec:", "spec:");
    struct err err = {0};
    def->spec->workload.link.bits_per_s = 1000000000;
    assert_int_equal(pod_check_systems(def->spec, &err), -EINVAL);
    assert_non_null(strstr(err.msg, "links are shaped between the processes of one machine"));
    run_def_free(def);
}

static void identity_comes_back(void **state)
{
    (void)state;
    struct run_def *def = make_run("spec:", "spec:");
    json_t *pod = make_pod(def, POD_BY_DNS);
    struct replica_id id;
    assert_true(pod_identify(def, pod, &id));
    assert_true(replica_id_eq(&id, &trainer));
    json_t *metadata = json_object_get(pod, "metadata");
    json_object_del(json_object_get(metadata, "labels"), "benchd.io/trial");
    assert_false(pod_identify(def, pod, &id));
    json_decref(pod);
    pod = make_pod(def, POD_BY_DNS);
    metadata = json_object_get(pod, "metadata");
    json_t *owner = json_array_get(json_object_get(metadata, "ownerReferences"), 0);
    json_object_set_new(owner, "uid", json_string("0f4c1de2-7777-4a4a-9999-000000000002"));
    assert_false(pod_identify(def, pod, &id));
    json_decref(pod);
    run_def_free(def);
}

#define OLD_TRAINER "    trainer: {replicas: {from: trainers}, template: *pod}\n"
#define NEW_TRAINER "    trainer:\n      replicas: {from: trainers}\n"

static void template_stays(void **state)
{
    (void)state;
    struct run_def *def =
        make_run(OLD_TRAINER, NEW_TRAINER
                 "      template:\n"
                 "        metadata: {labels: {team: a}, annotations: {note: b}}\n"
                 "        spec:\n"
                 "          restartPolicy: Never\n"
                 "          activeDeadlineSeconds: 60\n"
                 "          securityContext: {fsGroup: 7, runAsGroup: 8}\n"
                 "          volumes: [{name: data, emptyDir: {}}]\n"
                 "          containers:\n"
                 "          - name: work\n"
                 "            image: r/w:1\n"
                 "            command: [sh, -c]\n"
                 "            args: [\"echo $(HOME)\"]\n"
                 "            terminationMessagePath: /tmp/end\n"
                 "            volumeMounts: [{name: data, mountPath: /data}]\n"
                 "            env:\n"
                 "            - {name: HOME, value: \"$(PWD)\"}\n"
                 "            - {name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}\n"
                 "            - {name: BENCHD_ROLE, value: pserver}\n");
    json_t *pod = make_pod(def, POD_BY_DNS);
    expect(pod, "metadata/labels/team", "a");
    expect(pod, "metadata/annotations/note", "b");
    expect(pod, "spec/activeDeadlineSeconds", "60");
    expect(pod, "spec/securityContext/fsGroup", "7");
    expect(pod, "spec/volumes/0/name", "data");
    expect(pod, "spec/volumes/1/name", "benchd-key");
    expect(pod, "spec/containers/0/name", "work");
    expect(pod, "spec/containers/0/command", "[\"sh\",\"-c\"]");
    expect(pod, "spec/containers/0/args", "[\"echo $(HOME)\"]");
    expect(pod, "spec/containers/0/env/1/valueFrom/fieldRef/fieldPath", "spec.nodeName");
    assert_string_equal(env_of(pod, "HOME"), "$(PWD)");
    assert_string_equal(env_of(pod, "BENCHD_ROLE"), "trainer");
    assert_string_equal(env_of(pod, "BENCHD_SUMMARY_FILE"), "/tmp/end");
    json_decref(pod);
    run_def_free(def);
}

/* A key with nothing behind it is YAML's way to say nothing; our own things must come in. */
static void nothing_behind_a_key(void **state)
{
    (void)state;
    struct run_def *def =
        make_run(OLD_TRAINER, NEW_TRAINER "      template:\n"
                                          "        metadata: {labels: , annotations: }\n"
                                          "        spec:\n"
                                          "          securityContext:\n"
                                          "          volumes:\n"
                                          "          containers:\n"
                                          "          - name: work\n"
                                          "            volumeMounts:\n");
    json_t *pod = make_pod(def, POD_BY_DNS);
    struct replica_id id;
    assert_true(pod_identify(def, pod, &id));
    expect(pod, "spec/securityContext/fsGroup", "65532");
    expect(pod, "spec/volumes/0/name", "benchd-key");
    expect(pod, "spec/containers/0/volumeMounts/0/name", "benchd-key");
    json_decref(pod);
    run_def_free(def);
}

/* Without a group of its own, a volume's files belong to the group that the container runs as. */
static void the_key_belongs_to_the_templates_group(void **state)
{
    (void)state;
    struct run_def *def =
        make_run(OLD_TRAINER, NEW_TRAINER "      template:\n"
                                          "        spec:\n"
                                          "          securityContext: {runAsGroup: 8}\n"
                                          "          containers: [{name: work}]\n");
    json_t *pod = make_pod(def, POD_BY_DNS);
    expect(pod, "spec/securityContext/runAsGroup", "8");
    expect(pod, "spec/securityContext/fsGroup", "8");
    json_decref(pod);
    run_def_free(def);
}

/* Our own values are data: Kubernetes must not expand them. */
static void values_are_not_expanded(void **state)
{
    (void)state;
    struct run_def *def = make_run("dataset: {kind: Synthetic}", "dataset: {kind: Cifar10, path: "
                                                                 "/d/$(BENCHD_RUN)/$$/$x}");
    json_t *pod = make_pod(def, POD_BY_DNS);
    assert_string_equal(env_of(pod, "BENCHD_DATA"), "cifar10:/d/$$(BENCHD_RUN)/$$$/$x");
    json_decref(pod);
    run_def_free(def);
}

static void account_of_the_template_stays(void **state)
{
    (void)state;
    static const struct {
        const char *spec, *account, *expected;
    } rows[] = {
        {"", "replicas", "replicas"},
        {"", NULL, ""},
        {"serviceAccountName: mine,", "replicas", "mine"},
        {"serviceAccountName: ,", "replicas", "replicas"},
        {"serviceAccount: mine,", "replicas", ""},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(freep) char *to = xasprintf(
            NEW_TRAINER "      template: {spec: {%s containers: [{name: main}]}}\n", rows[i].spec);
        struct run_def *def = make_run(OLD_TRAINER, to);
        json_t *pod = make_pod(def, POD_BY_IP);
        pod_body_set_account(pod, rows[i].account);
        expect(pod, "spec/serviceAccountName", rows[i].expected);
        json_decref(pod);
        run_def_free(def);
    }
}

/* A parameter may write anywhere: the pod that it makes is checked too. */
static void parameters_cannot_break_rules(void **state)
{
    (void)state;
    struct run_def *def =
        make_run("batch_size: [16]}\n  parameters:\n  - name: cpu\n    targets: [{roles: [pserver, "
                 "trainer], paths: [/spec/containers/0/resources/requests/cpu]}]\n",
                 "batch_size: [16], account: [benchd]}\n  parameters:\n  - name: account\n    "
                 "targets: [{roles: [trainer], paths: [/spec/serviceAccountName]}]\n");
    struct gang_addresses addresses = {.is_pods = true};
    json_t *pod;
    struct err err = {0};
    assert_int_equal(pod_body(def, &trainer, &addresses, POD_BY_IP, &pod, &err), -EINVAL);
    assert_string_equal(err.msg, "template of trainer: spec.serviceAccountName: 'benchd' is "
                                 "benchd's own; use another one");
    run_def_free(def);
}

/* Kubernetes expands a system's words and variables itself; benchd's own values must stay. */
static void a_system_in_a_pod(void **state)
{
    (void)state;
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
    struct run_def_params params = {.name = "sample-1", .uid = UID};
    struct run_def *def;
    struct diags diags = {0};
    assert_int_equal(run_def_new(spec, &params, &def, &diags), 0);
    const struct replica_id worker = {{0, 1, 2}, ROLE_WORKER, 0};
    const struct gang_addresses unknown = {.is_pods = true};
    json_t *pod;
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
    json_decref(pod);
    run_def_free(def);
}

/* ---- size ---- */

enum kind { NATIVE, OWN_COMMAND, OWN_PROGRAM };

/* A run of n replicas that train and 20 servers, with long names. */
static struct run_def *make_large_run(enum kind kind, uint32_t n)
{
    static const char *const systems[] = {
        [NATIVE] = "{name: s, profile: benchworker}",
        [OWN_COMMAND] = "{name: s, profile: benchworker, command: [a]}",
        [OWN_PROGRAM] = "{name: s, profile: none, image: a, command: [a]}"};
    _cleanup_(freep) char *text = xasprintf(
        "apiVersion: benchd.io/v1alpha1\nkind: Benchmark\nmetadata: {name: sample}\n"
        "spec:\n  systems: [%s]\n"
        "  workload: {model: vgg16-fluid-fc512, dataset: {kind: Synthetic}, batchSize: 16, "
        "exchange: {kind: PServer, mode: Sync, wire: Fp32}}\n"
        "  baseline: {kind: Point, where: {pservers: 20}}\n"
        "  sweep: {grid: {pservers: [20], trainers: [%u]}}\n"
        "  roles:\n    pserver: {replicas: {from: pservers}, template: &t {spec: {containers: "
        "[{name: "
        "main}]}}}\n    trainer: {replicas: {from: trainers}, template: *t}\n",
        systems[kind], n);
    struct spec *spec = definition_load(text, NULL);
    struct run_def_params params = {.name = "a-run-with-a-long-name-of-37-letters", .uid = UID};
    struct run_def *def;
    struct diags diags = {0};
    assert_int_equal(run_def_new(spec, &params, &def, &diags), 0);
    return def;
}

static char **make_addresses(const struct run_def *def, enum role role, uint32_t n)
{
    char **list = xnew_array(char *, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        list[i] = pod_dns_address(def, &(struct replica_id){{0, 0, 0}, role, i});
    }
    return list;
}

static void free_addresses(char **list)
{
    for (char **it = list; *it != NULL; it++) {
        free(*it);
    }
    free(list);
}

static size_t longest_variable(const json_t *pod)
{
    const json_t *containers = json_object_get(json_object_get(pod, "spec"), "containers");
    const json_t *list = json_object_get(json_array_get(containers, 0), "env");
    size_t longest = 0, i;
    json_t *item;
    json_array_foreach (list, i, item) {
        const size_t len = json_string_length(json_object_get(item, "name")) + 1 +
                           json_string_length(json_object_get(item, "value"));
        longest = len > longest ? len : longest;
    }
    return longest;
}

/* All trainers' pods as they are posted; ret_longest: of all variables. */
static size_t bytes_of_gang(enum kind kind, uint32_t n, size_t *ret_longest)
{
    struct run_def *def = make_large_run(kind, n);
    char **servers = make_addresses(def, ROLE_PSERVER, 20);
    char **trainers = make_addresses(def, ROLE_TRAINER, n);
    const struct gang_addresses addresses = {
        .of_role = {[ROLE_PSERVER] = servers, [ROLE_TRAINER] = trainers}, .is_pods = true};
    size_t bytes = 0;
    json_t *pod = NULL;
    for (uint32_t i = 0; i < n; i++) {
        const struct replica_id id = {{0, 0, 0}, ROLE_TRAINER, i};
        struct err err = {0};
        if (pod == NULL && pod_body(def, &id, &addresses, POD_BY_DNS, &pod, &err) < 0) {
            fail_msg("%s", err.msg);
        }
        pod_body_renumber(def, &id, POD_BY_DNS, pod);
        bytes += json_dumpb(pod, NULL, 0, JSON_COMPACT);
        if (!pod_body_is_alike(def, 0)) {
            json_decref(pod);
            pod = NULL;
        }
        *ret_longest = i == 0 && pod != NULL ? longest_variable(pod) : *ret_longest;
    }
    json_decref(pod);
    free_addresses(servers);
    free_addresses(trainers);
    run_def_free(def);
    return bytes;
}

/* Each replica costs the same, in a gang of a hundred and of thousands. */
static void bodies_are_linear_in_replicas(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {100, 200, 400, 2000, 2200};
    size_t longest = 0;
    const double each = (double)bytes_of_gang(NATIVE, sizes[0], &longest) / sizes[0];
    for (size_t i = 0; i < N_ROWS(sizes); i++) {
        const size_t bytes = bytes_of_gang(NATIVE, sizes[i], &longest);
        print_message("# %u replicas: %zu bytes, longest variable %zu\n", sizes[i], bytes, longest);
        assert_true((double)bytes / sizes[i] < 1.02 * each);
        assert_true(longest < 200);
    }
}

/* Another program reads lists; one that is too long for it becomes a pattern. */
static void lists_of_other_programs_are_bounded(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {30, 50, 100, 400, 2200, 10000};
    for (size_t i = 0; i < N_ROWS(sizes); i++) {
        size_t longest = 0;
        for (enum kind kind = OWN_COMMAND; kind <= OWN_PROGRAM; kind++) {
            const size_t bytes = bytes_of_gang(kind, sizes[i], &longest);
            print_message("# %u replicas: %zu bytes, longest variable %zu\n", sizes[i], bytes,
                          longest);
            assert_true(longest <= ADDRESS_LIST_MAX_BYTES + 32);
            assert_true(bytes / sizes[i] < ADDRESS_LIST_MAX_BYTES + 8192);
            assert_true((longest > 2000) == (sizes[i] <= 50)); /* a list, or a pattern */
        }
    }
}

/* Of one system the variables differ by more than the index: each pod has a body of its own. */
static void rendezvous_in_pods(void **state)
{
    (void)state;
    static const char text[] =
        "apiVersion: benchd.io/v1alpha1\nkind: Benchmark\nmetadata: {name: sample}\n"
        "spec:\n"
        "  systems:\n"
        "  - {name: mine, profile: torchrun, image: a, command: [a]}\n"
        "  - {name: alone, profile: none, image: a, command: [a]}\n"
        "  workload: {model: m, batchSize: 1, exchange: {kind: AllReduce}}\n"
        "  sweep: {grid: {workers: [2]}}\n"
        "  roles: {worker: {replicas: {from: workers}}}\n";
    struct spec *spec = definition_load(text, NULL);
    struct run_def_params params = {.name = "sample-1", .uid = UID};
    struct run_def *def;
    struct diags diags = {0};
    assert_int_equal(run_def_new(spec, &params, &def, &diags), 0);
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
                        "of role worker, which addressing Ip does not give; write "
                        "addressing: Dns");
    assert_int_equal(pod_body(def, &other, &addresses, POD_BY_IP, &pod, &err), 0);
    json_decref(pod);
    assert_false(pod_body_is_alike(def, 0));
    assert_true(pod_body_is_alike(def, 1));
    run_def_free(def);
}

/* A ring of benchworker's own workers needs addresses before its pods run; one worker alone does not. */
static void workers_by_ip(void **state)
{
    (void)state;
    static const char text[] =
        "apiVersion: benchd.io/v1alpha1\nkind: Benchmark\nmetadata: {name: sample}\n"
        "spec:\n"
        "  systems: [{name: ours, profile: benchworker, image: a}]\n"
        "  workload: {model: vgg16-fluid-fc512, batchSize: 1, exchange: {kind: AllReduce}}\n"
        "  sweep: {grid: {workers: [1, 2]}}\n"
        "  roles: {worker: {replicas: {from: workers}}}\n";
    struct spec *spec = definition_load(text, NULL);
    struct run_def_params params = {.name = "sample-1", .uid = UID};
    struct run_def *def;
    struct diags diags = {0};
    assert_int_equal(run_def_new(spec, &params, &def, &diags), 0);
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
                                 "addressing Ip does not give; write addressing: Dns");
    run_def_free(def);
}

/* The whole of it: a selector that is too wide would be accepted, too. */
static void policy(void **state)
{
    (void)state;
    static const char selector[] = "{\"matchLabels\":{\"app.kubernetes.io/managed-by\":\"benchd\","
                                   "\"benchd.io/run\":\"sample-1\"}}";
    struct run_def *def = make_run("spec:", "spec:");
    json_t *body = pod_policy_body(def);
    expect(body, "apiVersion", "networking.k8s.io/v1");
    expect(body, "kind", "NetworkPolicy");
    expect(body, "metadata/name", "sample-1-0f4c1de2");
    expect(body, "metadata/ownerReferences/0/uid", UID);
    _cleanup_(freep) char *expected =
        xasprintf("{\"podSelector\":%s,\"policyTypes\":[\"Ingress\",\"Egress\"],"
                  "\"ingress\":[{\"from\":[{\"podSelector\":%s}]}],"
                  "\"egress\":[{\"to\":[{\"podSelector\":%s}]},"
                  "{\"ports\":[{\"port\":53,\"protocol\":\"UDP\"},"
                  "{\"port\":53,\"protocol\":\"TCP\"}],\"to\":[{\"namespaceSelector\":{}}]}]}",
                  selector, selector, selector);
    _cleanup_(freep) char *spec = json_dumps(json_object_get(body, "spec"), JSON_COMPACT);
    assert_string_equal(spec, expected);
    json_decref(body);
    run_def_free(def);
}

/* What DNS needs to answer for p0t0a1-trainer-1.<service>. */
static void slice(void **state)
{
    (void)state;
    struct run_def *def = make_run("spec:", "spec:");
    json_t *slice = pod_slice_body(def, 0, false);
    const struct replica_id id = {{.number = 1}, ROLE_TRAINER, 1};
    pod_slice_add(slice, &id, "10.0.0.7");
    expect(slice, "apiVersion", "discovery.k8s.io/v1");
    expect(slice, "kind", "EndpointSlice");
    expect(slice, "metadata/name", "sample-1-0f4c1de2-0");
    expect(slice, "metadata/ownerReferences/0/uid", UID);
    char *of = NULL;
    json_unpack(slice, "{s:{s:{s:s}}}", "metadata", "labels", "kubernetes.io/service-name", &of);
    assert_string_equal(of, "sample-1-0f4c1de2");
    expect(slice, "addressType", "IPv4");
    expect(slice, "ports/0/port", "7164");
    expect(slice, "endpoints/0/addresses/0", "10.0.0.7");
    expect(slice, "endpoints/0/hostname", "p0t0a1-trainer-1");
    expect(slice, "endpoints/0/conditions/ready", "true");
    json_decref(slice);
    slice = pod_slice_body(def, 2, true);
    expect(slice, "metadata/name", "sample-1-0f4c1de2-2-v6");
    expect(slice, "addressType", "IPv6");
    expect(slice, "endpoints", "[]");
    json_decref(slice);
    run_def_free(def);
}

static void service_and_secret(void **state)
{
    (void)state;
    struct run_def *def = make_run("spec:", "spec:");
    json_t *service = pod_service_body(def);
    expect(service, "metadata/name", "sample-1-0f4c1de2");
    expect(service, "metadata/ownerReferences/0/uid", UID);
    expect(service, "spec/clusterIP", "None");
    expect(service, "spec/selector", ""); /* its addresses are ours to write */
    expect(service, "spec/ports/0/port", "7164");
    json_decref(service);

    static const struct {
        const char *secret, *base64;
    } cases[] = {
        {"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"\xff\xfe\xfd", "//79"}};
    for (size_t i = 0; i < N_ROWS(cases); i++) {
        json_t *secret = pod_secret_body(def, (const unsigned char *)cases[i].secret,
                                         strlen(cases[i].secret), NULL);
        expect(secret, "metadata/name", "sample-1-0f4c1de2-key");
        expect(secret, "data/key", cases[i].base64);
        expect(secret, "immutable", "true");
        json_decref(secret);
    }
    run_def_free(def);
}

/* The keys of runs with a launcher, and where pods find them. */
static void a_run_with_a_launcher_has_ssh_keys(void **state)
{
    (void)state;
    static const struct ssh_key ssh = {.seed = {1}, .public = {2}};
    struct run_def *def = make_run("spec:", "spec:");
    json_t *secret = pod_secret_body(def, (const unsigned char *)"f", 1, &ssh);
    expect(secret, "data/key", "Zg==");
    _cleanup_(freep) char *public = ssh_key_public_dup(&ssh);
    _cleanup_(freep) char *private = ssh_key_private_dup(&ssh);
    _cleanup_(freep) char *public64 = base64_dup(public, strlen(public));
    _cleanup_(freep) char *private64 = base64_dup(private, strlen(private));
    expect(secret, "data/id_ed25519.pub", public64);
    expect(secret, "data/id_ed25519", private64);
    json_decref(secret);

    struct point *point = &def->matrix.points[trainer.attempt.point];
    const struct gang_addresses addresses = {.is_pods = true};
    for (uint32_t n = 0; n < 2; n++) {
        json_t *pod;
        point->replicas[ROLE_LAUNCHER] = n;
        assert_int_equal(pod_body(def, &trainer, &addresses, POD_BY_DNS, &pod, NULL), 0);
        _cleanup_(freep) char *text = json_dumps(pod, JSON_COMPACT);
        static const char var[] =
            "{\"name\":\"BENCHD_SSH_KEY_FILE\",\"value\":\"/var/run/benchd/id_ed25519\"}";
        assert_int_equal(strstr(text, var) != NULL, n);
        assert_null(strstr(text, public64)); /* what is secret is in no pod */
        json_decref(pod);
    }
    run_def_free(def);
}

static void addresses(void **state)
{
    (void)state;
    struct run_def *def = make_run("spec:", "spec:");
    _cleanup_(freep) char *dns = pod_dns_address(def, &trainer);
    _cleanup_(freep) char *v4 = pod_ip_address("10.0.0.7");
    _cleanup_(freep) char *v6 = pod_ip_address("fd00::7");
    assert_string_equal(dns, "p0t1a2-trainer-0.sample-1-0f4c1de2:7164");
    assert_string_equal(v4, "10.0.0.7:7164");
    assert_string_equal(v6, "[fd00::7]:7164");
    run_def_free(def);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pod_by_dns),
        cmocka_unit_test(pod_by_ip),
        cmocka_unit_test(another_number_is_the_same_as_another_pod),
        cmocka_unit_test(foreign_systems_need_a_command),
        cmocka_unit_test(pods_have_no_shaped_links),
        cmocka_unit_test(identity_comes_back),
        cmocka_unit_test(template_stays),
        cmocka_unit_test(the_key_belongs_to_the_templates_group),
        cmocka_unit_test(nothing_behind_a_key),
        cmocka_unit_test(values_are_not_expanded),
        cmocka_unit_test(account_of_the_template_stays),
        cmocka_unit_test(parameters_cannot_break_rules),
        cmocka_unit_test(a_system_in_a_pod),
        cmocka_unit_test(rendezvous_in_pods),
        cmocka_unit_test(workers_by_ip),
        cmocka_unit_test(policy),
        cmocka_unit_test(bodies_are_linear_in_replicas),
        cmocka_unit_test(lists_of_other_programs_are_bounded),
        cmocka_unit_test(slice),
        cmocka_unit_test(service_and_secret),
        cmocka_unit_test(a_run_with_a_launcher_has_ssh_keys),
        cmocka_unit_test(addresses),
    };
    return cmocka_run_group_tests_name("pod/body", tests, NULL, NULL);
}
