/* What the tests of the lease share: a simulated server with one object that has versions, and
 * members who want it, with a clock for each. */
#pragma once

#include "cmocka_kube.h"

#include "base/mem.h"
#include "kube/json.h"
#include "kube/lease.h"

#define UNIX_MS INT64_C(1795164771000)

struct server {
    json_t *lease; /* NULL: none */
    unsigned version;
    int down;        /* HTTP code that it answers instead; 0: none */
    int writes_down; /* the same, for writes only */
    int64_t date_ms; /* its Date header; 0: none */
};

struct member {
    struct kube_lease *lease;
    int64_t now_ns;
    int64_t ahead_ms; /* of its wall clock */
    unsigned requests;
};

static inline struct member member_new(const char *identity)
{
    return (struct member){
        .now_ns = 100 * S_NS,
        .lease = kube_lease_new(&(struct kube_lease_params){
            .ns = "n", .name = "benchd", .identity = identity, .address = "service", .seed = 1})};
}

static inline struct kube_response response(int code, const char *body)
{
    return response_of(code == 0 ? KUBE_UNREACHABLE : KUBE_ANSWERED, code, body);
}

static inline int write_lease(struct server *s, const struct kube_request *req, json_t *body)
{
    if ((req->method == KUBE_POST) != (s->lease == NULL)) {
        return req->method == KUBE_POST ? 409 : 404;
    }
    if (s->lease != NULL && strcmp(kube_json_metadata(body, "resourceVersion"),
                                   kube_json_metadata(s->lease, "resourceVersion")) != 0) {
        return 409;
    }
    json_decref(s->lease);
    s->lease = json_incref(body);
    char version[16];
    (void)snprintf(version, sizeof(version), "%u", ++s->version);
    json_object_set_new(json_object_get(body, "metadata"), "resourceVersion", json_string(version));
    return req->method == KUBE_POST ? 201 : 200;
}

/* The answer's code; *ret_body is owned. */
static inline int serve(struct server *s, const struct kube_request *req, char **ret_body)
{
    int code = s->down != 0 || req->method == KUBE_GET ? s->down : s->writes_down;
    if (code == 0 && req->method == KUBE_GET) {
        code = s->lease == NULL ? 404 : 200;
    } else if (code == 0) {
        _cleanup_(json_decrefp) json_t *body = json_loads(req->body, 0, NULL);
        code = write_lease(s, req, body);
    }
    *ret_body = code / 100 == 2 ? json_dumps(s->lease, 0) : xstrdup("no");
    return code;
}

/* Sends what is due now; true if there was something. */
static inline bool turn(struct member *m, struct server *s)
{
    struct kube_request req;
    int64_t deadline_ns;
    const int64_t unix_ms = UNIX_MS + m->ahead_ms + m->now_ns / 1000000 - 100000;
    if (!kube_lease_next(m->lease, m->now_ns, unix_ms, &req, &deadline_ns)) {
        return false;
    }
    assert_int_equal(req.priority, KUBE_URGENT);
    m->requests++;
    _cleanup_(freep) char *body = NULL;
    const int code = serve(s, &req, &body);
    struct kube_response res = response(code, body);
    res.date_unix_ms = s->date_ms == 0 ? -1 : s->date_ms;
    kube_request_done(&req);
    kube_lease_answer(m->lease, m->now_ns, &res);
    return true;
}

static inline void settle(struct member *m, struct server *s)
{
    for (int i = 0; turn(m, s); i++) {
        assert_true(i < 5); /* never a hot loop */
    }
}

/* Lets `ns` go by for one member, with everything that falls due. */
static inline void pass(struct member *m, struct server *s, int64_t ns)
{
    for (const int64_t end_ns = m->now_ns + ns; m->now_ns < end_ns;) {
        m->now_ns += S_NS / 10;
        settle(m, s);
    }
}

static inline void end(struct server *s, struct member *a, struct member *b)
{
    json_decref(s->lease);
    kube_lease_free(a->lease);
    if (b != NULL) {
        kube_lease_free(b->lease);
    }
}
