/* The API server's watches: from a version on, bookmarks, 410 for a version that is
 * forgotten, time-outs. A version that the server has not reached (it was restored from an
 * older state) is none it complains of: it says nothing until it has passed it, as the watch
 * cache of a real one does. */
#include "sim.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"

/* A change, as watches tell it. */
struct change {
    uint64_t version;
    char *line; /* owned, with its newline */
};

struct watch {
    struct kube_transfer *stream;
    enum sim_kind kind;
    uint64_t from; /* nothing of that version or before is told */
    size_t next;   /* of the kind's changes */
    bool is_sending;
    bool is_closed;
    unsigned refs; /* events that will look at it */
    int64_t ends_ns;
};

static struct {
    VEC(struct change) changes[KIND_COUNT];
    VEC(struct watch *) open;
    uint64_t compacted; /* versions before it are forgotten */
    /* Who was told last that its version is too old, and when; 0: nobody since its last list. */
    struct {
        int64_t process_began_ns, at_ns;
    } expired[KIND_COUNT];
} watches;

static void close_watch(struct watch *w)
{
    if (w->is_closed) {
        return;
    }
    w->is_closed = true;
    for (size_t i = 0; i < watches.open.len; i++) {
        if (watches.open.items[i] == w) {
            watches.open.items[i] = watches.open.items[--watches.open.len];
            break;
        }
    }
    network_drop(w->stream);
}

/* False: it was closed meanwhile, and is gone now if this was the last event. */
static bool take_event(struct watch *w)
{
    w->refs--;
    if (w->is_closed && w->refs == 0) {
        free(w);
        return false;
    }
    return !w->is_closed;
}

static void later(struct watch *w, int64_t wait_ns, void (*happen)(void *ctx))
{
    w->refs++;
    sim_after(wait_ns, happen, w);
}

static void send_changes(void *ctx);

static void skip_known(struct watch *w)
{
    while (w->next < watches.changes[w->kind].len &&
           watches.changes[w->kind].items[w->next].version <= w->from) {
        w->next++;
    }
}

static void send_soon(struct watch *w)
{
    const struct fault *slow;
    skip_known(w);
    if (!w->is_sending && w->next < watches.changes[w->kind].len) {
        w->is_sending = true;
        const int64_t wait_ns = fault_is_on(FAULT_SLOW_WATCHES, &slow)
                                    ? sim_time(DRAW_FAULT, 0, slow->length_ns)
                                    : sim_time(DRAW_NETWORK, 0, 20 * SIM_MS);
        later(w, wait_ns, send_changes);
    }
}

static void send_changes(void *ctx)
{
    struct watch *w = ctx;
    w->is_sending = false;
    if (!take_event(w)) {
        return;
    }
    if (!network_is_open(w->stream)) {
        w->is_sending = true; /* the bookmark's event closes it */
        return;
    }
    const struct change *c = &watches.changes[w->kind].items[w->next++];
    network_send(w->stream, c->line, strlen(c->line));
    send_soon(w);
}

void watch_tell(const struct sim_object *o, const char *type, uint64_t version)
{
    _cleanup_(freep) char *text = json_dumps(o->json, JSON_COMPACT);
    *vec_push(&watches.changes[o->kind]) =
        (struct change){version, xasprintf("{\"type\":\"%s\",\"object\":%s}\n", type, text)};
    for (size_t i = 0; i < watches.open.len; i++) {
        if (watches.open.items[i]->kind == o->kind) {
            send_soon(watches.open.items[i]);
        }
    }
}

static void bookmark(void *ctx)
{
    struct watch *w = ctx;
    (void)take_event(w); /* nothing else closes it */
    if (!network_is_open(w->stream) || sim.now_ns >= w->ends_ns) {
        network_end(w->stream);
        close_watch(w);
        if (w->refs == 0) {
            free(w);
        }
        return;
    }
    if (w->is_sending) { /* a bookmark never overtakes a change */
        later(w, SIM_S, bookmark);
        return;
    }
    if (server_version() > w->from) {
        _cleanup_(freep) char *line = xasprintf("{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{"
                                                "\"resourceVersion\":\"%" PRIu64 "\"}}}\n",
                                                server_version());
        network_send(w->stream, line, strlen(line));
    }
    later(w, 55 * SIM_S, bookmark);
}

#define EXPIRED                                                                                    \
    "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"status\":\"Failure\",\"code\":410,"     \
    "\"reason\":\"Expired\",\"message\":\"too old resource version\"}}\n"

static void send_expired(void *ctx)
{
    network_send(ctx, EXPIRED, strlen(EXPIRED));
    network_end(ctx);
    network_drop(ctx);
}

/* Who is told that its version is too old lists. */
static void note_expired(enum sim_kind kind, const struct kube_transfer *stream)
{
    const int64_t began_ns = network_sender_began_ns(stream);
    const bool is_again = watches.expired[kind].process_began_ns == began_ns;
    const bool was_quiet = fault_last_ns(FAULT_COMPACT, false) < watches.expired[kind].at_ns;
    if (is_again && was_quiet) {
        sim_broken("benchd was told that its version is too old, and watches again from it");
    }
    watches.expired[kind].process_began_ns = began_ns;
    watches.expired[kind].at_ns = sim.now_ns;
}

void watch_listed(enum sim_kind kind)
{
    watches.expired[kind].process_began_ns = 0;
}

static int64_t query_number(const char *path, const char *key)
{
    const char *at = strstr(path, key);
    return at == NULL ? 0 : strtoll(at + strlen(key), NULL, 10);
}

void watch_open(enum sim_kind kind, const char *path, struct kube_transfer *stream,
                struct sim_answer *ret)
{
    const uint64_t from = (uint64_t)query_number(path, "resourceVersion=");
    ret->code = 200;
    if (from < watches.compacted) {
        note_expired(kind, stream);
        if (sim_one_in(DRAW_NETWORK, 2)) {
            server_status(ret, 410, "Expired", "too old resource version");
            return;
        }
        network_hold(stream);
        sim_after(SIM_MS, send_expired, stream);
        return;
    }
    struct watch *w = xnew(struct watch);
    *w = (struct watch){.stream = stream, .kind = kind, .from = from};
    w->ends_ns = sim.now_ns + query_number(path, "timeoutSeconds=") * SIM_S;
    skip_known(w);
    network_hold(stream);
    *vec_push(&watches.open) = w;
    later(w, 55 * SIM_S, bookmark);
    /* After the stream has opened. */
    w->is_sending = w->next < watches.changes[kind].len;
    if (w->is_sending) {
        later(w, SIM_MS, send_changes);
    }
}

void watch_compact(uint64_t version)
{
    watches.compacted = version;
}

void watch_go_back(uint64_t version)
{
    for (int k = 0; k < KIND_COUNT; k++) {
        while (watches.changes[k].len > 0 &&
               watches.changes[k].items[watches.changes[k].len - 1].version > version) {
            free(watches.changes[k].items[--watches.changes[k].len].line);
        }
    }
    watches.compacted = watches.compacted < version ? watches.compacted : version;
}
