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
