/* See system_template.h. One table: a path, and what may be there. */
#include "spec/system_template.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

#define OWN_NAME "benchd" /* of its ServiceAccount, its claim, and whatever else is installed */
#define GRACE_MAX_S 300
#define RUN_ID_CHARS 8           /* of a run's uid, in the name of its Secret */
#define RUN_SECRET_SUFFIX "-key" /* "<run>-<first 8 of uid>-key" */

/* A value that a path of the table leads to. */
struct spot {
    const json_t *value;
    const char *key; /* the last one of the path */
    const char *arg; /* of the table */
    struct template_problem *problem;
};
/* Is it as it must be? 0, or -EINVAL when the check has written the problem, but for the path. */
typedef int (*check_fn)(const struct spot *s);

int template_problem_set(struct template_problem *p, const char *fix, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    text_vput(p->message, sizeof(p->message), fmt, ap);
    va_end(ap);
    text_put(p->fix, sizeof(p->fix), "%s", fix);
    return -EINVAL;
}

#define refuse(spot, ...) template_problem_set((spot)->problem, __VA_ARGS__)

static const char *text_of(const struct spot *s)
{
    return json_string_value(s->value) ?: "";
}

/* ---- checks ---- */

/* A field that benchd sets, to `arg` if that is not NULL. */
static int is_same(const struct spot *s)
{
    static const char fix[] = "remove it from the template";
    if (s->arg == NULL || !json_is_string(s->value)) {
        return refuse(s, fix, "benchd sets it itself");
    }
    return str_eq(text_of(s), s->arg) ? 0
                                      : refuse(s, fix, "must be %s (got %s)", s->arg, text_of(s));
}

static int is_off(const struct spot *s)
{
    return json_is_false(s->value) ? 0 : is_same(s);
}

/* A field to which benchd adds. */
static int is_map(const struct spot *s)
{
    return json_is_object(s->value) ? 0 : refuse(s, "write a map", "must be a map");
}

static int is_list(const struct spot *s)
{
    return json_is_array(s->value) ? 0 : refuse(s, "write a list", "must be a list");
}

static int is_other(const struct spot *s)
{
    return str_eq(text_of(s), s->arg)
               ? refuse(s, "use another one", "'%s' is reserved for benchd", s->arg)
               : 0;
}

static int is_free_label(const struct spot *s)
{
    const bool is_benchd = json_is_string(s->value) && str_eq(text_of(s), OWN_NAME);
    const bool is_managed =
        str_eq(s->key, "app.kubernetes.io/managed-by") && json_is_string(s->value) && !is_benchd;
    const bool is_selected = str_eq(s->key, "app.kubernetes.io/name") && is_benchd;
    return str_has_prefix(s->key, "benchd.io/") || is_managed || is_selected
               ? refuse(s, "remove it from the template", "the label is reserved for benchd")
               : 0;
}

/* The next run waits until the pods of this one have gone. */
static int is_short(const struct spot *s)
{
    const int64_t grace_s = json_is_integer(s->value) ? json_integer_value(s->value) : -1;
    return grace_s >= 0 && grace_s <= GRACE_MAX_S
               ? 0
               : refuse(s, "let the program end sooner",
                        "must be from 0 to 300: the next trial waits that long for a program that "
                        "does not end");
}

static int is_usual_class(const struct spot *s)
{
    return str_has_prefix(text_of(s), "system-")
               ? refuse(s, "use a priority class of your own",
                        "this class is for parts of the cluster, and preempts everybody else")
               : 0;
}

/* `arg` says why it may not be there. */
static int is_absent(const struct spot *s)
{
    return refuse(s, "remove it", "%s", s->arg);
}

/* Is it "sample-1-0f4c1de2-key", the key of a run, this one's or another's? */
static bool is_key(const char *name)
{
    const size_t len = strlen(name), tail = strlen(RUN_SECRET_SUFFIX) + RUN_ID_CHARS;
    return len > tail + 1 && str_has_suffix(name, RUN_SECRET_SUFFIX) &&
           name[len - tail - 1] == '-' &&
           strspn(name + len - tail, "0123456789abcdef") == RUN_ID_CHARS;
}

/* Not "benchd", "benchd-data"; nor "lab-benchd", as an installation with a name prefix has it. */
static int is_foreign(const struct spot *s)
{
    const char *name = text_of(s);
    if (is_key(name)) {
        return refuse(s, "use another one", "'%s' has the name of a run's key", name);
    }
    return str_eq(name, OWN_NAME) || str_has_prefix(name, OWN_NAME "-") ||
                   str_has_suffix(name, "-" OWN_NAME)
               ? refuse(s, "use another one", "'%s' is benchd's own", name)
               : 0;
}

/* `arg` has the kinds. What Kubernetes adds one day is refused until somebody has decided that it
 * gives nothing of benchd's away. */
static int is_volume_kind(const struct spot *s)
{
    _cleanup_(freep) char *word = xasprintf(" %s ", s->key);
    if (strstr(s->arg, word) != NULL) {
        return 0;
    }
    return str_eq(s->key, "serviceAccountToken") || str_eq(s->key, "podCertificate")
               ? refuse(s, "remove it; replicas do not call the API server",
                        "a replica gets no token or certificate of the cluster")
               : refuse(s, "use a persistentVolumeClaim, or another kind that docs/pods.md lists",
                        "a replica may not have a volume of this kind");
}

/* ---- the table ---- */

/* `rules` is for the templates of pods that benchd makes itself, `rules_of_all` for these and for
 * all objects. With the name of something of benchd's, an account that may only create a
 * BenchmarkRun could act as benchd, read or change its results, or join another run. */
#define NO_COPY                                                                                    \
    "a replica may not copy a volume, which could be benchd's" /* a driver would clone */
#define NO_WAY_IN "replicas are not reached from outside"
// clang-format off
static const struct rule {
    /* "[*]": each item of a list; "*": each member of a map; "/x": x in any map, at any depth:
     * kinds of job objects have pod templates, or parts of one, in any field */
    const char *path;
    check_fn check;
    const char *arg;
    bool checks_null; /* else null is as good as nothing */
} rules[] = {
    {"metadata.annotations", is_map, NULL},
    {"spec.securityContext", is_map, NULL},
    {"spec.containers[*]", is_map, NULL, true},
    {"spec.containers[*].securityContext", is_map, NULL},
    {"spec.initContainers[*]", is_map, NULL, true},
    {"spec.initContainers[*].securityContext", is_map, NULL},
    {"spec.volumes", is_list, NULL},
    {"spec.containers[0].env", is_list, NULL},
    {"spec.containers[0].volumeMounts", is_list, NULL},
    {"metadata.name", is_same, NULL},
    {"metadata.generateName", is_same, NULL},
    {"metadata.namespace", is_same, NULL},
    {"metadata.ownerReferences", is_same, NULL},
    {"spec.restartPolicy", is_same, "Never"},
    {"spec.hostname", is_same, NULL},
    {"spec.subdomain", is_same, NULL},
    {"spec.enableServiceLinks", is_off, NULL},
    {"spec.volumes[*].name", is_other, "benchd-key"},
    {"spec.containers[0].terminationMessagePolicy", is_same, "FallbackToLogsOnError"},
    {"spec.containers[0].volumeMounts[*].mountPath", is_other, "/var/run/benchd"},
}, rules_of_all[] = {
    {"metadata", is_map, NULL},
    {"metadata.labels", is_map, NULL},
    {"/labels.*", is_free_label, NULL, true},
    {"/automountServiceAccountToken", is_off, NULL},
    {"/terminationGracePeriodSeconds", is_short, NULL},
    /* Pods that the rest of the cluster gives way to, or that no scheduler has placed. */
    {"/priorityClassName", is_usual_class, NULL},
    {"/nodeName", is_absent, "a pod with a node's name goes past the scheduler and its taints"},
    {"/serviceAccountName", is_foreign, NULL},
    {"/serviceAccount", is_foreign, NULL},
    {"/volumes[*].*", is_volume_kind, " name configMap csi downwardAPI emptyDir ephemeral image persistentVolumeClaim projected secret "},
    {"/projected.sources[*].*", is_volume_kind, " name clusterTrustBundle configMap downwardAPI secret "},
    {"/dataSource", is_absent, NO_COPY},
    {"/dataSourceRef", is_absent, NO_COPY},
    {"/claimName", is_foreign, NULL},
    {"/secretName", is_foreign, NULL},
    {"/secret.name", is_foreign, NULL},
    {"/secretRef.name", is_foreign, NULL},
    {"/secretKeyRef.name", is_foreign, NULL},
    {"/nodePublishSecretRef.name", is_foreign, NULL},
    {"/imagePullSecrets[*].name", is_foreign, NULL},
    {"/configMap.name", is_foreign, NULL},
    {"/configMapRef.name", is_foreign, NULL},
    {"/configMapKeyRef.name", is_foreign, NULL},
    /* Ways in from outside, of a Service or by the operator of a RayJob; a Role with a token. */
    {"/clusterIP", is_same, "None"},
    {"spec.type", is_same, "ClusterIP"},
    {"/externalIPs", is_absent, NO_WAY_IN},
    {"/externalName", is_absent, NO_WAY_IN},
    {"/serviceType", is_same, "ClusterIP"},
    {"/headService", is_absent, NO_WAY_IN},
    {"/enableIngress", is_off, NULL},
    {"/enableInTreeAutoscaling", is_off, NULL},
};
// clang-format on

/* Checks what the rest of a path leads to, if anything. */
static int walk(const struct rule *rule, const char *rest, const struct spot *at)
{
    char *path = at->problem->path;
    const size_t len = strlen(path), room = sizeof(at->problem->path) - len;
    struct spot next = *at;
    size_t i;
    if (json_is_null(at->value) && !rule->checks_null) {
        return 0;
    }
    if (*rest == '\0') {
        return rule->check(at);
    }
    const bool is_deep = *rest == '/';
    int r = is_deep ? walk(rule, rest + 1, at) : 0;
    rest += *rest == '.';
    const bool is_list = *rest == '['; /* "[*]" or "[0]" */
    const size_t n = is_deep ? 0 : is_list ? strlen("[*]") : strcspn(rest, ".[");
    json_array_foreach (at->value, i, next.value) {
        if (r == 0 && (is_deep || (is_list && (rest[1] == '*' || i == 0)))) {
            text_put(path + len, room, "[%zu]", i);
            r = walk(rule, rest + n, &next);
        }
    }
    json_object_foreach ((json_t *)at->value, next.key, next.value) { /* only read */
        const bool is_key = strlen(next.key) == n && memcmp(next.key, rest, n) == 0;
        if (r == 0 && (is_deep || *rest == '*' || is_key)) {
            text_put(path + len, room, "%s%s", len == 0 ? "" : ".", next.key);
            r = walk(rule, rest + n, &next);
        }
    }
    if (r == 0) {
        path[len] = '\0';
    }
    return r;
}

static int check_all(const struct rule *list, size_t n, const json_t *value,
                     struct template_problem *ret)
{
    int r = 0;
    ret->path[0] = '\0';
    for (size_t i = 0; i < n && r == 0; i++) {
        r = walk(&list[i], list[i].path, &(struct spot){value, "", list[i].arg, ret});
    }
    return r;
}

int template_rules_check_object(const json_t *object, struct template_problem *ret)
{
    return check_all(rules_of_all, COUNT_OF(rules_of_all), object, ret);
}

int template_rules_check(const json_t *template, struct template_problem *ret)
{
    const json_t *spec = json_object_get(template, "spec");
    if (!json_is_object(json_array_get(json_object_get(spec, "containers"), 0))) {
        text_put(ret->path, sizeof(ret->path), "spec.containers");
        return template_problem_set(ret, "add {name: main, image: ...}", "needs a container");
    }
    const int r = check_all(rules, COUNT_OF(rules), template, ret);
    return r < 0 ? r : template_rules_check_object(template, ret);
}
