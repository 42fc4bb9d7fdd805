/* A pod's log as lines without duplicates, over any number of connections. Does no I/O. Used by
 * follow.c.
 *
 * A log stream may end while the container runs. The next stream starts a second before
 * the last line, because the server ignores fractions and a container's two streams may be stamped
 * in another order than they are written. Each line carries the node's time stamp
 * (timestamps=true). Of a reopened stream, everything is dropped up to the last line kept. If a
 * later time comes first, or the log ends before that line, the log was rotated in between (the
 * kubelet reads the newest file only), and KUBE_LOG_GAP is passed on as a line. */
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
#define KUBE_LOG_EARLY_NS (2 * INT64_C(1000000000))
#define KUBE_LOG_GAP "[benchd: lines may be missing here: the log was rotated before it was read]"

struct kube_log_cursor {
    struct buf line; /* incomplete */
    size_t line_max;
    bool is_cut;      /* a part of the line was passed on */
    bool is_dropping; /* that line is a duplicate */
    /* unix time of the first line, of the last one kept, and the latest; INT64_MIN: none yet */
    int64_t first_ns, last_ns, latest_ns;
    uint64_t early_bytes; /* of the lines within KUBE_LOG_EARLY_NS of the first */
    uint32_t at_last;     /* lines kept with the time last_ns */
    bool is_replay;       /* a reopened stream has not reached new lines yet */
    uint32_t to_skip;     /* of at_last, still to come again */
    bool has_gap;         /* KUBE_LOG_GAP was passed on */
    kube_line_fn on_line;
    void *ctx;
};
void kube_log_cursor_init(struct kube_log_cursor *c, size_t line_max, kube_line_fn on_line,
                          void *ctx); /* line_max 0: KUBE_LOG_LINE_MAX */
void kube_log_cursor_done(struct kube_log_cursor *c);
/* A new stream begins. Writes sinceTime for its request; false: read from the start. */
bool kube_log_cursor_reopen(struct kube_log_cursor *c, char ret_since[static KUBE_LOG_SINCE_SIZE]);
void kube_log_cursor_feed(struct kube_log_cursor *c, const char *data, size_t len);
/* Nothing more is read: passes on a last line without newline. `is_all`: the stream has ended after
 * its container. */
void kube_log_cursor_end(struct kube_log_cursor *c, bool is_all);
/* The time stamp of a line; INT64_MIN: it has none, as the kubelet's own messages. */
int64_t kube_log_line_time(const char *line, size_t len);
