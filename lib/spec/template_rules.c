/* See template_rules.h. A check returns 0, or -EINVAL when it has written the problem. */
#include "spec/template_rules.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "base/text.h"
#include "base/vec_walk.h"
#include "spec/system_template.h"

#define SECRET_VOLUME "benchd-key"
#define SECRET_DIR "/var/run/benchd"
#define OWN_NAME "benchd" /* of its ServiceAccount, its claim, and whatever else is installed */
#define GRACE_MAX_S 300
#define RUN_ID_CHARS 8           /* of a run's uid, in the name of its Secret */
#define RUN_SECRET_SUFFIX "-key" /* "<run>-<first 8 of uid>-key" */

struct rule {
    const char *key;
    const char *allowed; /* the only value that a template may have; NULL: none */
};

/* `path` is a format for what follows. */
__attribute__((format(printf, 4, 5))) static int refuse(struct template_problem *p, const char *fix,
                                                        const char *message, const char *path, ...)
{
    va_list ap;
    va_start(ap, path);
    text_vput(p->path, sizeof(p->path), path, ap);
    va_end(ap);
    text_put(p->message, sizeof(p->message), "%s", message);
    text_put(p->fix, sizeof(p->fix), "%s", fix);
    return -EINVAL;
}

static int refuse_own_field(struct template_problem *p, const char *path, const char *key)
{
    return refuse(p, "remove it from the template", "benchd sets it itself", "%s.%s", path, key);
}

static int check_texts(const json_t *map, const char *path, const struct rule *rules, size_t n,
                       struct template_problem *p)
{
    for (size_t i = 0; i < n; i++) {
        const struct rule *rule = &rules[i];
        const json_t *value = json_object_get(map, rule->key);
        const char *text = json_string_value(value);
        if (value == NULL || json_is_null(value)) {
            continue;
        }
        if (rule->allowed == NULL || text == NULL) {
            return refuse_own_field(p, path, rule->key);
        }
        if (!str_eq(text, rule->allowed)) {
            char message[256];
            text_put(message, sizeof(message), "must be %s (got %s)", rule->allowed, text);
            return refuse(p, "remove it from the template", message, "%s.%s", path, rule->key);
        }
    }
    return 0;
}

/* ---- fields to which benchd adds ---- */

/* A field to which we add must have the right type, or be missing or null. */
static int check_kind(const json_t *object, const char *path, const char *key, json_type type,
                      struct template_problem *p)
{
    const json_t *value = json_object_get(object, key);
    if (value == NULL || json_is_null(value) || json_typeof(value) == type) {
        return 0;
    }
    const bool is_list = type == JSON_ARRAY;
    return refuse(p, is_list ? "write a list" : "write a map",
                  is_list ? "must be a list" : "must be a map", "%s%s%s", path,
                  path[0] == '\0' ? "" : ".", key);
}

static int check_kinds(const json_t *template, const json_t *container, struct template_problem *p)
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
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        int r = check_kind(rows[i].object, rows[i].path, rows[i].key, rows[i].type, p);
        if (r < 0) {
            return r;
        }
    }
    return 0;
}

/* ---- fields that benchd sets ---- */

/* Absent, null or false. */
static int check_off(const json_t *spec, const char *key, struct template_problem *p)
{
    const json_t *value = json_object_get(spec, key);
    const bool is_off = value == NULL || json_is_null(value) || json_is_false(value);
    return is_off ? 0 : refuse_own_field(p, "spec", key);
}

/* No item of a list has this text under `key`. */
static int check_absent(const json_t *list, const char *path, const char *key, const char *text,
                        struct template_problem *p)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *found = json_string_value(json_object_get(json_array_get(list, i), key));
        if (found != NULL && str_eq(found, text)) {
            char message[256];
            text_put(message, sizeof(message), "'%s' is reserved for benchd", text);
            return refuse(p, "use another one", message, "%s[%zu].%s", path, i, key);
        }
    }
    return 0;
}

static int check_labels(json_t *metadata, struct template_problem *p)
{
    const char *key;
    json_t *value;
    json_object_foreach (json_object_get(metadata, "labels"), key, value) {
        const char *text = json_string_value(value);
        const bool is_managed =
            str_eq(key, "app.kubernetes.io/managed-by") && text != NULL && !str_eq(text, "benchd");
        if (str_has_prefix(key, "benchd.io/") || is_managed) {
            return refuse(p, "remove it from the template", "the label is reserved for benchd",
                          "metadata.labels.%s", key);
        }
    }
    return 0;
}

static int check_metadata(json_t *metadata, struct template_problem *p)
{
    static const struct rule rules[] = {
        {"name", NULL}, {"generateName", NULL}, {"namespace", NULL}, {"ownerReferences", NULL}};
    int r = check_texts(metadata, "metadata", rules, COUNT_OF(rules), p);
    return r < 0 ? r : check_labels(metadata, p);
}

static int check_spec(const json_t *spec, struct template_problem *p)
{
    static const struct rule rules[] = {
        {"restartPolicy", "Never"}, {"hostname", NULL}, {"subdomain", NULL}};
    int r = check_texts(spec, "spec", rules, COUNT_OF(rules), p);
    r = r < 0 ? r : check_off(spec, "automountServiceAccountToken", p);
    r = r < 0 ? r : check_off(spec, "enableServiceLinks", p);
    return r < 0 ? r
                 : check_absent(json_object_get(spec, "volumes"), "spec.volumes", "name",
                                SECRET_VOLUME, p);
}

static int check_first_container(const json_t *container, struct template_problem *p)
{
    static const struct rule rules[] = {{"terminationMessagePolicy", "FallbackToLogsOnError"}};
    int r = check_texts(container, "spec.containers[0]", rules, 1, p);
    return r < 0 ? r
                 : check_absent(json_object_get(container, "volumeMounts"),
                                "spec.containers[0].volumeMounts", "mountPath", SECRET_DIR, p);
}

/* ---- what is benchd's own ---- */

/* "benchd", "benchd-data"; "lab-benchd", as an installation with a name prefix has it. */
static bool is_own_name(const char *name)
{
    return str_eq(name, OWN_NAME) || str_has_prefix(name, OWN_NAME "-") ||
           str_has_suffix(name, "-" OWN_NAME);
}

/* "sample-1-0f4c1de2-key": the key of a run, this one's or another's. */
static bool is_run_secret(const char *name)
{
    const size_t len = strlen(name), tail = strlen(RUN_SECRET_SUFFIX) + RUN_ID_CHARS + 1;
    return len > tail && str_has_suffix(name, RUN_SECRET_SUFFIX) && name[len - tail] == '-' &&
           array_all(name + len - tail + 1, RUN_ID_CHARS, c, isxdigit((unsigned char)*c) != 0);
}

/* map.key does not name an object of benchd; `path` leads to the map. */
static int check_name(const json_t *map, const char *path, const char *key, bool is_secret,
                      struct template_problem *p)
{
    const char *name = json_string_value(json_object_get(map, key));
    char message[256];
    if (name != NULL && is_own_name(name)) {
        text_put(message, sizeof(message), "'%s' is benchd's own", name);
    } else if (name != NULL && is_secret && is_run_secret(name)) {
        text_put(message, sizeof(message), "'%s' has the name of a run's key", name);
    } else {
        return 0;
    }
    return refuse(p, "use another one", message, "%s.%s", path, key);
}

/* The keys of a map that have values are `kinds`, or `name`. What Kubernetes adds one day is
 * refused until somebody has decided that it gives nothing of benchd's away. */
static int check_volume_kinds(json_t *map, const char *const kinds[], const char *path,
                              struct template_problem *p)
{
    const char *key;
    json_t *value;
    json_object_foreach (map, key, value) {
        if (str_eq(key, "name") || json_is_null(value) || str_is_one_of(key, kinds)) {
            continue;
        }
        if (str_eq(key, "serviceAccountToken") || str_eq(key, "podCertificate")) {
            return refuse(p, "remove it; replicas do not call the API server",
                          "a replica gets no token or certificate of the cluster", "%s.%s", path,
                          key);
        }
        return refuse(p, "use a persistentVolumeClaim, or another kind that docs/pods.md lists",
                      "a replica may not have a volume of this kind", "%s.%s", path, key);
    }
    return 0;
}

static int check_source(json_t *source, const char *path, struct template_problem *p)
{
    static const char *const kinds[] = {"clusterTrustBundle", "configMap", "downwardAPI", "secret",
                                        NULL};
    const int r = check_volume_kinds(source, kinds, path, p);
    if (r < 0) {
        return r;
    }
    char inner[160];
    text_put(inner, sizeof(inner), "%s.secret", path);
    return check_name(json_object_get(source, "secret"), inner, "name", true, p);
}

/* A driver that clones would copy benchd's results and key. */
static int check_ephemeral(const json_t *volume, size_t index, struct template_problem *p)
{
    static const char *const sources[] = {"dataSource", "dataSourceRef"};
    const json_t *template =
        json_object_get(json_object_get(volume, "ephemeral"), "volumeClaimTemplate");
    for (size_t i = 0; i < COUNT_OF(sources); i++) {
        const json_t *source = json_object_get(json_object_get(template, "spec"), sources[i]);
        if (source != NULL && !json_is_null(source)) {
            return refuse(p, "make the claim yourself and use persistentVolumeClaim",
                          "a replica may not copy a volume",
                          "spec.volumes[%zu].ephemeral.volumeClaimTemplate.spec.%s", index,
                          sources[i]);
        }
    }
    return 0;
}

static int check_volume(json_t *volume, size_t index, struct template_problem *p)
{
    static const char *const kinds[] = {"configMap", "csi",   "downwardAPI",           "emptyDir",
                                        "ephemeral", "image", "persistentVolumeClaim", "projected",
                                        "secret",    NULL};
    static const struct {
        const char *kind, *map, *key; /* names an object */
        bool is_secret;
    } names[] = {
        {"persistentVolumeClaim", NULL, "claimName", false},
        {"secret", NULL, "secretName", true},
        {"csi", "nodePublishSecretRef", "name", true},
    };
    char path[160];
    text_put(path, sizeof(path), "spec.volumes[%zu]", index);
    int r = check_volume_kinds(volume, kinds, path, p);
    r = r < 0 ? r : check_ephemeral(volume, index, p);
    for (size_t i = 0; i < COUNT_OF(names) && r == 0; i++) {
        const json_t *map = json_object_get(volume, names[i].kind);
        text_put(path, sizeof(path), "spec.volumes[%zu].%s%s%s", index, names[i].kind,
                 names[i].map == NULL ? "" : ".", names[i].map == NULL ? "" : names[i].map);
        map = names[i].map == NULL ? map : json_object_get(map, names[i].map);
        r = check_name(map, path, names[i].key, names[i].is_secret, p);
    }
    const json_t *sources = json_object_get(json_object_get(volume, "projected"), "sources");
    for (size_t i = 0; i < json_array_size(sources) && r == 0; i++) {
        text_put(path, sizeof(path), "spec.volumes[%zu].projected.sources[%zu]", index, i);
        r = check_source(json_array_get(sources, i), path, p);
    }
    return r;
}

static int check_environment(const json_t *container, const char *where, struct template_problem *p)
{
    const json_t *env = json_object_get(container, "env");
    const json_t *from = json_object_get(container, "envFrom");
    char path[160];
    int r = 0;
    for (size_t i = 0; i < json_array_size(env) && r == 0; i++) {
        const json_t *value = json_object_get(json_array_get(env, i), "valueFrom");
        text_put(path, sizeof(path), "%s.env[%zu].valueFrom.secretKeyRef", where, i);
        r = check_name(json_object_get(value, "secretKeyRef"), path, "name", true, p);
    }
    for (size_t i = 0; i < json_array_size(from) && r == 0; i++) {
        text_put(path, sizeof(path), "%s.envFrom[%zu].secretRef", where, i);
        r = check_name(json_object_get(json_array_get(from, i), "secretRef"), path, "name", true,
                       p);
    }
    return r;
}

/* The next run waits until the pods of this one have gone. */
static int check_grace(const json_t *spec, struct template_problem *p)
{
    const json_t *grace = json_object_get(spec, "terminationGracePeriodSeconds");
    const bool is_set = grace != NULL && !json_is_null(grace);
    const bool is_good = json_is_integer(grace) && json_integer_value(grace) >= 0 &&
                         json_integer_value(grace) <= GRACE_MAX_S;
    return !is_set || is_good
               ? 0
               : refuse(p, "let the program end sooner",
                        "must be from 0 to 300: the next trial waits that long for a program that "
                        "does not end",
                        "spec.terminationGracePeriodSeconds");
}

/* Pods that the rest of the cluster gives way to, or that no scheduler has placed. */
static int check_place(const json_t *spec, struct template_problem *p)
{
    const char *class = json_string_value(json_object_get(spec, "priorityClassName"));
    const char *node = json_string_value(json_object_get(spec, "nodeName"));
    if (class != NULL && str_has_prefix(class, "system-")) {
        return refuse(p, "use a priority class of your own",
                      "this class is for parts of the cluster, and preempts everybody else",
                      "spec.priorityClassName");
    }
    return node == NULL ? 0
                        : refuse(p, "use nodeSelector or affinity",
                                 "a pod with a node's name goes past the scheduler and its taints",
                                 "spec.nodeName");
}

/* With one of these, whoever may create a BenchmarkRun could act as benchd, read or change its
 * results, or join another's run. */
static int check_own_things(const json_t *spec, struct template_problem *p)
{
    static const char *const accounts[] = {"serviceAccountName", "serviceAccount"};
    static const char *const lists[] = {"containers", "initContainers"};
    int r = 0;
    for (size_t i = 0; i < COUNT_OF(accounts) && r == 0; i++) {
        r = check_name(spec, "spec", accounts[i], false, p);
    }
    const json_t *pulls = json_object_get(spec, "imagePullSecrets");
    for (size_t i = 0; i < json_array_size(pulls) && r == 0; i++) {
        char path[64];
        text_put(path, sizeof(path), "spec.imagePullSecrets[%zu]", i);
        r = check_name(json_array_get(pulls, i), path, "name", true, p);
    }
    const json_t *volumes = json_object_get(spec, "volumes");
    for (size_t i = 0; i < json_array_size(volumes) && r == 0; i++) {
        r = check_volume(json_array_get(volumes, i), i, p);
    }
    for (size_t k = 0; k < COUNT_OF(lists); k++) {
        const json_t *list = json_object_get(spec, lists[k]);
        for (size_t i = 0; i < json_array_size(list) && r == 0; i++) {
            char path[64];
            text_put(path, sizeof(path), "spec.%s[%zu]", lists[k], i);
            r = check_environment(json_array_get(list, i), path, p);
        }
    }
    return r;
}

int template_rules_check_owned(const json_t *template, struct template_problem *ret)
{
    const json_t *spec = json_object_get(template, "spec");
    int r = check_off(spec, "automountServiceAccountToken", ret);
    r = r < 0 ? r : check_grace(spec, ret);
    r = r < 0 ? r : check_place(spec, ret);
    return r < 0 ? r : check_own_things(spec, ret);
}

int template_rules_check(const json_t *template, struct template_problem *ret)
{
    const json_t *spec = json_object_get(template, "spec");
    const json_t *container = template_container(template);
    if (!json_is_object(container)) {
        return refuse(ret, "add {name: main, image: ...}", "needs a container", "spec.containers");
    }
    int r = check_kinds(template, container, ret);
    r = r < 0 ? r : check_metadata(json_object_get(template, "metadata"), ret);
    r = r < 0 ? r : check_spec(spec, ret);
    r = r < 0 ? r : check_first_container(container, ret);
    r = r < 0 ? r : check_grace(spec, ret);
    r = r < 0 ? r : check_place(spec, ret);
    return r < 0 ? r : check_own_things(spec, ret);
}
