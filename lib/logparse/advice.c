/* See advice.h. */
#include "logparse/advice.h"

#include <errno.h>
#include <string.h>

#include "base/ascii.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "base/vec_walk.h"
#include "logparse/guess.h"
#include "logparse/line_use.h"
#include "logparse/lines.h"
#include "logparse/miss.h"
#include "logparse/number_role.h"
#include "logparse/suggest.h"

#define NUMBERED_LINES 3 /* fewer have no time between them that is worth a rule */
#define LABEL_MAX 24     /* bytes of text before a number that a pattern has */
#define BUFFERED                                                                                   \
    "a program that writes to a pipe may keep its output in a buffer: run it with "                \
    "PYTHONUNBUFFERED=1, python3 -u or stdbuf -oL, or let it flush each line"

/* The last bytes, from the beginning of a line. */
static const char *tail_of(const char *text, size_t *len)
{
    if (*len <= LOG_ADVICE_BYTES) {
        return text;
    }
    const char *begin = text + *len - LOG_ADVICE_BYTES;
    const char *newline = memchr(begin, '\n', LOG_ADVICE_BYTES);
    begin = newline == NULL ? begin : newline + 1;
    *len -= (size_t)(begin - text);
    return begin;
}

/* "40 lines, 123.4 samples/s" */
static void put_found(const struct log_guess *guess, struct buf *out)
{
    buf_printf(out, "%llu line%s, %.6g %s/s", (unsigned long long)guess->n_lines,
               guess->n_lines == 1 ? "" : "s", guess->rate, summary_unit_names[guess->unit]);
}

/* ---- lines without a known figure ---- */

struct likely {                     /* of all lines */
    uint64_t n, n_numbered, number; /* lines; lines that number a step; the likeliest one */
    bool is_named;                  /* words in that line say that its number is a speed */
    struct buf numbered, pattern;   /* the patterns of the last one and of the likeliest one */
    char value[32];                 /* the number in it */
};

/* A number with words before it may be the figure, and surely if they name a speed. */
static void take_number(struct likely *l, const char *line, size_t from, struct number_role *piece)
{
    const size_t label = piece->number - from < LABEL_MAX ? piece->number - from : LABEL_MAX;
    const char *text = line + piece->number - label;
    _cleanup_(freep) char *words = xstrndup(text, label);
    const bool is_named = str_find_nocase(words, "throughput") != NULL ||
                          str_find_nocase(words, "speed") != NULL || strstr(words, "/s") != NULL;
    if (is_named || (!l->is_named && array_any(text, label, c, ascii_is_letter(*c)))) {
        l->is_named = is_named;
        l->number = l->n;
        buf_clear(&l->pattern);
        const size_t blank = strspn(words, " \t");
        log_put_literal(&l->pattern, text + blank, label - blank);
        text_put(l->value, sizeof(l->value), "%.*s", (int)piece->number_len, line + piece->number);
    }
}

static void on_likely(void *ctx, const char *line, size_t len)
{
    struct likely *l = ctx;
    struct number_role piece, step;
    int64_t rank;
    const size_t prefix = log_prefix_len(line, len, &rank);
    size_t from = 0;
    l->n++;
    line += prefix;
    len -= prefix;
    if (log_is_preparation(line, len) || log_is_evaluation(line, len)) {
        return;
    }
    for (size_t at = 0; number_role_next_number(line, len, &at, &piece); from = at) {
        number_role_read(line, len, &piece);
        if (piece.group != LOG_STEP || piece.score == 0) {
            take_number(l, line, from, &piece);
        }
    }
    if (number_role_find_step(line, len, &step)) {
        l->n_numbered++;
        buf_clear(&l->numbered);
        buf_puts(&l->numbered, step.begin == step.number && step.number > 0 ? "(?<![\\w.,])" : "");
        log_put_literal(&l->numbered, line + step.begin, step.number - step.begin);
        buf_puts(&l->numbered, "(?<step>)");
        const size_t unit = step.number + step.number_len;
        log_put_literal(&l->numbered, line + unit, step.end - unit);
    }
}

/* What may be measured of an output whose lines state no rate that is known. */
static void put_likely(const char *text, size_t len, struct buf *out)
{
    struct likely l = {0};
    log_lines_each(text, len, on_likely, &l);
    if (l.n_numbered >= NUMBERED_LINES) {
        buf_puts(out,
                 "its lines number their steps, so the time between them is a figure; write in "
                 "the system:\n  log: {lines: [{kind: Step, from: TimeStamps, pattern: ");
        log_put_quoted(out, buf_cstr(&l.numbered));
        buf_puts(out, "}]}\n");
    } else if (l.number > 0) {
        buf_printf(out,
                   "no number has a known unit; if %s in line %llu is the samples a second, write "
                   "in the system:\n  log: {lines: [{kind: Step, pattern: ",
                   l.value, (unsigned long long)l.number);
        buf_puts(&l.pattern, "(?<rate>)");
        log_put_quoted(out, buf_cstr(&l.pattern));
        buf_puts(out, "}]}\n");
    } else if (l.n > 0) {
        buf_puts(out, "no line has a number that could be a figure; print one a step, for example "
                      "'step 7: 123.4 samples/s'\n");
    }
    buf_done(&l.numbered);
    buf_done(&l.pattern);
}

/* Does the rule, if there is one, read no line at all? */
static bool is_unread(const char *text, size_t len, const struct log_parser_params *who)
{
    struct log_guess guess = {0};
    (void)(who->rule != NULL && log_guess_try(who->rule, text, len, who, &guess));
    return guess.n_lines == 0 && log_guess_rule(text, len, who, &guess) == -ENOENT;
}

static void put_suggestion(const char *text, size_t len, const struct log_parser_params *who,
                           struct buf *out)
{
    _cleanup_(buf_done) struct buf rule = BUF_INIT;
    struct log_suggestion s;
    if (log_suggest_rule(text, len, who, &s, &rule) == 0) {
        buf_puts(out, "a rule for such lines could be (it reads ");
        put_found(&s.guess, out);
        buf_printf(out, " of this output); write in the system:\n  log: %s\n", buf_cstr(&rule));
        return;
    }
    if (s.doubt != NULL) {
        buf_printf(out, "line %llu of the output seems to have a rate, but %s\n",
                   (unsigned long long)s.number, s.doubt);
    }
    if (is_unread(text, len, who)) {
        put_likely(text, len, out);
    }
}

void log_advise(const char *text, size_t len, const struct log_parser_params *who, struct buf *out)
{
    text = tail_of(text, &len);
    if (len == 0) {
        buf_puts(out, BUFFERED "\n");
        return;
    }
    struct log_guess guess;
    const int r = log_guess_rule(text, len, who, &guess);
    const bool is_news =
        r != -ENOENT && (who->rule == NULL || !str_eq(guess.rule, who->rule->name));
    if (is_news && r == -EBADMSG) {
        buf_printf(out, "the shipped rule %s reads %llu lines of it, but: %s\n", guess.rule,
                   (unsigned long long)guess.n_lines, guess.why);
    } else if (is_news) {
        buf_printf(out, "the shipped rule %s reads ", guess.rule);
        put_found(&guess, out);
        buf_printf(out, " of this output; write in the system:\n  log: %s\n", guess.rule);
    }
    if (!is_news || guess.unit == UNIT_RUNS) {
        put_suggestion(text, len, who, out);
    }
}

void log_explain_unread(const char *text, size_t len, const struct log_parser_params *who,
                        struct buf *out)
{
    _cleanup_(buf_done) struct buf last = BUF_INIT;
    log_miss_put_tail(text, len, &last);
    const char *tail = tail_of(text, &len);
    struct log_guess guess;
    const int r = log_guess_rule(tail, len, who, &guess);
    const bool is_found = r != -ENOENT;
    if (last.len == 0) {
        buf_puts(out, "it printed nothing; " BUFFERED "\n");
    } else if (r == -EBADMSG) {
        buf_printf(out, "the shipped log rule %s reads %llu of its lines, but: %s\n", guess.rule,
                   (unsigned long long)guess.n_lines, guess.why);
    } else if (is_found) {
        buf_printf(out, "the shipped log rule %s reads ", guess.rule);
        put_found(&guess, out);
        buf_printf(out, ": write 'log: %s' in the system\n", guess.rule);
    } else {
        buf_puts(out, "no line of its output is a figure that is known\n");
    }
    buf_puts(out, buf_cstr(&last));
    if (!is_found || guess.unit == UNIT_RUNS) {
        put_suggestion(tail, len, who, out);
    }
}
