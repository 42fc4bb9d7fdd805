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

#define MAX_PIECES 4
#define MAX_COLUMNS 64
#define FIELD "[-+.\\deE]+" /* matches a number in a table, but not the name in its first line */

struct candidate {
    unsigned score;    /* 0: the line is not a candidate */
    const char *doubt; /* why not, though it seems to be one; NULL if it does not */
    enum summary_unit unit;
    bool is_mean; /* its figure is a mean since the start */
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

/* The roles of a line that a rule reads. */
struct found {
    struct number_role best, step, loss;
};

static void put_found(struct found *f, const struct number_role *piece)
{
    struct number_role *slot = piece->group == LOG_STEP   ? &f->step
                               : piece->group == LOG_LOSS ? &f->loss
                                                          : &f->best;
    /* Of equal ones the first: others are means, often. But of "[1/3] [40/60]" the last. */
    const bool is_inner = piece->group == LOG_STEP && piece->score == 1;
    if (piece->score > slot->score || (is_inner && slot->score == 1)) {
        *slot = *piece;
    }
}

static bool is_time(enum log_group group)
{
    return group >= LOG_STEP_S && group <= LOG_STEP_US;
}

static struct candidate candidate_of(const struct found *f)
{
    struct candidate c = {.score = f->best.score, .unit = f->best.unit, .is_mean = f->best.is_mean};
    if (f->best.score == 0 || (f->best.needs_step && f->step.score == 0)) {
        c.score = 0; /* the time of anything */
        return c;
    }
    add_piece(&c, &f->best);
    add_piece(&c, &f->step);
    add_piece(&c, &f->loss);
    if (f->best.unit_end > 0) {
        const struct number_role unit = {.number = f->best.unit_end,
                                         .begin = f->best.unit_begin,
                                         .end = f->best.unit_end,
                                         .score = 1};
        add_piece(&c, &unit);
    }
    return c;
}

static struct candidate read_candidate(const char *line, size_t len)
{
    struct found f = {0};
    struct number_role of_gpu = {0}, piece;
    const char *doubt = NULL;
    for (size_t at = 0; number_role_next_number(line, len, &at, &piece);) {
        number_role_read(line, len, &piece);
        doubt = doubt == NULL ? piece.doubt : doubt;
        of_gpu = piece.is_of_gpu && of_gpu.number_len == 0 ? piece : of_gpu;
        put_found(&f, &piece);
    }
    if (of_gpu.number_len > 0 && f.best.score > 0 && is_time(f.best.group)) {
        of_gpu.score = f.best.score; /* it needs no batch size, as the time does */
        f.best = of_gpu;
    }
    struct candidate c = candidate_of(&f);
    c.doubt = doubt;
    return c;
}

/* ---- the rule ---- */

void log_put_literal(struct buf *out, const char *text, size_t len)
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

static bool is_word_char(char c)
{
    return ascii_is_alnum(c) || c == '_';
}

/* Skips what looks like the piece but is before it: in "Epoch 2/10 [40/60]" the second fraction is
 * the step's, and in "data time 0.1 time 0.4" the second time counts. */
static void put_earlier(struct buf *out, const char *line, size_t from, const struct number_role *p)
{
    const size_t unit = p->number + p->number_len;
    const bool has_label = p->begin < p->number;
    const char *text = line + (has_label ? p->begin : unit);
    const size_t len = has_label ? p->number - p->begin : p->end - unit;
    const bool is_fraction = !has_label && len > 0 && text[len - 1] == '/';
    unsigned n = 0;
    for (size_t i = from; len > 0 && i + len <= p->begin; i++) {
        const bool is_same = memcmp(line + i, text, len) == 0;
        const bool is_one = has_label     ? i == 0 || !is_word_char(line[i - 1])
                            : is_fraction ? i > from && ascii_is_digit(line[i + len])
                                          : true;
        n += is_same && is_one && (has_label || (i > 0 && ascii_is_digit(line[i - 1])));
        i += is_same && is_one && is_fraction;
    }
    if (n > 0) {
        buf_puts(out, has_label ? "(?:(?<!\\w)" : "(?:\\d");
        log_put_literal(out, text, len);
        buf_printf(out, "%s.*?){%u}", is_fraction ? "\\d" : "", n);
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
        log_put_literal(out, line + p->begin, p->number - p->begin);
        if (p->number_len > 0) {
            buf_printf(out, "(?<%s>)", log_group_names[p->group]);
        }
        const size_t unit = p->number + p->number_len;
        log_put_literal(out, line + unit, p->end - unit);
        buf_puts(out, p->end > unit && ascii_is_letter(line[p->end - 1]) ? "\\b" : "");
    }
}

/* A pattern by columns. pieces[i].number is the index of a column. */
static void put_columns(struct buf *out, const struct candidate *c, char mark, size_t n_columns)
{
    size_t at = 0;
    buf_putc(out, '^');
    for (size_t i = 0; i < c->n; i++) {
        const struct number_role *p = &c->pieces[i];
        if (p->number > at) {
            buf_printf(out, "(?:[^%c]*%c){%zu}", mark, mark, p->number - at);
        }
        at = p->number + 1;
        buf_printf(out, "(?<%s>" FIELD ")%c", log_group_names[p->group],
                   at < n_columns ? mark : '$');
    }
    if (at < n_columns) {
        buf_printf(out, "(?:[^%c]*%c){%zu}[^%c]*$", mark, mark, n_columns - at - 1, mark);
    }
}

void log_put_quoted(struct buf *out, const char *pattern)
{
    buf_putc(out, '\'');
    for (const char *p = pattern; *p != '\0'; p++) {
        buf_puts(out, *p == '\'' ? "'" : "");
        buf_putc(out, *p);
    }
    buf_putc(out, '\'');
}

/* Appends the rule as YAML in one line, in quotes that leave a backslash as it is. */
static void put_rule(struct buf *out, const char *pattern, const struct candidate *c)
{
    buf_puts(out, LOG_SUGGESTED);
    if (c->unit != UNIT_SAMPLES) {
        buf_printf(out, "unit: %s, ", summary_unit_names[c->unit]);
    }
    buf_puts(out, c->is_mean ? "aggregate: Last, " : "");
    buf_puts(out, "pattern: ");
    log_put_quoted(out, pattern);
    buf_puts(out, "}]}");
}

/* Reads the output by the rule. -ENOENT if that gives no figure. */
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

/* The first line of a table with a comma, a semicolon or a tab between names, at least one of which
 * says that it is a rate or the time of a step. */
static struct candidate read_header(const char *line, size_t len, char mark, size_t *ret_columns)
{
    struct found f = {0};
    size_t n = 0;
    for (size_t begin = 0; begin <= len; n++) {
        const char *next = memchr(line + begin, mark, len - begin);
        const size_t end = next == NULL ? len : (size_t)(next - line);
        const size_t quote = begin < end && line[begin] == '"' ? 1 : 0;
        if (n == MAX_COLUMNS || begin + quote >= end || !ascii_is_letter(line[begin + quote])) {
            return (struct candidate){0};
        }
        _cleanup_(freep) char *field = xasprintf("%.*s: 1", (int)(end - begin), line + begin);
        struct number_role role = {.number = strlen(field) - 1, .number_len = 1};
        number_role_read(field, strlen(field), &role);
        role.number = role.begin = n;
        role.end = n + 1;
        put_found(&f, &role);
        begin = end + 1;
    }
    *ret_columns = n;
    return n < 2 ? (struct candidate){0} : candidate_of(&f);
}

static void offer(struct best *best, const char *pattern, const struct candidate *c)
{
    if (c->score > 0 && c->score >= best->score) { /* of equal ones the last: it is of no warm-up */
        best->score = c->score;
        best->number = best->n_lines;
        buf_clear(&best->rule);
        put_rule(&best->rule, pattern, c);
    } else if (c->score == 0 && c->doubt != NULL) {
        best->doubt = c->doubt;
        best->doubtful = best->n_lines;
    }
}

static void on_line(void *ctx, const char *line, size_t len)
{
    struct best *best = ctx;
    int64_t rank = -1;
    const size_t prefix = log_prefix_len(line, len, &rank);
    _cleanup_(buf_done) struct buf pattern = BUF_INIT;
    best->n_lines++;
    if (log_is_preparation(line + prefix, len - prefix)) {
        return;
    }
    for (const char *mark = ",;\t"; *mark != '\0'; mark++) {
        size_t n;
        const struct candidate header = read_header(line + prefix, len - prefix, *mark, &n);
        if (header.score > 0) {
            put_columns(&pattern, &header, *mark, n);
            offer(best, buf_cstr(&pattern), &header);
            return;
        }
    }
    const struct candidate c = read_candidate(line + prefix, len - prefix);
    put_pattern(&pattern, line + prefix, &c);
    offer(best, buf_cstr(&pattern), &c);
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
