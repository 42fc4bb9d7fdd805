/* What to write in a definition so that an output without a figure has one. Pure. */
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "logparse/parser.h"

/* So many bytes of an output are looked at, the last ones. */
#define LOG_ADVICE_BYTES 65536

/* Several lines, each with its newline, that follow those of log_parser_explain: a shipped rule
 * that reads the output, or one made from one of its lines. Nothing if there is neither. `who`: as
 * for log_guess_rule; its rule (NULL: none) is the one that missed. */
void log_advise(const char *text, size_t len, const struct log_parser_params *who, struct buf *out);
/* The same for the output of a replica that should have written records: why it wrote none, in one
 * line, the output's last lines, and the advice. */
void log_explain_unread(const char *text, size_t len, const struct log_parser_params *who,
                        struct buf *out);
