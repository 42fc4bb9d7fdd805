/* See job_template.h. */
#include "spec/job_template.h"

#include "base/str.h"
#include "doc/json_path.h"
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

/* An object of Kubernetes. */
static void check_object(struct diags *d, const struct place *place, bool has_name)
{
    static const char *const keys[] = {"apiVersion", "kind"};
    if (place->node == NULL) {
        return; /* noted */
    }
    if (place->node->kind != NODE_MAP) {
        reader_complain(d, place, "write the object as in its manifest", "must be a map");
        return;
    }
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        if (tree_get(place->node, keys[i]) == NULL) {
            reader_complain(d, place, "write apiVersion, kind and the rest as in a manifest",
                            "required field '%s' is missing", keys[i]);
        }
        check_text(d, place, keys[i]);
    }
    const struct place metadata = place_get(place, "metadata");
    const struct place name = place_get(&metadata, "name"), ns = place_get(&metadata, "namespace");
    if (has_name && name.node == NULL) {
        reader_complain(d, place, "add metadata: {name: NAME}", "an object needs a name");
    } else if (!has_name && name.node != NULL) {
        reader_complain_key(d, &name, "remove it", "benchd names the object of each attempt");
    } else {
        check_text(d, &metadata, "name");
    }
    if (ns.node != NULL) {
        reader_complain_key(d, &ns, "remove it", "the object is created in benchd's namespace");
    }
    refuse_labels(d, place);
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
    check_object(d, PLACE(place, "template"), false);
    check_condition(d, place, "succeeded");
    check_condition(d, place, "failed");
    check_pods(d, PLACE(place, "pods"));
    read_items (item, d, place, "objects", OBJECTS_MAX) {
        check_object(d, &item, true);
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
