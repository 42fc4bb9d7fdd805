/* See miss.h. */
#include "logparse/miss.h"

#include <string.h>

#include "base/ascii.h"
#include "base/mem.h"
#include "base/vec_walk.h"
#include "logparse/line_use.h"
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

struct tail {
    struct log_lines lines;
    struct log_miss miss;
};

static void on_tail_line(void *ctx, const char *line, size_t len)
{
    struct tail *tail = ctx;
    log_miss_remember(&tail->miss, tail->lines.number, line, len);
}

void log_miss_put_tail(const char *text, size_t len, struct buf *out)
{
    struct tail tail = {0};
    log_lines_init(&tail.lines, on_tail_line, &tail);
    log_lines_feed(&tail.lines, text, len);
    log_lines_end(&tail.lines);
    log_lines_done(&tail.lines);
    log_miss_put_last(&tail.miss, out);
}

/* ---- the commonest line ---- */

#define SHAPES_MAX 256
#define SHAPE_SIZE 64

struct shape {
    char text[SHAPE_SIZE]; /* of a line, with # for each number; cut if it is longer */
    unsigned n_numbers;
    uint64_t n; /* lines */
    struct log_quote first;
};

struct shapes {
    struct log_lines lines;
    size_t n;
    struct shape list[SHAPES_MAX]; /* of the first lines that differ */
};

static struct shape shape_of(const char *line, size_t len)
{
    struct shape s = {.n = 1};
    size_t n = 0;
    bool was_digit = false;
    for (size_t i = 0; i < len; i++) {
        const bool is_digit =
            ascii_is_digit(line[i]) || (was_digit && (line[i] == '.' || line[i] == ','));
        const bool is_new = is_digit ? !was_digit : ascii_is_letter(line[i]);
        s.n_numbers += is_digit && !was_digit;
        if (is_new && n + 1 < SHAPE_SIZE) {
            s.text[n++] = is_digit ? '#' : line[i];
        }
        was_digit = is_digit;
    }
    return !log_is_preparation(line, len)
               ? s
               : (struct shape){.text = "a bar of preparation", .n = 1, .n_numbers = s.n_numbers};
}

static void on_shape_line(void *ctx, const char *line, size_t len)
{
    struct shapes *all = ctx;
    const struct shape s = shape_of(line, len);
    struct shape *known = s.n_numbers == 0 ? NULL
                                           : array_find(all->list, all->n, it,
                                                        memcmp(it->text, s.text, SHAPE_SIZE) == 0);
    if (known != NULL) {
        known->n++;
    } else if (s.n_numbers > 0 && all->n < SHAPES_MAX) {
        all->list[all->n] = s;
        log_quote_put(&all->list[all->n++].first, all->lines.number, line, len);
    }
}

struct log_quote log_miss_commonest(const char *text, size_t len)
{
    _cleanup_(freep) struct shapes *all = xnew(struct shapes);
    log_lines_init(&all->lines, on_shape_line, all);
    log_lines_feed(&all->lines, text, len);
    log_lines_end(&all->lines);
    log_lines_done(&all->lines);
    const struct shape *best = all->list;
    for (const struct shape *s = all->list; s < all->list + all->n; s++) {
        const bool has_more = s->n == 1 && best->n == 1 && s->n_numbers > best->n_numbers;
        best = s->n > best->n || has_more ? s : best;
    }
    return best->first;
}

void log_miss_format(const struct log_miss *m, const struct log_rule *rule, struct buf *out)
{
    log_miss_put_last(m, out);
    if (m->near.number > 0) {
        put_near(m, rule, out);
    }
}
