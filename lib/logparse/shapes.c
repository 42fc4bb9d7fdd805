/* See shapes.h. */
#include "logparse/shapes.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "logparse/lines.h"
#include "logparse/line_words.h"

#define MAX_SHAPES 2048

size_t shape_number_len(const char *line, size_t len)
{
    size_t n = 1;
    while (n < len && (ascii_is_digit(line[n]) || (strchr(".,:'_", line[n]) != NULL &&
                                                   n + 1 < len && ascii_is_digit(line[n + 1])))) {
        n++;
    }
    return n;
}

static unsigned read_shape(const char *line, size_t len, struct buf *out)
{
    unsigned n = 0;
    buf_clear(out);
    for (size_t i = 0; i < len; i++) {
        if (ascii_is_digit(line[i])) {
            i += shape_number_len(line + i, len - i) - 1;
            buf_putc(out, '#');
            n++;
        } else if (ascii_is_letter(line[i])) {
            buf_putc(out, line[i]);
        }
    }
    return n;
}

/* The number of a line that has `before` numbers before it; NAN if the line has fewer. */
static double nth_number(const char *line, size_t len, size_t before)
{
    double value = NAN;
    for (size_t i = 0; i < len; i++) {
        const size_t size = ascii_is_digit(line[i]) ? shape_number_len(line + i, len - i) : 1;
        if (ascii_is_digit(line[i]) && before-- == 0) {
            return log_number(line + i, size, &value) ? value : NAN;
        }
        i += size - 1;
    }
    return value;
}

double shape_rise(const struct shape *g, size_t at, bool *ret_is_steady)
{
    const char *line = g->line + g->prefix;
    *ret_is_steady = false;
    if (g->n < 2) {
        return NAN;
    }
    _cleanup_(buf_done) struct buf text = BUF_INIT;
    const size_t before = read_shape(line, at, &text);
    const double first = nth_number(line, g->len - g->prefix, before);
    const double rise = nth_number(g->second, strlen(g->second), before) - first;
    const double last = nth_number(g->last.data, g->last.len, before);
    *ret_is_steady = rise >= 1 && floor(rise) == rise && floor(first) == first &&
                     last - first == rise * (double)(g->n - 1);
    return rise;
}

static void shape_done(struct shape *g)
{
    free(g->line);
    free(g->second);
    buf_done(&g->last);
}

static void on_line(void *ctx, uint64_t number, const char *line, size_t len)
{
    struct shapes *s = ctx;
    int64_t rank;
    const size_t prefix = log_prefix_len(line, len, &rank);
    const bool is_preparation = log_is_preparation(s->m, line + prefix, len - prefix);
    const unsigned n_numbers = read_shape(line + prefix, len - prefix, &s->text);
    const uint64_t hash = is_preparation ? 0 : str_hash(buf_cstr(&s->text), s->text.len);
    struct shape *g = vec_find(&s->list, it, it->hash == hash);
    if (g != NULL) {
        g->n++;
        g->last_number = number;
        g->second = g->second != NULL ? g->second : xstrndup(line + prefix, len - prefix);
        buf_clear(&g->last);
        buf_append(&g->last, line + prefix, len - prefix);
        return;
    }
    if (s->list.len == MAX_SHAPES) { /* it has no end: the later lines count */
        vec_done_each(&s->list, shape_done);
    }
    *vec_push(&s->list) = (struct shape){
        hash, 1,      number, 0,       n_numbers, is_preparation, xstrndup(line, len),
        len,  prefix, NULL,   BUF_INIT};
}

void shapes_read(struct shapes *s, struct log_matcher *m, const char *text, size_t len)
{
    *s = (struct shapes){.m = m};
    log_lines_each(text, len, on_line, s);
}

void shapes_done(struct shapes *s)
{
    vec_done_each(&s->list, shape_done);
    buf_done(&s->text);
}
