/* See job_template.h. */
#include "spec/job_template.h"

#include <errno.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/vec_walk.h"
#include "doc/json_pointer.h"
#include "spec/matrix.h"
#include "spec/spec.h"

static const struct {
    const char *name;
    enum role role;
} counts[] = {{"pservers", ROLE_PSERVER}, {"trainers", ROLE_TRAINER}, {"workers", ROLE_WORKER}};

static void set_done(struct job_set *set)
{
    free(set->path);
    free(set->from);
    free(set->object);
    json_decref(set->value);
}

static void object_done(json_t **object)
{
    json_decref(*object);
}

void job_free(struct job *job)
{
    if (job == NULL) {
        return;
    }
    json_decref(job->template);
    vec_done_each(&job->set, set_done);
    for (int role = 0; role < ROLE_COUNT; role++) {
        free(job->pods[role].template);
        json_decref(job->pods[role].add);
        free(job->pods[role].index);
    }
    free(job->succeeded);
    free(job->failed);
    vec_done_each(&job->objects, object_done);
    free(job);
}

const char *job_kind(const struct job *job)
{
    return json_string_value(json_object_get(job->template, "kind"));
}

int job_find_object(const struct job *job, const char *name)
{
    for (size_t i = 0; i < job->objects.len; i++) {
        const json_t *metadata = json_object_get(job->objects.items[i], "metadata");
        if (str_eq(json_string_value(json_object_get(metadata, "name")), name)) {
            return (int)i;
        }
    }
    return -1;
}

/* NULL: the point has no such value, so the object keeps its own. Owned. */
static json_t *value_of(const struct point *point, const char *name)
{
    const struct value *swept = params_get(&point->params, name);
    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        if (str_eq(counts[i].name, name)) {
            return json_integer(point->replicas[counts[i].role]);
        }
    }
    return swept != NULL                                         ? value_to_json(swept)
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

static int apply(json_t *object, const struct job *job, const struct job_set *set,
                 const struct point *point, const char *const *names, struct err *err)
{
    json_t *value =
        set->from != NULL ? value_of(point, set->from)
        : set->object == NULL
            ? json_deep_copy(set->value)
            : json_string(names == NULL ? set->object : names[job_find_object(job, set->object)]);
    if (value == NULL) {
        return 0;
    }
    value = as_it_was(value, json_pointer_get(object, set->path));
    return json_pointer_set_new(object, set->path, value, err);
}

int job_object(const struct spec *spec, const struct point *point, const char *const *names,
               json_t **ret, struct err *err)
{
    const struct system *system = &spec->systems.items[point->system];
    const struct job *job = system->job;
    json_auto_t *object = json_deep_copy(job->template);
    vec_each (const struct job_set, set, &job->set) {
        const int r = apply(object, job, set, point, names, err);
        if (r < 0) {
            return err_wrap(err, r, "system '%s': job.set", system->name);
        }
    }
    *ret = take_ptr(object);
    return 0;
}

const json_t *job_pod_template(const struct job *job, const json_t *object, enum role role)
{
    const char *path = job->pods[role].template;
    const json_t *template = path == NULL ? NULL : json_pointer_get(object, path);
    const json_t *spec = json_object_get(template, "spec");
    return json_array_size(json_object_get(spec, "containers")) > 0 ? template : NULL;
}

bool job_takes(const struct spec *spec, const struct job *job, const char *name)
{
    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        const char *from = spec->roles[counts[i].role].replicas.from;
        if (from != NULL && str_eq(from, name) &&
            vec_any(&job->set, set, str_eq_or_null(set->from, counts[i].name))) {
            return true;
        }
    }
    return vec_any(&job->set, set, str_eq_or_null(set->from, name));
}
