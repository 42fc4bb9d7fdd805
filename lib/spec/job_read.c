/* See job_template.h. */
#include "spec/job_template.h"

#include "doc/json_path.h"
#include "spec/job_kinds.h"
#include "spec/spec_parts.h"

#define SETS_MAX 64
#define OBJECTS_MAX 8
#define PATH_MAX_LEN 256
#define TEXT_MAX 256

static void check_path(struct diags *d, const struct place *map, const char *key)
{
    const struct place place = place_get(map, key);
    const char *text;
    if (read_text(d, &place, PATH_MAX_LEN, &text) && text[0] != '/') {
        reader_complain(d, &place, "write a JSON pointer such as /spec/parallelism",
                        "'%s' does not start with '/'", text);
    }
}

static void check_text(struct diags *d, const struct place *map, const char *key)
{
    (void)read_text_or(d, map, key, TEXT_MAX, NULL); /* noted */
}

static void check_set(struct diags *d, const struct place *item)
{
    static const char *const values[] = {"from", "value", "object"};
    size_t n = 0;
    if (!read_map(d, item, FIELDS("*path", "from", "value", "object"))) {
        return;
    }
    check_path(d, item, "path");
    check_text(d, item, "from");
    check_text(d, item, "object");
    for (size_t i = 0; i < COUNT_OF(values); i++) {
        n += tree_get(item->node, values[i]) != NULL;
    }
    if (n != 1) {
        reader_complain(d, item, "for example, write {path: /spec/parallelism, from: workers}",
                        "exactly one of from, value and object is required");
    }
}

static void check_pods(struct diags *d, const struct place *place)
{
    if (!read_map(d, place, spec_role_fields)) {
        return;
    }
    place_each (own, place) {
        const struct place add = place_get(&own, "add");
        if (read_map(d, &own, FIELDS("*template", "add", "index"))) {
            check_path(d, &own, "template");
            check_text(d, &own, "index");
        }
        if (add.node != NULL && add.node->kind != NODE_MAP) {
            reader_complain(d, &add, "write the fields that the template gets", "must be a map");
        }
    }
}

static void check_condition(struct diags *d, const struct place *map, const char *key)
{
    const struct place place = place_get(map, key);
    const char *text;
    struct err err;
    if (read_text(d, &place, TEXT_MAX, &text) && json_condition_check(text, &err) < 0) {
        reader_complain(d, &place,
                        "for example, write '{.status.conditions[?(@.type==\"Complete\")]."
                        "status}=True'",
                        "'%s': %s", text, err.msg);
    }
}

/* An object of Kubernetes; of a profile the kind alone. */
static void check_object(struct diags *d, const struct place *place, enum job_use use,
                         int (*check)(const json_t *, enum job_use, struct template_problem *))
{
    json_auto_t *object = place->node == NULL ? NULL : tree_to_json(place->node);
    struct template_problem problem;
    if (object != NULL && check(object, use, &problem) < 0) {
        reader_complain(d, place, problem.fix, "%s%s%s", problem.path,
                        problem.path[0] == '\0' ? "" : ": ", problem.message);
    }
}

json_t *job_read(struct diags *d, const struct place *place, bool is_profile)
{
    const size_t n_before = d->list.len;
    if (!read_map(d, place,
                  is_profile
                      ? FIELDS("*apiVersion", "*kind", "set", "*pods", "*succeeded", "*failed")
                      : FIELDS("*template", "set", "*pods", "*succeeded", "*failed", "objects"))) {
        return NULL;
    }
    if (is_profile) {
        check_object(d, place, JOB_ITSELF, job_kind_check);
    } else {
        check_object(d, PLACE(place, "template"), JOB_ITSELF, job_object_check);
    }
    check_condition(d, place, "succeeded");
    check_condition(d, place, "failed");
    check_pods(d, PLACE(place, "pods"));
    read_items (item, d, place, "objects", OBJECTS_MAX) {
        check_object(d, &item, JOB_EXTRA, job_object_check);
    }
    read_items (item, d, place, "set", SETS_MAX) {
        check_set(d, &item);
    }
    json_t *job = tree_to_json(place->node);
    if (d->list.len > n_before) {
        (void)json_object_del(job, "template"); /* it may be missing */
    }
    return job;
}
