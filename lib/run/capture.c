/* The bounded log of one replica, see capture.h. */
#include "run/capture.h"

#include <string.h>

#include "base/mem.h"

/* Storage for lines that is kept from one to the next. */
#define LINE_KEPT_BYTES 4096

void capture_init(struct capture *c, size_t max_bytes, capture_line_fn on_line, void *ctx)
{
    *c = (struct capture){.half = max_bytes / 2, .on_line = on_line, .ctx = ctx};
}

void capture_done(struct capture *c)
{
    buf_done(&c->head);
    buf_done(&c->partial[0].line);
    buf_done(&c->partial[1].line);
    buf_done(&c->composed);
    free(c->ring);
    c->ring = NULL;
}

static void ring_append(struct capture *c, const char *data, size_t len)
{
    if (len == 0) {
        return;
    }
    if (c->ring == NULL) {
        c->ring = xmalloc(c->half);
    }
    if (len > c->half) {
        data += len - c->half;
        len = c->half;
    }
    size_t first = c->half - c->ring_pos < len ? c->half - c->ring_pos : len;
    memcpy(c->ring + c->ring_pos, data, first);
    memcpy(c->ring, data + first, len - first);
    c->ring_pos = (c->ring_pos + len) % c->half;
    c->ring_len = c->ring_len + len < c->half ? c->ring_len + len : c->half;
}

static void log_append(struct capture *c, const char *data, size_t len)
{
    c->total += len;
    size_t room = c->half - c->head.len;
    size_t first = c->ring != NULL ? 0 : (room < len ? room : len);
    buf_append(&c->head, data, first);
    ring_append(c, data + first, len - first);
}

static void remember_words(struct capture *c, const struct buf *line)
{
    if (line->len == 0 || line->data[0] == '{') {
        return;
    }
    size_t n = line->len < sizeof(c->last_words) - 1 ? line->len : sizeof(c->last_words) - 1;
    for (size_t i = 0; i < n; i++) {
        char b = line->data[i];
        c->last_words[i] = b >= ' ' && b <= '~' ? b : '?';
    }
    c->last_words[n] = '\0';
}

/* Logs the collected piece; a complete line of stdout also goes to on_line. */
static void flush_piece(struct capture *c, enum capture_stream stream, bool is_whole)
{
    struct capture_partial *p = &c->partial[stream];
    log_append(c, buf_cstr(&p->line), p->line.len);
    remember_words(c, &p->line);
    if (is_whole) {
        log_append(c, "\n", 1);
        if (stream == CAPTURE_STDOUT && !p->is_torn && c->on_line != NULL) {
            c->on_line(c->ctx, buf_cstr(&p->line), p->line.len);
        }
    }
    p->is_torn = !is_whole;
    if (p->line.cap > LINE_KEPT_BYTES) {
        buf_done(&p->line);
    } else {
        buf_clear(&p->line);
    }
}

void capture_feed(struct capture *c, enum capture_stream stream, const char *data, size_t len)
{
    struct capture_partial *p = &c->partial[stream];
    while (len > 0) {
        const char *newline = memchr(data, '\n', len);
        size_t piece = newline != NULL ? (size_t)(newline - data) : len;
        size_t room = CAPTURE_LINE_MAX - p->line.len;
        if (piece > room) {
            buf_append(&p->line, data, room);
            flush_piece(c, stream, false);
            data += room;
            len -= room;
            continue;
        }
        buf_append(&p->line, data, piece);
        if (newline != NULL) {
            flush_piece(c, stream, true);
            piece++;
        }
        data += piece;
        len -= piece;
    }
}

void capture_end(struct capture *c)
{
    for (enum capture_stream s = CAPTURE_STDOUT; s <= CAPTURE_STDERR; s++) {
        if (c->partial[s].line.len > 0 || c->partial[s].is_torn) {
            flush_piece(c, s, true);
        }
        buf_done(&c->partial[s].line);
    }
    buf_trim(&c->head);
    c->has_ended = true;
}

/* The ring starts within a line; the rest of it is dropped too. */
static size_t ring_whole_lines(const struct capture *c, struct buf *out)
{
    size_t start = c->ring_len == c->half ? c->ring_pos : 0;
    buf_append(out, c->ring + start, c->ring_len - start);
    buf_append(out, c->ring, start);
    const char *newline = memchr(out->data, '\n', out->len);
    size_t cut = newline == NULL ? 0 : (size_t)(newline - out->data) + 1;
    return cut < out->len ? cut : 0;
}

/* Head, mark and ring as one text, without storage to spare. */
static void compose(struct capture *c, struct buf *out)
{
    struct buf tail = BUF_INIT;
    uint64_t dropped = c->total - c->head.len - c->ring_len;
    size_t cut = dropped > 0 ? ring_whole_lines(c, &tail) : 0;
    if (dropped == 0) {
        buf_append(&tail, c->ring, c->ring_len);
    }
    buf_append(out, c->head.data, c->head.len);
    if (dropped > 0) {
        buf_printf(out, "\n[benchd: %llu bytes dropped here: the log outgrew %zu bytes]\n",
                   (unsigned long long)(dropped + cut), 2 * c->half);
    }
    buf_append(out, tail.data + cut, tail.len - cut);
    buf_done(&tail);
    buf_trim(out);
}

const char *capture_text(struct capture *c, size_t *ret_len)
{
    const bool is_whole = c->ring == NULL && c->composed.data == NULL;
    if (c->ring != NULL) {
        buf_done(&c->composed);
        compose(c, &c->composed);
    }
    if (c->ring != NULL && c->has_ended) {
        buf_done(&c->head);
        free(c->ring);
        c->ring = NULL;
    }
    const struct buf *text = is_whole ? &c->head : &c->composed;
    *ret_len = text->len;
    return buf_cstr(text);
}

char *capture_take(struct capture *c)
{
    const bool is_whole = c->ring == NULL && c->composed.data == NULL;
    size_t len;
    (void)capture_text(c, &len); /* it is in one of the two now */
    return buf_take(is_whole ? &c->head : &c->composed);
}

const char *capture_last_words(const struct capture *c)
{
    return c->last_words;
}
