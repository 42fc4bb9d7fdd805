/* See job_template.h. */
#include "spec/job_template.h"

#include <errno.h>

#include "base/mem.h"
#include "base/str.h"
#include "core/json_field.h"
#include "doc/json_pointer.h"
#include "spec/matrix.h"
#include "spec/spec.h"

const char *job_kind(const json_t *job)
{
    return fact_text(json_object_get(job, "template"), "kind");
}

const json_t *job_pods(const json_t *job, enum role role)
{
    return json_object_get(json_object_get(job, "pods"), role_to_string(role));
}

const char *job_pods_path(const json_t *job, enum role role)
{
    return json_string_value(json_object_get(job_pods(job, role), "template"));
}

/* NULL: the point has no such value, so the object keeps its own. Owned. */
static json_t *value_of(const struct point *point, const char *name)
{
    const struct value *swept = params_get(&point->params, name);
    const struct builtin *builtin = builtin_find(name);
    return builtin != NULL && builtin->counts >= 0 ? json_integer(point->replicas[builtin->counts])
           : swept != NULL                         ? value_to_json(swept)
           : str_eq(name, "batch_size") && point->batch_size > 0 ? json_integer(point->batch_size)
           : str_eq(name, "threads")                             ? json_integer(point->threads)
                                                                 : NULL;
}

/* A text stays a text: the value of a variable, the word of a command. */
static json_t *as_it_was(json_t *value_take, const json_t *before)
{
    if (!json_is_string(before) || !json_is_integer(value_take)) {
        return value_take;
    }
    json_t *text = json_sprintf("%lld", (long long)json_integer_value(value_take));
    json_decref(value_take);
    return text;
}

/* Of one item of job.set; NULL as above. Owned. */
static json_t *value_to_set(const json_t *set, const struct point *point, const char *attempt)
{
    const char *object = json_string_value(json_object_get(set, "object"));
    const char *from = json_string_value(json_object_get(set, "from"));
    if (object != NULL) {
        return attempt == NULL ? json_string(object) : json_sprintf("%s-%s", object, attempt);
    }
    return from != NULL ? value_of(point, from) : json_deep_copy(json_object_get(set, "value"));
}

int job_object(const struct spec *spec, const struct point *point, const char *attempt,
               json_t **ret, struct err *err)
{
    const struct system *system = &spec->systems.items[point->system];
    json_auto_t *object = json_deep_copy(json_object_get(system->job, "template"));
    const json_t *set;
    size_t i;
    json_array_foreach (json_object_get(system->job, "set"), i, set) {
        const char *path = fact_text(set, "path");
        json_t *value = value_to_set(set, point, attempt);
        const int r =
            value == NULL
                ? 0
                : json_pointer_set_new(object, path,
                                       as_it_was(value, json_pointer_get(object, path)), err);
        if (r < 0) {
            return err_wrap(err, r, "system '%s': job.set", system->name);
        }
    }
    if (!str_eq(fact_text(object, "kind"), job_kind(system->job))) {
        return err_set(err, EINVAL, "system '%s': job.set changes the kind", system->name);
    }
    *ret = take_ptr(object);
    return 0;
}

const json_t *job_pod_template(const json_t *job, const json_t *object, enum role role)
{
    const char *path = job_pods_path(job, role);
    const json_t *template = path == NULL ? NULL : json_pointer_get(object, path);
    const json_t *spec = json_object_get(template, "spec");
    return json_array_size(json_object_get(spec, "containers")) > 0 ? template : NULL;
}

json_t *job_enter_pods(const json_t *job, json_t *object, enum role role, struct err *err)
{
    const char *path = job_pods_path(job, role);
    json_t *template = json_pointer_enter(object, path, err);
    (void)json_object_update(
        template, json_object_get(job_pods(job, role), "add")); /* fails without one of them */
    if (template != NULL && !job_kind_has_part_at(object, path) &&
        job_pod_template(job, object, role) == NULL) {
        (void)err_set(err, EINVAL, "path '%s': no pod template, which has spec.containers", path);
        return NULL;
    }
    return template;
}

int job_point_template(const struct spec *spec, const struct point *point, enum role role,
                       json_t **ret, struct err *err)
{
    json_auto_t *object = NULL;
    const int r = job_object(spec, point, NULL, &object, err);
    if (r == 0) {
        *ret =
            json_deep_copy(job_pod_template(spec->systems.items[point->system].job, object, role));
    }
    return r;
}

bool job_takes(const struct spec *spec, const json_t *job, const char *name)
{
    const json_t *set = json_object_get(job, "set");
    for (size_t i = 0; i < BUILTIN_COUNT; i++) {
        const int role = builtins[i].counts;
        const char *from = role < 0 ? NULL : spec->roles[role].replicas.from;
        if (str_eq_or_null(from, name) && fact_find(set, "from", builtins[i].name) != NULL) {
            return true;
        }
    }
    return fact_find(set, "from", name) != NULL;
}
