/* See body.h. */
#include "pod/body.h"

#include <errno.h>
#include <string.h>

#include "base/base64.h"
#include "base/mem.h"
#include "base/str.h"
#include "pod/replica_spec.h"
#include "pod/ssh_key.h"
#include "spec/profile.h"
#include "spec/system_template.h"

#define SECRET_MODE 0440
#define DEFAULT_ID 65532 /* the user and the group of a pod whose template names none */
/* If benchd does not come back, its pods end by themselves, this long after the run's deadline. */
#define DEADLINE_SLACK_S 600

/* "<run>-<first 8 of uid>": name of the run's Service and NetworkPolicy; with "-key",
 * of its Secret. Owned. */
static char *service_name(const struct run_def *def)
{
    return xasprintf("%s-%.8s", def->name, def->uid);
}

static char *secret_name(const struct run_def *def)
{
    return xasprintf("%s-%.8s-key", def->name, def->uid);
}

char *pod_attempt_name(const struct run_def *def, const struct attempt_id *id)
{
    return xasprintf("%s-p%ut%ua%u", def->name, id->point, id->trial, id->number);
}

/* "p0t1a0-trainer-7": the pod's host name, unique among the run's attempts. Owned. */
static char *host_name(const struct replica_id *id)
{
    return xasprintf("p%ut%ua%u-%s-%u", id->attempt.point, id->attempt.trial, id->attempt.number,
                     role_to_string(id->role), id->index);
}

char *pod_dns_address(const struct run_def *def, const struct replica_id *id)
{
    _cleanup_(freep) char *host = host_name(id);
    _cleanup_(freep) char *service = service_name(def);
    return xasprintf("%s.%s:%d", host, service, POD_PORT);
}

char *pod_ip_address(const char *ip)
{
    const bool is_v6 = strchr(ip, ':') != NULL;
    return xasprintf("%s%s%s:%d", is_v6 ? "[" : "", ip, is_v6 ? "]" : "", POD_PORT);
}

static void set(json_t *object, const char *key, json_t *value_take)
{
    (void)json_object_set_new(object, key, value_take); /* fails for NULL and no memory only */
}

static void set_text(json_t *object, const char *key, const char *value)
{
    set(object, key, json_string(value));
}

static void set_number(json_t *object, const char *key, uint32_t value)
{
    _cleanup_(freep) char *text = xasprintf("%u", value);
    set_text(object, key, text);
}

/* The map or list under `key`, created if it is missing or null ("labels:" without a value).
 * Borrowed. */
static json_t *child(json_t *object, const char *key, json_type type)
{
    json_t *found = json_object_get(object, key);
    if (found == NULL || json_typeof(found) != type) { /* template_rules_check took no other kind */
        found = type == JSON_OBJECT ? json_object() : json_array();
        set(object, key, found);
    }
    return found;
}

void pod_set_owner(const struct run_def *def, json_t *metadata)
{
    set(metadata, "ownerReferences",
        json_pack("[{s:s, s:s, s:s, s:s, s:b, s:b}]", "apiVersion", "benchd.io/v1alpha1", "kind",
                  "BenchmarkRun", "name", def->name, "uid", def->uid, "controller", 1,
                  "blockOwnerDeletion", 1));
}

static void set_run_labels(const struct run_def *def, json_t *labels)
{
    set_text(labels, POD_MANAGED_BY, "benchd");
    set_text(labels, "app.kubernetes.io/name", "benchd-run");
    set_text(labels, "app.kubernetes.io/instance", def->name);
    set_text(labels, "app.kubernetes.io/part-of", "benchd");
    set_text(labels, "benchd.io/benchmark", def->spec->name);
    set_text(labels, POD_LABEL_RUN, def->name);
}

static void set_attempt(const struct attempt_id *attempt, json_t *labels)
{
    set_number(labels, "benchd.io/point", attempt->point);
    set_number(labels, "benchd.io/trial", attempt->trial);
    set_number(labels, "benchd.io/attempt", attempt->number);
}

void pod_set_attempt_labels(const struct run_def *def, const struct attempt_id *attempt,
                            json_t *labels)
{
    set_run_labels(def, labels);
    set_attempt(attempt, labels);
}

static void set_labels(const struct run_def *def, const struct replica_id *id, json_t *labels)
{
    pod_set_attempt_labels(def, &id->attempt, labels);
    set_text(labels, "app.kubernetes.io/component", role_to_string(id->role));
    set_text(labels, "benchd.io/role", role_to_string(id->role));
    set_number(labels, "benchd.io/replica-index", id->index);
    /* A proxy in the pod would be measured, and would outlive the program. */
    (void)json_object_update_missing_new(labels,
                                         json_pack("{s:s}", "sidecar.istio.io/inject", "false"));
}

bool pod_is_owned(const struct run_def *def, const json_t *object)
{
    const json_t *metadata = json_object_get(object, "metadata");
    const json_t *owner = json_array_get(json_object_get(metadata, "ownerReferences"), 0);
    const char *uid = json_string_value(json_object_get(owner, "uid"));
    return uid != NULL && str_eq(uid, def->uid);
}

/* Whoever may edit pods can write any number into a label. */
static bool has_replica(const struct run_def *def, const struct replica_id *id)
{
    return id->attempt.point < def->matrix.n_points &&
           id->index < def->matrix.points[id->attempt.point].replicas[id->role];
}

bool pod_identify(const struct run_def *def, const struct pod_facts *pod, struct replica_id *ret)
{
    if (!str_eq(pod->owner_uid, def->uid) || !pod->has_id || !has_replica(def, &pod->id)) {
        return false;
    }
    *ret = pod->id;
    return true;
}

static void set_parameters(const struct point *point, json_t *annotations)
{
    json_auto_t *values = params_to_json(&point->params);
    _cleanup_(freep) char *text = json_dumps(values, JSON_COMPACT | JSON_SORT_KEYS);
    set_text(annotations, "benchd.io/parameters", text == NULL ? "{}" : text);
}

static void add_env(json_t *list, const char *name, const char *value)
{
    json_t *item = json_pack("{s:s, s:s}", "name", name, "value", value);
    (void)json_array_append_new(list, item); /* fails without memory only */
}

/* Is a variable given again by a later one? */
static bool is_replaced(const struct replica_spec *spec, size_t from, const char *name)
{
    return array_any(spec->env + from, spec->n_env - from, it, str_eq(it->name, name));
}

/* The template's entries without those of the contract's names, then what is added. Each name is
 * there once. */
static void set_env(json_t *container, const struct replica_spec *spec, bool has_launcher,
                    const char *summary_file)
{
    const json_t *old = json_object_get(container, "env");
    json_t *list = json_array();
    for (size_t i = 0; i < json_array_size(old); i++) {
        json_t *item = json_array_get(old, i);
        const char *name = json_string_value(json_object_get(item, "name"));
        if (name != NULL && !str_has_prefix(name, "BENCHD_") && !is_replaced(spec, 0, name)) {
            (void)json_array_append(list, item); /* fails without memory only */
        }
    }
    for (size_t i = 0; i < spec->n_env; i++) {
        const struct replica_var *var = &spec->env[i];
        if (!is_replaced(spec, i + 1, var->name)) {
            _cleanup_(freep) char *value =
                var->expands ? xstrdup(var->value) : expand_escape(var->value);
            add_env(list, var->name, value);
        }
    }
    _cleanup_(freep) char *wait = xasprintf("%d", POD_RENDEZVOUS_S);
    add_env(list, "BENCHD_RENDEZVOUS_S", wait);
    add_env(list, "BENCHD_SECRET_FILE", POD_SECRET_DIR "/" POD_SECRET_KEY);
    if (has_launcher) {
        add_env(list, "BENCHD_SSH_KEY_FILE", POD_SECRET_DIR "/" POD_SSH_KEY);
    }
    add_env(list, "BENCHD_SUMMARY_FILE", summary_file);
    set(container, "env", list);
}

/* The profile's command where the template has none; its arguments stay the template's. */
static void set_command(json_t *container, const struct replica_spec *spec)
{
    const size_t n_args = json_array_size(json_object_get(container, "args"));
    size_t n = 0;
    while (spec->words[n] != NULL) {
        n++;
    }
    if (json_array_size(json_object_get(container, "command")) > 0 || n == n_args) {
        return; /* its own, or the image's */
    }
    json_t *words = json_array();
    for (size_t i = 0; i + n_args < n; i++) {
        (void)json_array_append_new(words, json_string(spec->words[i])); /* as above */
    }
    set(container, "command", words);
}

static void set_container(json_t *container, const struct replica_spec *spec, bool has_launcher)
{
    const char *path = json_string_value(json_object_get(container, "terminationMessagePath"));
    if (json_object_get(container, "name") == NULL) {
        set_text(container, "name", "main");
    }
    set_env(container, spec, has_launcher, path == NULL ? "/dev/termination-log" : path);
    set_command(container, spec);
    set_text(container, "terminationMessagePolicy", "FallbackToLogsOnError");
    (void)json_array_append_new(child(container, "volumeMounts", JSON_ARRAY),
                                json_pack("{s:s, s:s, s:b}", "name", POD_SECRET_VOLUME, "mountPath",
                                          POD_SECRET_DIR, "readOnly", 1));
}

/* Does a security context ask for root or for privileges? */
static bool asks_for_more(const json_t *context)
{
    const json_t *user = json_object_get(context, "runAsUser");
    const json_t *capabilities = json_object_get(context, "capabilities");
    return json_is_false(json_object_get(context, "runAsNonRoot")) ||
           (json_is_integer(user) && json_integer_value(user) == 0) ||
           json_is_true(json_object_get(context, "privileged")) ||
           json_is_true(json_object_get(context, "allowPrivilegeEscalation")) ||
           json_array_size(json_object_get(capabilities, "add")) > 0;
}

/* Adds fsGroup, the group of the secret's files, which only root could read without it, and what
 * the level `restricted` of Pod Security requires and the template does not mention. A template
 * that asks for more than the level allows gets nothing of that: half of it could break its
 * program, and a namespace of that level refuses the pod in any case. */
static void set_security(json_t *spec)
{
    static const char *const lists[] = {"initContainers", "containers"};
    json_t *context = child(spec, "securityContext", JSON_OBJECT);
    const json_t *group = json_object_get(context, "runAsGroup");
    json_auto_t *contexts = json_pack("[O]", context); /* the pod's, then those of its containers */
    json_t *item;
    size_t i;
    bool has_user = false;
    (void)json_object_update_missing_new(
        context, json_pack("{s:I}", "fsGroup",
                           group == NULL ? (json_int_t)DEFAULT_ID : json_integer_value(group)));
    for (size_t k = 0; k < COUNT_OF(lists); k++) {
        json_array_foreach (json_object_get(spec, lists[k]), i, item) {
            (void)json_array_append(contexts, child(item, "securityContext", JSON_OBJECT));
        }
    }
    json_array_foreach (contexts, i, item) {
        if (asks_for_more(item)) {
            return;
        }
        has_user = has_user || json_object_get(item, "runAsNonRoot") != NULL;
    }
    /* Most images run as root. With runAsNonRoot a template says that its image has a user. */
    (void)json_object_update_missing_new(
        context,
        json_pack("{s:b, s:{s:s}, s:o*}", "runAsNonRoot", 1, "seccompProfile", "type",
                  "RuntimeDefault", "runAsUser", has_user ? NULL : json_integer(DEFAULT_ID)));
    for (i = 1; i < json_array_size(contexts); i++) {
        (void)json_object_update_missing_new(
            json_array_get(contexts, i), json_pack("{s:b, s:{s:[s]}}", "allowPrivilegeEscalation",
                                                   0, "capabilities", "drop", "ALL"));
    }
}

static void set_spec(const struct run_def *def, const struct replica_id *id, enum pod_naming naming,
                     json_t *spec)
{
    _cleanup_(freep) char *secret = secret_name(def);
    set_text(spec, "restartPolicy", "Never");
    set(spec, "automountServiceAccountToken", json_false());
    set(spec, "enableServiceLinks", json_false());
    if (naming == POD_BY_DNS) {
        _cleanup_(freep) char *host = host_name(id);
        _cleanup_(freep) char *service = service_name(def);
        set_text(spec, "hostname", host);
        set_text(spec, "subdomain", service);
    }
    const int64_t deadline_s = def->spec->run_policy.active_deadline_s;
    if (json_object_get(spec, "activeDeadlineSeconds") == NULL && deadline_s > 0) {
        set(spec, "activeDeadlineSeconds", json_integer(deadline_s + DEADLINE_SLACK_S));
    }
    set_security(spec);
    (void)json_array_append_new(child(spec, "volumes", JSON_ARRAY),
                                json_pack("{s:s, s:{s:s, s:i}}", "name", POD_SECRET_VOLUME,
                                          "secret", "secretName", secret, "defaultMode",
                                          SECRET_MODE));
}

static void add_affinity(json_t *spec, const char *kind, const char *topology_key, json_t *selector,
                         json_t *everywhere)
{
    json_t *affinity = child(child(spec, "affinity", JSON_OBJECT), kind, JSON_OBJECT);
    (void)json_array_append_new(child(affinity, "requiredDuringSchedulingIgnoredDuringExecution",
                                      JSON_ARRAY), /* as above */
                                json_pack("{s:s, s:o, s:o*}", "topologyKey", topology_key,
                                          "labelSelector", selector, "namespaceSelector",
                                          everywhere));
}

/* With exclusive nodes, a label says which attempt a pod is of among those of all benchds, and the
 * scheduler keeps others away from its nodes, also those that do not ask for the same. */
static void set_placement(const struct run_def *def, const struct attempt_id *id, json_t *labels,
                          json_t *spec)
{
    const struct run_options *s = &def->options;
    if (s->topology_key != NULL) {
        json_t *selected = json_pack("{s:s}", POD_LABEL_RUN, def->name);
        set_attempt(id, selected);
        add_affinity(spec, "podAffinity", s->topology_key,
                     json_pack("{s:o}", "matchLabels", selected), NULL);
    }
    if (s->exclusive_nodes) {
        _cleanup_(freep) char *lane =
            xasprintf("%.8s-p%ut%ua%u", def->uid, id->point, id->trial, id->number);
        set_text(labels, POD_LABEL_LANE, lane);
        add_affinity(spec, "podAntiAffinity", "kubernetes.io/hostname",
                     json_pack("{s:[{s:s, s:s}, {s:s, s:s, s:[s]}]}", "matchExpressions", "key",
                               POD_LABEL_RUN, "operator", "Exists", "key", POD_LABEL_LANE,
                               "operator", "NotIn", "values", lane),
                     json_object());
    }
}

/* Can pods of this role run the system? */
static int check_role(const struct spec *spec, const struct system *system, enum role role,
                      struct err *err)
{
    json_auto_t *template = NULL;
    const int r = system_template(spec, system, role, &template, err);
    if (r < 0) {
        return r;
    }
    if (spec->roles[role].template == NULL &&
        json_object_get(template_container(template), "image") == NULL) {
        return err_set(err, ENOENT, "spec.roles.%s has no template; pods are created from it",
                       role_to_string(role));
    }
    /* An image of the system itself has the program, and starts it. */
    if (!str_eq(system->profile, PROFILE_NATIVE) && !template_has_command(template) &&
        json_object_get(system->launch, "image") == NULL &&
        json_object_get(system_launch(system, role), "image") == NULL) {
        return err_set(err, EINVAL,
                       "system '%s': profile '%s' needs programs that only the machine of "
                       "benchctl has; for pods, set an image of the system that starts them, or "
                       "image and command of container 0 in the template of %s, or leave the "
                       "system out with --systems",
                       system->name, system->profile, role_to_string(role));
    }
    return 0;
}

int pod_check_system(const struct spec *spec, const struct system *system, struct err *err)
{
    if (spec_shapes_links(spec)) {
        return err_set(err, EINVAL,
                       "system '%s': links are shaped between the processes of one machine, not "
                       "between pods",
                       system->name);
    }
    for (enum role role = 0; role < ROLE_COUNT && system->job == NULL; role++) {
        const bool has_role = spec_system_has_role(spec, system, role);
        int r = has_role ? check_role(spec, system, role, err) : 0;
        if (r < 0) {
            return r;
        }
    }
    return 0;
}

int pod_check_systems(const struct spec *spec, struct err *err)
{
    vec_each (const struct system, system, &spec->systems) {
        int r = pod_check_system(spec, system, err);
        if (r < 0) {
            return r;
        }
    }
    return 0;
}

bool pod_body_is_alike(const struct run_def *def, uint32_t point)
{
    const uint32_t system = def->matrix.points[point].system;
    return def->spec->systems.items[system].rendezvous.vars.len == 0;
}

/* By IP a pod's address is known when it runs: servers', to those that are created after them. */
static int check_by_ip(const struct run_def *def, const struct replica_id *id, struct err *err)
{
    const struct point *point = &def->matrix.points[id->attempt.point];
    const struct system *system = &def->spec->systems.items[point->system];
    const struct rendezvous_member member = {
        .role = id->role, .index = id->index, .replicas = point->replicas, .listen = ""};
    const int known = id->role == ROLE_PSERVER ? -1 : ROLE_PSERVER;
    enum role role;
    if (str_eq(system->profile, PROFILE_NATIVE) && point->replicas[ROLE_WORKER] > 1) {
        return err_set(
            err, EINVAL,
            "system '%s': a worker needs the address of the next one, which addressing IP "
            "does not give; write addressing: DNS",
            system->name);
    }
    vec_each (const struct rendezvous_var, it, &system->rendezvous.vars) {
        if (rendezvous_applies(it, &member) &&
            rendezvous_needs_addresses(it, &member, known, &role)) {
            return err_set(err, EINVAL,
                           "system '%s': variable %s of %s needs the addresses of role %s, which "
                           "addressing IP does not give; write addressing: DNS",
                           system->name, it->name, role_to_string(id->role), role_to_string(role));
        }
    }
    return 0;
}

int pod_body(const struct run_def *def, const struct replica_id *id,
             const struct gang_addresses *addresses, enum pod_naming naming, json_t **ret,
             struct err *err)
{
    const struct point *point = &def->matrix.points[id->attempt.point];
    struct replica_spec replica;
    json_t *pod = NULL;
    int r = naming == POD_BY_IP ? check_by_ip(def, id, err) : 0;
    if (r < 0) {
        return r;
    }
    r = replica_spec_build(def, id, addresses, &replica, err);
    if (r < 0) {
        return r;
    }
    r = replica_template_render(def, point, id->role, &pod, err);
    struct template_problem problem;
    if (r >= 0 && template_rules_check(pod, &problem) < 0) {
        r = err_set(err, EINVAL, "template of %s: %s: %s; %s", role_to_string(id->role),
                    problem.path, problem.message, problem.fix);
    }
    if (r < 0) {
        json_decref(pod);
        replica_spec_done(&replica);
        return r;
    }
    _cleanup_(freep) char *name = replica_name(def->name, id);
    json_t *metadata = child(pod, "metadata", JSON_OBJECT);
    set_text(pod, "apiVersion", "v1");
    set_text(pod, "kind", "Pod");
    set_text(metadata, "name", name);
    set_labels(def, id, child(metadata, "labels", JSON_OBJECT));
    set_parameters(point, child(metadata, "annotations", JSON_OBJECT));
    pod_set_owner(def, metadata);
    json_t *spec = child(pod, "spec", JSON_OBJECT);
    set_spec(def, id, naming, spec);
    set_placement(def, &id->attempt, child(metadata, "labels", JSON_OBJECT), spec);
    set_container(template_container(pod), &replica, point->replicas[ROLE_LAUNCHER] > 0);
    replica_spec_done(&replica);
    *ret = pod;
    return 0;
}

void pod_body_set_account(json_t *pod, const char *account)
{
    json_t *spec = json_object_get(pod, "spec");
    const bool has_one = json_is_string(json_object_get(spec, "serviceAccountName")) ||
                         json_is_string(json_object_get(spec, "serviceAccount"));
    if (account != NULL && !has_one) {
        set_text(spec, "serviceAccountName", account);
    }
}

void pod_set_registry(json_t *json, const char *registry)
{
    const char *key;
    json_t *value;
    size_t i;
    if (registry == NULL) {
        return;
    }
    json_array_foreach (json, i, value) {
        pod_set_registry(value, registry);
    }
    json_object_foreach (json, key, value) {
        const char *image = str_eq(key, "image") ? json_string_value(value) : NULL;
        if (image != NULL && str_has_prefix(image, POD_NO_REGISTRY)) {
            _cleanup_(freep) char *whole =
                xasprintf("%s/%s", registry, image + strlen(POD_NO_REGISTRY));
            (void)json_string_set(value, whole);
        } else {
            pod_set_registry(value, registry);
        }
    }
}

static void set_env_value(json_t *container, const char *name, const char *value)
{
    const json_t *list = json_object_get(container, "env");
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *item = json_array_get(list, i);
        if (str_eq(json_string_value(json_object_get(item, "name")), name)) {
            set_text(item, "value", value);
        }
    }
}

void pod_body_renumber(const struct run_def *def, const struct replica_id *id,
                       enum pod_naming naming, json_t *pod)
{
    _cleanup_(freep) char *name = replica_name(def->name, id);
    _cleanup_(freep) char *index = xasprintf("%u", id->index);
    json_t *metadata = json_object_get(pod, "metadata");
    json_t *spec = json_object_get(pod, "spec");
    set_text(metadata, "name", name);
    set_text(json_object_get(metadata, "labels"), "benchd.io/replica-index", index);
    if (naming == POD_BY_DNS) {
        _cleanup_(freep) char *host = host_name(id);
        set_text(spec, "hostname", host);
    }
    set_env_value(template_container(pod), "BENCHD_INDEX", index);
}

json_t *pod_new_object(const struct run_def *def, const char *api_version, const char *kind,
                       const char *name)
{
    json_t *object = json_pack("{s:s, s:s, s:{s:s}}", "apiVersion", api_version, "kind", kind,
                               "metadata", "name", name);
    json_t *metadata = json_object_get(object, "metadata");
    set_run_labels(def, child(metadata, "labels", JSON_OBJECT));
    pod_set_owner(def, metadata);
    return object;
}

json_t *pod_service_body(const struct run_def *def)
{
    _cleanup_(freep) char *name = service_name(def);
    json_t *object = pod_new_object(def, "v1", "Service", name);
    set(object, "spec",
        json_pack("{s:s, s:[{s:s, s:i}]}", "clusterIP", "None", "ports", "name", "exchange", "port",
                  POD_PORT));
    return object;
}

json_t *pod_slice_body(const struct run_def *def, unsigned number, bool is_ipv6)
{
    _cleanup_(freep) char *service = service_name(def);
    _cleanup_(freep) char *name = xasprintf("%s-%u%s", service, number, is_ipv6 ? "-v6" : "");
    json_t *object = pod_new_object(def, "discovery.k8s.io/v1", "EndpointSlice", name);
    json_t *labels = json_object_get(json_object_get(object, "metadata"), "labels");
    set_text(labels, "kubernetes.io/service-name", service);
    set_text(labels, "endpointslice.kubernetes.io/managed-by", "benchd.io");
    set_text(labels, "service.kubernetes.io/headless", ""); /* nothing for kube-proxy to do */
    set_text(object, "addressType", is_ipv6 ? "IPv6" : "IPv4");
    set(object, "ports", json_pack("[{s:s, s:i}]", "name", "exchange", "port", POD_PORT));
    set(object, "endpoints", json_array());
    return object;
}

void pod_slice_add(json_t *slice, const struct replica_id *id, const char *ip)
{
    _cleanup_(freep) char *host = host_name(id);
    json_array_append_new(json_object_get(slice, "endpoints"),
                          json_pack("{s:[s], s:s, s:{s:b}}", "addresses", ip, "hostname", host,
                                    "conditions", "ready", 1));
}

/* Where NodeLocal DNSCache listens on each node, which is no pod. */
#define NODE_DNS "169.254.20.10/32"

json_t *pod_policy_body(const struct run_def *def)
{
    _cleanup_(freep) char *name = service_name(def);
    json_t *object = pod_new_object(def, "networking.k8s.io/v1", "NetworkPolicy", name);
    json_t *run = json_pack("{s:{s:s, s:s}}", "matchLabels", POD_MANAGED_BY, "benchd",
                            POD_LABEL_RUN, def->name);
    json_t *dns = json_pack("{s:[], s:[{s:{}}, {s:{s:s}}]}", "ports", "to", "namespaceSelector",
                            "ipBlock", "cidr", NODE_DNS);
    for (int i = 0; i < 4; i++) { /* OpenShift's DNS pods listen on 5353 */
        json_array_append_new(json_object_get(dns, "ports"),
                              json_pack("{s:i, s:s}", "port", i < 2 ? 53 : 5353, "protocol",
                                        i % 2 == 0 ? "UDP" : "TCP"));
    }
    set(object, "spec",
        json_pack("{s:O, s:[s, s], s:[{s:[{s:O}]}], s:[{s:[{s:O}]}, o]}", "podSelector", run,
                  "policyTypes", "Ingress", "Egress", "ingress", "from", "podSelector", run,
                  "egress", "to", "podSelector", run, dns));
    json_decref(run);
    return object;
}

static void set_base64(json_t *data, const char *key, const void *bytes, size_t len)
{
    _cleanup_(freep) char *text = base64_dup(bytes, len);
    set_text(data, key, text);
}

json_t *pod_secret_body(const struct run_def *def, const unsigned char *secret, size_t len,
                        const struct ssh_key *ssh)
{
    _cleanup_(freep) char *name = secret_name(def);
    json_t *object = pod_new_object(def, "v1", "Secret", name);
    set_text(object, "type", "Opaque");
    set(object, "immutable", json_true());
    json_t *data = child(object, "data", JSON_OBJECT);
    set_base64(data, POD_SECRET_KEY, secret, len);
    if (ssh != NULL) {
        _cleanup_(freep) char *private = ssh_key_private_dup(ssh);
        _cleanup_(freep) char *public = ssh_key_public_dup(ssh);
        set_base64(data, POD_SSH_KEY, private, strlen(private));
        set_base64(data, POD_SSH_KEY ".pub", public, strlen(public));
        explicit_bzero(private, strlen(private));
    }
    return object;
}
