/* Which rule that ships reads an output for which the definition has none, or
 * one that misses. Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "logparse/parser.h"

#define LOG_GUESS_MERITS 7
struct log_guess {
    const char *rule; /* its name; static */
    uint64_t n_lines; /* of the output, of which each has a figure */
    double rate;      /* units/s of this replica, nothing left out as warm-up */
    enum summary_unit unit;
    bool is_time; /* the figure is how long a whole run took */
    enum log_witness witness;
    char why[256]; /* what speaks against the figure, if it is withheld; else "" */
    double merits[LOG_GUESS_MERITS]; /* the first that differs decides between two rules */
};
/* The rule that reads most lines; of several, the one whose patterns say most of these lines. One
 * whose figure its pace confirms comes first, and one whose figure it contradicts comes last.
 * -EBADMSG: its figure is withheld; -ENOENT: none finds a throughput. `who`: of the replica; its
 * rule and on_figure are not read. */
int log_guess_rule(const char *text, size_t len, const struct log_parser_params *who,
                   struct log_guess *ret);

/* The same for one rule, which may be anybody's. `ret->rule` is borrowed from it. */
int log_guess_try(const struct log_rule *rule, const char *text, size_t len,
                  const struct log_parser_params *who, struct log_guess *ret);
