/* See state.h. The order matters: first what the cluster did to the pod, then memory (an exit
 * code 0 may hide it), then how the container ended, then what it waits for. */
#include "pod/state.h"

#include <stdarg.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

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
    char text[ERR_MSG_SIZE];
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
        summary_free(s->summary);
        s->summary = summary_copy(&record.summary);
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

static void end_by_exit(struct pod_state *s, const struct replica_id *id, const char *message)
{
    struct last_words words = {0};
    read_message(s, id, message, &words);
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
static void say_memory(struct pod_state *s, const char *limit)
{
    if (*limit == '\0') {
        say(s, "out of memory; the container has no limit, so its node has too little memory", "");
    } else {
        pod_state_say(
            s, "out of memory; raise its limit of %s, for example with --set memory=VALUE", limit);
    }
}

static bool is_unknown(const struct pod_container *ended)
{
    return str_eq(ended->reason, "ContainerStatusUnknown");
}

static void end_container(struct pod_state *s, const struct replica_id *id,
                          const struct pod_facts *pod)
{
    static const char *const never_ran[] = {"StartError", "ContainerCannotRun", NULL};
    const struct pod_container *ended = pod->main;
    s->exit_code = ended->exit_code;
    s->signal = ended->signal;
    if (str_eq(ended->reason, "OOMKilled")) {
        fail(s, failure_classify_exit(s->exit_code, s->signal, true));
        say_memory(s, pod->memory_limit);
    } else if (str_is_one_of(ended->reason, never_ran)) {
        fail(s, FAILURE_PERMANENT);
        say(s, "the container could not start", ended->message);
    } else if (is_unknown(ended)) {
        fail(s, FAILURE_INFRASTRUCTURE);
        say_of_node(s, "", " does not know how the container ended", ended->message);
    } else {
        end_by_exit(s, id, ended->message);
    }
}

/* ---- what the cluster did to it ---- */

/* Kueue wrote why before it deleted the pod: whatever the reason, its quota is somebody else's. */
static bool was_evicted_by_queue(struct pod_state *s, const struct pod_facts *pod)
{
    fail(s, FAILURE_PREEMPTED);
    pod_state_say(s, "preempted by queue '%s' (%s): %s", pod->queue, pod->eviction_reason,
                  pod->eviction_message);
    return true;
}

static bool was_disrupted(struct pod_state *s, const struct pod_facts *pod)
{
    static const struct {
        const char *reason;
        const char *before, *after; /* its node */
        enum failure_class failure;
    } table[] = {
        {"PreemptionByScheduler", "preempted on ",
         " by a pod with higher priority; set priorityClassName in the templates",
         FAILURE_PREEMPTED},
        {"EvictionByEvictionAPI", "evicted from ", " through the API, as kubectl drain does",
         FAILURE_INFRASTRUCTURE},
        {"DeletionByTaintManager", "", " was lost or tainted", FAILURE_INFRASTRUCTURE},
        {"DeletionByPodGC", "", " no longer exists", FAILURE_INFRASTRUCTURE},
        {"TerminationByKubelet", "evicted by ", "", FAILURE_INFRASTRUCTURE},
    };
    if (pod->disruption_reason == NULL) {
        return pod->eviction_reason != NULL && was_evicted_by_queue(s, pod);
    }
    fail(s, FAILURE_INFRASTRUCTURE);
    const char *detail = *pod->message != '\0' ? pod->message : pod->disruption_message;
    say_of_node(s, "disrupted on ", "", detail);
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        if (str_eq(table[i].reason, pod->disruption_reason)) {
            fail(s, table[i].failure);
            say_of_node(s, table[i].before, table[i].after, detail);
        }
    }
    return true;
}

/* The pod itself failed, whatever its containers say. */
static bool failed_as_a_pod(struct pod_state *s, const struct pod_facts *pod)
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
    const char *reason = pod->reason, *message = pod->message;
    if (pod->phase != POD_FAILED || *reason == '\0') {
        return false;
    }
    const bool is_preempted = str_eq(reason, "Preempting"); /* for a pod that its node needs */
    if (is_preempted || str_eq(reason, "Evicted")) {
        fail(s, is_preempted ? FAILURE_PREEMPTED : FAILURE_INFRASTRUCTURE);
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

static bool waits_in_container(struct pod_state *s, const struct pod_container *c)
{
    static const char *const no_image[] = {"InvalidImageName", "ErrImageNeverPull", NULL};
    static const char *const pulling[] = {"ErrImagePull", "ImagePullBackOff", "ImageInspectError",
                                          "RegistryUnavailable", NULL};
    static const char *const creating[] = {"CreateContainerConfigError", "CreateContainerError",
                                           NULL};
    static const char *const failing[] = {"RunContainerError", "CrashLoopBackOff", NULL};
    const char *reason = c->step == POD_STEP_WAITING ? c->reason : "", *message = c->message;
    _cleanup_(freep) char *image = xasprintf("image '%s': %s", c->image, reason);
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

static void look_at_waiting(struct pod_state *s, const struct pod_facts *pod)
{
    for (uint32_t i = 0; i < pod->n_containers; i++) {
        if (waits_in_container(s, &pod->containers[i])) {
            return;
        }
    }
    if (pod->unscheduled_reason == NULL) {
        /* A kubelet that knows the pod has written a status of each container. */
        const bool is_untouched = *pod->node != '\0' && pod->n_containers == 0;
        s->wait = !s->has_started && (pod->is_not_set_up || is_untouched) ? POD_WAIT_SETUP
                                                                          : POD_WAIT_NONE;
    } else if (str_eq(pod->unscheduled_reason, "Unschedulable")) {
        wait_for(s, POD_WAIT_NODE, "no node fits the pod", pod->unscheduled_message);
    } else if (str_eq(pod->unscheduled_reason, "SchedulingGated")) {
        _cleanup_(freep) char *words =
            *pod->queue == '\0' ? xstrdup("a scheduling gate holds the pod")
                                : xasprintf("queue '%s' has not admitted the pod", pod->queue);
        wait_for(s, POD_WAIT_GATE, words, pod->unscheduled_message);
    }
}

/* An init container that failed keeps the main one from ever starting. */
static bool failed_before_its_start(struct pod_state *s, const struct pod_facts *pod)
{
    for (uint32_t i = 0; i < pod->n_init; i++) {
        const struct pod_container *ended = &pod->containers[i];
        if (ended->step != POD_STEP_TERMINATED || ended->exit_code == 0) {
            continue;
        }
        const bool is_oom = str_eq(ended->reason, "OOMKilled");
        _cleanup_(freep) char *words =
            xasprintf("init container '%s': %s%d", ended->name,
                      is_oom ? "out of memory, exit code " : "exit code ", (int)ended->exit_code);
        fail(s, failure_classify_exit(ended->exit_code, ended->signal, is_oom));
        say(s, words, ended->message);
        return true;
    }
    return false;
}

/* A node that is not ready says nothing more of its pods: the control plane sets their condition
 * Ready to False, and leaves it without a reason, which a kubelet always gives. */
static bool is_on_lost_node(const struct pod_state *s, const struct pod_facts *pod)
{
    return s->state == REPLICA_RUNNING && pod->is_unheard_of;
}

/* Nothing has ended yet. */
static void look_at_living(struct pod_state *s, const struct pod_facts *pod)
{
    if (pod->phase == POD_FAILED && failed_before_its_start(s, pod)) {
        return;
    }
    if (pod->phase == POD_FAILED) {
        fail(s, FAILURE_INFRASTRUCTURE); /* and nothing says why: more likely the machine's fault */
        say(s, "failed", pod->message);
    } else if (pod->phase == POD_SUCCEEDED) {
        s->state = REPLICA_SUCCEEDED;
    } else if (pod->is_going) {
        const bool is_lost = is_on_lost_node(s, pod);
        fail(s, FAILURE_INFRASTRUCTURE);
        s->is_deleted = true;
        if (is_lost) {
            say_of_node(s, "", " is not ready, and the pod is being deleted", "");
        } else {
            say_of_node(s, "the pod is being deleted from ", "", "");
        }
    } else if (is_on_lost_node(s, pod)) {
        s->is_node_lost = true;
        say_of_node(s, "", " is not ready", "");
    } else {
        look_at_waiting(s, pod);
    }
}

static char *dup_or_null(const char *text)
{
    return *text == '\0' ? NULL : xstrdup(text);
}

void pod_state_read(const struct pod_facts *pod, const struct replica_id *id, struct pod_state *ret)
{
    const struct pod_container *c = pod->main;
    const bool runs = c != NULL && c->step == POD_STEP_RUNNING;
    const bool has_ended = c != NULL && c->step == POD_STEP_TERMINATED;
    *ret = (struct pod_state){
        .state = runs ? REPLICA_RUNNING : REPLICA_PENDING,
        .exit_code = -1,
        .has_started = runs || has_ended,
        .started_unix_ms = pod->started_unix_ms,
        .finished_unix_ms = pod->finished_unix_ms,
        .n_restarts = pod->n_restarts,
        .is_simulated = (runs || (has_ended && !is_unknown(c))) && !pod->has_container_id,
        .image_id = dup_or_null(pod->image_id),
        .node = dup_or_null(pod->node),
    };
    text_put(ret->ip, sizeof(ret->ip), "%s", pod->ip);
    if (failed_as_a_pod(ret, pod)) {
        return;
    }
    const bool is_bad_end = has_ended && c->exit_code != 0;
    if (pod->n_restarts > 0 && !is_bad_end) { /* what ran before is in no figure */
        fail(ret, FAILURE_INFRASTRUCTURE);
        pod_state_say(ret, "its container was started %u times; a measurement is one start",
                      pod->n_restarts + 1);
        return;
    }
    const bool is_good_end = has_ended && c->exit_code == 0;
    if (!is_good_end && was_disrupted(ret, pod)) {
        return;
    }
    if (has_ended) {
        end_container(ret, id, pod);
    } else {
        look_at_living(ret, pod);
    }
}

void pod_state_done(struct pod_state *state)
{
    summary_free(state->summary);
    state->summary = NULL;
    free(state->image_id);
    state->image_id = NULL;
    free(state->node);
    state->node = NULL;
    free(state->message);
    state->message = NULL;
}
