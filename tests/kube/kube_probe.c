/* A client that does what it is told: one JSON command a line on stdin, one JSON event a line on
 * stdout. Used by the tests against the fake and against the real API server.
 *
 *   probe KUBECONFIG [PLUGIN-TIMEOUT-MS]
 *   {"id":1,"op":"get","path":"/version"}                      -> {"id":1,"r":0,"code":200,...}
 *   create update delete apply merge dry_run: "resource", "ns", "object" or "name", "uid"
 *   stream: "path"; opened, data, end events   follow: "pod"; line, end events; "ended"
 *   informer: "resource"; added, updated, removed, synced events, "watching" never; with "as":
 *     "facts" its events have the facts that benchd keeps of a pod
 *   cancel: "target"   burst: "n" at once: GETs of "path", or "object" to create   stats   quit */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>
#include <uv.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/parse.h"
#include "kube/client.h"
#include "kube/config.h"
#include "kube/follow.h"
#include "kube/informer.h"
#include "pod/facts.h"

enum kind { NOTHING, CALL, STREAM, INFORMER, FOLLOW };

struct task {
    struct probe *probe;
    json_int_t id;
    enum kind kind; /* NOTHING: it is over */
    union {
        struct kube_call *call;
        struct kube_stream *stream;
        struct kube_informer *informer;
        struct kube_follow *follow;
    };
    json_int_t left; /* of a burst */
    int worst;
    struct buf pieces; /* of a body that is not held by the answer */
    int agains;
    struct task *next;
};

struct probe {
    uv_loop_t loop;
    uv_poll_t input;
    struct buf line;
    struct kube_client *client;
    struct task *tasks;
};

static const struct kube_resource *const resources[] = {
    &kube_pods,   &kube_services,   &kube_secrets,        &kube_events,
    &kube_leases, &kube_benchmarks, &kube_benchmark_runs,
};

static void say(json_t *event)
{
    _cleanup_(freep) char *text = json_dumps(event, JSON_COMPACT);
    printf("%s\n", text);
    fflush(stdout);
    json_decref(event);
}

static json_t *text_of(const char *s, size_t len)
{
    json_t *text = json_stringn(s, len);
    return text == NULL ? json_string("(bytes)") : text;
}

static json_t *event(const struct task *t, const char *name)
{
    return json_pack("{s:I, s:s}", "id", t->id, "event", name);
}

static void say_end(const struct task *t, int r, const struct kube_response *res,
                    const struct err *err)
{
    json_t *e = event(t, "end");
    json_object_set_new(e, "r", json_integer(r));
    json_object_set_new(e, "error", json_string(r < 0 ? err->msg : ""));
    if (res != NULL) {
        json_object_set_new(e, "code", json_integer(res->http_code));
        json_object_set_new(e, "body", text_of(res->body, res->body_len));
        json_object_set_new(e, "pieces", text_of(buf_cstr(&t->pieces), t->pieces.len));
        json_object_set_new(e, "agains", json_integer(t->agains));
        json_object_set_new(e, "date_ms", json_integer(res->date_unix_ms));
        json_object_set_new(e, "warning", json_string(res->warning));
    }
    say(e);
}

static void on_done(void *ctx, int r, const struct kube_response *res, const struct err *err)
{
    struct task *t = ctx;
    t->kind = NOTHING;
    say_end(t, r, res, err);
}

/* Events of number 0. */
static void on_notice(enum kube_notice notice, const char *text)
{
    static const char *const names[] = {[KUBE_NOTICE_INSECURE] = "insecure",
                                        [KUBE_NOTICE_WARNING] = "warning",
                                        [KUBE_NOTICE_PLUGIN] = "plugin"};
    say(json_pack("{s:i, s:s, s:s, s:s}", "id", 0, "event", "notice", "notice", names[notice],
                  "text", text));
}

static void on_burst_done(void *ctx, int r, const struct kube_response *res, const struct err *err)
{
    struct task *t = ctx;
    t->worst = r < t->worst ? r : t->worst;
    if (--t->left == 0) {
        say_end(t, t->worst, res, err);
    }
}

static void on_open(void *ctx, const struct kube_response *res)
{
    json_t *e = event(ctx, "open");
    json_object_set_new(e, "code", json_integer(res->http_code));
    say(e);
}

static void on_data(void *ctx, const char *data, size_t len)
{
    json_t *e = event(ctx, "data");
    json_object_set_new(e, "data", text_of(data, len));
    say(e);
}

static const struct kube_stream_ops stream_ops = {on_open, on_data, on_done};

static void on_line(void *ctx, const char *line, size_t len)
{
    json_t *e = event(ctx, "line");
    json_object_set_new(e, "line", text_of(line, len));
    say(e);
}

static void on_follow_end(void *ctx, int r, const struct err *err)
{
    struct task *t = ctx;
    say_end(t, r, NULL, err);
    kube_follow_free(t->follow); /* allowed in here */
    t->kind = NOTHING;
}

static void on_change(void *ctx, enum kube_change change, const struct kube_object *o)
{
    static const char *const names[] = {"added", "updated", "removed"};
    json_t *e = event(ctx, names[change]);
    json_object_set_new(e, "name", json_string(o->name));
    json_object_set_new(e, "uid", json_string(o->uid));
    json_object_set_new(e, "version", json_string(o->resource_version));
    say(e);
}

static json_t *facts_json(const struct pod_facts *f)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < f->n_containers; i++) {
        const struct pod_container *c = &f->containers[i];
        json_array_append_new(list,
                              json_pack("{s:s, s:s, s:s, s:s, s:i, s:i, s:i, s:b}", "name", c->name,
                                        "image", c->image, "reason", c->reason, "message",
                                        c->message, "exit_code", c->exit_code, "signal", c->signal,
                                        "step", (int)c->step, "is_init", i < f->n_init));
    }
    return json_pack(
        "{s:s, s:b, s:b, s:b, s:I, s:I, s:s, s:s, s:s, s:i, s:s, s:s, s:s, s:s?, s:s?, s:s?, s:s?,"
        " s:b, s:b, s:s, s:I, s:I, s:i, s:b, s:i, s:o}",
        "owner_uid", f->owner_uid, "is_of_a_run", f->is_of_a_run, "is_going", f->is_going, "has_id",
        f->has_id, "created", (json_int_t)f->created_unix_ms, "asked_to_go",
        (json_int_t)f->asked_to_go_unix_ms, "node", f->node, "container", f->container,
        "memory_limit", f->memory_limit, "phase", (int)f->phase, "reason", f->reason, "message",
        f->message, "ip", f->ip, "disruption_reason", f->disruption_reason, "disruption_message",
        f->disruption_message, "unscheduled_reason", f->unscheduled_reason, "unscheduled_message",
        f->unscheduled_message, "is_not_set_up", f->is_not_set_up, "is_unheard_of",
        f->is_unheard_of, "image_id", f->image_id, "started", (json_int_t)f->started_unix_ms,
        "finished", (json_int_t)f->finished_unix_ms, "n_restarts", (int)f->n_restarts,
        "has_container_id", f->has_container_id, "main",
        f->main == NULL ? -1 : (int)(f->main - f->containers), "containers", list);
}

static void on_pod(void *ctx, enum kube_change change, const struct kube_object *o)
{
    static const char *const names[] = {"added", "updated", "removed"};
    json_t *e = event(ctx, names[change]);
    json_object_set_new(e, "object", facts_json(o->facts));
    say(e);
}

static void on_synced(void *ctx)
{
    say(event(ctx, "synced"));
}

static const char *get(const json_t *command, const char *key)
{
    const char *value = json_string_value(json_object_get(command, key));
    return value == NULL ? "" : value;
}

static const struct kube_resource *resource_of(const json_t *command)
{
    for (size_t i = 0; i < sizeof(resources) / sizeof(resources[0]); i++) {
        if (strcmp(resources[i]->plural, get(command, "resource")) == 0) {
            return resources[i];
        }
    }
    return &kube_pods;
}

static bool build(const json_t *command, struct kube_request *req)
{
    const struct kube_resource *res = resource_of(command);
    const char *op = get(command, "op"), *ns = get(command, "ns"), *uid = get(command, "uid");
    const json_t *object = json_object_get(command, "object");
    if (strcmp(op, "get") == 0 || strcmp(op, "stream") == 0 ||
        (strcmp(op, "burst") == 0 && object == NULL)) {
        kube_request_raw(get(command, "path"), "ask", req);
    } else if (strcmp(op, "create") == 0 || strcmp(op, "dry_run") == 0 ||
               strcmp(op, "burst") == 0) {
        kube_request_create(res, ns, object, op[0] != 'd' ? KUBE_WRITE : KUBE_DRY_RUN, req);
    } else if (strcmp(op, "update") == 0) {
        kube_request_update(res, ns, object, req);
    } else if (strcmp(op, "delete") == 0) {
        kube_request_delete(res, ns, get(command, "name"), uid[0] == '\0' ? NULL : uid, 0, req);
    } else if (strcmp(op, "apply") == 0) {
        kube_request_apply(res, ns, "status", "benchd", object, req);
    } else if (strcmp(op, "merge") == 0) {
        kube_request_merge_patch(res, ns, get(command, "name"), uid[0] == '\0' ? NULL : uid, object,
                                 req);
    } else {
        return false;
    }
    if (json_is_true(json_object_get(command, "urgent"))) {
        req->priority = KUBE_URGENT;
    }
    if (get(command, "account")[0] != '\0') {
        kube_request_send_as(req, ns, get(command, "account"));
    }
    return true;
}

static void on_piece(void *ctx, const char *data, size_t len)
{
    struct task *t = ctx;
    buf_append(&t->pieces, data, len);
}

static void on_again(void *ctx)
{
    struct task *t = ctx;
    buf_clear(&t->pieces);
    t->agains++;
}

static struct kube_call_options options_of(const json_t *command)
{
    const bool is_in_pieces = json_is_true(json_object_get(command, "in_pieces"));
    return (struct kube_call_options){
        .on_data = is_in_pieces ? on_piece : NULL,
        .on_again = is_in_pieces ? on_again : NULL,
        .max_bytes = (size_t)json_integer_value(json_object_get(command, "max_bytes")),
        .timeout_ns = json_integer_value(json_object_get(command, "timeout_ms")) * 1000000,
        .max_tries = (unsigned)json_integer_value(json_object_get(command, "tries"))};
}

static void burst(struct probe *p, struct task *t, const json_t *command)
{
    const struct kube_call_options options = options_of(command);
    t->left = json_integer_value(json_object_get(command, "n"));
    for (json_int_t i = t->left; i > 0; i--) {
        struct kube_request req;
        (void)build(command, &req);
        (void)kube_call(p->client, &req, &options, on_burst_done, t);
    }
}

static void stop(struct task *t)
{
    const enum kind kind = t->kind;
    t->kind = NOTHING;
    switch (kind) {
    case CALL:
        kube_call_cancel(t->call);
        break;
    case STREAM:
        kube_stream_cancel(t->stream);
        break;
    case INFORMER:
        kube_informer_free(t->informer);
        break;
    case FOLLOW:
        kube_follow_free(t->follow);
        break;
    case NOTHING:
        break;
    }
}

static struct task *find(struct probe *p, const json_t *command)
{
    const json_int_t id = json_integer_value(json_object_get(command, "target"));
    for (struct task *t = p->tasks; t != NULL; t = t->next) {
        if (t->id == id) {
            return t;
        }
    }
    return NULL;
}

static void say_stats(const struct probe *p, const struct task *t)
{
    struct kube_client_stats s;
    kube_client_get_stats(p->client, &s);
    say(json_pack("{s:I, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "id", t->id, "event",
                  "stats", "requests", (json_int_t)s.requests, "retries", (json_int_t)s.retries,
                  "failures", (json_int_t)s.failures, "connections", (json_int_t)s.connections,
                  "in_flight", (json_int_t)s.in_flight, "queued", (json_int_t)s.queued, "streams",
                  (json_int_t)s.streams, "bytes_in", (json_int_t)s.bytes_in));
}

static void quit(struct probe *p)
{
    for (struct task *t = p->tasks; t != NULL; t = t->next) {
        if (t->kind == INFORMER || t->kind == FOLLOW) {
            stop(t);
        }
    }
    kube_client_free(p->client); /* with whatever is under way */
    p->client = NULL;
    uv_close((uv_handle_t *)&p->input, NULL);
}

static void start_long(struct probe *p, struct task *t, const json_t *command)
{
    const char *form = get(command, "as");
    if (strcmp(get(command, "op"), "informer") == 0) {
        t->kind = INFORMER;
        t->informer = kube_informer_new(
            p->client,
            &(struct kube_reflector_params){.resource = resource_of(command),
                                            .ns = get(command, "ns"),
                                            .decode = form[0] != 0 ? pod_facts_decode : NULL,
                                            .on_change = form[0] != 0 ? on_pod : on_change,
                                            .on_synced = on_synced,
                                            .ctx = t,
                                            .seed = 7});
    } else {
        t->kind = FOLLOW;
        t->follow =
            kube_follow_new(p->client, &(struct kube_follow_params){.ns = get(command, "ns"),
                                                                    .pod = get(command, "pod"),
                                                                    .on_line = on_line,
                                                                    .on_end = on_follow_end,
                                                                    .ctx = t,
                                                                    .seed = 7});
    }
}

static void run(struct probe *p, const json_t *command)
{
    const char *op = get(command, "op");
    if (strcmp(op, "quit") == 0) {
        quit(p);
        return;
    }
    struct task *target = find(p, command);
    if (target != NULL && strcmp(op, "cancel") == 0) {
        stop(target);
        return;
    }
    if (target != NULL && strcmp(op, "ended") == 0) {
        kube_follow_container_ended(target->follow);
        return;
    }
    struct task *t = xnew(struct task);
    *t = (struct task){
        .probe = p, .next = p->tasks, .id = json_integer_value(json_object_get(command, "id"))};
    p->tasks = t;
    struct kube_request req;
    if (strcmp(op, "stats") == 0) {
        say_stats(p, t);
    } else if (strcmp(op, "burst") == 0) {
        burst(p, t, command);
    } else if (strcmp(op, "informer") == 0 || strcmp(op, "follow") == 0) {
        start_long(p, t, command);
    } else if (build(command, &req)) {
        const struct kube_call_options options = options_of(command);
        if (strcmp(op, "stream") == 0) {
            t->kind = STREAM;
            t->stream = kube_stream_open(p->client, &req, KUBE_POOL_ORDINARY, &stream_ops, t);
        } else {
            t->kind = CALL;
            t->call = kube_call(p->client, &req, &options, on_done, t);
        }
    }
}

static void on_input(uv_poll_t *poll, int status, int events)
{
    struct probe *p = poll->data;
    char chunk[4096];
    (void)events;
    const ssize_t n = status < 0 ? 0 : read(0, chunk, sizeof(chunk));
    if (n <= 0) {
        quit(p);
        return;
    }
    buf_append(&p->line, chunk, (size_t)n);
    for (char *end; p->client != NULL && p->line.len > 0 &&
                    (end = memchr(p->line.data, '\n', p->line.len)) != NULL;) {
        const size_t len = (size_t)(end - p->line.data);
        json_t *command = json_loadb(p->line.data, len, 0, NULL);
        p->line.len -= len + 1;
        memmove(p->line.data, p->line.data + len + 1, p->line.len + 1); /* its NUL, too */
        run(p, command);
        json_decref(command);
    }
}

int main(int argc, char **argv)
{
    struct probe p = {0};
    struct kube_config config;
    struct err err = {0};
    int64_t timeout_ms = 0, silence_ms = 0;
    const bool is_usage = argc >= 2 && argc <= 4 &&
                          (argc < 3 || parse_i64(argv[2], &timeout_ms) == 0) &&
                          (argc < 4 || parse_i64(argv[3], &silence_ms) == 0);
    if (!is_usage || kube_config_load(argv[1], NULL, &config, &err) < 0) {
        fprintf(stderr, "probe: %s\n", err.msg);
        return 2;
    }
    uv_loop_init(&p.loop);
    const struct kube_client_params params = {.loop = &p.loop,
                                              .config = &config,
                                              .user_agent = "probe/1",
                                              .seed = 1,
                                              .environment = environ,
                                              .plugin_timeout_ms = (uint64_t)timeout_ms,
                                              .silence_ns = silence_ms * 1000000,
                                              .on_notice = on_notice};
    if (kube_client_new(&params, &p.client, &err) < 0) {
        fprintf(stderr, "probe: %s\n", err.msg);
        return 2;
    }
    kube_config_done(&config);
    uv_poll_init(&p.loop, &p.input, 0);
    p.input.data = &p;
    uv_poll_start(&p.input, UV_READABLE, on_input);
    uv_run(&p.loop, UV_RUN_DEFAULT);
    const int left = uv_loop_close(&p.loop); /* every handle must be closed */
    for (struct task *t = p.tasks, *next; t != NULL; t = next) {
        next = t->next;
        buf_done(&t->pieces);
        free(t);
    }
    buf_done(&p.line);
    if (left != 0) {
        fprintf(stderr, "probe: %s\n", uv_strerror(left));
    }
    return left == 0 ? 0 : 1;
}
