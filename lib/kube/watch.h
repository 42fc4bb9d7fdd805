/* Parses the bytes of a watch into events: one JSON object a line. Does no I/O: bytes may arrive
 * split anywhere. Used by reflector.c. */
#pragma once

#include <stddef.h>

#include <jansson.h>

#include "base/buf.h"
#include "base/err.h"

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
void kube_watch_parser_init(struct kube_watch_parser *p, size_t line_max, kube_event_fn on_event,
                            void *ctx);
void kube_watch_parser_done(struct kube_watch_parser *p);
/* Drops what is incomplete: a new stream begins. */
void kube_watch_parser_reset(struct kube_watch_parser *p);
/* -E2BIG a line is too long, -EPROTO not an event, or what on_event returned:
 * the stream is unusable. */
int kube_watch_parser_feed(struct kube_watch_parser *p, const char *data, size_t len,
                           struct err *err);
