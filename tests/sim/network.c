/* The network between benchd and the API server, in place of kube/transfer.c and kube/transport.c
 * (--wrap). A request is on its way for a while, has its effect when it arrives, and its
 * answer is on its way again; either may be lost or held up. What was sent still arrives when
 * the sender has died. */
#include "sim.h"

#include <string.h>

#include "base/str.h"
#include "kube/transfer.h"

struct kube_transfer {
    struct sim_process *process; /* NULL: nobody waits for it any more */
    int64_t sender_began_ns;
    struct kube_transfer_params params;
    struct sim_request request; /* texts owned */
    char *what;
    unsigned refs; /* events under way, the server's stream, the list */
    int64_t deadline_ns;
    int64_t last_ns; /* of a stream: nothing arrives before what was sent before */
    bool is_open;    /* a stream that goes on */
    bool is_over;    /* on_done was called, or will be */
    enum kube_failure failure;
    struct sim_answer answer;
};

struct kube_transport {
    const void *loop;
    void (*on_closed)(void *ctx);
    void *ctx;
};

/* All that somebody waits for. */
static VEC(struct kube_transfer *) live;

void network_hold(struct kube_transfer *t)
{
    t->refs++;
}

void network_drop(struct kube_transfer *t)
{
    if (--t->refs > 0) {
        return;
    }
    free((char *)t->request.path);
    free((char *)t->request.body);
    free(t->what);
    free(t->answer.body);
    free(t);
}

/* The client's side is over. */
static void leave(struct kube_transfer *t)
{
    for (size_t i = 0; i < live.len; i++) {
        if (live.items[i] == t) {
            live.items[i] = live.items[--live.len];
            t->process = NULL;
            t->is_open = false;
            network_drop(t);
            return;
        }
    }
}

bool network_is_open(const struct kube_transfer *t)
{
    return t->process != NULL && t->is_open && !t->is_over;
}

int64_t network_sender_began_ns(const struct kube_transfer *t)
{
    return t->sender_began_ns;
}

int64_t network_delay(void)
{
    return sim_time(DRAW_NETWORK, SIM_MS / 5, 60 * SIM_MS);
}

/* When something sent now arrives. */
static int64_t arrival_ns(void)
{
    const struct fault *silence;
    const int64_t at_ns = sim.now_ns + network_delay();
    if (fault_is_on(FAULT_SILENCE, &silence)) {
        return silence->at_ns + silence->length_ns + network_delay();
    }
    return at_ns;
}

static void later(struct kube_transfer *t, int64_t at_ns, void (*happen)(void *ctx))
{
    network_hold(t);
    sim_at(at_ns, happen, t);
}

/* ---- towards benchd ---- */

static bool must_wait(struct kube_transfer *t, void (*happen)(void *ctx))
{
    const int64_t free_ns = t->process == NULL ? 0 : process_busy_until(t->process);
    if (free_ns > sim.now_ns) {
        network_hold(t);
        sim_again(free_ns, happen, t);
        return true;
    }
    return false;
}

static struct kube_response response_of(const struct kube_transfer *t)
{
    const bool is_answer = t->failure == KUBE_ANSWERED;
    const char *body = is_answer && t->answer.body != NULL ? t->answer.body : "";
    return (struct kube_response){
        .failure = t->failure,
        .failure_text = is_answer ? NULL : "simulated",
        .http_code = is_answer ? t->answer.code : 0,
        .content_type = "application/json",
        .body = body,
        .body_len = strlen(body),
        .retry_after_s = is_answer ? t->answer.retry_after_s : -1,
        .date_unix_ms = is_answer ? sim_unix_ms() / 1000 * 1000 : -1,
        .warning = "",
    };
}

struct delivery {
    void (*on_data)(void *ctx, const char *data, size_t len); /* NULL: `res` holds the body */
    void (*on_done)(void *ctx, const struct kube_response *res);
    void *ctx;
    struct kube_response res;
};

static void call_done(void *ctx)
{
    struct delivery *d = ctx;
    if (d->on_data != NULL && d->res.body_len > 0) {
        d->on_data(d->ctx, d->res.body, d->res.body_len);
        d->res.body = "";
        d->res.body_len = 0;
    }
    d->on_done(d->ctx, &d->res);
}

static void finish(void *ctx)
{
    struct kube_transfer *t = ctx;
    struct sim_process *p = t->process;
    if (p != NULL && !must_wait(t, finish)) {
        struct delivery d = {
            .on_done = t->params.on_done, .ctx = t->params.ctx, .res = response_of(t)};
        if (!t->params.is_stream && t->answer.code == 200) {
            d.on_data = t->params.on_data;
        }
        if (d.on_data != NULL && t->failure == KUBE_BROKEN && t->answer.body != NULL) {
            d.res.body = t->answer.body; /* half of it came */
            d.res.body_len = strlen(t->answer.body) / 2;
        }
        sim_trace("%s: %s: %d/%d", process_name(p), t->what, (int)d.res.failure, d.res.http_code);
        leave(t);
        process_enter(p, call_done, &d);
    }
    network_drop(t);
}

/* The answer, or why there is none, at that time. */
static void finish_at(struct kube_transfer *t, int64_t at_ns, enum kube_failure failure)
{
    t->is_over = true;
    t->failure = failure;
    t->last_ns = at_ns < t->last_ns ? t->last_ns : at_ns;
    later(t, t->last_ns, finish);
}

static void call_open(void *ctx)
{
    const struct delivery *d = ctx;
    struct kube_transfer *t = d->ctx;
    t->params.on_open(t->params.ctx, &d->res);
}

static void open_stream(void *ctx)
{
    struct kube_transfer *t = ctx;
    if (t->process != NULL && !must_wait(t, open_stream)) {
        struct delivery d = {.ctx = t, .res = response_of(t)};
        sim_trace("%s: %s: open", process_name(t->process), t->what);
        process_enter(t->process, call_open, &d);
    }
    network_drop(t);
}

struct packet {
    struct kube_transfer *transfer;
    size_t len;
    char data[];
};

static void call_data(void *ctx)
{
    struct packet *p = ctx;
    struct kube_transfer *t = p->transfer;
    /* TCP knows no lines. */
    const size_t cut = sim_one_in(DRAW_NETWORK, 16) ? sim_below(DRAW_NETWORK, (uint32_t)p->len) : 0;
    if (cut > 0) {
        t->params.on_data(t->params.ctx, p->data, cut);
    }
    if (t->process != NULL) {
        t->params.on_data(t->params.ctx, p->data + cut, p->len - cut);
    }
}

static void arrive_data(void *ctx)
{
    struct packet *p = ctx;
    struct kube_transfer *t = p->transfer;
    if (t->process != NULL) {
        const int64_t free_ns = process_busy_until(t->process);
        if (free_ns > sim.now_ns) {
            sim_again(free_ns, arrive_data, p);
            return;
        }
        process_enter(t->process, call_data, p);
    }
    network_drop(t);
    free(p);
}

void network_send(struct kube_transfer *t, const char *data, size_t len)
{
    if (!network_is_open(t) || len == 0) {
        return;
    }
    struct packet *p = xmalloc(sizeof(*p) + len);
    p->transfer = t;
    p->len = len;
    memcpy(p->data, data, len);
    network_hold(t);
    const int64_t at_ns = arrival_ns();
    t->last_ns = at_ns < t->last_ns ? t->last_ns : at_ns;
    sim_at(t->last_ns, arrive_data, p);
}

void network_end(struct kube_transfer *t)
{
    if (network_is_open(t)) {
        finish_at(t, arrival_ns(), KUBE_ANSWERED);
    }
}

void network_cut(void)
{
    for (size_t i = live.len; i > 0; i--) {
        if (network_is_open(live.items[i - 1])) {
            finish_at(live.items[i - 1], sim.now_ns + network_delay(), KUBE_BROKEN);
        }
    }
}

/* ---- towards the server ---- */

#define NO_RIGHT "pods is forbidden: User \"u\" cannot create resource \"pods\" in API group \"\""

static bool is_new_pod(const struct sim_request *r)
{
    return r->method == KUBE_POST && strstr(r->path, "/pods?") != NULL &&
           strstr(r->path, "dryRun=") == NULL;
}

/* The server, or something before it, fails before the request has its effect. */
static bool fails_before(const struct sim_request *request, struct sim_answer *ret)
{
    static const struct {
        enum fault_kind kind;
        int code;
        const char *reason, *message;
    } table[] = {
        {FAULT_ERROR_500, 500, "InternalError", "etcdserver: request timed out"},
        {FAULT_ERROR_429, 429, "TooManyRequests", "too many requests"},
        {FAULT_ERROR_403, 403, "Forbidden", NO_RIGHT},
    };
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        const struct fault *f;
        if (fault_is_on(table[i].kind, &f) && sim_one_in(DRAW_FAULT, f->n)) {
            server_status(ret, table[i].code, table[i].reason, table[i].message);
            ret->retry_after_s = table[i].code == 429 ? 1 : -1;
            return true;
        }
    }
    const bool is_pod = request->method == KUBE_POST && strstr(request->path, "/pods?") != NULL;
    if (is_pod && fault_is_on(FAULT_WEBHOOK, NULL)) {
        soon_refused(FAULT_WEBHOOK);
        server_status(ret, 500, "InternalError",
                      "Internal error occurred: failed calling webhook \"w\": connection refused");
        return true;
    }
    if (request->method == KUBE_PATCH && strstr(request->path, "/status") != NULL &&
        fault_is_on(FAULT_ERROR_STATUS, NULL)) {
        server_status(ret, 403, "Forbidden",
                      "benchmarkruns \"r\" is forbidden: User \"u\" cannot patch");
        return true;
    }
    if (is_new_pod(request) && meddler_hides_quota(ret)) {
        return true;
    }
    const struct fault *quota;
    if (is_new_pod(request) && fault_is_on(FAULT_QUOTA, &quota) &&
        server_count_live_pods() + 1 >= quota->n) {
        soon_refused(FAULT_QUOTA);
        server_status(ret, 403, "Forbidden",
                      "pods \"p\" is forbidden: exceeded quota: q, requested: pods=1, used: "
                      "pods=9, limited: pods=9");
        return true;
    }
    return false;
}

static void arrive(void *ctx)
{
    struct kube_transfer *t = ctx;
    const struct fault *f;
    t->answer.retry_after_s = -1;
    if (!fails_before(&t->request, &t->answer)) {
        server_serve(&t->request, t, &t->answer);
    }
    const int64_t at_ns = arrival_ns() + t->answer.way_ns;
    if (t->process == NULL || t->is_over) {
        network_drop(t); /* nobody waits for the answer */
        return;
    }
    if (fault_is_on(FAULT_LOSE_ANSWERS, &f) && sim_one_in(DRAW_FAULT, f->n)) {
        sim_trace("network: the answer to '%s' is lost", t->what);
        finish_at(t, at_ns, KUBE_BROKEN);
    } else if (at_ns > t->deadline_ns) {
        finish_at(t, t->deadline_ns, KUBE_TIMED_OUT);
    } else if (t->params.is_stream && t->answer.code == 200) {
        t->is_open = true;
        t->last_ns = at_ns;
        if (t->params.on_open != NULL) {
            later(t, at_ns, open_stream);
        }
    } else {
        finish_at(t, at_ns, KUBE_ANSWERED);
    }
    network_drop(t);
}

static void send(struct kube_transfer *t)
{
    if (fault_is_on(FAULT_REFUSE, NULL)) {
        finish_at(t, sim.now_ns + SIM_MS, KUBE_UNREACHABLE);
        return;
    }
    const int64_t at_ns = arrival_ns();
    later(t, at_ns, arrive);
    if (at_ns > t->deadline_ns) {
        finish_at(t, t->deadline_ns, KUBE_TIMED_OUT);
    }
}

/* ---- kube/transport.h, kube/transfer.h ---- */

int __wrap_kube_transport_new(struct uv_loop_s *loop, struct kube_transport **ret, struct err *err);
int __wrap_kube_transport_new(struct uv_loop_s *loop, struct kube_transport **ret, struct err *err)
{
    (void)err;
    *ret = xnew(struct kube_transport);
    (*ret)->loop = loop;
    return 0;
}

static void transport_closed(void *ctx)
{
    _cleanup_(freep) struct kube_transport *t = ctx;
    if (!process_is_gone(process_of_loop(t->loop))) {
        t->on_closed(t->ctx);
    }
}

void __wrap_kube_transport_free(struct kube_transport *t, void (*on_closed)(void *ctx), void *ctx);
void __wrap_kube_transport_free(struct kube_transport *t, void (*on_closed)(void *ctx), void *ctx)
{
    t->on_closed = on_closed;
    t->ctx = ctx;
    sim_after(0, transport_closed, t);
}

/* Connections that died unnoticed are not modelled: nobody asks whether one lives. */
bool __wrap_kube_transport_check(struct kube_transport *t, enum kube_pool kind, int64_t silent_ns);
bool __wrap_kube_transport_check(struct kube_transport *t, enum kube_pool kind, int64_t silent_ns)
{
    (void)t;
    (void)kind;
    (void)silent_ns;
    return false;
}

void __wrap_kube_transport_count(const struct kube_transport *t, uint64_t *ret_connections,
                                 uint64_t *ret_bytes_in);
void __wrap_kube_transport_count(const struct kube_transport *t, uint64_t *ret_connections,
                                 uint64_t *ret_bytes_in)
{
    (void)t;
    *ret_connections = 1;
    *ret_bytes_in = 0;
}

static bool is_promised_write(const struct kube_transfer *t)
{
    return t->request.method != KUBE_GET && strstr(t->request.path, "dryRun=") == NULL &&
           strstr(t->request.path, "/leases") == NULL;
}

int __wrap_kube_transfer_start(struct kube_transport *transport,
                               const struct kube_transfer_params *params,
                               struct kube_transfer **ret, struct err *err);
int __wrap_kube_transfer_start(struct kube_transport *transport,
                               const struct kube_transfer_params *params,
                               struct kube_transfer **ret, struct err *err)
{
    (void)err;
    struct kube_transfer *t = xnew(struct kube_transfer);
    t->process = process_of_loop(transport->loop);
    t->sender_began_ns = process_began_ns(t->process);
    t->params = *params;
    t->request = (struct sim_request){
        .method = (int)params->req->method,
        .path = xstrdup(params->req->path),
        .body = params->req->body == NULL ? NULL : xstrdup(params->req->body),
    };
    t->what = xstrdup(params->req->what);
    t->refs = 1;
    t->deadline_ns = params->is_stream ? INT64_MAX : sim.now_ns + params->timeout_ns;
    *vec_push(&live) = t;
    sim_trace("%s: %s", process_name(t->process), t->what);
    promise_request_sent();
    if (is_promised_write(t)) {
        promise_write_sent(t->process, t->what);
        process_crash_within(); /* before it was sent */
        send(t);
        process_crash_within(); /* and after */
    } else {
        send(t);
    }
    *ret = t;
    return 0;
}

void __wrap_kube_transfer_cancel(struct kube_transfer *t);
void __wrap_kube_transfer_cancel(struct kube_transfer *t)
{
    leave(t);
}

void __wrap_kube_transfer_abandon(struct kube_transfer *t);
void __wrap_kube_transfer_abandon(struct kube_transfer *t)
{
    leave(t);
}

void network_forget(const struct sim_process *p)
{
    for (size_t i = live.len; i > 0; i--) {
        if (live.items[i - 1]->process == p) {
            leave(live.items[i - 1]);
        }
    }
}
