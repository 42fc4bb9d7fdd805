/* See rules.h. */
#include "pod/rules.h"

#include <errno.h>
#include <stdbool.h>

#include "base/str.h"

#define SECRET_VOLUME "benchd-key"
#define SECRET_DIR "/var/run/benchd"

struct rule {
    const char *key;
    const char *allowed; /* the only value that a template may have; NULL: none */
};

static int refuse(const char *path, const char *key, struct err *err)
{
    return err_set(err, EINVAL, "%s.%s is set by benchd; remove it from the template", path, key);
}

static int refuse_text(const char *path, const struct rule *rule, const char *text, struct err *err)
{
    if (rule->allowed == NULL || text == NULL) {
        return refuse(path, rule->key, err);
    }
    return err_set(err, EINVAL, "%s.%s must be %s (got %s); remove it from the template", path,
                   rule->key, rule->allowed, text);
}

static int check_texts(const json_t *map, const char *path, const struct rule *rules, size_t n,
                       struct err *err)
{
    for (size_t i = 0; i < n; i++) {
        const json_t *value = json_object_get(map, rules[i].key);
        const char *text = json_string_value(value);
        const bool is_allowed = value == NULL || (text != NULL && rules[i].allowed != NULL &&
                                                  str_eq(text, rules[i].allowed));
        if (!is_allowed) {
            return refuse_text(path, &rules[i], text, err);
        }
    }
    return 0;
}

/* A field to which we add must have the right type, or be missing or null. */
static int check_kind(const json_t *object, const char *path, const char *key, json_type type,
                      struct err *err)
{
    const json_t *value = json_object_get(object, key);
    if (value == NULL || json_is_null(value) || json_typeof(value) == type) {
        return 0;
    }
    return err_set(err, EINVAL, "%s%s%s must be a %s", path, path[0] == '\0' ? "" : ".", key,
                   type == JSON_ARRAY ? "list" : "map");
}

static int check_kinds(const json_t *template, const json_t *container, struct err *err)
{
    const json_t *metadata = json_object_get(template, "metadata");
    const json_t *spec = json_object_get(template, "spec");
    const struct {
        const json_t *object;
        const char *path, *key;
        json_type type;
    } rows[] = {
        {template, "", "metadata", JSON_OBJECT},
        {metadata, "metadata", "labels", JSON_OBJECT},
        {metadata, "metadata", "annotations", JSON_OBJECT},
        {spec, "spec", "securityContext", JSON_OBJECT},
        {spec, "spec", "volumes", JSON_ARRAY},
        {container, "spec.containers[0]", "env", JSON_ARRAY},
        {container, "spec.containers[0]", "volumeMounts", JSON_ARRAY},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int r = check_kind(rows[i].object, rows[i].path, rows[i].key, rows[i].type, err);
        if (r < 0) {
            return r;
        }
    }
    return 0;
}

/* Absent or false. */
static int check_off(const json_t *spec, const char *key, struct err *err)
{
    const json_t *value = json_object_get(spec, key);
    return value == NULL || json_is_false(value) ? 0 : refuse("spec", key, err);
}

/* No item of a list has this text under `key`. */
static int check_absent(const json_t *list, const char *path, const char *key, const char *text,
                        struct err *err)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *found = json_string_value(json_object_get(json_array_get(list, i), key));
        if (found != NULL && str_eq(found, text)) {
            return err_set(err, EINVAL, "%s: '%s' is reserved for benchd; rename it", path, text);
        }
    }
    return 0;
}

static int check_labels(json_t *metadata, struct err *err)
{
    const char *key;
    json_t *value;
    json_object_foreach (json_object_get(metadata, "labels"), key, value) {
        const char *text = json_string_value(value);
        const bool is_managed =
            str_eq(key, "app.kubernetes.io/managed-by") && text != NULL && !str_eq(text, "benchd");
        if (str_has_prefix(key, "benchd.io/") || is_managed) {
            return err_set(err, EINVAL,
                           "label '%s' is reserved for benchd; remove it from the template", key);
        }
    }
    return 0;
}

static int check_metadata(json_t *metadata, struct err *err)
{
    static const struct rule rules[] = {
        {"name", NULL}, {"generateName", NULL}, {"namespace", NULL}, {"ownerReferences", NULL}};
    int r = check_texts(metadata, "metadata", rules, sizeof(rules) / sizeof(rules[0]), err);
    return r < 0 ? r : check_labels(metadata, err);
}

static int check_spec(const json_t *spec, struct err *err)
{
    static const struct rule rules[] = {
        {"restartPolicy", "Never"}, {"hostname", NULL}, {"subdomain", NULL}};
    int r = check_texts(spec, "spec", rules, sizeof(rules) / sizeof(rules[0]), err);
    r = r < 0 ? r : check_off(spec, "automountServiceAccountToken", err);
    r = r < 0 ? r : check_off(spec, "enableServiceLinks", err);
    return r < 0 ? r
                 : check_absent(json_object_get(spec, "volumes"), "spec.volumes", "name",
                                SECRET_VOLUME, err);
}

static int check_container(const json_t *container, struct err *err)
{
    static const struct rule rules[] = {{"terminationMessagePolicy", "FallbackToLogsOnError"}};
    int r = check_texts(container, "spec.containers[0]", rules, 1, err);
    return r < 0 ? r
                 : check_absent(json_object_get(container, "volumeMounts"),
                                "spec.containers[0].volumeMounts", "mountPath", SECRET_DIR, err);
}

int pod_check_template(const json_t *template, struct err *err)
{
    const json_t *spec = json_object_get(template, "spec");
    const json_t *container = json_array_get(json_object_get(spec, "containers"), 0);
    if (!json_is_object(container)) {
        return err_set(err, EINVAL, "spec.containers needs a container");
    }
    int r = check_kinds(template, container, err);
    r = r < 0 ? r : check_metadata(json_object_get(template, "metadata"), err);
    r = r < 0 ? r : check_spec(spec, err);
    return r < 0 ? r : check_container(container, err);
}
