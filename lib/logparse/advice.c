/* See advice.h. */
#include "logparse/advice.h"

#include <errno.h>
#include <string.h>

#include "base/str.h"
#include "logparse/guess.h"
#include "logparse/miss.h"
#include "logparse/suggest.h"

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

static void put_suggestion(const char *text, size_t len, const struct log_parser_params *who,
                           struct buf *out)
{
    _cleanup_(buf_done) struct buf rule = BUF_INIT;
    struct log_suggestion s;
    if (log_suggest_rule(text, len, who, &s, &rule) == 0) {
        buf_puts(out, "a rule for such lines could be (it reads ");
        put_found(&s.guess, out);
        buf_printf(out, " of this output); write in the system:\n  log: %s\n", buf_cstr(&rule));
    } else if (s.doubt != NULL) {
        buf_printf(
            out,
            "line %llu of the output seems to have a rate, but %s; a rule of your own says it\n",
            (unsigned long long)s.number, s.doubt);
    }
}

void log_advise(const char *text, size_t len, const struct log_parser_params *who, struct buf *out)
{
    text = tail_of(text, &len);
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
        buf_puts(out, "it printed nothing\n");
    } else if (r == -EBADMSG) {
        buf_printf(out, "it printed no record; the shipped log rule %s reads %llu lines, but: %s\n",
                   guess.rule, (unsigned long long)guess.n_lines, guess.why);
    } else if (is_found) {
        buf_printf(out, "it printed no record, but the shipped log rule %s reads ", guess.rule);
        put_found(&guess, out);
        buf_printf(out, ": write 'log: %s' in the system\n", guess.rule);
    } else {
        buf_puts(out, "it printed no record, and the system has no log rule\n");
    }
    buf_puts(out, buf_cstr(&last));
    if (!is_found || guess.unit == UNIT_RUNS) {
        put_suggestion(tail, len, who, out);
    }
}
