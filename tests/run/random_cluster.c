/* See random_cluster.h. */
#include "random_cluster.h"

#include <errno.h>
#include <inttypes.h>

#include "tests/test.h"
#include "base/splitmix.h"
#include "base/str.h"
#include "pod/body.h"
#include "run/pods/pods_internal.h"

#define CALLS_MAX 64

struct world *the_world;
int64_t now_ns;

uint32_t below(struct world *w, uint32_t n)
{
    return splitmix_below(&w->random, n);
}

bool fault(struct world *w, uint32_t one_in)
{
    return !w->is_calm && below(w, one_in) == 0;
}

void check(const struct world *w, bool holds, const char *promise)
{
    if (!holds) {
        const struct pods *l = (const struct pods *)w->launcher;
        vec_each (struct pod_member *, it, &l->members) {
            print_message("# %s life %d\n", (*it)->name, (*it)->life);
        }
        fail_msg("BENCHD_PROP_SEED=%" PRIu64 ": %s", w->seed, promise);
    }
}

/* ---- the server ---- */

static const char *meta(const json_t *json, const char *key)
{
    return json_string_value(json_object_get(json_object_get(json, "metadata"), key));
}

static struct server_pod *find_pod(struct world *w, const char *name)
{
    vec_each (struct server_pod, p, &w->pods) {
        if (str_eq(meta(p->json, "name"), name)) {
            return p;
        }
    }
    return NULL;
}

static void show(struct world *w, const struct server_pod *p, bool is_removal)
{
    *vec_push(&w->watch) = (struct told){is_removal, json_deep_copy(p->json)};
}

#define CONTAINER(state)                                                                           \
    "\"podIP\":\"10.0.0.7\",\"containerStatuses\":[{\"name\":\"main\",\"containerID\":\"c://1\","  \
    "\"state\":" state "}]}"

static void set_step(struct world *w, struct server_pod *p, int step, bool is_good)
{
    static const char *const good[] = {
        "{\"phase\":\"Pending\"}",
        "{\"phase\":\"Running\"," CONTAINER("{\"running\":{}}"),
        "{\"phase\":\"Running\"," CONTAINER("{\"terminated\":{\"exitCode\":0}}"),
        "{\"phase\":\"Succeeded\"," CONTAINER("{\"terminated\":{\"exitCode\":0}}"),
    };
    static const char *const bad[] = {
        "{\"phase\":\"Pending\",\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"False\","
        "\"reason\":\"Unschedulable\",\"message\":\"m\"}]}",
        "{\"phase\":\"Running\"," CONTAINER("{\"running\":{}}"),
        "{\"phase\":\"Running\"," CONTAINER("{\"terminated\":{\"exitCode\":1}}"),
        "{\"phase\":\"Failed\"," CONTAINER("{\"terminated\":{\"exitCode\":1}}"),
    };
    p->step = step;
    json_object_set_new(p->json, "status", json_loads(is_good ? good[step] : bad[step], 0, NULL));
    show(w, p, false);
}

static void drop_pod(struct world *w, struct server_pod *p)
{
    show(w, p, true);
    json_decref(p->json);
    *p = w->pods.items[--w->pods.len];
}

static void begin_deletion(struct world *w, struct server_pod *p)
{
    if (!p->is_deleting) {
        p->is_deleting = true;
        json_object_set_new(json_object_get(p->json, "metadata"), "deletionTimestamp",
                            json_string("2026-01-01T00:00:00Z"));
        show(w, p, false);
    }
}

void kubelet(struct world *w)
{
    if (w->pods.len == 0) {
        return;
    }
    struct server_pod *p = &w->pods.items[below(w, (uint32_t)w->pods.len)];
    if (p->is_deleting && (p->step != POD_RUNNING || below(w, 2) == 0)) {
        drop_pod(w, p);
    } else if (p->step < POD_REPORTED && (w->is_calm || below(w, 2) == 0)) {
        const bool is_good = w->is_calm || below(w, 4) > 0;
        const bool is_stuck = p->step == POD_PENDING && !is_good;
        set_step(w, p, is_stuck ? POD_PENDING : p->step + 1, is_good);
    }
}

void outsider(struct world *w)
{
    if (w->pods.len > 0) {
        struct server_pod *p = &w->pods.items[below(w, (uint32_t)w->pods.len)];
        if (below(w, 2) == 0) {
            begin_deletion(w, p);
        } else {
            drop_pod(w, p);
        }
    }
}

static bool is_pod_of(const struct world *w, json_t *json, struct replica_id *ret)
{
    _cleanup_(freep) struct pod_facts *pod = pod_facts_decode(json);
    return pod_identify(w->def, pod, ret);
}

void relist(struct world *w)
{
    vec_each (struct told, t, &w->watch) {
        json_decref(t->json);
    }
    w->watch.len = 0;
    kube_cache_begin_list(&w->cache);
    vec_each (struct server_pod, p, &w->pods) {
        _cleanup_(json_decrefp) json_t *copy = json_deep_copy(p->json);
        kube_cache_add_listed(&w->cache, copy);
    }
    (void)kube_cache_end_list(&w->cache, SIZE_MAX);
}

void tell(struct world *w)
{
    if (w->watch.len == 0) {
        return;
    }
    const struct told t = w->watch.items[0];
    memmove(w->watch.items, w->watch.items + 1, --w->watch.len * sizeof(t));
    if (t.is_removal) {
        kube_cache_remove(&w->cache, t.json);
    } else {
        (void)kube_cache_put(&w->cache, t.json);
    }
    json_decref(t.json);
}

void on_pod(void *ctx, enum kube_change change, const struct kube_object *object)
{
    struct world *w = ctx;
    if (w->launcher != NULL) {
        pods_notify(w->launcher, change, object);
    }
}

/* ---- requests ---- */

static void answer_with(struct kube_call *call, int r, int http_code, char *body)
{
    call->is_served = true;
    call->r = r;
    call->http_code = http_code;
    free(call->body);
    call->body = body;
}

static bool is_for(const struct kube_call *call, const char *kind)
{
    return strstr(call->req.path, kind) != NULL;
}

static void serve_post(struct world *w, struct kube_call *call)
{
    _cleanup_(json_decrefp) json_t *json = json_loads(call->req.body, 0, NULL);
    if (is_for(call, "/endpointslices/")) {
        answer_with(call, 0, 200, xstrdup("{}"));
    } else if (!is_for(call, "/pods")) {
        bool *has = is_for(call, "/secrets") ? &w->has_secret : &w->has_service;
        answer_with(call, *has ? -EEXIST : 0, *has ? 409 : 201, xstrdup("{}"));
        *has = true;
    } else if (find_pod(w, meta(json, "name")) != NULL) {
        answer_with(call, -EEXIST, 409, xstrdup("{}"));
    } else {
        struct replica_id id;
        json_t *metadata = json_object_get(json, "metadata");
        json_object_set_new(metadata, "uid", json_sprintf("u%u", ++w->next_uid));
        check(w, is_pod_of(w, json, &id), "a pod is the run's");
        *vec_push(&w->pods) =
            (struct server_pod){.json = json_incref(json), .attempt = id.attempt.number};
        set_step(w, &w->pods.items[w->pods.len - 1], POD_PENDING, true);
        answer_with(call, 0, 201, json_dumps(json, 0));
    }
}

static const char *last_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash + 1;
}

static void serve_get(struct world *w, struct kube_call *call)
{
    if (is_for(call, "/services/")) {
        _cleanup_(json_decrefp) json_t *service = pod_service_body(w->def);
        answer_with(call, 0, 200, json_dumps(service, 0));
    } else if (is_for(call, "/log")) {
        answer_with(call, 0, 200, xstrdup("hello\n"));
    } else {
        const struct server_pod *p = find_pod(w, last_of(call->req.path));
        answer_with(call, p == NULL ? -ENOENT : 0, p == NULL ? 404 : 200,
                    p == NULL ? xstrdup("{}") : json_dumps(p->json, 0));
    }
}

static void serve_delete(struct world *w, struct kube_call *call)
{
    struct server_pod *p = find_pod(w, last_of(call->req.path));
    if (p == NULL || strstr(call->req.body, meta(p->json, "uid")) == NULL) {
        answer_with(call, p == NULL ? -ENOENT : -ESTALE, p == NULL ? 404 : 409, xstrdup("{}"));
        return;
    }
    begin_deletion(w, p);
    answer_with(call, 0, 200, xstrdup("{}"));
}

static void serve(struct world *w, struct kube_call *call)
{
    switch (call->req.method) {
    case KUBE_POST:
    case KUBE_PATCH:
        serve_post(w, call);
        break;
    case KUBE_GET:
        serve_get(w, call);
        break;
    default:
        serve_delete(w, call);
        break;
    }
}

#define NO_RIGHT                                                                                   \
    "{\"kind\":\"Status\",\"reason\":\"Forbidden\",\"code\":403,"                                  \
    "\"message\":\"pods is forbidden: User \\\"u\\\" cannot create resource \\\"pods\\\"\"}"

static void fail_call(struct world *w, struct kube_call *call)
{
    static const int passing[] = {-EHOSTUNREACH, -ECONNRESET, -ETIMEDOUT, -EIO, -EBUSY, -EPROTO};
    const bool is_post = call->req.method == KUBE_POST;
    switch (below(w, 8)) {
    case 0:
        answer_with(call, -EACCES, 401, xstrdup("{}"));
        break;
    case 1:
        if (is_post) { /* for long enough: refused */
            answer_with(call, -EACCES, 403, xstrdup(NO_RIGHT));
            break;
        }
        __attribute__((fallthrough));
    case 2:
        if (is_post && below(w, 4) == 0) {
            answer_with(call, -EINVAL, 422, xstrdup("{}"));
            break;
        }
        __attribute__((fallthrough));
    case 3:
    case 4: /* with its effect */
        serve(w, call);
        __attribute__((fallthrough));
    default:
        answer_with(call, passing[below(w, 6)], 0, xstrdup(""));
        break;
    }
}

static void take_call(struct world *w, const struct kube_call *call)
{
    for (size_t i = 0; i < w->calls.len; i++) {
        if (w->calls.items[i] == call) {
            w->calls.items[i] = w->calls.items[--w->calls.len];
            return;
        }
    }
    check(w, false, "a call that is over is cancelled");
}

static void free_call(struct kube_call *call)
{
    kube_request_done(&call->req);
    free(call->body);
    free(call);
}

void answer_one(struct world *w)
{
    if (w->calls.len == 0) {
        return;
    }
    struct kube_call *call = w->calls.items[below(w, (uint32_t)w->calls.len)];
    if (!call->is_served) {
        if (fault(w, 4)) {
            fail_call(w, call);
        } else {
            serve(w, call);
        }
        if (fault(w, 3)) {
            return; /* the answer comes later */
        }
    }
    take_call(w, call);
    struct err err = {.code = -call->r};
    (void)snprintf(err.msg, sizeof(err.msg), "%s", call->r < 0 ? "failed" : "");
    const struct kube_response res = {.http_code = call->http_code,
                                      .failure = call->http_code == 0 ? KUBE_BROKEN : KUBE_ANSWERED,
                                      .content_type = "application/json",
                                      .body = call->body,
                                      .body_len = strlen(call->body)};
    call->on_done(call->ctx, call->r, &res, &err);
    free_call(call);
}

/* No pod of another attempt may run. */
static void check_post(struct world *w, const struct kube_call *call)
{
    _cleanup_(json_decrefp) json_t *json = json_loads(call->req.body, 0, NULL);
    struct replica_id id;
    if (is_for(call, "/pods") && is_pod_of(w, json, &id)) {
        vec_each (struct server_pod, p, &w->pods) {
            check(w, p->attempt == id.attempt.number || p->step == POD_REPORTED,
                  "a pod is created beside one of an earlier attempt");
        }
    }
}

struct kube_call *kube_call(struct kube_client *c, struct kube_request *req,
                            const struct kube_call_options *options, kube_done_fn on_done,
                            void *ctx)
{
    (void)c;
    (void)options;
    struct world *w = the_world;
    struct kube_call *call = xnew(struct kube_call);
    *call = (struct kube_call){.req = *req, .on_done = on_done, .ctx = ctx};
    *req = (struct kube_request){0};
    vec_each (struct kube_call *, it, &w->calls) {
        check(w,
              call->req.method == KUBE_GET || (*it)->req.method != call->req.method ||
                  !str_eq((*it)->req.what, call->req.what) ||
                  (call->req.method == KUBE_DELETE && !str_eq((*it)->req.body, call->req.body)),
              "a request is sent twice at a time");
    }
    if (call->req.method == KUBE_POST) {
        check_post(w, call);
    }
    *vec_push(&w->calls) = call;
    w->n_requests++;
    check(w, w->calls.len < CALLS_MAX, "few calls are open");
    return call;
}

void kube_call_cancel(struct kube_call *call)
{
    struct world *w = the_world;
    if (call == NULL) {
        return;
    }
    take_call(w, call);
    if (!call->is_served && !w->is_calm && below(w, 2) == 0) {
        serve(w, call); /* it was on its way */
    }
    free_call(call);
}

struct kube_follow *kube_follow_new(struct kube_client *client,
                                    const struct kube_follow_params *params)
{
    (void)client;
    struct world *w = the_world;
    struct kube_follow *f = xnew(struct kube_follow);
    f->params = *params;
    *vec_push(&w->follows) = f;
    return f;
}

int64_t kube_follow_line_ns(const struct kube_follow *f)
{
    (void)f;
    return 0; /* nothing here reads time stamps */
}

void kube_follow_container_ended(struct kube_follow *f)
{
    f->has_container_ended = true;
}

void kube_follow_free(struct kube_follow *f)
{
    struct world *w = the_world;
    size_t i = 0;
    while (i < w->follows.len && w->follows.items[i] != f) {
        i++;
    }
    check(w, i < w->follows.len, "a log that is not followed is given up");
    w->follows.items[i] = w->follows.items[--w->follows.len];
    free(f);
}

void follow_on(struct world *w)
{
    if (w->follows.len == 0) {
        return;
    }
    struct kube_follow *f = w->follows.items[below(w, (uint32_t)w->follows.len)];
    const struct kube_follow_params params = f->params, *p = &params;
    struct err err = {.code = EIO, .msg = "gone"};
    if (below(w, 2) == 0) {
        p->on_line(p->ctx, "hello", 5);
    }
    if (f->has_container_ended || fault(w, 8)) {
        p->on_end(p->ctx, fault(w, 2) ? -ENOENT : 0, &err);
    }
}
