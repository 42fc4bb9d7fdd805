/* The log rule that two trials of a system show, for `benchctl try --write`. Pure. */
#pragma once

#include <jansson.h>

#include "ctl/try/try_common.h"

/* What a made rule says in addition to its pattern. */
struct try_ending {
    const char *scope; /* "Each" or "Job"; NULL: the default */
    bool is_summary;   /* it reads one line of the whole run, which has no warm-up */
    bool counts_steps; /* its figures are steps/s */
    int64_t skip;      /* lines of the warm-up; 0: none */
    bool is_rate;      /* of a scope that is unknown: the line states a rate, and not a time */
};

/* The rule as `log` of a system has it: the name of one that ships, or one made from a line. False:
 * no output has a figure. */
bool try_learn_rule(const struct try_seen *seen, struct buf *out);
/* The line of the shipped rule of `seen->def` that reads the outputs, as a rule in the definition,
 * which may have a scope. False: it is no plain line. */
bool try_open_rule(const struct try_seen *seen, struct buf *out);
/* Of what the figures of `several` are, where the rule that both were read by gives each to its
 * replica. It sets `scope` if that is wrong, with a line of `said` for the reason. Returns false if
 * the outputs do not show it; `said` then has both lines. */
bool try_learn_scope(const struct try_seen *one, const struct try_seen *several,
                     struct try_ending *ret, struct buf *said);
/* How many lines are of the warm-up, which a made rule can say, or whether its only line is a
 * summary. It appends a line to `said`. */
void try_learn_warmup(const struct try_trial *t, int64_t warmup_steps, bool is_made,
                      struct try_ending *ret, struct buf *said);
/* A made rule with its ending; a shipped rule has none. */
void try_put_rule(const char *rule, const struct try_ending *ending, struct buf *out);

json_t *try_json_of(const char *text, size_t len); /* of YAML; owned; NULL: it is not valid */
/* The text of a definition with this rule in a system, and nothing else changed. False: the place
 * is not plain, as in a system or an old rule of several lines or in brackets. */
bool try_put_log(const char *text, size_t len, const char *system, const char *rule,
                 struct buf *out, unsigned *ret_line);
