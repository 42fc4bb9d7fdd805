/* Somebody who may create BenchmarkRuns and wants to be benchd: writes definitions straight to the
 * API server, whose templates ask for benchd's ServiceAccount, its claim, a Secret, or a token of
 * the API server. benchd refuses them, when it reads the definition or when it makes the pod; and
 * whatever it creates is looked at here. */
#include "sim.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "kube/request.h"

#define OWN_ACCOUNT "benchd"
#define OWN_CLAIM "benchd-data"
#define OWN_SECRET "benchd-key"

/* ---- what such a definition asks for ---- */

/* In the `spec` of a template. ' stands for ", and @ for the name of a Secret. */
static const struct {
    const char *key, *value;
} demands[] = {
    {"serviceAccountName", "'" OWN_ACCOUNT "'"},
    {"serviceAccount", "'" OWN_ACCOUNT "'"},
    {"automountServiceAccountToken", "true"},
    {"volumes", "[{'name':'v','persistentVolumeClaim':{'claimName':'" OWN_CLAIM "'}}]"},
    {"volumes", "[{'name':'v','secret':{'secretName':'@'}}]"},
    {"volumes", "[{'name':'v','projected':{'sources':[{'serviceAccountToken':{'path':'t'}}]}}]"},
    {"volumes", "[{'name':'v','projected':{'sources':[{'secret':{'name':'@'}}]}}]"},
    {"containers", "[{'name':'m','image':'i','env':[{'name':'K','valueFrom':{'secretKeyRef':{"
                   "'name':'@','key':'key'}}}]}]"},
    {"containers", "[{'name':'m','image':'i','envFrom':[{'secretRef':{'name':'@'}}]}]"},
    {"initContainers", "[{'name':'n','image':'i','envFrom':[{'secretRef':{'name':'@'}}]}]"},
};
#define N_DEMANDS (sizeof(demands) / sizeof(demands[0]))
enum { BY_PATCH = N_DEMANDS, BY_SWEEP, BY_JOB, N_WAYS }; /* without a word in a template */

/* The key of somebody's run, or benchd's own. Owned. */
static char *wanted_secret(void)
{
    const struct sim_run *other = user_get(0);
    return other->uid == NULL || sim_one_in(DRAW_HOSTILE, 2)
               ? xstrdup(OWN_SECRET)
               : xasprintf("%s-%.8s-key", other->name, other->uid);
}

static json_t *value_of(const char *text)
{
    _cleanup_(freep) char *secret = wanted_secret();
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    for (const char *at = text; *at != '\0'; at++) {
        if (*at == '@') {
            buf_puts(&out, secret);
        } else {
            buf_putc(&out, *at == '\'' ? '"' : *at);
        }
    }
    return json_loads(buf_cstr(&out), JSON_DECODE_ANY, NULL);
}

/* Only the second point's pods ask for it; the definition itself does not. */
static void ask_by_sweep(json_t *definition)
{
    json_t *grid = json_object_get(json_object_get(definition, "sweep"), "grid");
    json_object_set_new(grid, "who", json_pack("[s, s]", "team", OWN_ACCOUNT));
    json_object_set_new(definition, "parameters",
                        json_pack("[{s:s, s:[{s:[s], s:[s]}]}]", "name", "who", "targets", "roles",
                                  "trainer", "paths", "/spec/serviceAccountName"));
}

/* What benchd may make for itself, or Kubernetes for others. */
static const struct {
    const char *api, *kind, *spec;
} objects[] = {
    {"v1", "Pod", "{'containers':[{'name':'m','image':'i'}]}"},
    {"v1", "Secret", "{}"},
    {"v1", "Service", "{'type':'NodePort','ports':[{'port':80}]}"},
    {"v1", "Service", "{'externalIPs':['203.0.113.7'],'ports':[{'port':80}]}"},
    {"discovery.k8s.io/v1", "EndpointSlice", "{}"},
    {"networking.k8s.io/v1", "NetworkPolicy", "{'podSelector':{}}"},
    {"coordination.k8s.io/v1", "Lease", "{'holderIdentity':'me'}"},
    {"benchd.io/v1alpha1", "BenchmarkRun", "{}"},
};
#define N_OBJECTS (sizeof(objects) / sizeof(objects[0]))
enum { AS_TEMPLATE, AS_SET, AS_OBJECT, N_USES };

/* A system that is a job object, or has one in addition, of such a kind. */
static void ask_by_job(json_t *definition)
{
    const uint32_t k = sim_below(DRAW_HOSTILE, N_OBJECTS), use = sim_below(DRAW_HOSTILE, N_USES);
    const bool is_template = use == AS_TEMPLATE;
    json_t *set = json_pack("[{s:s, s:s}]", "path", "/spec/parallelism", "from", "workers");
    json_t *job =
        json_pack("{s:{s:s, s:s, s:{s:{s:{s:[{s:s, s:s}]}}}}, s:o, s:{s:{s:s}}, s:s, s:s}",
                  "template", "apiVersion", is_template ? objects[k].api : "batch/v1", "kind",
                  is_template ? objects[k].kind : "Job", "spec", "template", "spec", "containers",
                  "name", "m", "image", "i", "set", set, "pods", "worker", "template",
                  "/spec/template", "succeeded", "{.status.a}=True", "failed", "{.status.b}=True");
    if (use == AS_SET) {
        json_array_append_new(set,
                              json_pack("{s:s, s:s}", "path", "/kind", "value", objects[k].kind));
        json_array_append_new(
            set, json_pack("{s:s, s:s}", "path", "/apiVersion", "value", objects[k].api));
    } else if (use == AS_OBJECT) {
        json_object_set_new(job, "objects",
                            json_pack("[{s:s, s:s, s:{s:s}, s:o}]", "apiVersion", objects[k].api,
                                      "kind", objects[k].kind, "metadata", "name", "extra", "spec",
                                      value_of(objects[k].spec)));
    }
    printer_define(definition); /* without servers, and with a log rule */
    json_t *system = json_array_get(json_object_get(definition, "systems"), 0);
    (void)json_object_del(system, "command");
    json_object_set_new(json_object_get(definition, "workload"), "exchange",
                        json_pack("{s:s}", "kind", "AllReduce"));
    json_object_set_new(system, "job", job);
    json_t *grid = json_object_get(json_object_get(definition, "sweep"), "grid");
    json_object_set(grid, "workers", json_object_get(grid, "trainers"));
    (void)json_object_del(grid, "trainers");
    json_object_set_new(definition, "baseline",
                        json_pack("{s:s, s:{s:i}}", "kind", "Point", "where", "workers", 1));
    json_object_set_new(definition, "roles",
                        json_pack("{s:{s:{s:s}}}", "worker", "replicas", "from", "workers"));
    (void)json_object_del(definition, "addressing");
}

void hostile_spoil(json_t *definition)
{
    const uint32_t way = sim_below(DRAW_HOSTILE, N_WAYS);
    if (way == BY_JOB || sim_one_in(DRAW_HOSTILE, 4)) {
        ask_by_job(definition);
    } else if (way == BY_SWEEP) {
        ask_by_sweep(definition);
    } else if (way == BY_PATCH) {
        json_t *system = json_array_get(json_object_get(definition, "systems"), 0);
        json_object_set_new(system, "patches",
                            json_pack("[{s:[s], s:s, s:s}]", "roles", "trainer", "path",
                                      "/spec/serviceAccountName", "value", OWN_ACCOUNT));
    } else {
        const char *role = sim_one_in(DRAW_HOSTILE, 2) ? "trainer" : "pserver";
        json_t *roles = json_object_get(definition, "roles");
        json_t *template = json_object_get(json_object_get(roles, role), "template");
        json_object_set_new(json_object_get(template, "spec"), demands[way].key,
                            value_of(demands[way].value));
    }
}

/* ---- what a pod must not have ---- */

static void check_secret(const struct sim_pod *p, const json_t *name)
{
    const struct sim_run *run = user_find(p->run_uid);
    if (!json_is_string(name) || run == NULL) {
        return;
    }
    /* A run that a backup brings back after another took its name has pods with the longer name of
     * its results, so both ends of the name are compared. */
    const char *text = json_string_value(name);
    _cleanup_(freep) char *end = xasprintf("-%.8s-key", run->uid);
    if (!str_has_prefix(text, run->name) || !str_has_suffix(text, end)) {
        sim_broken("%s has the Secret '%s'", p->name, text);
    }
}

static bool is_text(const json_t *value, const char *text)
{
    return json_is_string(value) && str_eq(json_string_value(value), text);
}

static void check_field(const struct sim_pod *p, const char *key, const json_t *value)
{
    const bool is_account = str_eq(key, "serviceAccountName") || str_eq(key, "serviceAccount");
    const bool is_secret =
        str_eq(key, "secret") || str_eq(key, "secretRef") || str_eq(key, "secretKeyRef");
    if ((is_account && is_text(value, OWN_ACCOUNT)) ||
        (str_eq(key, "claimName") && is_text(value, OWN_CLAIM))) {
        sim_broken("%s has benchd's own %s", p->name, key);
    }
    if (str_eq(key, "serviceAccountToken") ||
        (str_eq(key, "automountServiceAccountToken") && json_is_true(value))) {
        sim_broken("%s has a token of the API server", p->name);
    }
    if (is_secret) {
        check_secret(p, json_object_get(value, "name"));
    } else if (str_eq(key, "secretName")) {
        check_secret(p, value);
    }
}

/* Fields are found by their names, wherever they are. */
static void check_value(const struct sim_pod *p, json_t *value)
{
    const char *key;
    json_t *child;
    size_t i;
    json_object_foreach (value, key, child) {
        check_field(p, key, child);
        check_value(p, child);
    }
    json_array_foreach (value, i, child) {
        check_value(p, child);
    }
}

/* Of a kind that somebody else could ask for; server.c refuses those that benchd never makes, and
 * node.c pods that are no replicas. */
void hostile_check_object(enum sim_kind kind, const json_t *object)
{
    const char *name =
        json_string_value(json_object_get(json_object_get(object, "metadata"), "name"));
    const json_t *spec = json_object_get(object, "spec");
    const json_t *type = json_object_get(spec, "type");
    if (kind == KIND_BENCHMARKS || kind == KIND_RUNS ||
        (kind == KIND_LEASES && !str_eq(name, "benchd")) ||
        (kind == KIND_SECRETS && !str_has_suffix(name, "-key")) ||
        (kind == KIND_SERVICES && ((type != NULL && !is_text(type, "ClusterIP")) ||
                                   !is_text(json_object_get(spec, "clusterIP"), "None") ||
                                   json_object_get(spec, "externalIPs") != NULL))) {
        sim_broken("benchd makes '%s', which somebody asked for", name);
    }
}

void hostile_check_pod(const struct sim_pod *p)
{
    json_t *spec = json_object_get(p->object->json, "spec");
    if (!json_is_false(json_object_get(spec, "automountServiceAccountToken"))) {
        sim_broken("%s gets a token, because nothing says that it does not", p->name);
    }
    check_value(p, spec);
}
