/* Keeps a cache in step with the API server: list, then watch, again and again. Does no I/O: the
 * caller (informer.c) asks kube_reflector_next() what is due, does it, and passes on the result.
 * Tests and simulations are other callers.
 *
 *          .-- list_done: more pages ---.
 *          v                            |
 *   LIST_DUE --next--> LISTING --list_done--> WATCH_DUE --next--> WATCHING
 *     ^  ^                 |                   ^  |                  |
 *     |  '---- failed -----'                   |  '-- failed, EOF ---'
 *     '---- 410 anywhere, two empty watches, two silences, many failures, time for a fresh list
 *
 * Deletions that no watch reported appear as removals at the end of the next list. A list replaces
 * the cache only when its last page has arrived: 64 objects then, 64 more each millisecond
 * (TELLING, not drawn).
 *
 * A page of more than KUBE_LIST_MAX bytes is asked for again with half as many objects, and so are
 * all pages after it. One object alone is never that large: etcd takes 1.5 MiB.
 *
 * With first_field_selector, a list of those objects alone comes before the first list of all,
 * once: its objects are in the cache, and reported, while thousands of others are still on their
 * way. Nothing is removed by it and nothing watched before the list of all has come. If it
 * fails, it is left out. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "kube/cache.h"
#include "kube/request.h"
#include "kube/retry.h"
#include "kube/status.h"

struct kube_reflector_params {
    const struct kube_resource *resource;
    const char *ns;
    const char *label_selector, *field_selector; /* NULL: all */
    const char *first_field_selector; /* NULL: all at once; with it there is no field_selector */
    kube_decode_fn decode;            /* NULL: see cache.h */
    kube_change_fn on_change;         /* may be NULL */
    void (*on_synced)(void *ctx);     /* after each complete list; may be NULL */
    /* A watch was silent for KUBE_SILENCE_NS and is opened again; may be NULL. */
    void (*on_silence)(void *ctx, const struct kube_resource *resource);
    void *ctx;
    uint64_t seed;   /* of jitter */
    size_t line_max; /* 0: KUBE_LINE_MAX */
};

/* Of one page: objects, until one is too large (500 runs take 80 ms of the loop); and bytes, of
 * which a tree takes more. */
#define KUBE_LIST_LIMIT 100
#define KUBE_LIST_MAX ((size_t)4 * 1024 * 1024)
/* An API server usually sends a bookmark every minute, but need not. So silence is not a failure:
 * the watch is opened again, over another connection, and the list that two silences lead to shows
 * whether the server answers. */
#define KUBE_SILENCE_NS (90 * INT64_C(1000000000))

enum kube_reflector_need {
    KUBE_REFLECTOR_WAIT,    /* nothing before *ret_deadline_ns or the next result */
    KUBE_REFLECTOR_LIST,    /* send *ret_request once, no retries; then list_done */
    KUBE_REFLECTOR_WATCH,   /* open *ret_request; watch_opened, watch_data ..., then watch_end */
    KUBE_REFLECTOR_STOP,    /* cancel the watch; it is over, no watch_end */
    KUBE_REFLECTOR_ABANDON, /* the same after silence: its connection may be dead */
};

struct kube_reflector;
struct kube_reflector *kube_reflector_new(const struct kube_reflector_params *params);
void kube_reflector_free(struct kube_reflector *r);

/* Call until it returns WAIT: at the start, after each function below, and at the deadline.
 * *ret_request is written for LIST and WATCH only, and owned by the caller; *ret_deadline_ns
 * always (or INT64_MAX). */
enum kube_reflector_need kube_reflector_next(struct kube_reflector *r, int64_t now_ns,
                                             struct kube_request *ret_request,
                                             int64_t *ret_deadline_ns);
void kube_reflector_list_done(struct kube_reflector *r, int64_t now_ns,
                              const struct kube_response *res);
/* The headers of a 2xx have arrived; any other answer goes straight to watch_end. */
void kube_reflector_watch_opened(struct kube_reflector *r, int64_t now_ns);
/* -Exxx: the stream is unusable and counts as ended: cancel it. */
int kube_reflector_watch_data(struct kube_reflector *r, int64_t now_ns, const char *data,
                              size_t len);
/* The end of the watch, a clean one (http_code 200, KUBE_ANSWERED) or another. */
void kube_reflector_watch_end(struct kube_reflector *r, int64_t now_ns,
                              const struct kube_response *res);

const struct kube_cache *kube_reflector_cache(const struct kube_reflector *r);
/* A first list is complete. It stays true: an old state is better than none. */
bool kube_reflector_is_synced(const struct kube_reflector *r);
/* Of first_field_selector, the list of those objects has come, or else that of
 * all. Stays true, too. */
bool kube_reflector_has_first(const struct kube_reflector *r);
/* The latest failure, NULL after the next success; for readyz and conditions. */
const struct err *kube_reflector_error(const struct kube_reflector *r);

/* Parses the bytes of a watch into events: one JSON object a line. Does no I/O: bytes may arrive
 * split anywhere. Used by reflector.c. */

enum kube_event_type { KUBE_ADDED, KUBE_MODIFIED, KUBE_DELETED, KUBE_BOOKMARK, KUBE_ERROR };

/* `object` is borrowed for the call (json_incref to keep). < 0 stops the parser. */
typedef int (*kube_event_fn)(void *ctx, enum kube_event_type type, json_t *object, struct err *err);

#define KUBE_LINE_MAX ((size_t)16 * 1024 * 1024)

struct kube_watch_parser {
    struct buf line; /* the incomplete one */
    size_t line_max;
    kube_event_fn on_event;
    void *ctx;
};
void kube_watch_parser_init(struct kube_watch_parser *p, size_t line_max, kube_event_fn each,
                            void *ctx);
void kube_watch_parser_done(struct kube_watch_parser *p);
/* Drops what is incomplete: a new stream begins. */
void kube_watch_parser_reset(struct kube_watch_parser *p);
/* -E2BIG a line is too long, -EPROTO not an event, or what on_event returned:
 * the stream is unusable. */
int kube_watch_parser_feed(struct kube_watch_parser *p, const char *data, size_t len,
                           struct err *err);
