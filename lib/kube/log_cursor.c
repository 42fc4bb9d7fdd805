/* Log lines without duplicates, see log_cursor.h. */
#include "kube/log_cursor.h"

#include <string.h>

#include "base/clock.h"
#include "base/rfc3339.h"

#define NO_TIME INT64_MIN
#define NS_PER_MS 1000000
#define NS_PER_S INT64_C(1000000000)

void kube_log_cursor_init(struct kube_log_cursor *c, size_t line_max, kube_line_fn on_line,
                          void *ctx)
{
    *c = (struct kube_log_cursor){.line_max = line_max == 0 ? KUBE_LOG_LINE_MAX : line_max,
                                  .first_ns = NO_TIME,
                                  .last_ns = NO_TIME,
                                  .latest_ns = NO_TIME,
                                  .on_line = on_line,
                                  .ctx = ctx};
}

void kube_log_cursor_done(struct kube_log_cursor *c)
{
    buf_done(&c->line);
}

bool kube_log_cursor_reopen(struct kube_log_cursor *c, char ret_since[static KUBE_LOG_SINCE_SIZE])
{
    buf_clear(&c->line); /* an incomplete line comes again */
    c->is_cut = c->is_dropping = false;
    if (c->last_ns == NO_TIME) {
        return false;
    }
    c->is_replay = true;
    c->to_skip = c->at_last;
    _Static_assert(KUBE_LOG_SINCE_SIZE >= CLOCK_RFC3339_SIZE, "a date fits");
    clock_format_rfc3339((c->last_ns / NS_PER_S - 1) * NS_PER_S / NS_PER_MS, ret_since);
    return true;
}

static void note_gap(struct kube_log_cursor *c)
{
    c->has_gap = true;
    c->is_replay = false;
    c->on_line(c->ctx, KUBE_LOG_GAP, sizeof(KUBE_LOG_GAP) - 1);
}

/* Was a line of that time passed on by an earlier stream? Counts it if not. Within one stream the
 * server's order counts, even if the node's clock steps back. */
static bool is_duplicate(struct kube_log_cursor *c, int64_t time_ns)
{
    if (c->is_replay && time_ns > c->latest_ns) {
        note_gap(c);
    }
    if (c->is_replay) {
        c->to_skip -= time_ns == c->last_ns;
        c->is_replay = c->to_skip > 0;
        return true;
    }
    c->at_last = time_ns == c->last_ns ? c->at_last + 1 : 1;
    c->last_ns = time_ns;
    c->latest_ns = time_ns > c->latest_ns ? time_ns : c->latest_ns;
    c->first_ns = c->first_ns == NO_TIME ? time_ns : c->first_ns;
    return false;
}

/* The text after the time stamp; a line without one is the kubelet's own message. */
static const char *skip_time(const char *line, size_t len, int64_t *ret_ns)
{
    const char *space = memchr(line, ' ', len);
    const size_t n = space == NULL ? len : (size_t)(space - line);
    if (rfc3339_parse(line, n, ret_ns) < 0) {
        *ret_ns = NO_TIME;
        return line;
    }
    return space == NULL ? line + len : space + 1;
}

/* Passes on c->line: a line, or the next piece of one. */
static void give(struct kube_log_cursor *c)
{
    const char *text = buf_cstr(&c->line);
    const char *end = text + c->line.len;
    if (!c->is_cut) {
        int64_t time_ns;
        text = skip_time(text, c->line.len, &time_ns);
        c->is_dropping = time_ns != NO_TIME && is_duplicate(c, time_ns);
    }
    if (!c->is_dropping) {
        const bool is_early = c->last_ns - c->first_ns < KUBE_LOG_EARLY_NS;
        c->early_bytes += is_early ? c->line.len : 0;
        c->on_line(c->ctx, text, (size_t)(end - text));
    }
    buf_clear(&c->line);
}

void kube_log_cursor_feed(struct kube_log_cursor *c, const char *data, size_t len)
{
    while (len > 0) {
        const char *newline = memchr(data, '\n', len);
        size_t n = newline == NULL ? len : (size_t)(newline - data);
        const size_t room = c->line_max - c->line.len;
        if (n > room) { /* more of the line follows, so its next piece is not empty */
            buf_append(&c->line, data, room);
            give(c);
            c->is_cut = true;
            data += room;
            len -= room;
            continue;
        }
        buf_append(&c->line, data, n);
        if (newline != NULL) {
            give(c);
            c->is_cut = false;
            n++;
        }
        data += n;
        len -= n;
    }
}

void kube_log_cursor_end(struct kube_log_cursor *c, bool is_all)
{
    if (c->line.len > 0) {
        give(c);
    }
    if (c->is_replay && is_all) {
        note_gap(c);
    }
}

int64_t kube_log_line_time(const char *line, size_t len)
{
    int64_t time_ns;
    (void)skip_time(line, len, &time_ns);
    return time_ns;
}
