/* See lines.h. */
#include "logparse/lines.h"

#include <stdbool.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"

#define ESC '\033'
#define BEL '\a'

void log_lines_init(struct log_lines *l, log_line_fn on_line, void *ctx)
{
    *l = (struct log_lines){.on_line = on_line, .ctx = ctx};
}

void log_lines_done(struct log_lines *l)
{
    buf_done(&l->partial);
    buf_done(&l->clean);
}

/* All but the tab. No branch inside, so that the compiler makes vectors of it. */
static bool has_control(const char *line, size_t len)
{
    unsigned found = 0;
    for (size_t i = 0; i < len; i++) {
        const unsigned char c = (unsigned char)line[i];
        found |= (unsigned)((c < ' ') & (c != '\t')) | (unsigned)(c == 0x7f);
    }
    return found != 0;
}

/* After the escape sequence at `at`: a CSI ends with a letter, an OSC (a window's title) with BEL
 * or ESC \, others have one character. */
static size_t skip_escape(const char *line, size_t len, size_t at)
{
    at++;
    if (at >= len) {
        return at;
    }
    const char kind = line[at++];
    if (kind == '[') {
        while (at < len && (line[at] < '@' || line[at] > '~')) {
            at++;
        }
        return at < len ? at + 1 : at;
    }
    if (kind == ']') {
        while (at < len && line[at] != BEL && line[at] != ESC) {
            at++;
        }
        const bool has_backslash = at + 1 < len && line[at] == ESC && line[at + 1] == '\\';
        return at < len ? at + (has_backslash ? 2 : 1) : at;
    }
    return at;
}

static void clean_line(const char *line, size_t len, struct buf *out)
{
    buf_clear(out);
    for (size_t at = 0; at < len;) {
        const size_t start = at;
        while (at < len && ((unsigned char)line[at] >= ' ' || line[at] == '\t') &&
               line[at] != 0x7f) {
            at++;
        }
        buf_append(out, line + start, at - start);
        if (at < len) {
            at = line[at] == ESC ? skip_escape(line, len, at) : at + 1;
        }
    }
}

static void pass_on(struct log_lines *l, const char *line, size_t len)
{
    len = len < LOG_LINE_MAX ? len : LOG_LINE_MAX;
    if (has_control(line, len)) {
        clean_line(line, len, &l->clean);
        line = l->clean.data;
        len = l->clean.len;
    }
    if (len > 0) {
        l->on_line(l->ctx, l->number, line, len);
    }
}

static void keep(struct log_lines *l, const char *data, size_t len)
{
    const size_t room = LOG_LINE_MAX - l->partial.len;
    if (len > 0 && room > 0) {
        buf_append(&l->partial, data, len < room ? len : room);
    }
}

/* One piece without its end, which is \n, \r, or '\0' if the line goes on. \r\n ends one line. */
static void feed_piece(struct log_lines *l, const char *data, size_t len, char end)
{
    const bool is_crlf = end == '\n' && l->is_after_cr && len == 0 && l->partial.len == 0;
    l->number += end != '\0' && !is_crlf;
    l->is_after_cr = end == '\r' || (end == '\0' && len == 0 && l->is_after_cr);
    if (end == '\0') {
        keep(l, data, len);
    } else if (l->partial.len == 0) {
        pass_on(l, data, len);
    } else {
        keep(l, data, len);
        pass_on(l, l->partial.data, l->partial.len);
        buf_clear(&l->partial);
    }
}

void log_lines_feed(struct log_lines *l, const char *data, size_t len)
{
    while (len > 0) {
        const char *newline = memchr(data, '\n', len);
        const size_t line_len = newline == NULL ? len : (size_t)(newline - data);
        size_t at = 0;
        for (const char *cr; (cr = memchr(data + at, '\r', line_len - at)) != NULL;) {
            feed_piece(l, data + at, (size_t)(cr - data) - at, '\r');
            at = (size_t)(cr - data) + 1;
        }
        feed_piece(l, data + at, line_len - at, newline != NULL ? '\n' : '\0');
        const size_t taken = line_len + (newline != NULL ? 1 : 0);
        data += taken;
        len -= taken;
    }
}

void log_lines_end(struct log_lines *l)
{
    feed_piece(l, "", 0, '\n');
}

void log_lines_each(const char *text, size_t len, log_line_fn on_line, void *ctx)
{
    struct log_lines lines;
    log_lines_init(&lines, on_line, ctx);
    log_lines_feed(&lines, text, len);
    log_lines_end(&lines);
    log_lines_done(&lines);
}

/* The number that ends at `end`; -1: none. */
static int64_t number_before(const char *line, size_t end)
{
    int64_t v = 0, unit = 1;
    for (size_t at = end; at > 0 && end - at < 9 && ascii_is_digit(line[at - 1]); at--) {
        v += unit * (line[at - 1] - '0');
        unit *= 10;
    }
    return unit == 1 ? -1 : v;
}

/* The text between the brackets: "default3", "rank3", "Rank 3". */
static bool is_torch_name(const char *name, size_t len)
{
    static const char *const words[] = {"default", "rank"};
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        const size_t n = strlen(words[i]);
        if (len > n && str_eq_nocase_n(name, words[i], n)) {
            const size_t digits = n + (name[n] == ' ');
            return digits < len && strspn(name + digits, "0123456789") == len - digits;
        }
    }
    return false;
}

size_t log_prefix_len(const char *line, size_t len, int64_t *ret_rank)
{
    static const char *const marks[] = {"<stdout>:", "<stderr>:"};
    if (len == 0 || line[0] != '[') {
        return 0;
    }
    const char *bracket = memchr(line, ']', len < 80 ? len : 80);
    if (bracket == NULL) {
        return 0;
    }
    const size_t inner = (size_t)(bracket - line);
    const int64_t rank = number_before(line, inner);
    if (rank < 0) {
        return 0;
    }
    size_t end = 0;
    for (int i = 0; i < 2; i++) {
        const size_t n = strlen(marks[i]);
        if (len - inner - 1 >= n && memcmp(bracket + 1, marks[i], n) == 0) {
            end = inner + 1 + n;
        }
    }
    if (end == 0 && is_torch_name(line + 1, inner - 1) && inner + 1 < len) {
        const char next = line[inner + 1];
        end = next == ':' ? inner + 2 : next == ' ' ? inner + 1 : 0;
    }
    if (end == 0) {
        return 0;
    }
    *ret_rank = rank;
    return end < len && line[end] == ' ' ? end + 1 : end;
}

/* ---- labels ---- */

#define MAX_LABELS 4096
#define LABEL_DIGITS 4

int64_t log_label_rank(const char *line, size_t len)
{
    size_t at = 0, end = 0;
    while (at < len && line[at] == ' ') {
        at++;
    }
    end = at;
    while (end < len && end - at < LABEL_DIGITS && ascii_is_digit(line[end])) {
        end++;
    }
    const bool is_label = end + 1 < len && line[end] == ':' && line[end + 1] == ' ';
    return is_label ? number_before(line, end) : -1;
}

struct labels {
    bool is_seen[MAX_LABELS];
    uint64_t n_lines, n_labelled, n_changes, n_jumps, n_falls;
    int64_t n, last; /* different labels, and the label before this line; -1: none */
    int64_t most;
};

static void take_label(void *ctx, uint64_t number, const char *line, size_t len)
{
    struct labels *l = ctx;
    const int64_t label = log_label_rank(line, len);
    (void)number;
    l->n_lines++;
    if (label < 0 || label >= MAX_LABELS) {
        return;
    }
    l->n_labelled++;
    l->n += !l->is_seen[label];
    l->is_seen[label] = true;
    l->most = label > l->most ? label : l->most;
    l->n_changes += label != l->last;
    l->n_jumps += l->last >= 0 && label != l->last && label != l->last + 1 && label != 0;
    l->n_falls += label < l->last;
    l->last = label;
}

bool log_is_labelled(const char *text, size_t len, int64_t trainers)
{
    struct labels l = {.last = -1};
    log_lines_each(text, len, take_label, &l);
    const bool is_pair = l.n == 2 && trainers == 2 && l.n_falls > 1;
    const bool is_mixed = l.n > 2 && 8 * l.n_jumps >= l.n_changes;
    return l.most == l.n - 1 && 3 * l.n_labelled >= l.n_lines && (is_pair || is_mixed);
}

/* ---- when a line was printed ---- */

#define STAMP_HEAD 120 /* bytes of a line in which its time is looked for */

/* "06:42:45.123" at `at`; where it begins with the date before it. */
static size_t stamp_begin(const char *line, size_t at)
{
    if (at == 0 || strchr(" T", line[at - 1]) == NULL) {
        return at;
    }
    size_t begin = at - 1;
    while (begin > 0 &&
           (ascii_is_digit(line[begin - 1]) || strchr("-/", line[begin - 1]) != NULL)) {
        begin--;
    }
    return at - 1 - begin >= 4 ? begin : at;
}

static bool bar_stamp(const char *line, size_t len, struct log_stamp *ret)
{
    const char *mark = memchr(line, '<', len);
    size_t begin = mark == NULL ? 0 : (size_t)(mark - line);
    const size_t end = begin;
    while (begin > 0 && (ascii_is_digit(line[begin - 1]) || line[begin - 1] == ':')) {
        begin--;
    }
    double s;
    if (begin == 0 || line[begin - 1] != '[' || !log_clock(line + begin, end - begin, &s)) {
        return false;
    }
    *ret = (struct log_stamp){.ns = (int64_t)(s * 1e9), .has_date = true};
    return true;
}

bool log_line_stamp(const char *line, size_t len, struct log_stamp *ret)
{
    const size_t head = len < STAMP_HEAD ? len : STAMP_HEAD;
    for (size_t at = 0; at + 8 <= head; at++) {
        const bool is_clock = ascii_is_digit(line[at]) && ascii_is_digit(line[at + 1]) &&
                              line[at + 2] == ':' && ascii_is_digit(line[at + 3]) &&
                              ascii_is_digit(line[at + 4]) && line[at + 5] == ':' &&
                              ascii_is_digit(line[at + 6]) && ascii_is_digit(line[at + 7]);
        if (!is_clock) {
            continue;
        }
        size_t end = at + 8;
        if (end + 1 < len && strchr(".,", line[end]) != NULL && ascii_is_digit(line[end + 1])) {
            do {
                end++;
            } while (end < len && ascii_is_digit(line[end]));
        }
        const size_t begin = stamp_begin(line, at);
        return log_stamp_read(line + begin, end - begin, ret) ||
               log_stamp_read(line + at, end - at, ret);
    }
    return bar_stamp(line, len, ret);
}

/* ---- the last lines of a log ---- */

void log_quote_put(struct log_quote *q, uint64_t number, const char *line, size_t len)
{
    const size_t n = len < sizeof(q->text) - 1 ? len : sizeof(q->text) - 1;
    q->number = number;
    (void)memcpy(q->text, line, n);
    q->text[n] = '\0';
}

void log_miss_remember(struct log_miss *m, uint64_t number, const char *line, size_t len)
{
    log_quote_put(&m->last[m->n_remembered++ % LOG_LAST_LINES], number, line, len);
}

/* Foreign bytes as text of one line. */
static void put_quote(struct buf *out, const struct log_quote *q)
{
    buf_printf(out, "  %llu: ", (unsigned long long)q->number);
    buf_put_utf8(out, q->text, sizeof(q->text));
    buf_putc(out, '\n');
}

void log_miss_put_last(const struct log_miss *m, struct buf *out)
{
    const uint64_t all = m->n_remembered, n = all < LOG_LAST_LINES ? all : LOG_LAST_LINES;
    if (n > 1) {
        buf_printf(out, "the last %llu lines:\n", (unsigned long long)n);
    } else {
        buf_puts(out, n == 1 ? "the only line:\n" : "");
    }
    for (uint64_t i = all - n; i < all; i++) {
        put_quote(out, &m->last[i % LOG_LAST_LINES]);
    }
}

static void on_tail_line(void *ctx, uint64_t number, const char *line, size_t len)
{
    log_miss_remember(ctx, number, line, len);
}

void log_miss_put_tail(const char *text, size_t len, struct buf *out)
{
    struct log_miss miss = {0};
    log_lines_each(text, len, on_tail_line, &miss);
    log_miss_put_last(&miss, out);
}
