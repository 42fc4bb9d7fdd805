/* A pod's log as lines without duplicates, over any number of connections. Does no I/O. Used by
 * follow.c.
 *
 * A log stream may end while the container runs. The next stream starts at the second of the last
 * line, because the server ignores fractions, so some lines come again. Each line carries the
 * node's time stamp (timestamps=true). Of a reopened stream, lines older than the last one kept
 * are dropped, and as many lines of exactly that time as were kept. If none of those comes again,
 * the log was rotated in between (the kubelet reads the newest file only), and KUBE_LOG_GAP is
 * passed on as a line. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* Without newline and time stamp, NUL-terminated, borrowed. A line of more than line_max bytes
 * comes in pieces of that size. */
typedef void (*kube_line_fn)(void *ctx, const char *line, size_t len);

#define KUBE_LOG_LINE_MAX ((size_t)1024 * 1024)
#define KUBE_LOG_SINCE_SIZE 32
#define KUBE_LOG_GAP "[benchd: lines may be missing here: the log was rotated before it was read]"

struct kube_log_cursor {
    struct buf line; /* incomplete */
    size_t line_max;
    bool is_cut;      /* a part of the line was passed on */
    bool is_dropping; /* that line is a duplicate */
    int64_t last_ns;  /* unix time of the last line kept; INT64_MIN: none yet */
    uint32_t at_last; /* lines kept with that time */
    bool is_replay;   /* a reopened stream has not reached new lines yet */
    uint32_t to_skip; /* of at_last, still to come again */
    kube_line_fn on_line;
    void *ctx;
};
void kube_log_cursor_init(struct kube_log_cursor *c, size_t line_max, kube_line_fn on_line,
                          void *ctx); /* line_max 0: KUBE_LOG_LINE_MAX */
void kube_log_cursor_done(struct kube_log_cursor *c);
/* A new stream begins. Writes sinceTime for its request; false: read from the start. */
bool kube_log_cursor_reopen(struct kube_log_cursor *c, char ret_since[static KUBE_LOG_SINCE_SIZE]);
void kube_log_cursor_feed(struct kube_log_cursor *c, const char *data, size_t len);
/* The container has ended: passes on a last line without newline. */
void kube_log_cursor_end(struct kube_log_cursor *c);
