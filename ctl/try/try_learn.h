/* The log rule that two trials of a system show, for `benchctl try --write`. Pure. */
#pragma once

#include <jansson.h>

#include "ctl/try/try_common.h"

/* The rule as `log` of a system has it: the name of one that ships, or one made from a line. False:
 * no output has a figure. */
bool try_learn_rule(const struct try_trial *t, bool must_be_made, struct buf *out);
/* Of what the figures of `several` are, where the rule that both were read by does not say it:
 * "Each", "Job", and why, as a line of `said`. NULL: they need no scope, or it is not clear. */
const char *try_learn_scope(const struct try_trial *one, const struct try_trial *several,
                            bool reads_rate, struct buf *said);
/* How many lines are of the warm-up, which a made rule can say; 0: those that their numbers, or the
 * rule, name. Says it. */
int64_t try_learn_warmup(const struct try_trial *t, int64_t warmup_steps, bool is_made,
                         struct buf *said);
/* A made rule with these; others have none. */
void try_put_rule(const char *rule, const char *scope, int64_t skip, struct buf *out);

json_t *try_json_of(const char *text, size_t len); /* of YAML; owned; NULL: it is not valid */
/* The text of a definition with this rule in a system, and nothing else changed. False: the place
 * is not plain, as in a system or an old rule of several lines or in brackets. */
bool try_put_log(const char *text, size_t len, const char *system, const char *rule,
                 struct buf *out, unsigned *ret_line);
