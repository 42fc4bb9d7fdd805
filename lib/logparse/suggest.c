/* See suggest.h.
 *
 * A line is a candidate if a number in it has a unit after it ("123.4 img/s", "45 ms/step"), or a
 * name before it ("throughput: 123.4", "step_time=0.25"). The number of the step and the loss are
 * taken along. The pattern is made of these pieces, with anything between them. */
#include "logparse/suggest.h"

#include <errno.h>
#include <string.h>

#include "base/ascii.h"
#include "base/mem.h"
#include "logparse/line_use.h"
#include "logparse/lines.h"
#include "logparse/number_role.h"

#define MAX_PIECES 3

struct candidate {
    unsigned score;    /* 0: the line is not a candidate */
    const char *doubt; /* then: why not, though it seems to be one; NULL: it does not */
    enum summary_unit unit;
    size_t n;
    struct number_role pieces[MAX_PIECES]; /* in the order of the line */
};

static void add_piece(struct candidate *c, const struct number_role *piece)
{
    size_t at = c->n;
    if (piece->score == 0) {
        return; /* the line has none */
    }
    for (size_t i = 0; i < c->n; i++) {
        if (piece->begin < c->pieces[i].end && c->pieces[i].begin < piece->end) {
            return; /* a text stands for one thing only */
        }
    }
    while (at > 0 && c->pieces[at - 1].begin > piece->begin) {
        c->pieces[at] = c->pieces[at - 1];
        at--;
    }
    c->pieces[at] = *piece;
    c->n++;
    c->score += c->n > 1 ? 1 : 0;
}

static struct candidate look_at(const char *line, size_t len)
{
    struct candidate c = {0};
    struct number_role best = {0}, step = {0}, loss = {0}, piece;
    for (size_t at = 0; number_role_next_number(line, len, &at, &piece);) {
        number_role_read(line, len, &piece);
        c.doubt = c.doubt == NULL ? piece.doubt : c.doubt;
        struct number_role *slot = piece.group == LOG_STEP   ? &step
                                   : piece.group == LOG_LOSS ? &loss
                                                             : &best;
        /* Of equal ones the first: others are means, often. But of "[1/3] [40/60]" the last. */
        const bool is_inner = piece.group == LOG_STEP && piece.score == 1;
        if (piece.score > slot->score || (is_inner && slot->score == 1)) {
            *slot = piece;
        }
    }
    if (best.score == 0) {
        return c;
    }
    c.score = best.score;
    c.unit = best.unit;
    add_piece(&c, &best);
    add_piece(&c, &step);
    add_piece(&c, &loss);
    if (best.needs_step && step.score == 0) {
        c.score = 0; /* the time of anything */
    }
    return c;
}

/* ---- the rule ---- */

static void put_literal(struct buf *out, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        const bool is_blank = text[i] == ' ' || text[i] == '\t';
        if (is_blank) {
            buf_puts(out, " +");
            while (i + 1 < len && (text[i + 1] == ' ' || text[i + 1] == '\t')) {
                i++;
            }
        } else {
            if (strchr("\\^$.[]|()?*+{}#", text[i]) != NULL) {
                buf_putc(out, '\\');
            }
            buf_putc(out, text[i]);
        }
    }
}

/* Of "Epoch 2/10 [40/60]" the second "/60]" is the step's: passes over those before it. */
static void put_earlier(struct buf *out, const char *line, size_t from, const struct number_role *p)
{
    unsigned n = 0;
    for (size_t i = from + 1; line[p->end - 1] == '/' && i + 1 < p->number; i++) {
        const bool is_one =
            line[i] == '/' && ascii_is_digit(line[i - 1]) && ascii_is_digit(line[i + 1]);
        n += is_one;
        i += is_one;
    }
    if (n > 0) {
        buf_printf(out, "(?:\\d/\\d.*?){%u}", n);
    }
}

static void put_pattern(struct buf *out, const char *line, const struct candidate *c)
{
    for (size_t i = 0; i < c->n; i++) {
        const struct number_role *p = &c->pieces[i];
        buf_puts(out, i == 0 ? "" : ".*?");
        put_earlier(out, line, i == 0 ? 0 : p[-1].end, p);
        if (p->begin == p->number && p->begin > 0) {
            buf_puts(out, "(?<![\\w.,])"); /* not the end of a longer one */
        } else if (p->begin < p->number && p->begin > 0) {
            buf_puts(out, "(?<!\\w)");
        }
        put_literal(out, line + p->begin, p->number - p->begin);
        buf_printf(out, "(?<%s>)", log_group_names[p->group]);
        const size_t unit = p->number + p->number_len;
        put_literal(out, line + unit, p->end - unit);
        buf_puts(out, p->end > unit && ascii_is_letter(line[p->end - 1]) ? "\\b" : "");
    }
}

/* As YAML in one line, in quotes that keep a backslash. */
static void put_rule(struct buf *out, const char *line, const struct candidate *c)
{
    _cleanup_(buf_done) struct buf pattern = BUF_INIT;
    put_pattern(&pattern, line, c);
    buf_puts(out, LOG_SUGGESTED);
    if (c->unit != UNIT_SAMPLES) {
        buf_printf(out, "unit: %s, ", summary_unit_names[c->unit]);
    }
    buf_puts(out, "pattern: '");
    for (const char *p = buf_cstr(&pattern); *p != '\0'; p++) {
        buf_puts(out, *p == '\'' ? "'" : "");
        buf_putc(out, *p);
    }
    buf_puts(out, "'}]}");
}

/* Does it read the output? */
static int try_text(const char *rule_text, const char *text, size_t len,
                    const struct log_parser_params *who, struct log_guess *ret)
{
    /* `lines` of a map in one line are those of a document: only the name is missing. */
    _cleanup_(freep) char *document = xasprintf("{name: suggested, %s", rule_text + 1);
    _cleanup_(diags_done) struct diags diags = {0};
    struct log_rule *rule = NULL;
    if (log_rule_load(document, strlen(document), &rule, &diags) < 0) {
        return -ENOENT; /* for instance it is too long */
    }
    const int r = log_guess_try(rule, text, len, who, ret);
    ret->rule = NULL;
    log_rule_free(rule);
    return r;
}

/* ---- all lines ---- */

struct best {
    uint64_t n_lines, number;
    unsigned score;
    const char *doubt; /* about the last doubtful line, which is `doubtful` */
    uint64_t doubtful;
    struct buf rule;
};

static void on_line(void *ctx, const char *line, size_t len)
{
    struct best *best = ctx;
    int64_t rank = -1;
    const size_t prefix = log_prefix_len(line, len, &rank);
    best->n_lines++;
    if (log_is_preparation(line + prefix, len - prefix)) {
        return;
    }
    const struct candidate c = look_at(line + prefix, len - prefix);
    if (c.score > 0 && c.score >= best->score) { /* of equal ones the last: it is of no warm-up */
        best->score = c.score;
        best->number = best->n_lines;
        buf_clear(&best->rule);
        put_rule(&best->rule, line + prefix, &c);
    } else if (c.score == 0 && c.doubt != NULL) {
        best->doubt = c.doubt;
        best->doubtful = best->n_lines;
    }
}

int log_suggest_rule(const char *text, size_t len, const struct log_parser_params *who,
                     struct log_suggestion *ret, struct buf *out)
{
    struct best best = {0};
    log_lines_each(text, len, on_line, &best);
    struct log_guess guess;
    int r = -ENOENT;
    *ret = (struct log_suggestion){.number = best.doubtful, .doubt = best.doubt};
    if (best.score > 0) {
        r = try_text(buf_cstr(&best.rule), text, len, who, &guess);
    }
    if (r == 0) {
        *ret = (struct log_suggestion){.number = best.number, .guess = guess};
        buf_puts(out, buf_cstr(&best.rule));
    }
    buf_done(&best.rule);
    return r;
}
