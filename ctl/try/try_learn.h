/* The log rule that two trials of a system show, for `benchctl try --write`. Pure. */
#pragma once

#include <jansson.h>

#include "ctl/try/try_common.h"

/* A rule that reads what a trial without a figure printed, as `log` of a system has it. Owned;
 * NULL: no such rule is known. */
json_t *try_learn_rule(const struct try_trial *t);
/* Does the rule read a rate, which may be of the whole job? */
bool try_reads_rate(const json_t *log);
/* From a trial with one trainer and one with several: may set the scope of the rule's lines. Says
 * why, in a line. False: which scope it is does not follow. */
bool try_learn_scope(const struct try_trial *one, const struct try_trial *several, json_t **log,
                     struct buf *said);
/* May set what the lines skip, from the trial that printed more. `warmup_steps`: of the definition.
 * Says what is left out, in a line. */
void try_learn_warmup(const struct try_trial *t, int64_t warmup_steps, json_t **log,
                      struct buf *said);

/* The text of a definition with another `log` in a system, which is all that changes in its
 * meaning. False: that could not be done, as in a definition with anchors. */
bool try_put_log(const char *text, size_t len, const char *system, json_t *log, struct buf *out,
                 unsigned *ret_line);
/* The rule as YAML in one line. */
void try_put_yaml(const json_t *value, struct buf *out);
