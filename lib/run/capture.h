/* What one replica wrote: a bounded log of both streams in order of arrival, and the lines of its
 * stdout as they become whole. Used by the process launcher; pure, no file is touched here.
 *
 * A line enters the log when it is whole, so that stderr never tears a record in two. Of a log that
 * outgrows its limit the first half and the last half are kept, with a line between them that says
 * how much is missing. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum capture_stream { CAPTURE_STDOUT, CAPTURE_STDERR };

/* One whole line of stdout, without its newline, NUL-terminated. */
typedef void (*capture_line_fn)(void *ctx, const char *line, size_t len);

/* A longer line enters the log in pieces and is nobody's record. */
#define CAPTURE_LINE_MAX 65536

struct capture {
    size_t half; /* limit of head, and size of the ring */
    struct buf head;
    char *ring;                /* the latest bytes behind head; NULL until head is full */
    size_t ring_len, ring_pos; /* pos: where the next byte goes */
    uint64_t total;            /* bytes that went into the log, dropped ones too */
    struct capture_partial {
        struct buf line; /* not yet whole */
        bool is_torn;    /* a piece of this line was logged already: no record */
    } partial[2];
    struct buf composed; /* head, mark and ring as one text, made on demand */
    char last_words[200];
    capture_line_fn on_line;
    void *ctx;
};

void capture_init(struct capture *c, size_t max_bytes, capture_line_fn on_line, void *ctx);
void capture_done(struct capture *c);
void capture_feed(struct capture *c, enum capture_stream stream, const char *data, size_t len);
/* The streams have ended: unfinished lines become lines. */
void capture_end(struct capture *c);
/* Borrowed till the next call on c. */
const char *capture_text(struct capture *c, size_t *ret_len);
/* The latest line of either stream that is no record, for the message of a failure: printable
 * ASCII, cut to 199 characters, "" if none. */
const char *capture_last_words(const struct capture *c);
