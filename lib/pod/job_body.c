/* See job_body.h. */
#include "pod/job_body.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "core/json_field.h"
#include "doc/json_pointer.h"
#include "pod/body.h"
#include "pod/replica_spec.h"
#include "spec/job_template.h"

const json_t *job_of_point(const struct run_def *def, uint32_t point)
{
    return point < def->matrix.n_points
               ? def->spec->systems.items[def->matrix.points[point].system].job
               : NULL;
}

static void set_text(json_t *object, const char *key, const char *text)
{
    (void)json_object_set_new(object, key, json_string(text)); /* fails without memory only */
}

/* Name, owner and labels of an object of the attempt. */
static void set_metadata(const struct run_def *def, const struct attempt_id *attempt,
                         const char *name, json_t *object)
{
    json_t *metadata = json_pointer_enter(object, "/metadata", NULL);
    json_t *labels = json_pointer_enter(object, "/metadata/labels", NULL);
    if (metadata != NULL && labels != NULL) { /* else the server refuses the object */
        set_text(metadata, "name", name);
        pod_set_owner(def, metadata);
        pod_set_attempt_labels(def, attempt, labels);
    }
}

/* Of a label's name, a value of another label: the first '/' becomes '_', which no prefix has. */
static void set_index_label(json_t *labels, const char *index)
{
    _cleanup_(freep) char *value = xstrdup(index);
    char *slash = strchr(value, '/');
    if (slash != NULL) {
        *slash = '_';
    }
    set_text(labels, POD_LABEL_INDEX_FROM, value);
}

/* As for the pods that benchd makes itself. */
static void unbuffer(json_t *container)
{
    _cleanup_(freep) char *text = json_dumps(container, JSON_COMPACT);
    bool is_left = strstr(text, UNBUFFERED) != NULL;
    for (size_t i = 0; pipe_sharers[i] != NULL; i++) {
        is_left = is_left || strstr(text, pipe_sharers[i]) != NULL;
    }
    if (!is_left) {
        (void)json_object_update_missing_new(container, json_pack("{s:[]}", "env"));
        (void)json_array_append_new(json_object_get(container, "env"),
                                    json_pack("{s:s, s:s}", "name", UNBUFFERED, "value", "1"));
    }
}

/* Which replicas the pods of a template are. */
static int set_template(const struct run_def *def, const struct replica_id *id, const char *account,
                        json_t *template, struct err *err)
{
    const json_t *pods = job_pods(job_of_point(def, id->attempt.point), id->role);
    const char *index = json_string_value(json_object_get(pods, "index"));
    json_t *labels = json_pointer_enter(template, "/metadata/labels", err);
    json_t *spec = json_pointer_enter(template, "/spec", err), *container;
    size_t i;
    if (labels == NULL || spec == NULL) {
        return -EINVAL;
    }
    const bool is_whole = json_array_size(json_object_get(spec, "containers")) > 0;
    pod_set_attempt_labels(def, &id->attempt, labels);
    set_text(labels, "app.kubernetes.io/component", role_to_string(id->role));
    set_text(labels, "benchd.io/role", role_to_string(id->role));
    set_text(labels, POD_LABEL_RUN_UID, def->uid);
    set_index_label(labels, index != NULL ? index : POD_INDEX_LABEL);
    if (account != NULL && !json_is_string(json_object_get(spec, "serviceAccountName"))) {
        set_text(spec, "serviceAccountName", account);
    }
    if (is_whole) {
        (void)json_object_set_new(spec, "automountServiceAccountToken", json_false());
        json_array_foreach (json_object_get(spec, "containers"), i, container) {
            if (json_object_get(container, "terminationMessagePolicy") == NULL) {
                set_text(container, "terminationMessagePolicy", "FallbackToLogsOnError");
            }
            unbuffer(container);
        }
    }
    return 0;
}

/* Kueue suspends the object until its queue has a place. */
static void set_queue(const struct run_options *options, json_t *labels)
{
    if (options->queue != NULL && labels != NULL) {
        set_text(labels, "kueue.x-k8s.io/queue-name", options->queue);
    }
    if (options->priority_class != NULL && labels != NULL) {
        set_text(labels, "kueue.x-k8s.io/priority-class", options->priority_class);
    }
}

int job_body(const struct run_def *def, const struct attempt_id *attempt, const char *account,
             json_t **ret, struct err *err)
{
    const json_t *job = job_of_point(def, attempt->point);
    _cleanup_(freep) char *name = pod_attempt_name(def, attempt);
    json_auto_t *object = NULL;
    json_t *templates[ROLE_COUNT] = {0};
    struct template_problem problem;
    int r = job_object(def->spec, &def->matrix.points[attempt->point], name, &object, err);
    for (enum role role = 0; role < ROLE_COUNT && r == 0; role++) {
        if (job_pods(job, role) != NULL) {
            templates[role] = job_enter_pods(job, object, role, err);
            r = templates[role] == NULL ? -EINVAL : 0;
        }
    }
    if (r == 0 && job_object_check(object, JOB_ITSELF, &problem) < 0) {
        r = err_set(err, EINVAL, "%s: %s; %s", problem.path, problem.message, problem.fix);
    }
    for (enum role role = 0; role < ROLE_COUNT && r == 0; role++) {
        const struct replica_id id = {*attempt, role, 0};
        r = templates[role] == NULL ? 0 : set_template(def, &id, account, templates[role], err);
    }
    if (r < 0) {
        return err_wrap(err, r, "%s", job_kind(job));
    }
    set_metadata(def, attempt, name, object);
    set_queue(&def->options, json_pointer_enter(object, "/metadata/labels", NULL));
    *ret = take_ptr(object);
    return 0;
}

json_t *job_extra_body(const struct run_def *def, const struct attempt_id *attempt, size_t i,
                       const char *job_uid)
{
    const json_t *job = job_of_point(def, attempt->point);
    json_t *object = json_deep_copy(json_array_get(json_object_get(job, "objects"), i));
    _cleanup_(freep) char *of = pod_attempt_name(def, attempt);
    _cleanup_(freep) char *name =
        xasprintf("%s-%s", fact_text(json_object_get(object, "metadata"), "name"), of);
    const json_t *template = json_object_get(job, "template");
    json_t *owner =
        json_pack("[{s:O, s:O, s:s, s:s}]", "apiVersion", json_object_get(template, "apiVersion"),
                  "kind", json_object_get(template, "kind"), "name", of, "uid", job_uid);
    set_metadata(def, attempt, name, object);
    (void)json_object_set_new(json_object_get(object, "metadata"), "ownerReferences", owner);
    if (str_eq(fact_text(object, "kind"), "Service")) { /* headless, of pods of the run */
        set_text(json_pointer_enter(object, "/spec", NULL), "clusterIP", "None");
        set_text(json_pointer_enter(object, "/spec/selector", NULL), POD_LABEL_RUN_UID, def->uid);
    }
    return object;
}

bool job_identify(const struct run_def *def, const json_t *object, struct attempt_id *ret)
{
    const json_t *metadata = json_object_get(object, "metadata");
    return pod_read_attempt(json_object_get(metadata, "labels"), ret) &&
           job_of_point(def, ret->point) != NULL;
}

/* ---- what the object says ---- */

static const json_t *condition_of(const json_t *object, const char *type)
{
    const json_t *status = json_object_get(object, "status");
    return fact_find(json_object_get(status, "conditions"), "type", type);
}

/* Does the object have the condition, or the value, "/status/phase=Done", that job has there? */
static bool holds(const json_t *job, const char *key, const json_t *object)
{
    const char *text = fact_text(job, key);
    if (text[0] != '/') {
        return str_eq(fact_text(condition_of(object, text), "status"), "True");
    }
    const size_t len = strcspn(text, "=");
    _cleanup_(freep) char *path = xstrndup(text, len);
    const json_t *value = json_pointer_get(object, path);
    _cleanup_(freep) char *shown = value == NULL || json_is_string(value)
                                       ? xstrdup_or_null(json_string_value(value))
                                       : json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
    return str_eq_or_null(shown, text + len + 1);
}

/* Of the condition that job.failed names, or else of its status. */
static char *words_of(const json_t *job, const json_t *object)
{
    const json_t *failed = condition_of(object, fact_text(job, "failed"));
    return failed == NULL
               ? xstrdup(fact_text(json_object_get(object, "status"), "message"))
               : xasprintf("%s: %s", fact_text(failed, "reason"), fact_text(failed, "message"));
}

void job_state_read(const json_t *job, const json_t *object, struct job_state *ret)
{
    const json_t *metadata = json_object_get(object, "metadata");
    job_state_done(ret);
    *ret = (struct job_state){
        .verdict = holds(job, "failed", object)      ? JOB_FAILED
                   : holds(job, "succeeded", object) ? JOB_SUCCEEDED
                                                     : JOB_GOES_ON,
        .is_suspended = json_is_true(json_pointer_get(object, "/spec/suspend")) ||
                        json_is_true(json_pointer_get(object, "/spec/runPolicy/suspend")),
        .made_unix_ms = fact_date(metadata, "creationTimestamp"),
        .uid = xstrdup(fact_text(metadata, "uid")),
        .held_by = xstrdup(object_held_by(metadata)),
    };
    ret->why = ret->verdict == JOB_FAILED ? words_of(job, object) : NULL;
}

void job_state_done(struct job_state *state)
{
    free(state->uid);
    free(state->why);
    free(state->held_by);
    *state = (struct job_state){0};
}
