/* A rule and a log out of any bytes: the first line of the input is a pattern or the name of a rule
 * that ships, the rest is the log. Nothing is read beyond the bytes; the same log in other pieces
 * gives the same result; what a pattern must contain stands in every line that it matches; and a
 * result can be written as a summary that is read again. */
#include "fuzz.h"

#include <math.h>

#include "core/summary.h"
#include "logparse/parser.h"
#include "logparse/shipped_rules.h"
#include "logparse/suggest.h"

struct seen {
    size_t n;
    double sum; /* of what the figures say */
};

static void on_figure(void *ctx, const struct log_figure *f)
{
    struct seen *seen = ctx;
    must(f->rank >= -1 && f->rank < LOG_MAX_RANKS, "a rank out of range");
    must(isnan(f->rate) || f->rate > 0, "a rate that is not above 0");
    seen->n++;
    seen->sum += (isnan(f->rate) ? 0 : 1) + (double)f->line;
}

static struct log_parser *parse(const struct log_rule *rule, const char *log, size_t len,
                                size_t piece, struct seen *seen)
{
    *seen = (struct seen){0};
    struct log_parser *p = log_parser_new(&(struct log_parser_params){
        .rule = rule,
        .role = ROLE_TRAINER,
        .batch_size = 32,
        .warmup_steps = 2,
        .trainers = 3,
        .on_figure = on_figure,
        .ctx = seen,
    });
    for (size_t at = 0; at < len; at += piece) {
        const size_t n = len - at < piece ? len - at : piece;
        _cleanup_(freep) char *copy = xmalloc(n);
        memcpy(copy, log + at, n);
        log_parser_feed(p, LOG_STDOUT, copy, n, 0);
    }
    log_parser_end(p, 0);
    return p;
}

static void check_summary(const struct log_result *r)
{
    struct record again;
    const struct replica_id id = {.role = ROLE_TRAINER};
    _cleanup_(freep) char *line = summary_write(&r->summary, &id);
    must(record_read(line, strlen(line), &again, NULL) > 0, "a summary is refused");
    record_done(&again);
}

static struct log_rule *rule_of(const char *first)
{
    struct log_rule *rule = log_shipped_load(first);
    if (rule != NULL) {
        return rule;
    }
    struct log_pattern *pattern;
    size_t offset = 0;
    struct err err = {0};
    const int r = log_pattern_new(first, &pattern, &offset, &err);
    must(r == 0 || r == -EINVAL, "another return value");
    must(offset <= strlen(first), "a place outside the pattern");
    if (r < 0) {
        must(err.msg[0] != '\0', "an error without words");
        return NULL;
    }
    rule = xnew(struct log_rule);
    rule->name = xstrdup("fuzz");
    struct log_line_rule *line = vec_push(&rule->lines);
    *line =
        (struct log_line_rule){.kind = LOG_KIND_STEP, .text = xstrdup(first), .pattern = pattern};
    line->roles[ROLE_TRAINER] = true;
    line->source = log_pattern_has(pattern, LOG_RATE) ? LOG_FROM_NUMBERS : LOG_FROM_STAMPS;
    return rule;
}

/* A rule that is suggested is a rule, and reads the output. */
static void check_suggestion(const char *log, size_t len)
{
    const struct log_parser_params who = {.role = ROLE_TRAINER, .batch_size = 1};
    struct log_suggestion s;
    _cleanup_(buf_done) struct buf rule = BUF_INIT;
    _cleanup_(freep) char *copy = xmalloc(len == 0 ? 1 : len); /* a read behind it is found */
    memcpy(copy, log, len);
    if (log_suggest_rule(copy, len, &who, &s, &rule) == 0) {
        must(s.guess.n_lines > 0 && s.guess.rate > 0 && rule.len > 0,
             "a suggestion that reads nothing");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    const char *newline = size == 0 ? NULL : memchr(text, '\n', size);
    const size_t head = newline == NULL ? size : (size_t)(newline - text);
    _cleanup_(freep) char *first = xstrndup(text, head); /* up to a NUL */
    struct log_rule *rule = rule_of(first);
    if (rule == NULL) {
        return 0;
    }
    const char *log = newline == NULL ? "" : newline + 1;
    const size_t len = newline == NULL ? 0 : size - head - 1;
    struct seen whole, torn;
    struct log_parser *a = parse(rule, log, len, len + 1, &whole);
    struct log_parser *b = parse(rule, log, len, 3, &torn);
    struct log_result ra, rb;
    const int r = log_parser_result(a, &ra);
    must(r == log_parser_result(b, &rb), "pieces change whether there is a result");
    must(whole.n == torn.n && whole.sum == torn.sum, "pieces change the figures");
    if (r == 0) {
        must(ra.rate > 0 && isfinite(ra.rate), "a result that is not above 0");
        must(ra.rate == rb.rate && ra.n_lines == rb.n_lines, "pieces change the result");
        check_summary(&ra);
        summary_done(&ra.summary);
        summary_done(&rb.summary);
    }
    struct buf why = BUF_INIT;
    log_parser_explain(a, &why);
    must(why.len > 0 && why.len < 16384, "a reason of no sensible length");
    buf_done(&why);
    check_suggestion(log, len);
    log_parser_free(a);
    log_parser_free(b);
    log_rule_free(rule);
    return 0;
}
