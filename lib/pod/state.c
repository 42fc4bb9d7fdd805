/* See state.h. The order matters: first what the cluster did to the pod, then memory (an exit
 * code 0 may hide it), then how the container ended, then what it waits for. */
#include "pod/state.h"

#include <stdarg.h>
#include <string.h>

#include "base/mem.h"
#include "base/rfc3339.h"
#include "base/str.h"
#include "base/text.h"
#include "core/placement.h"
#include "core/record.h"
#include "core/summary.h"
#include "pod/body.h"

static const char *text_of(const json_t *object, const char *key)
{
    const char *s = json_string_value(json_object_get(object, key));
    return s == NULL ? "" : s;
}

static bool has_named(const json_t *list, const char *name)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (str_eq(text_of(json_array_get(list, i), "name"), name)) {
            return true;
        }
    }
    return false;
}

/* benchd gives both to its container alone. A watch leaves variables out. */
static bool has_contract(const json_t *container)
{
    return has_named(json_object_get(container, "volumeMounts"), POD_SECRET_VOLUME) ||
           has_named(json_object_get(container, "env"), "BENCHD_ROLE");
}

const json_t *pod_main_container(const json_t *pod)
{
    const json_t *list = json_object_get(json_object_get(pod, "spec"), "containers");
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (has_contract(json_array_get(list, i))) {
            return json_array_get(list, i);
        }
    }
    return json_array_get(list, 0);
}

/* The status of the container that counts; NULL: none yet. */
static const json_t *main_status(const json_t *pod)
{
    const char *name = text_of(pod_main_container(pod), "name");
    const json_t *list = json_object_get(json_object_get(pod, "status"), "containerStatuses");
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (str_eq(text_of(json_array_get(list, i), "name"), name)) {
            return json_array_get(list, i);
        }
    }
    return NULL;
}

static const json_t *condition(const json_t *status, const char *type)
{
    const json_t *list = json_object_get(status, "conditions");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        if (str_eq(text_of(item, "type"), type)) {
            return item;
        }
    }
    return NULL;
}

static void fail(struct pod_state *s, enum failure_class failure)
{
    s->state = REPLICA_FAILED;
    s->failure = failure;
    s->wait = POD_WAIT_NONE;
}

const char *pod_state_message(const struct pod_state *state)
{
    return state->message == NULL ? "" : state->message;
}

void pod_state_say(struct pod_state *state, const char *fmt, ...)
{
    char text[512];
    va_list args;
    va_start(args, fmt);
    _cleanup_(freep) char *whole = xvasprintf(fmt, args);
    va_end(args);
    text_put(text, sizeof(text), "%s", whole);
    free(state->message);
    state->message = text[0] == '\0' ? NULL : xstrdup(text);
}

/* "words: detail", or the words alone. */
static void say(struct pod_state *s, const char *words, const char *detail)
{
    pod_state_say(s, "%s%s%s", words, *detail == '\0' ? "" : ": ", detail);
}

/* The same about its node, which is named where it is known: "evicted by node
 * 'n4': low on memory". */
static void say_of_node(struct pod_state *s, const char *before, const char *after,
                        const char *detail)
{
    const bool is_known = s->node != NULL;
    _cleanup_(freep) char *words = xasprintf("%s%s%s%s%s", before, is_known ? "node '" : "the node",
                                             is_known ? s->node : "", is_known ? "'" : "", after);
    say(s, words, detail);
}

/* ---- the termination message: a summary, or the last lines of the log ---- */

struct last_words {
    char *error;                    /* of an error record; owned */
    char *line;                     /* the last line that is no record; owned */
    char damage[ERR_MSG_SIZE + 32]; /* what is wrong with a damaged record; "": none */
};

static void keep_line(struct pod_state *s, const struct replica_id *id, struct last_words *words,
                      const char *line, size_t len)
{
    struct record record;
    struct err err = {0};
    const int r = line[0] == '{' ? record_read(line, len, &record, &err) : 0;
    if (r < 0) {
        text_put(words->damage, sizeof(words->damage), "damaged record: %s", err.msg);
    }
    if (r <= 0) {
        free(words->line);
        words->line = xstrndup(line, len);
        return;
    }
    const bool is_its = record.who.role == id->role && record.who.index == id->index &&
                        record.who.attempt == id->attempt.number;
    if (is_its && record.type == RECORD_SUMMARY) {
        free(s->summary_line);
        s->summary_line = xstrndup(line, len);
        s->summary_fault = summary_fault(&record.summary);
        free(s->noise);
        s->noise = xnew(struct noise);
        *s->noise = record.summary.noise;
    } else if (is_its && record.type == RECORD_ERROR) {
        free(words->error);
        words->error = xstrdup(record.error.message);
        s->has_blamed = record_read_peer(record.error.peer, &s->blamed_role, &s->blamed_index);
    }
    record_done(&record);
}

static void read_message(struct pod_state *s, const struct replica_id *id, const char *message,
                         struct last_words *words)
{
    for (const char *line = message; *line != '\0';) {
        const size_t len = strcspn(line, "\n");
        if (len > 0) {
            keep_line(s, id, words, line, len);
        }
        line += len + (line[len] == '\n');
    }
}

/* ---- how it ended ---- */

static void end_by_exit(struct pod_state *s, const struct replica_id *id, const json_t *ended)
{
    struct last_words words = {0};
    read_message(s, id, text_of(ended, "message"), &words);
    const char *said = words.error != NULL ? words.error : words.line != NULL ? words.line : "";
    const int code = s->exit_code;
    const int by_shell = code > 128 && code <= 128 + 64 ? code - 128 : 0;
    const int signal = s->signal != 0 ? s->signal : by_shell;
    const enum failure_class failure = failure_classify_exit(code, s->signal, false);
    if (failure == FAILURE_NONE) {
        s->state = REPLICA_SUCCEEDED;
        say(s, words.damage, "");
    } else {
        fail(s, failure);
        if (s->has_blamed) {
            say(s, said, "");
        } else if (signal != 0) {
            pod_state_say(s, "killed by signal %d%s", signal,
                          signal == 9 ? ", not by the OOM killer" : "");
        } else {
            pod_state_say(s, "exit code %d%s%s", code, *said == '\0' ? "" : ": ", said);
        }
    }
    free(words.error);
    free(words.line);
}

/* What to raise: the limit of the container that counts, as its template has it. */
static void say_memory(struct pod_state *s, const json_t *pod)
{
    const json_t *resources = json_object_get(pod_main_container(pod), "resources");
    const char *limit = text_of(json_object_get(resources, "limits"), "memory");
    if (*limit == '\0') {
        say(s, "out of memory; the container has no limit, so its node has too little memory", "");
    } else {
        pod_state_say(
            s, "out of memory; raise its limit of %s, for example with --set memory=VALUE", limit);
    }
}

static void end_container(struct pod_state *s, const struct replica_id *id, const json_t *pod,
                          const json_t *ended)
{
    static const char *const never_ran[] = {"StartError", "ContainerCannotRun", NULL};
    const char *reason = text_of(ended, "reason");
    s->exit_code = (int)json_integer_value(json_object_get(ended, "exitCode"));
    s->signal = (int)json_integer_value(json_object_get(ended, "signal"));
    if (str_eq(reason, "OOMKilled")) {
        fail(s, failure_classify_exit(s->exit_code, s->signal, true));
        say_memory(s, pod);
    } else if (str_is_one_of(reason, never_ran)) {
        fail(s, FAILURE_PERMANENT);
        say(s, "the container could not start", text_of(ended, "message"));
    } else if (str_eq(reason, "ContainerStatusUnknown")) {
        fail(s, FAILURE_INFRASTRUCTURE);
        say_of_node(s, "", " does not know how the container ended", text_of(ended, "message"));
    } else {
        end_by_exit(s, id, ended);
    }
}

/* ---- what the cluster did to it ---- */

static bool was_disrupted(struct pod_state *s, const json_t *status)
{
    static const struct {
        const char *reason;
        const char *before, *after; /* its node */
    } table[] = {
        {"PreemptionByScheduler", "preempted on ",
         " by a pod with higher priority; set priorityClassName in the templates"},
        {"EvictionByEvictionAPI", "evicted from ", " through the API, as kubectl drain does"},
        {"DeletionByTaintManager", "", " was lost or tainted"},
        {"DeletionByPodGC", "", " no longer exists"},
        {"TerminationByKubelet", "evicted by ", ""},
    };
    const json_t *c = condition(status, "DisruptionTarget");
    if (!str_eq(text_of(c, "status"), "True")) {
        return false;
    }
    fail(s, FAILURE_INFRASTRUCTURE);
    const char *detail = text_of(status, "message");
    detail = *detail != '\0' ? detail : text_of(c, "message");
    say_of_node(s, "disrupted on ", "", detail);
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        if (str_eq(table[i].reason, text_of(c, "reason"))) {
            say_of_node(s, table[i].before, table[i].after, detail);
        }
    }
    return true;
}

/* The pod itself failed, whatever its containers say. */
static bool failed_as_a_pod(struct pod_state *s, const json_t *status)
{
    static const char *const refused[] = {"UnexpectedAdmissionError",
                                          "TopologyAffinityError",
                                          "SMTAlignmentError",
                                          "NodeAffinity",
                                          "NodeName",
                                          "NodePorts",
                                          "PodOSNotSupported",
                                          "InvalidNodeInfo",
                                          NULL};
    static const char *const shut_down[] = {"NodeShutdown", "Terminated", "Shutdown", "NodeLost",
                                            NULL};
    const char *reason = text_of(status, "reason");
    const char *message = text_of(status, "message");
    if (!str_eq(text_of(status, "phase"), "Failed") || *reason == '\0') {
        return false;
    }
    if (str_eq(reason, "Evicted") || str_eq(reason, "Preempting")) {
        fail(s, FAILURE_INFRASTRUCTURE);
        say_of_node(s, "evicted by ", "", message);
    } else if (str_has_prefix(reason, "OutOf") || str_is_one_of(reason, refused)) {
        const bool is_full = str_has_prefix(reason, "OutOf"); /* OutOfcpu, OutOfpods, ... */
        fail(s, is_full ? FAILURE_NO_ROOM : FAILURE_INFRASTRUCTURE);
        _cleanup_(freep) char *detail = xasprintf("%s: %s", reason, message);
        say_of_node(s, "rejected by ", "", detail);
    } else if (str_is_one_of(reason, shut_down)) {
        fail(s, FAILURE_INFRASTRUCTURE);
        say_of_node(s, "", " was shut down", message);
    } else if (str_eq(reason, "DeadlineExceeded")) {
        fail(s, FAILURE_PERMANENT);
        say(s, "ran longer than the pod's activeDeadlineSeconds", "");
    } else {
        return false;
    }
    return true;
}

/* ---- what it waits for ---- */

static void wait_for(struct pod_state *s, enum pod_wait wait, const char *words, const char *detail)
{
    s->wait = wait;
    say(s, words, detail);
}

/* A runtime names the image and each of its own steps before the cause, and a cut message loses
 * its end first. A step ends with a quoted name and a colon. */
static const char *cause_of_pull(const char *message)
{
    const char *cause = message;
    for (const char *at = message; (at = strstr(at, "\": ")) != NULL; at += 3) {
        cause = at + 3;
    }
    return cause;
}

static bool waits_in_container(struct pod_state *s, const json_t *container)
{
    static const char *const no_image[] = {"InvalidImageName", "ErrImageNeverPull", NULL};
    static const char *const pulling[] = {"ErrImagePull", "ImagePullBackOff", "ImageInspectError",
                                          "RegistryUnavailable", NULL};
    static const char *const creating[] = {"CreateContainerConfigError", "CreateContainerError",
                                           NULL};
    static const char *const failing[] = {"RunContainerError", "CrashLoopBackOff", NULL};
    const json_t *waiting = json_object_get(json_object_get(container, "state"), "waiting");
    const char *reason = text_of(waiting, "reason");
    const char *message = text_of(waiting, "message");
    _cleanup_(freep) char *image = xasprintf("image '%s': %s", text_of(container, "image"), reason);
    _cleanup_(freep) char *start = xasprintf("the container cannot be created: %s", reason);
    if (str_is_one_of(reason, no_image)) {
        fail(s, FAILURE_PERMANENT);
        say(s, image, message);
    } else if (str_is_one_of(reason, pulling)) {
        wait_for(s, POD_WAIT_IMAGE, image, cause_of_pull(message));
    } else if (str_is_one_of(reason, creating)) {
        wait_for(s, POD_WAIT_CONTAINER, start, message);
    } else if (str_is_one_of(reason, failing)) {
        fail(s, FAILURE_PERMANENT);
        say(s, start, message);
    } else {
        return false;
    }
    return true;
}

static void look_at_waiting(struct pod_state *s, const json_t *status)
{
    static const char *const lists[] = {"initContainerStatuses", "containerStatuses"};
    for (size_t l = 0; l < 2; l++) {
        const json_t *list = json_object_get(status, lists[l]);
        for (size_t i = 0; i < json_array_size(list); i++) {
            if (waits_in_container(s, json_array_get(list, i))) {
                return;
            }
        }
    }
    const json_t *scheduled = condition(status, "PodScheduled");
    const json_t *set_up = condition(status, "PodReadyToStartContainers");
    if (!str_eq(text_of(scheduled, "status"), "False")) {
        const bool waits = !s->has_started && str_eq(text_of(set_up, "status"), "False");
        s->wait = waits ? POD_WAIT_SETUP : POD_WAIT_NONE;
        return;
    }
    const char *reason = text_of(scheduled, "reason");
    if (str_eq(reason, "Unschedulable")) {
        wait_for(s, POD_WAIT_NODE, "no node fits the pod", text_of(scheduled, "message"));
    } else if (str_eq(reason, "SchedulingGated")) {
        wait_for(s, POD_WAIT_GATE, "a scheduling gate holds the pod",
                 text_of(scheduled, "message"));
    }
}

/* An init container that failed keeps the main one from ever starting. */
static bool failed_before_its_start(struct pod_state *s, const json_t *status)
{
    const json_t *list = json_object_get(status, "initContainerStatuses");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        const json_t *ended = json_object_get(json_object_get(item, "state"), "terminated");
        const int code = (int)json_integer_value(json_object_get(ended, "exitCode"));
        if (code == 0) {
            continue;
        }
        const bool is_oom = str_eq(text_of(ended, "reason"), "OOMKilled");
        const int signal = (int)json_integer_value(json_object_get(ended, "signal"));
        _cleanup_(freep) char *words =
            xasprintf("init container '%s': %s%d", text_of(item, "name"),
                      is_oom ? "out of memory, exit code " : "exit code ", code);
        fail(s, failure_classify_exit(code, signal, is_oom));
        say(s, words, text_of(ended, "message"));
        return true;
    }
    return false;
}

/* A node that is not ready says nothing more of its pods: the control plane sets their condition
 * Ready to False, and leaves it without a reason, which a kubelet always gives. */
static bool is_on_lost_node(const struct pod_state *s, const json_t *status)
{
    const json_t *ready = condition(status, "Ready");
    return s->state == REPLICA_RUNNING && str_eq(text_of(ready, "status"), "False") &&
           *text_of(ready, "reason") == '\0';
}

/* Nothing has ended yet. */
static void look_at_living(struct pod_state *s, const json_t *pod, const json_t *status)
{
    if (str_eq(text_of(status, "phase"), "Failed") && failed_before_its_start(s, status)) {
        return;
    }
    if (str_eq(text_of(status, "phase"), "Failed")) {
        fail(s, FAILURE_INFRASTRUCTURE); /* and nothing says why: more likely the machine's fault */
        say(s, "failed", text_of(status, "message"));
    } else if (str_eq(text_of(status, "phase"), "Succeeded")) {
        s->state = REPLICA_SUCCEEDED;
    } else if (json_object_get(json_object_get(pod, "metadata"), "deletionTimestamp") != NULL) {
        const bool is_lost = is_on_lost_node(s, status);
        fail(s, FAILURE_INFRASTRUCTURE);
        if (is_lost) {
            say_of_node(s, "", " is not ready, and the pod is being deleted", "");
        } else {
            say_of_node(s, "the pod is being deleted from ", "", "");
        }
    } else if (is_on_lost_node(s, status)) {
        s->is_node_lost = true;
        say_of_node(s, "", " is not ready", "");
    } else {
        look_at_waiting(s, status);
    }
}

/* 0: it is not said. */
static int64_t date_of(const json_t *state, const char *key)
{
    const char *text = text_of(state, key);
    int64_t unix_ns;
    return rfc3339_parse(text, strlen(text), &unix_ns) < 0 ? 0 : unix_ns / 1000000;
}

static void look_at_container(struct pod_state *s, const json_t *container,
                              const json_t **ret_ended)
{
    const json_t *state = json_object_get(container, "state");
    *ret_ended = json_object_get(state, "terminated");
    const json_t *running = json_object_get(state, "running");
    const bool runs = running != NULL;
    const bool is_unknown = str_eq(text_of(*ret_ended, "reason"), "ContainerStatusUnknown");
    s->has_started = runs || *ret_ended != NULL;
    s->started_unix_ms = date_of(runs ? running : *ret_ended, "startedAt");
    s->finished_unix_ms = date_of(*ret_ended, "finishedAt");
    const json_int_t n_restarts = json_integer_value(json_object_get(container, "restartCount"));
    s->n_restarts = n_restarts > 0 && n_restarts <= UINT32_MAX ? (uint32_t)n_restarts : 0;
    s->is_simulated = s->has_started && !is_unknown && *text_of(container, "containerID") == '\0';
    s->state = runs ? REPLICA_RUNNING : REPLICA_PENDING;
}

void pod_state_read(const json_t *pod, const struct replica_id *id, struct pod_state *ret)
{
    *ret = (struct pod_state){.state = REPLICA_PENDING, .exit_code = -1};
    const json_t *status = json_object_get(pod, "status");
    const json_t *ended;
    const json_t *container = main_status(pod);
    look_at_container(ret, container, &ended);
    const char *image_id = text_of(container, "imageID");
    ret->image_id = *image_id == '\0' ? NULL : xstrdup(image_id);
    const char *node = text_of(json_object_get(pod, "spec"), "nodeName");
    ret->node = *node == '\0' ? NULL : xstrdup(node);
    text_put(ret->ip, sizeof(ret->ip), "%s", text_of(status, "podIP"));
    if (failed_as_a_pod(ret, status)) {
        return;
    }
    const bool is_good_end =
        ended != NULL && json_integer_value(json_object_get(ended, "exitCode")) == 0;
    if (!is_good_end && was_disrupted(ret, status)) {
        return;
    }
    if (ended != NULL) {
        end_container(ret, id, pod, ended);
    } else {
        look_at_living(ret, pod, status);
    }
}

void pod_state_done(struct pod_state *state)
{
    free(state->summary_line);
    state->summary_line = NULL;
    free(state->noise);
    state->noise = NULL;
    free(state->image_id);
    state->image_id = NULL;
    free(state->node);
    state->node = NULL;
    free(state->message);
    state->message = NULL;
}

char *pod_state_environment(const struct pod_state *state, const char *environment_json)
{
    return placement_add(environment_json, state->node, state->image_id);
}

bool pod_is_over(const json_t *pod)
{
    const char *phase = text_of(json_object_get(pod, "status"), "phase");
    return str_eq(phase, "Succeeded") || str_eq(phase, "Failed");
}

bool pod_has_stopped(const json_t *pod)
{
    static const char *const lists[] = {"initContainerStatuses", "containerStatuses"};
    const json_t *status = json_object_get(pod, "status");
    for (size_t l = 0; l < 2; l++) {
        const json_t *list = json_object_get(status, lists[l]);
        for (size_t i = 0; i < json_array_size(list); i++) {
            const json_t *state = json_object_get(json_array_get(list, i), "state");
            if (json_object_get(state, "terminated") == NULL) {
                return false;
            }
        }
    }
    return json_array_size(json_object_get(status, "containerStatuses")) > 0;
}

/* ---- what is kept of it ---- */

/* Removes all members but those of `keys`, which ends with NULL; nothing if it is not an object. */
static void keep_only(json_t *object, const char *const *keys)
{
    const char *key;
    json_t *value;
    void *next;
    json_object_foreach_safe(object, next, key, value)
    {
        if (!str_is_one_of(key, keys)) {
            (void)json_object_del(object, key);
        }
    }
}

static void prune_spec(json_t *pod)
{
    json_t *spec = json_object_get(pod, "spec");
    const json_t *container = pod_main_container(pod);
    json_t *name = json_incref(json_object_get(container, "name"));
    const json_t *resources = json_object_get(container, "resources");
    json_t *limits = json_incref(json_object_get(resources, "limits")); /* say_memory */
    json_t *node = json_incref(json_object_get(spec, "nodeName"));
    (void)json_object_clear(spec); /* no object: there is nothing to clear or set */
    (void)json_object_set_new(
        spec, "containers",
        json_pack("[{s:o*, s:{s:o*}}]", "name", name, "resources", "limits", limits));
    if (node != NULL) {
        (void)json_object_set_new(spec, "nodeName", node);
    }
}

static void prune_status(json_t *status)
{
    static const char *const of_status[] = {"phase",
                                            "reason",
                                            "message",
                                            "podIP",
                                            "conditions",
                                            "initContainerStatuses",
                                            "containerStatuses",
                                            NULL};
    static const char *const of_condition[] = {"type", "status", "reason", "message", NULL};
    static const char *const of_container[] = {"name",         "image", "imageID", "containerID",
                                               "restartCount", "state", NULL};
    static const char *const read_types[] = {"DisruptionTarget", "PodReadyToStartContainers",
                                             "PodScheduled", "Ready", NULL};
    static const char *const lists[] = {"initContainerStatuses", "containerStatuses"};
    keep_only(status, of_status);
    json_t *conditions = json_object_get(status, "conditions");
    for (size_t i = json_array_size(conditions); i > 0; i--) {
        json_t *item = json_array_get(conditions, i - 1);
        if (str_is_one_of(text_of(item, "type"), read_types)) {
            keep_only(item, of_condition);
        } else {
            (void)json_array_remove(conditions, i - 1); /* it is there */
        }
    }
    for (size_t l = 0; l < sizeof(lists) / sizeof(lists[0]); l++) {
        json_t *list = json_object_get(status, lists[l]);
        for (size_t i = 0; i < json_array_size(list); i++) {
            keep_only(json_array_get(list, i), of_container);
        }
    }
}

void pod_prune(json_t *pod)
{
    static const char *const of_pod[] = {"metadata", "spec", "status", NULL};
    static const char *const of_metadata[] = {"name",
                                              "uid",
                                              "resourceVersion",
                                              "labels",
                                              "ownerReferences",
                                              "creationTimestamp",
                                              "deletionTimestamp",
                                              "deletionGracePeriodSeconds",
                                              NULL};
    keep_only(pod, of_pod);
    keep_only(json_object_get(pod, "metadata"), of_metadata);
    prune_spec(pod);
    prune_status(json_object_get(pod, "status"));
}
