/* The output of one replica: a bounded log of both streams in order of arrival, and every complete
 * line of stdout as it arrives. Used by both launchers. Pure: touches no file.
 *
 * A line enters the log when it is complete, so that stderr never splits a record. When a log
 * outgrows its limit, its beginning and its end are kept, half each, and a line between them
 * says how many bytes were dropped.
 *
 * Once the streams have ended, a capture holds its log once and nothing else, so that a thousand of
 * them take what their limits say. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum capture_stream { CAPTURE_STDOUT, CAPTURE_STDERR };

/* One complete line of stdout, without its newline, NUL-terminated. */
typedef void (*capture_line_fn)(void *ctx, const char *line, size_t len);

/* A longer line enters the log in pieces and is never read as a record. */
#define CAPTURE_LINE_MAX 65536

struct capture {
    size_t half; /* limit of head, and size of the ring */
    struct buf head;
    char *ring;                /* the latest bytes after head; NULL until head is full */
    size_t ring_len, ring_pos; /* pos: where the next byte goes */
    uint64_t total;            /* bytes logged, including dropped ones */
    struct capture_partial {
        struct buf line; /* incomplete */
        bool is_torn;    /* a piece of this line is in the log: not a record */
    } partial[2];
    struct buf composed; /* head, mark and ring as one text, on demand; in place of them once the
                            streams have ended */
    bool has_ended;
    char last_words[200];
    capture_line_fn on_line;
    void *ctx;
};

void capture_init(struct capture *c, size_t max_bytes, capture_line_fn on_line, void *ctx);
void capture_done(struct capture *c);
void capture_feed(struct capture *c, enum capture_stream stream, const char *data, size_t len);
/* The streams have ended: incomplete lines are logged as they are. Nothing is fed afterwards. */
void capture_end(struct capture *c);
/* Borrowed until the next call on c. */
const char *capture_text(struct capture *c, size_t *ret_len);
/* The same text, owned by the caller; the capture has none. */
char *capture_take(struct capture *c);
/* The latest line of either stream that is not a record, for a failure's message: printable ASCII,
 * at most 199 characters, "" if none exists. */
const char *capture_last_words(const struct capture *c);
