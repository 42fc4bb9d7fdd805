/* What of a template stays in its pods, and what it may not say. */
#include "tests/test.h"
#include "pod/body.h"

#include "body_fixture.h"

#define OLD_TRAINER "    trainer: {replicas: {from: trainers}, template: *pod}\n"
#define NEW_TRAINER "    trainer:\n      replicas: {from: trainers}\n"

TEST(template_stays)
{
    _cleanup_(run_def_freep) struct run_def *def =
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
    _cleanup_(json_decrefp) json_t *pod = make_pod(def, POD_BY_DNS);
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
}

/* A key with nothing behind it is YAML's way to say nothing; our own things must come in. */
TEST(nothing_behind_a_key)
{
    _cleanup_(run_def_freep) struct run_def *def =
        make_run(OLD_TRAINER, NEW_TRAINER "      template:\n"
                                          "        spec:\n"
                                          "          securityContext:\n"
                                          "          volumes:\n"
                                          "          containers:\n"
                                          "          - name: work\n"
                                          "            volumeMounts:\n");
    _cleanup_(json_decrefp) json_t *pod = make_pod(def, POD_BY_DNS);
    struct replica_id id;
    assert_true(identify(def, pod, &id));
    expect(pod, "spec/securityContext/fsGroup", "65532");
    expect(pod, "spec/volumes/0/name", "benchd-key");
    expect(pod, "spec/containers/0/volumeMounts/0/name", "benchd-key");
}

/* Without a group of its own, a volume's files belong to the group that the container runs as. */
TEST(the_key_belongs_to_the_templates_group)
{
    _cleanup_(run_def_freep) struct run_def *def =
        make_run(OLD_TRAINER, NEW_TRAINER "      template:\n"
                                          "        spec:\n"
                                          "          securityContext: {runAsGroup: 8}\n"
                                          "          containers: [{name: work}]\n");
    _cleanup_(json_decrefp) json_t *pod = make_pod(def, POD_BY_DNS);
    expect(pod, "spec/securityContext/runAsGroup", "8");
    expect(pod, "spec/securityContext/fsGroup", "8");
}

/* A pod gets what the level `restricted` of Pod Security requires and keeps what its template says.
 * A template that asks for more than the level allows is left as it is. */
TEST(pods_are_restricted_unless_the_template_says_otherwise)
{
#define PLAIN "{\"allowPrivilegeEscalation\":false,\"capabilities\":{\"drop\":[\"ALL\"]}}"
#define NON_ROOT "\"runAsNonRoot\":true,\"seccompProfile\":{\"type\":\"RuntimeDefault\"}"
#define GROUP "\"fsGroup\":65532"
    static const struct {
        const char *name, *spec, *pod, *main, *second;
    } rows[] = {
        {"nothing", "containers: [{name: main}, {name: b}]",
         "{" GROUP "," NON_ROOT ",\"runAsUser\":65532}", PLAIN, PLAIN},
        {"an init container", "containers: [{name: main}], initContainers: [{name: b}]",
         "{" GROUP "," NON_ROOT ",\"runAsUser\":65532}", PLAIN, ""},
        {"a user", "securityContext: {runAsUser: 7}, containers: [{name: main}]",
         "{\"runAsUser\":7," GROUP "," NON_ROOT "}", PLAIN, ""},
        {"the image's user", "securityContext: {runAsNonRoot: true}, containers: [{name: main}]",
         "{\"runAsNonRoot\":true," GROUP ",\"seccompProfile\":{\"type\":\"RuntimeDefault\"}}",
         PLAIN, ""},
        {"the image's user, of a container",
         "containers: [{name: main, securityContext: {runAsNonRoot: true}}]",
         "{" GROUP "," NON_ROOT "}",
         "{\"runAsNonRoot\":true,\"allowPrivilegeEscalation\":false,\"capabilities\":{\"drop\":["
         "\"ALL\"]}}",
         ""},
        {"fields of its own",
         "securityContext: {seccompProfile: {type: Localhost}}, containers: [{name: main, "
         "securityContext: {capabilities: {drop: [KILL]}}}]",
         "{\"seccompProfile\":{\"type\":\"Localhost\"}," GROUP
         ",\"runAsNonRoot\":true,\"runAsUser\":65532}",
         "{\"capabilities\":{\"drop\":[\"KILL\"]},\"allowPrivilegeEscalation\":false}", ""},
        {"root", "securityContext: {runAsUser: 0}, containers: [{name: main}]",
         "{\"runAsUser\":0," GROUP "}", "{}", ""},
        {"whatever the image has",
         "securityContext: {runAsNonRoot: false}, containers: [{name: main}]",
         "{\"runAsNonRoot\":false," GROUP "}", "{}", ""},
        {"root in a second container",
         "containers: [{name: main}, {name: b, securityContext: {runAsUser: 0}}]", "{" GROUP "}",
         "{}", "{\"runAsUser\":0}"},
        {"root in an init container",
         "containers: [{name: main}], initContainers: [{name: b, securityContext: {runAsUser: 0}}]",
         "{" GROUP "}", "{}", ""},
        {"privileges", "containers: [{name: main, securityContext: {privileged: true}}]",
         "{" GROUP "}", "{\"privileged\":true}", ""},
        {"escalation",
         "containers: [{name: main, securityContext: {allowPrivilegeEscalation: true}}]",
         "{" GROUP "}", "{\"allowPrivilegeEscalation\":true}", ""},
        {"a capability",
         "containers: [{name: main, securityContext: {capabilities: {add: [IPC_LOCK]}}}]",
         "{" GROUP "}", "{\"capabilities\":{\"add\":[\"IPC_LOCK\"]}}", ""},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# %s\n", rows[i].name);
        _cleanup_(freep) char *to =
            xasprintf(NEW_TRAINER "      template: {spec: {%s}}\n", rows[i].spec);
        _cleanup_(run_def_freep) struct run_def *def = make_run(OLD_TRAINER, to);
        _cleanup_(json_decrefp) json_t *pod = make_pod(def, POD_BY_IP);
        expect(pod, "spec/securityContext", rows[i].pod);
        expect(pod, "spec/containers/0/securityContext", rows[i].main);
        expect(pod, "spec/containers/1/securityContext", rows[i].second);
        if (strstr(rows[i].spec, "initContainers: [{name: b}]") != NULL) {
            expect(pod, "spec/initContainers/0/securityContext", PLAIN);
        }
    }
}

/* Images of this tree, of systems, templates and init containers; no other image. */
TEST(registry_of_our_images)
{
    json_auto_t *pod =
        json_pack("{s:{s:[{s:s}], s:[{s:s, s:[s]}, {s:s}]}}", "spec", "initContainers", "image",
                  "benchd.local/a:1", "containers", "image", "benchd.local/b:2", "args",
                  "benchd.local/c", "image", "other.example/benchd.local/d");
    pod_set_registry(pod, NULL);
    expect(pod, "spec/initContainers/0/image", "benchd.local/a:1");
    pod_set_registry(pod, "r.example/team");
    expect(pod, "spec/initContainers/0/image", "r.example/team/a:1");
    expect(pod, "spec/containers/0/image", "r.example/team/b:2");
    expect(pod, "spec/containers/0/args/0", "benchd.local/c");
    expect(pod, "spec/containers/1/image", "other.example/benchd.local/d");
}

TEST(account_of_the_template_stays)
{
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
        _cleanup_(run_def_freep) struct run_def *def = make_run(OLD_TRAINER, to);
        _cleanup_(json_decrefp) json_t *pod = make_pod(def, POD_BY_IP);
        pod_body_set_account(pod, rows[i].account);
        expect(pod, "spec/serviceAccountName", rows[i].expected);
    }
}

/* A parameter may write anywhere: the pod that it makes is checked too. */
TEST(parameters_cannot_break_rules)
{
    _cleanup_(run_def_freep) struct run_def *def =
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
}
