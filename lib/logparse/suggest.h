/* A rule made from the line of an output that looks most like a throughput or a step time: a number
 * with a label or a unit, or a table with such a column. The rule was tried on the output. Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "logparse/guess.h"

struct log_suggestion {
    uint64_t number;        /* the line's, from 1 */
    struct log_guess guess; /* what the rule makes of the output; its `rule` is NULL */
    const char *doubt; /* with -ENOENT: why line `number` has no rule; NULL if no line seems to */
};
/* Each suggested rule begins with this. */
#define LOG_SUGGESTED "{lines: [{kind: Step, "
/* Appends a text as a pattern that matches it, with any number of blanks for some. */
void log_put_literal(struct buf *out, const char *text, size_t len);
/* Appends a pattern as YAML in single quotes has it. */
void log_put_quoted(struct buf *out, const char *pattern);
/* Appends the rule as `log` of a system has it: "{lines: [{kind: Step, pattern: '...'}]}".
 * Returns -ENOENT and appends nothing if no line is surely a figure. */
int log_suggest_rule(const char *text, size_t len, const struct log_parser_params *who,
                     struct log_suggestion *ret, struct buf *out);
