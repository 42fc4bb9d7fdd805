/* See job_body.h. */
#include "pod/job_body.h"

#include <errno.h>

#include "base/mem.h"
#include "base/str.h"
#include "doc/json_pointer.h"
#include "pod/body.h"
#include "spec/template_rules.h"

const struct job *job_of_point(const struct run_def *def, uint32_t point)
{
    return point < def->matrix.n_points
               ? def->spec->systems.items[def->matrix.points[point].system].job
               : NULL;
}

static char *object_name(const struct run_def *def, const struct attempt_id *a, size_t i)
{
    const struct job *job = job_of_point(def, a->point);
    const json_t *metadata = json_object_get(job->objects.items[i], "metadata");
    _cleanup_(freep) char *name = pod_attempt_name(def, a);
    return xasprintf("%s-%s", json_string_value(json_object_get(metadata, "name")), name);
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
    for (char *c = value; *c != '\0'; c++) {
        if (*c == '/') {
            *c = '_';
            break;
        }
    }
    set_text(labels, POD_LABEL_INDEX_FROM, value);
}

static int set_template(const struct run_def *def, const struct replica_id *id, const char *account,
                        json_t *object, struct err *err)
{
    const struct job *job = job_of_point(def, id->attempt.point);
    const struct job_pods *pods = &job->pods[id->role];
    const bool is_whole = job_pod_template(job, object, id->role) != NULL;
    json_t *template = json_pointer_enter(object, pods->template, err);
    struct template_problem problem;
    if (template == NULL) {
        return -EINVAL;
    }
    (void)json_object_update(template, pods->add); /* fails without one, or without memory */
    if (template_rules_check_owned(template, &problem) < 0) {
        return err_set(err, EINVAL, "%s/%s: %s; %s", pods->template, problem.path, problem.message,
                       problem.fix);
    }
    json_t *labels = json_pointer_enter(template, "/metadata/labels", err);
    json_t *spec = json_pointer_enter(template, "/spec", err);
    if (labels == NULL || spec == NULL) {
        return -EINVAL;
    }
    pod_set_attempt_labels(def, &id->attempt, labels);
    set_text(labels, "app.kubernetes.io/component", role_to_string(id->role));
    set_text(labels, "benchd.io/role", role_to_string(id->role));
    set_text(labels, POD_LABEL_RUN_UID, def->uid);
    set_index_label(labels, pods->index != NULL ? pods->index : POD_INDEX_LABEL);
    if (account != NULL && !json_is_string(json_object_get(spec, "serviceAccountName"))) {
        set_text(spec, "serviceAccountName", account);
    }
    if (is_whole) {
        (void)json_object_set_new(spec, "automountServiceAccountToken", json_false());
    }
    return 0;
}

/* Kueue suspends the object until its queue has a place. */
static void set_queue(const struct scheduling *scheduling, json_t *labels)
{
    if (scheduling->queue != NULL && labels != NULL) {
        set_text(labels, "kueue.x-k8s.io/queue-name", scheduling->queue);
    }
    if (scheduling->priority_class != NULL && labels != NULL) {
        set_text(labels, "kueue.x-k8s.io/priority-class", scheduling->priority_class);
    }
}

int job_body(const struct run_def *def, const struct attempt_id *attempt, const char *account,
             json_t **ret, struct err *err)
{
    const struct job *job = job_of_point(def, attempt->point);
    const size_t n = job->objects.len;
    _cleanup_(freep) char **names = xnew_array(char *, n + 1);
    for (size_t i = 0; i < n; i++) {
        names[i] = object_name(def, attempt, i);
    }
    json_auto_t *object = NULL;
    int r = job_object(def->spec, &def->matrix.points[attempt->point], (const char *const *)names,
                       &object, err);
    for (enum role role = 0; role < ROLE_COUNT && r == 0; role++) {
        const struct replica_id id = {*attempt, role, 0};
        r = job->pods[role].template == NULL ? 0 : set_template(def, &id, account, object, err);
    }
    for (size_t i = 0; i < n; i++) {
        free(names[i]);
    }
    if (r < 0) {
        return err_wrap(err, r, "%s", job_kind(job));
    }
    _cleanup_(freep) char *name = pod_attempt_name(def, attempt);
    set_metadata(def, attempt, name, object);
    set_queue(&def->scheduling, json_pointer_enter(object, "/metadata/labels", NULL));
    *ret = take_ptr(object);
    return 0;
}

json_t *job_object_body(const struct run_def *def, const struct attempt_id *attempt, size_t i)
{
    _cleanup_(freep) char *name = object_name(def, attempt, i);
    json_t *object = json_deep_copy(job_of_point(def, attempt->point)->objects.items[i]);
    set_metadata(def, attempt, name, object);
    return object;
}

bool job_identify(const struct run_def *def, const json_t *object, struct attempt_id *ret)
{
    const json_t *metadata = json_object_get(object, "metadata");
    return pod_read_attempt(json_object_get(metadata, "labels"), ret) &&
           job_of_point(def, ret->point) != NULL;
}
