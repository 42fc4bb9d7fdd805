/* The API server: objects of nine kinds in one namespace. Models versions (one counter for all, as
 * etcd has), optimistic locking, uid preconditions, watches from a version on, bookmarks, 410 after
 * a compaction, graceful deletion of pods, foreground deletion, and the garbage collector. */
#include "sim.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/parse.h"
#include "base/str.h"
#include "kube/request.h"
#include "base/rfc3339.h"

static const char *const plurals[KIND_COUNT] = {
    [KIND_PODS] = "pods",           [KIND_SERVICES] = "services",
    [KIND_SECRETS] = "secrets",     [KIND_BENCHMARKS] = "benchmarks",
    [KIND_RUNS] = "benchmarkruns",  [KIND_LEASES] = "leases",
    [KIND_EVENTS] = "events",       [KIND_SLICES] = "endpointslices",
    [KIND_WORKLOADS] = "workloads",
};

static struct {
    uint64_t version;
    unsigned uids;
    VEC(struct sim_object *) objects[KIND_COUNT];
    VEC(struct sim_object *) dropped; /* with the definition of their kind */
    bool lacks_kinds;
} server;

static void collect_garbage(void *ctx);

uint64_t server_version(void)
{
    return server.version;
}

void server_begin(void)
{
    server.version = 100;
    sim_after(5 * SIM_S, collect_garbage, NULL);
}

/* ---- objects ---- */

const char *server_meta(const struct sim_object *o, const char *key)
{
    const char *s = json_string_value(json_object_get(json_object_get(o->json, "metadata"), key));
    return s == NULL ? "" : s;
}

struct sim_object *server_find(enum sim_kind kind, const char *name)
{
    vec_each (struct sim_object *, it, &server.objects[kind]) {
        if (str_eq((*it)->name, name)) {
            return *it;
        }
    }
    return NULL;
}

size_t server_count(enum sim_kind kind)
{
    return server.objects[kind].len;
}

struct sim_object *server_get(enum sim_kind kind, size_t i)
{
    return server.objects[kind].items[i];
}

static void set_meta(struct sim_object *o, const char *key, json_t *value_take)
{
    json_object_set_new(json_object_get(o->json, "metadata"), key, value_take);
}

static void set_version(struct sim_object *o)
{
    char text[24];
    (void)snprintf(text, sizeof(text), "%" PRIu64, ++server.version);
    set_meta(o, "resourceVersion", json_string(text));
}

static char *now_text(void)
{
    char text[RFC3339_MICRO_SIZE];
    rfc3339_format_micro(sim_unix_ms() / 1000 * 1000, text);
    _cleanup_(freep) char *seconds = xstrndup(text, strlen("2026-01-01T00:00:00"));
    return xasprintf("%sZ", seconds);
}

size_t server_count_live_pods(void)
{
    size_t n = 0;
    vec_each (struct sim_object *, it, &server.objects[KIND_PODS]) {
        n += !(*it)->pod->container.has_ended && (*it)->pod->rejection == NULL;
    }
    return n;
}

void server_compact(void)
{
    watch_compact(server.version);
}

/* ---- changes ---- */

void server_changed(struct sim_object *o)
{
    set_version(o);
    watch_tell(o, "MODIFIED", server.version);
}

static void add(struct sim_object *o)
{
    set_version(o);
    *vec_push(&server.objects[o->kind]) = o;
    watch_tell(o, "ADDED", server.version);
    sim_trace("server: + %s %s", plurals[o->kind], o->name);
}

struct sim_object *server_create(enum sim_kind kind, json_t *json_take)
{
    struct sim_object *o = xnew(struct sim_object);
    json_t *metadata = json_object_get(json_take, "metadata");
    const unsigned n = ++server.uids;
    *o = (struct sim_object){
        .kind = kind,
        .name = xstrdup(json_string_value(json_object_get(metadata, "name"))),
        .uid = xasprintf("%08x-0000-4000-8000-%012u", n * 2654435761U, n),
        .json = json_take,
    };
    _cleanup_(freep) char *now = now_text();
    set_meta(o, "uid", json_string(o->uid));
    set_meta(o, "creationTimestamp", json_string(now));
    set_meta(o, "generation", json_integer(1));
    if (kind == KIND_PODS) {
        json_object_set_new(o->json, "status", json_pack("{s:s}", "phase", "Pending"));
        node_admit(o->json);
    }
    add(o);
    if (kind == KIND_PODS) {
        o->pod = node_new_pod(o);
    }
    return o;
}

static void take_out(struct sim_object *o)
{
    for (size_t i = 0; i < server.objects[o->kind].len; i++) {
        if (server.objects[o->kind].items[i] == o) {
            server.objects[o->kind].items[i] =
                server.objects[o->kind].items[--server.objects[o->kind].len];
            break;
        }
    }
    set_version(o);
    watch_tell(o, "DELETED", server.version);
    sim_trace("server: - %s %s", plurals[o->kind], o->name);
    if (o->kind == KIND_RUNS) {
        user_object_gone(o->uid);
    }
}

void server_remove(struct sim_object *o)
{
    take_out(o);
    if (o->pod != NULL) {
        node_forget_pod(o->pod);
    }
    json_decref(o->json);
    free(o->name);
    free(o->uid);
    free(o);
}

/* ---- deletion ---- */

static bool has_owner(const struct sim_object *o, const char *uid)
{
    const json_t *list = json_object_get(json_object_get(o->json, "metadata"), "ownerReferences");
    const char *owner = json_string_value(json_object_get(json_array_get(list, 0), "uid"));
    return owner != NULL && str_eq(owner, uid);
}

static bool is_going(const struct sim_object *o)
{
    return server_meta(o, "deletionTimestamp")[0] != '\0';
}

static void begin_deletion(struct sim_object *o)
{
    if (!is_going(o)) {
        _cleanup_(freep) char *now = now_text();
        set_meta(o, "deletionTimestamp", json_string(now));
        server_changed(o);
    }
}

static void delete_pod(struct sim_object *o, int64_t grace_s)
{
    if (!o->pod->is_scheduled || grace_s == 0) {
        server_remove(o);
        return;
    }
    begin_deletion(o);
    node_delete_pod(o->pod, grace_s);
}

static int64_t grace_of(const struct sim_object *pod)
{
    const json_t *spec = json_object_get(pod->json, "spec");
    const json_t *grace = json_object_get(spec, "terminationGracePeriodSeconds");
    return grace == NULL ? 30 : json_integer_value(grace);
}

static const enum sim_kind dependents[] = {KIND_PODS, KIND_SERVICES, KIND_SECRETS, KIND_SLICES,
                                           KIND_WORKLOADS};
#define N_DEPENDENTS 5

static void set_free(const char *uid)
{
    for (size_t k = 0; k < N_DEPENDENTS; k++) {
        vec_each (struct sim_object *, it, &server.objects[dependents[k]]) {
            if (has_owner(*it, uid)) {
                (void)json_object_del(json_object_get((*it)->json, "metadata"), "ownerReferences");
                server_changed(*it);
            }
        }
    }
}

void server_delete(struct sim_object *o, enum sim_cascade cascade)
{
    if (o->kind == KIND_PODS) {
        delete_pod(o, grace_of(o));
    } else if (cascade == CASCADE_FOREGROUND) {
        set_meta(o, "finalizers", json_pack("[s]", "foregroundDeletion"));
        begin_deletion(o);
    } else {
        if (cascade == CASCADE_ORPHAN) {
            set_free(o->uid);
        }
        server_remove(o);
    }
}

/* ---- the definitions of our kinds ---- */

static bool is_ours(enum sim_kind kind)
{
    return kind == KIND_RUNS || kind == KIND_BENCHMARKS;
}

void server_drop_kinds(void)
{
    server.lacks_kinds = true;
    user_lose_objects();
    for (int k = 0; k < KIND_COUNT; k++) {
        while (is_ours((enum sim_kind)k) && server.objects[k].len > 0) {
            struct sim_object *o = server.objects[k].items[0];
            *vec_push(&server.dropped) = o;
            take_out(o);
        }
    }
    server_compact();
    network_cut();
}

void server_restore_kinds(bool with_objects)
{
    server.lacks_kinds = false;
    vec_each (struct sim_object *, it, &server.dropped) {
        struct sim_object *o = *it;
        if (with_objects && !is_going(o) && server_find(o->kind, o->name) == NULL) {
            add(o);
            if (o->kind == KIND_RUNS) {
                user_object_back(o->uid);
            }
        } /* else nobody has it any more */
    }
    server.dropped.len = 0;
}

/* ---- a backup ---- */

static struct {
    VEC(struct sim_object) objects; /* with texts and JSON of their own */
    uint64_t version;
    bool lacks_kinds;
} backup;

void server_back_up(void)
{
    backup.objects.len = 0; /* what an earlier one held is not needed any more */
    backup.version = server.version;
    backup.lacks_kinds = server.lacks_kinds;
    for (int k = 0; k < KIND_COUNT; k++) {
        vec_each (struct sim_object *, it, &server.objects[k]) {
            *vec_push(&backup.objects) = (struct sim_object){.kind = (*it)->kind,
                                                             .name = xstrdup((*it)->name),
                                                             .uid = xstrdup((*it)->uid),
                                                             .json = json_deep_copy((*it)->json)};
        }
    }
}

static struct sim_object *find_uid(enum sim_kind kind, const char *uid)
{
    vec_each (struct sim_object *, it, &server.objects[kind]) {
        if (str_eq((*it)->uid, uid)) {
            return *it;
        }
    }
    return NULL;
}

static bool is_in_backup(const struct sim_object *o)
{
    vec_each (const struct sim_object, b, &backup.objects) {
        if (b->kind == o->kind && str_eq(b->uid, o->uid)) {
            return true;
        }
    }
    return false;
}

/* What people want of a run they have written again. */
static void go_back(struct sim_object *o, const struct sim_object *b)
{
    const bool was_going = is_going(o);
    _cleanup_(json_decrefp) json_t *spec = json_incref(json_object_get(o->json, "spec"));
    json_t *metadata = json_object_get(o->json, "metadata");
    json_t *generation = json_incref(json_object_get(metadata, "generation"));
    json_decref(o->json);
    o->json = json_deep_copy(b->json);
    if (o->kind == KIND_RUNS) {
        json_object_set(o->json, "spec", spec);
        set_meta(o, "generation", json_incref(generation));
        if (was_going && !is_going(o)) {
            user_object_back(o->uid);
        }
    }
    json_decref(generation);
}

static void come_back(const struct sim_object *b)
{
    struct sim_object *o = xnew(struct sim_object);
    *o = (struct sim_object){.kind = b->kind,
                             .name = xstrdup(b->name),
                             .uid = xstrdup(b->uid),
                             .json = json_deep_copy(b->json)};
    *vec_push(&server.objects[o->kind]) = o;
    sim_trace("server: %s %s is back", plurals[o->kind], o->name);
    if (o->kind == KIND_PODS) {
        o->pod = node_take_pod_back(o);
    } else if (o->kind == KIND_RUNS) {
        user_object_back(o->uid);
    }
}

/* Nobody is told of what goes and comes: all watches break. */
void server_restore(bool is_bumped)
{
    node_excuse_all("restore");
    server.lacks_kinds = backup.lacks_kinds;
    for (int k = 0; k < KIND_COUNT; k++) {
        for (size_t i = server.objects[k].len; i > 0; i--) {
            struct sim_object *o = server.objects[k].items[i - 1];
            if (!is_in_backup(o)) {
                user_lose_object(o->uid);
                if (k == KIND_WORKLOADS) {
                    queue_workload_lost(o);
                }
                server_remove(o);
            }
        }
    }
    server.version = is_bumped ? server.version + 1000000 : backup.version;
    if (is_bumped) {
        watch_compact(server.version);
    } else {
        watch_go_back(server.version);
    }
    vec_each (const struct sim_object, b, &backup.objects) {
        struct sim_object *o = find_uid(b->kind, b->uid);
        if (o == NULL) {
            come_back(b);
        } else {
            go_back(o, b);
        }
    }
    node_excuse_all("restore");
    node_report_all();
    network_cut();
}

static bool is_owner_here(const struct sim_object *o)
{
    const json_t *list = json_object_get(json_object_get(o->json, "metadata"), "ownerReferences");
    if (json_array_size(list) == 0) {
        return true;
    }
    const char *uid = json_string_value(json_object_get(json_array_get(list, 0), "uid"));
    vec_each (struct sim_object *, it, &server.objects[KIND_RUNS]) {
        if (str_eq((*it)->uid, uid)) {
            return !is_going(*it);
        }
    }
    return false;
}

static bool has_dependents(const char *uid)
{
    for (size_t k = 0; k < N_DEPENDENTS; k++) {
        vec_each (struct sim_object *, it, &server.objects[dependents[k]]) {
            if (has_owner(*it, uid)) {
                return true;
            }
        }
    }
    return false;
}

/* Every few seconds: dependents of owners that are gone or going, then the owners that waited. */
static void collect_garbage(void *ctx)
{
    (void)ctx;
    const bool is_slow = fault_is_on(FAULT_SLOW_GARBAGE, NULL);
    for (size_t k = 0; k < N_DEPENDENTS && !is_slow; k++) {
        for (size_t i = server.objects[dependents[k]].len; i > 0; i--) {
            struct sim_object *o = server.objects[dependents[k]].items[i - 1];
            if (!is_owner_here(o) && !is_going(o)) {
                sim_trace("garbage: %s", o->name);
                server_delete(o, CASCADE_BACKGROUND);
            }
        }
    }
    for (size_t i = server.objects[KIND_RUNS].len; i > 0; i--) {
        struct sim_object *o = server.objects[KIND_RUNS].items[i - 1];
        if (is_going(o) ? !has_dependents(o->uid) : !is_owner_here(o)) {
            server_remove(o);
        }
    }
    sim_after(sim_time(DRAW_NETWORK, SIM_S, (sim.is_littered ? 200 : 5) * SIM_S), collect_garbage,
              NULL);
}

/* ---- requests ---- */

void server_status(struct sim_answer *ret, int code, const char *reason, const char *message)
{
    json_t *status = json_pack("{s:s, s:s, s:s, s:s, s:i}", "kind", "Status", "status", "Failure",
                               "reason", reason, "message", message, "code", code);
    free(ret->body);
    *ret = (struct sim_answer){code, json_dumps(status, JSON_COMPACT), -1, 0};
    json_decref(status);
}

static void answer_object(struct sim_answer *ret, int code, const struct sim_object *o)
{
    *ret = (struct sim_answer){code, json_dumps(o->json, JSON_COMPACT), -1, 0};
}

/* A path's parts. */
struct target {
    enum sim_kind kind;
    char *name, *sub; /* owned; NULL: none */
};

static bool read_target(const char *path, struct target *ret)
{
    static const char *const marker = "/namespaces/" SIM_NS "/";
    const char *at = strstr(path, marker);
    if (at == NULL) {
        return false;
    }
    at += strlen(marker);
    *ret = (struct target){0};
    const size_t len = strcspn(at, "/?");
    for (int k = 0; k < KIND_COUNT; k++) {
        if (strlen(plurals[k]) == len && strncmp(plurals[k], at, len) == 0) {
            ret->kind = (enum sim_kind)k;
            at += len;
            if (*at == '/') {
                const size_t n = strcspn(at + 1, "/?");
                ret->name = xstrndup(at + 1, n);
                at += 1 + n;
            }
            if (*at == '/') {
                ret->sub = xstrndup(at + 1, strcspn(at + 1, "?"));
            }
            return true;
        }
    }
    return false;
}

static void serve_post(const struct target *t, const struct sim_request *req,
                       struct sim_answer *ret)
{
    json_t *json = json_loads(req->body, 0, NULL);
    const char *name =
        json_string_value(json_object_get(json_object_get(json, "metadata"), "name"));
    if (json == NULL || name == NULL) {
        sim_broken("a body that is no object: %.100s", req->body);
    }
    hostile_check_object(t->kind, json);
    if (server_find(t->kind, name) != NULL) {
        server_status(ret, 409, "AlreadyExists", "it exists already");
        json_decref(json);
    } else if (strstr(req->path, "dryRun=") != NULL || t->kind == KIND_EVENTS) {
        *ret = (struct sim_answer){201, xstrdup("{}"), -1, 0};
        json_decref(json);
    } else {
        answer_object(ret, 201, server_create(t->kind, json));
    }
}

static void serve_put(struct sim_object *o, const struct sim_request *req, struct sim_answer *ret)
{
    json_t *json = json_loads(req->body, 0, NULL);
    const char *version =
        json_string_value(json_object_get(json_object_get(json, "metadata"), "resourceVersion"));
    if (version != NULL && !str_eq(version, server_meta(o, "resourceVersion"))) {
        server_status(ret, 409, "Conflict", "the object has been modified");
        json_decref(json);
        return;
    }
    json_decref(o->json);
    o->json = json;
    server_changed(o);
    answer_object(ret, 200, o);
}

/* Server-side apply to a status: a manager owns what it wrote last. benchd has two. */
static void apply_status(struct sim_object *o, const char *path, const json_t *body,
                         const struct kube_transfer *stream)
{
    const bool is_definition = strstr(path, "fieldManager=benchd-definition") != NULL;
    const json_t *given = json_object_get(body, "status");
    const json_t *old = json_object_get(o->json, "status");
    json_t *status = json_object();
    json_object_update(status, (json_t *)(is_definition ? old : given));
    const json_t *kept = json_object_get(is_definition ? given : old, "definition");
    if (kept != NULL) {
        json_object_set(status, "definition", (json_t *)kept);
    }
    const bool is_change = !json_equal(status, old);
    if (!is_definition) {
        const char *phase = json_string_value(json_object_get(given, "phase"));
        promise_status_applied(o->uid, phase, is_change, network_sender_began_ns(stream));
    }
    if (!is_change) {
        json_decref(status);
        return;
    }
    json_object_set_new(o->json, "status", status);
    server_changed(o);
}

static void serve_patch(struct sim_object *o, const struct sim_request *req,
                        const struct kube_transfer *stream, struct sim_answer *ret)
{
    _cleanup_(json_decrefp) json_t *body = json_loads(req->body, 0, NULL);
    const char *uid = json_string_value(json_object_get(json_object_get(body, "metadata"), "uid"));
    if (uid != NULL && !str_eq(uid, o->uid)) {
        server_status(ret, 409, "Conflict", "the uid is another one");
    } else {
        apply_status(o, req->path, body, stream);
        answer_object(ret, 200, o);
    }
}

/* Server-side apply to an object that one manager owns whole: it is created, or is as given. */
static void apply_slice(struct sim_object *o, const struct sim_request *req, struct sim_answer *ret)
{
    json_t *json = json_loads(req->body, 0, NULL);
    if (o == NULL) {
        answer_object(ret, 201, server_create(KIND_SLICES, json));
        return;
    }
    json_object_set(o->json, "endpoints", json_object_get(json, "endpoints"));
    json_decref(json);
    server_changed(o);
    answer_object(ret, 200, o);
}

bool server_resolves(const char *service, const char *host, const char *ip)
{
    vec_each (struct sim_object *, it, &server.objects[KIND_SLICES]) {
        const json_t *labels = json_object_get(json_object_get((*it)->json, "metadata"), "labels");
        const char *of = json_string_value(json_object_get(labels, "kubernetes.io/service-name"));
        size_t i;
        json_t *endpoint;
        json_array_foreach (json_object_get((*it)->json, "endpoints"), i, endpoint) {
            const json_t *first = json_array_get(json_object_get(endpoint, "addresses"), 0);
            if (str_eq(of, service) && str_eq(json_string_value(first), ip) &&
                str_eq(json_string_value(json_object_get(endpoint, "hostname")), host)) {
                return true;
            }
        }
    }
    return false;
}

static void serve_delete(struct sim_object *o, const struct sim_request *req,
                         struct sim_answer *ret)
{
    _cleanup_(json_decrefp) json_t *body = json_loads(req->body, 0, NULL);
    const char *uid =
        json_string_value(json_object_get(json_object_get(body, "preconditions"), "uid"));
    const json_t *grace = json_object_get(body, "gracePeriodSeconds");
    if (uid != NULL && !str_eq(uid, o->uid)) {
        server_status(ret, 409, "Conflict", "the uid is another one");
    } else {
        *ret = (struct sim_answer){200, xstrdup("{}"), -1, 0};
        if (o->kind == KIND_RUNS) {
            promise_object_expires(o->uid);
        } else if (o->kind == KIND_PODS) {
            promise_pod_deleted(o->pod);
        } else if (o->kind == KIND_WORKLOADS) {
            queue_workload_deleted(o);
        }
        if (o->kind == KIND_PODS && grace != NULL) {
            delete_pod(o, json_integer_value(grace));
        } else {
            server_delete(o, CASCADE_BACKGROUND);
        }
    }
}

static void serve_object(const struct target *t, const struct sim_request *req,
                         struct kube_transfer *stream, struct sim_answer *ret)
{
    struct sim_object *o = server_find(t->kind, t->name);
    if (t->kind == KIND_SLICES && req->method == KUBE_PATCH) {
        apply_slice(o, req, ret);
    } else if (o == NULL) {
        server_status(ret, 404, "NotFound", "not found");
    } else if (t->sub != NULL && str_eq(t->sub, "log")) {
        logs_serve(o->pod, req->path, stream, ret);
    } else if (req->method == KUBE_GET) {
        answer_object(ret, 200, o);
    } else if (req->method == KUBE_PUT) {
        serve_put(o, req, ret);
    } else if (req->method == KUBE_PATCH) {
        serve_patch(o, req, stream, ret);
    } else {
        serve_delete(o, req, ret);
    }
}

void server_serve(const struct sim_request *req, struct kube_transfer *stream,
                  struct sim_answer *ret)
{
    struct target t;
    if (strstr(req->path, "/resourceflavors/") != NULL) { /* it has no namespace */
        queue_serve_flavor(ret);
        return;
    }
    if (str_has_prefix(req->path, "/api/v1/nodes/")) { /* a right that is optional */
        server_status(ret, 403, "Forbidden", "nodes is forbidden: benchd may not get it");
        return;
    }
    if (str_eq(req->path, "/version")) {
        *ret = (struct sim_answer){200, xstrdup("{\"gitVersion\": \"simulated\"}"), -1, 0};
        return;
    }
    if (!read_target(req->path, &t)) {
        sim_broken("a request that is not for objects of the namespace: %s", req->path);
    }
    if (is_ours(t.kind) && server.lacks_kinds) {
        server_status(ret, 404, "NotFound", "the server could not find the requested resource");
    } else if (t.name != NULL) {
        serve_object(&t, req, stream, ret);
    } else if (req->method == KUBE_POST) {
        serve_post(&t, req, ret);
    } else if (strstr(req->path, "watch=1") != NULL) {
        watch_open(t.kind, req->path, stream, ret);
    } else {
        list_serve(t.kind, req->path, ret);
    }
    free(t.name);
    free(t.sub);
}
