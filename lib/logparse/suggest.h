/* What to make of an output for which no rule is known: its lines are read once, lines that differ
 * in their numbers only are one group, and a group with a number that words name as a figure gives
 * a rule. The rule is tried on the output, and the pace of the lines decides. Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "logparse/guess.h"
#include "logparse/lines.h"

struct log_suggestion {
    uint64_t number;        /* the line's, from 1 */
    struct log_guess guess; /* what the rule makes of the output; its `rule` is NULL */
    char doubt[256]; /* with -ENOENT: why line `number` has no rule; "" if no line seems to */
};
/* Each suggested rule begins with this. */
#define LOG_SUGGESTED "{lines: [{kind: Step, "
/* Appends a pattern as YAML in single quotes has it. */
void log_put_quoted(struct buf *out, const char *pattern);
/* Appends the rule as `log` of a system has it: "{lines: [{kind: Step, pattern: '...'}]}".
 * Returns -ENOENT and appends nothing if no line is surely a figure. */
int log_suggest_rule(const char *text, size_t len, const struct log_parser_params *who,
                     struct log_suggestion *ret, struct buf *out);
/* The first line of the largest group, or the one with most numbers if all lines differ. Its number
 * is 0 if no line has a number. */
struct log_quote log_commonest_line(const char *text, size_t len);

/* Advice is given of the last bytes of an output. */
#define LOG_ADVICE_BYTES 65536
/* Appends several lines, each with its newline, that follow those of log_parser_explain: a shipped
 * rule that reads the output, or one made from one of its lines. `who` is as for log_guess_rule;
 * its rule is the one that missed, or NULL. */
void log_advise(const char *text, size_t len, const struct log_parser_params *who, struct buf *out);
/* The same for the output of a replica that should have written records: why it wrote none, in one
 * line, the output's last lines, and the advice. */
void log_explain_unread(const char *text, size_t len, const struct log_parser_params *who,
                        struct buf *out);
