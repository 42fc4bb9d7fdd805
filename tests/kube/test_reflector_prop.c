/* A random server with a history of its own, a reflector, which in every other world begins with a
 * list of some objects, and every fault on the way: whenever the faults stop, the cache is the
 * server's state, and what was told adds up to it. */
#include "cmocka_kube.h"

#include "kube/reflector.h"

#include <inttypes.h>

#include "base/mem.h"
#include "base/parse.h"

#define NAMES 6
#define EVENTS_MAX 400
#define WORLDS 300
#define STEPS 120
#define HOT_TURNS 1000        /* more in a row is a busy loop */
#define CALM_NS (4000 * S_NS) /* faultless time in which it must have caught up */

struct object {
    unsigned uid; /* 0: not there */
    unsigned version;
};

struct world {
    uint64_t random;
    struct object server[NAMES], told[NAMES];
    struct event { /* history[i] made version i + 1 */
        enum kube_event_type type;
        unsigned name, uid;
    } history[EVENTS_MAX];
    unsigned version, next_uid, compacted;
    unsigned watched; /* the watch under way has sent up to here */
    bool is_calm, is_watching;
    int64_t now_ns;
    struct kube_reflector *reflector;
};

static unsigned below(struct world *w, unsigned n)
{
    w->random ^= w->random << 13;
    w->random ^= w->random >> 7;
    w->random ^= w->random << 17;
    return (unsigned)(w->random % n);
}

static bool fault(struct world *w, unsigned one_in)
{
    return !w->is_calm && below(w, one_in) == 0;
}

static void on_change(void *ctx, enum kube_change change, const struct kube_object *o)
{
    struct world *w = ctx;
    struct object *told = &w->told[o->name[1] - '0'];
    uint64_t uid, version;
    assert_int_equal(parse_u64(o->uid + 1, &uid), 0);
    assert_int_equal(parse_u64(o->resource_version, &version), 0);
    assert_int_equal(told->uid == 0, change == KUBE_CHANGE_ADDED);
    if (change != KUBE_CHANGE_ADDED) {
        assert_int_equal(told->uid, uid); /* a change is never told of another incarnation */
        assert_true(version >= told->version);
    }
    *told = change == KUBE_CHANGE_REMOVED ? (struct object){0}
                                          : (struct object){(unsigned)uid, (unsigned)version};
}

static void put_object(struct buf *b, unsigned name, unsigned uid, unsigned version)
{
    buf_printf(b, "{\"metadata\":{\"name\":\"p%u\",\"uid\":\"u%u\",\"resourceVersion\":\"%u\"}}",
               name, uid, version);
}

static void change_server(struct world *w)
{
    if (w->version == EVENTS_MAX) {
        return;
    }
    const unsigned name = below(w, NAMES);
    struct object *o = &w->server[name];
    struct event *e = &w->history[w->version++];
    e->name = name;
    e->type = o->uid == 0 ? KUBE_ADDED : below(w, 3) == 0 ? KUBE_DELETED : KUBE_MODIFIED;
    if (o->uid == 0) {
        o->uid = ++w->next_uid;
    }
    e->uid = o->uid;
    o->version = w->version;
    if (e->type == KUBE_DELETED) {
        *o = (struct object){0};
    }
}

static struct kube_response response(int code, const char *body)
{
    return response_of(code > 0 ? KUBE_ANSWERED : KUBE_BROKEN, code, body);
}

/* Pages of two; the snapshot is the current one, as if no one had written in between. */
static void answer_list(struct world *w, const struct kube_request *req)
{
    static const int codes[] = {0, 400, 410, 429, 500, 503, 504};
    if (fault(w, 4)) {
        const struct kube_response res = response(codes[below(w, N_ROWS(codes))], "no");
        kube_reflector_list_done(w->reflector, w->now_ns, &res);
        return;
    }
    const char *token = strstr(req->path, "continue=");
    const unsigned from = token == NULL ? 0 : (unsigned)(token[9] - '0');
    const bool is_first = strstr(req->path, "fieldSelector=") != NULL; /* every other object */
    static unsigned snapshot_version;
    static struct object snapshot[NAMES];
    if (token == NULL) {
        snapshot_version = w->version;
        memcpy(snapshot, w->server, sizeof(snapshot));
    }
    _cleanup_(buf_done) struct buf body = BUF_INIT;
    buf_puts(&body, "{\"items\":[");
    unsigned n = 0, i = from;
    for (; i < NAMES && n < 2; i++) {
        if (snapshot[i].uid != 0 && (!is_first || i % 2 == 0)) {
            buf_puts(&body, n++ == 0 ? "" : ",");
            put_object(&body, i, snapshot[i].uid, snapshot[i].version);
        }
    }
    buf_printf(&body, "],\"metadata\":{\"resourceVersion\":\"%u\"", snapshot_version);
    if (i < NAMES) {
        buf_printf(&body, ",\"continue\":\"%u\"", i);
    }
    buf_puts(&body, "}}");
    const struct kube_response res = response(200, buf_cstr(&body));
    kube_reflector_list_done(w->reflector, w->now_ns, &res);
}

static void open_watch(struct world *w, const struct kube_request *req)
{
    static const int codes[] = {0, 500, 503, 429};
    uint64_t version;
    const char *at = strstr(req->path, "resourceVersion=") + strlen("resourceVersion=");
    _cleanup_(freep) char *digits = xstrndup(at, strcspn(at, "&"));
    assert_int_equal(parse_u64(digits, &version), 0);
    w->watched = (unsigned)version;
    const bool is_too_old = version < w->compacted;
    if (fault(w, 5) || (is_too_old && below(w, 2) == 0)) {
        const int code = is_too_old ? 410 : codes[below(w, N_ROWS(codes))];
        const struct kube_response res = response(code, "no");
        kube_reflector_watch_end(w->reflector, w->now_ns, &res);
        return;
    }
    w->is_watching = true;
    kube_reflector_watch_opened(w->reflector, w->now_ns);
}

static void end_watch(struct world *w, int code)
{
    w->is_watching = false;
    const struct kube_response res = response(code, "");
    kube_reflector_watch_end(w->reflector, w->now_ns, &res);
}

/* Sends what is new, cut anywhere; may end in the middle of a line. */
static void serve_watch(struct world *w)
{
    static const char *const types[] = {"ADDED", "MODIFIED", "DELETED"};
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    const bool is_too_old = w->watched < w->compacted;
    if (is_too_old) {
        buf_puts(&out, "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410}}\n");
    } else {
        while (w->watched < w->version && below(w, 4) != 0) {
            const struct event *e = &w->history[w->watched++];
            buf_printf(&out, "{\"type\":\"%s\",\"object\":", types[e->type]);
            put_object(&out, e->name, e->uid, w->watched);
            buf_puts(&out, "}\n");
        }
        if (below(w, 3) == 0 || w->is_calm) {
            buf_printf(&out,
                       "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{"
                       "\"resourceVersion\":\"%u\"}}}\n",
                       w->watched);
        }
        if (fault(w, 6)) {
            buf_puts(&out, "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":500}}\n");
        }
    }
    const size_t end = fault(w, 5) ? below(w, (unsigned)out.len + 1) : out.len;
    for (size_t at = 0; at < end && w->is_watching;) {
        size_t n = 1 + below(w, 60);
        n = n > end - at ? end - at : n;
        w->is_watching = kube_reflector_watch_data(w->reflector, w->now_ns, out.data + at, n) == 0;
        at += n;
    }
    if (w->is_watching && end < out.len) {
        end_watch(w, 0);
    } else if (w->is_watching && fault(w, 6)) {
        end_watch(w, 200);
    }
}

static void serve(struct world *w)
{
    struct kube_request req;
    int64_t deadline_ns;
    switch (kube_reflector_next(w->reflector, w->now_ns, &req, &deadline_ns)) {
    case KUBE_REFLECTOR_LIST:
        answer_list(w, &req);
        kube_request_done(&req);
        return;
    case KUBE_REFLECTOR_WATCH:
        open_watch(w, &req);
        kube_request_done(&req);
        return;
    case KUBE_REFLECTOR_STOP:
    case KUBE_REFLECTOR_ABANDON:
        w->is_watching = false;
        return;
    case KUBE_REFLECTOR_WAIT:
        break;
    }
    if (w->is_watching && !fault(w, 3)) {
        serve_watch(w);
    }
    const int64_t step_ns = (int64_t)below(w, 20) * S_NS;
    w->now_ns += deadline_ns - w->now_ns < step_ns ? deadline_ns - w->now_ns : step_ns;
}

static void assert_in_step(const struct world *w, uint64_t seed)
{
    const struct kube_cache *c = kube_reflector_cache(w->reflector);
    size_t n = 0;
    for (unsigned i = 0; i < NAMES; i++) {
        char name[] = {'p', (char)('0' + i), '\0'};
        const struct kube_object *o = kube_cache_get(c, name);
        const struct object *expected = &w->server[i];
        _cleanup_(freep) char *uid = xasprintf("u%u", expected->uid);
        _cleanup_(freep) char *version = xasprintf("%u", expected->version);
        n += o != NULL;
        if ((o == NULL) != (expected->uid == 0) ||
            (o != NULL &&
             (strcmp(o->uid, uid) != 0 || strcmp(o->resource_version, version) != 0)) ||
            memcmp(expected, &w->told[i], sizeof(*expected)) != 0) {
            fail_msg("seed %" PRIu64 ": %s: expected %s@%s, cache %s@%s, told u%u@%u", seed, name,
                     uid, version, o == NULL ? "-" : o->uid, o == NULL ? "-" : o->resource_version,
                     w->told[i].uid, w->told[i].version);
        }
    }
    assert_int_equal(n, c->objects.len);
    assert_true(kube_reflector_is_synced(w->reflector));
    assert_null(kube_reflector_error(w->reflector));
}

static void run_world(uint64_t seed)
{
    _cleanup_(freep) struct world *w = xnew(struct world);
    w->random = seed * 0x9e3779b97f4a7c15 + 1;
    w->reflector = kube_reflector_new(
        &(struct kube_reflector_params){.resource = &kube_pods,
                                        .ns = "n",
                                        .first_field_selector = seed % 2 == 0 ? "some" : NULL,
                                        .on_change = on_change,
                                        .ctx = w,
                                        .seed = seed});
    for (int i = 0; i < STEPS; i++) {
        if (below(w, 2) == 0) {
            change_server(w);
        }
        if (below(w, 15) == 0) {
            w->compacted = w->version;
        }
        serve(w);
    }
    w->is_calm = true;
    unsigned turns = 0; /* that took no time */
    for (const int64_t end_ns = w->now_ns + CALM_NS; w->now_ns < end_ns;) {
        const int64_t before_ns = w->now_ns;
        serve(w);
        turns = w->now_ns == before_ns ? turns + 1 : 0;
        if (turns > HOT_TURNS) {
            fail_msg("seed %d: %u requests in no time: a busy loop", (int)seed, turns);
        }
    }
    assert_in_step(w, seed);
    kube_reflector_free(w->reflector);
}

TEST(follows_every_server)
{
    uint64_t one;
    const char *wanted = getenv("BENCHD_PROP_SEED");
    if (wanted != NULL && parse_u64(wanted, &one) == 0) {
        run_world(one);
        return;
    }
    for (uint64_t seed = 1; seed <= WORLDS; seed++) {
        run_world(seed);
    }
}
