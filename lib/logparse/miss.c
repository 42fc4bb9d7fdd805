/* See miss.h. */
#include "logparse/miss.h"

#include <string.h>

#include "base/ascii.h"
#include "base/mem.h"
#include "base/vec_walk.h"
#include "logparse/lines.h"

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

/* How many bytes of the fixed texts are in the line, one after the other. */
static size_t found_bytes(const struct log_pattern *p, const char *line, size_t len,
                          const char **ret_missing)
{
    size_t n, bytes = 0;
    const char *const *literals = log_pattern_literals(p, &n);
    const char *at = line;
    *ret_missing = NULL;
    for (size_t i = 0; i < n; i++) {
        const size_t size = strlen(literals[i]);
        const char *found = memmem(at, len - (size_t)(at - line), literals[i], size);
        if (found == NULL) {
            *ret_missing = literals[i];
            return bytes;
        }
        bytes += strspn(literals[i], " ") == size ? 0 : size; /* every line has blanks */
        at = found + size;
    }
    return bytes;
}

void log_miss_compare(struct log_miss *m, const struct log_rule *rule, enum role role,
                      uint64_t number, const char *line, size_t len)
{
    for (size_t i = 0; i < rule->lines.len; i++) {
        const struct log_line_rule *l = &rule->lines.items[i];
        const char *missing;
        const size_t bytes = l->roles[role] ? found_bytes(l->pattern, line, len, &missing) : 0;
        if (bytes > m->near_bytes) {
            m->near_bytes = bytes;
            m->near_line = i;
            m->missing = missing;
            log_quote_put(&m->near, number, line, len);
        }
    }
}

/* Foreign bytes as text of one line. */
static void put_quote(struct buf *out, const struct log_quote *q)
{
    buf_printf(out, "  %llu: ", (unsigned long long)q->number);
    buf_put_utf8(out, q->text, sizeof(q->text));
    buf_putc(out, '\n');
}

static void put_near(const struct log_miss *m, const struct log_rule *rule, struct buf *out)
{
    const struct log_line_rule *line = &rule->lines.items[m->near_line];
    buf_printf(out, "nearest miss: line %llu, for lines[%zu] (%s) of the rule; it ",
               (unsigned long long)m->near.number, m->near_line, log_kind_names[line->kind]);
    if (m->missing == NULL) {
        buf_puts(out, "matches the pattern's literals but not its groups:\n");
    } else {
        buf_printf(out, "lacks '%s':\n", m->missing);
    }
    put_quote(out, &m->near);
    buf_printf(out, "  pattern: %s\n", line->text);
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

void log_miss_format(const struct log_miss *m, const struct log_rule *rule, struct buf *out)
{
    log_miss_put_last(m, out);
    if (m->near.number > 0) {
        put_near(m, rule, out);
    }
}
