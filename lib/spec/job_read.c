/* See job_read.h. */
#include "spec/job_read.h"

#include "base/mem.h"
#include "base/str.h"
#include "base/vec_walk.h"
#include "doc/json_path.h"
#include "spec/spec_parts.h"

#define SETS_MAX 64
#define OBJECTS_MAX 8
#define PATH_MAX_LEN 256
#define TEXT_MAX 256

/* Owned; NULL: absent, or wrong (noted). */
static char *read_path(struct diags *d, const struct place *map, const char *key)
{
    const struct place place = place_get(map, key);
    const char *text;
    if (!read_text(d, &place, PATH_MAX_LEN, &text)) {
        return NULL;
    }
    if (text[0] != '/') {
        reader_complain(d, &place, "write a JSON pointer such as /spec/parallelism",
                        "'%s' does not start with '/'", text);
        return NULL;
    }
    return xstrdup(text);
}

static char *read_own(struct diags *d, const struct place *map, const char *key)
{
    return xstrdup_or_null(read_text_or(d, map, key, TEXT_MAX, NULL));
}

static void read_set(struct diags *d, const struct place *item, struct job *job)
{
    if (!read_map(d, item, FIELDS("*path", "from", "value", "object"))) {
        return;
    }
    const struct node *value = tree_get(item->node, "value");
    struct job_set set = {.path = read_path(d, item, "path"),
                          .from = read_own(d, item, "from"),
                          .object = read_own(d, item, "object"),
                          .value = value == NULL ? NULL : tree_to_json(value)};
    if ((set.from != NULL) + (set.object != NULL) + (set.value != NULL) != 1) {
        reader_complain(d, item, "for example, write {path: /spec/parallelism, from: workers}",
                        "exactly one of from, value and object is required");
    }
    *vec_push(&job->set) = set;
}

static void read_pods(struct diags *d, const struct place *place, struct job *job)
{
    if (!read_map(d, place, spec_role_fields)) {
        return;
    }
    for (int role = 0; role < ROLE_COUNT; role++) {
        const struct place own = place_get(place, role_to_string((enum role)role));
        struct job_pods *pods = &job->pods[role];
        if (!read_map(d, &own, FIELDS("*template", "add", "index"))) {
            continue;
        }
        const struct place add = place_get(&own, "add");
        pods->template = read_path(d, &own, "template");
        pods->index = read_own(d, &own, "index");
        if (add.node != NULL && add.node->kind != NODE_MAP) {
            reader_complain(d, &add, "write the fields that the template gets", "must be a map");
        } else if (add.node != NULL) {
            pods->add = tree_to_json(add.node);
        }
    }
}

static char *read_condition(struct diags *d, const struct place *map, const char *key)
{
    const struct place place = place_get(map, key);
    const char *text;
    struct err err;
    if (!read_text(d, &place, TEXT_MAX, &text)) {
        return NULL;
    }
    if (json_condition_check(text, &err) < 0) {
        reader_complain(d, &place,
                        "for example, write '{.status.conditions[?(@.type==\"Complete\")]."
                        "status}=True'",
                        "'%s': %s", text, err.msg);
        return NULL;
    }
    return xstrdup(text);
}

/* A label that says who a pod belongs to would make it another run's. */
static void refuse_labels(struct diags *d, const struct place *at)
{
    if (at->node->kind != NODE_MAP && at->node->kind != NODE_SEQ) {
        return;
    }
    place_each (child, at) {
        if (child.key != NULL && str_has_prefix(child.key, "benchd.io/")) {
            reader_complain_key(d, &child, "remove it", "the label is reserved for benchd");
        }
        refuse_labels(d, &child);
    }
}

/* An object of Kubernetes. NULL: noted. Owned. */
static json_t *read_object(struct diags *d, const struct place *place, bool has_name)
{
    const char *text;
    if (place->node == NULL) {
        return NULL; /* noted */
    }
    if (place->node->kind != NODE_MAP) {
        reader_complain(d, place, "write the object as in its manifest", "must be a map");
        return NULL;
    }
    const size_t n_before = d->list.len;
    static const char *const keys[] = {"apiVersion", "kind"};
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        const struct place key = place_get(place, keys[i]);
        if (key.node == NULL) {
            reader_complain(d, place, "write apiVersion, kind and the rest as in a manifest",
                            "required field '%s' is missing", keys[i]);
        } else {
            (void)read_text(d, &key, TEXT_MAX, &text); /* noted */
        }
    }
    const struct place metadata = place_get(place, "metadata");
    const struct place name = place_get(&metadata, "name"), ns = place_get(&metadata, "namespace");
    if (has_name && name.node == NULL) {
        reader_complain(d, place, "add metadata: {name: NAME}", "an object needs a name");
    } else if (!has_name && name.node != NULL) {
        reader_complain_key(d, &name, "remove it", "benchd names the object of each attempt");
    } else {
        (void)read_text(d, &name, TEXT_MAX, &text); /* noted */
    }
    if (ns.node != NULL) {
        reader_complain_key(d, &ns, "remove it", "the object is created in benchd's namespace");
    }
    refuse_labels(d, place);
    return d->list.len > n_before ? NULL : tree_to_json(place->node);
}

struct job *job_read(struct diags *d, const struct place *place, bool is_profile)
{
    if (!read_map(d, place,
                  is_profile
                      ? FIELDS("*apiVersion", "*kind", "set", "*pods", "*succeeded", "*failed")
                      : FIELDS("*template", "set", "*pods", "*succeeded", "*failed", "objects"))) {
        return NULL;
    }
    struct job *job = xnew(struct job);
    job->template = is_profile ? NULL : read_object(d, PLACE(place, "template"), false);
    job->succeeded = read_condition(d, place, "succeeded");
    job->failed = read_condition(d, place, "failed");
    read_pods(d, PLACE(place, "pods"), job);
    read_items (item, d, place, "objects", OBJECTS_MAX) {
        json_t *object = read_object(d, &item, true);
        if (object != NULL) {
            *vec_push(&job->objects) = object;
        }
    }
    read_items (item, d, place, "set", SETS_MAX) {
        read_set(d, &item, job);
    }
    return job;
}
