/* A pod's log as lines without duplicates, over any number of connections. Sans-I/O. Used by
 * follow.c.
 *
 * A log stream may end while the container lives; the next is opened from the second of the last
 * line, since the server drops fractions, so that lines come again. Each line carries the node's
 * time stamp (timestamps=true); of the lines of a reopened stream those are dropped that are older
 * than the last one kept, and as many of its very time as were kept. */
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

struct kube_log_cursor {
    struct buf line; /* under way */
    size_t line_max;
    bool is_cut;      /* the line under way was given out in part */
    bool is_dropping; /* ... and is a duplicate */
    int64_t last_ns;  /* unix time of the last line kept; INT64_MIN: none yet */
    uint32_t at_last; /* lines kept with that time */
    bool is_replay;   /* a reopened stream has not come to new lines yet */
    uint32_t to_skip; /* of at_last, still expected again */
    kube_line_fn on_line;
    void *ctx;
};
void kube_log_cursor_init(struct kube_log_cursor *c, size_t line_max, kube_line_fn on_line,
                          void *ctx); /* line_max 0: KUBE_LOG_LINE_MAX */
void kube_log_cursor_done(struct kube_log_cursor *c);
/* A new stream begins. Fills the sinceTime for its request; false: from the start. */
bool kube_log_cursor_reopen(struct kube_log_cursor *c, char ret_since[static KUBE_LOG_SINCE_SIZE]);
void kube_log_cursor_feed(struct kube_log_cursor *c, const char *data, size_t len);
/* The container has ended: an unfinished line is a line. */
void kube_log_cursor_end(struct kube_log_cursor *c);
