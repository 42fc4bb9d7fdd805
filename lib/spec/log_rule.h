/* spec.systems[].log: the log rule of a system, and what its parser must
 * know of a replica. Pure. */
#pragma once

#include <stdbool.h>

#include "core/replica.h"
#include "doc/reader.h"
#include "logparse/parser.h"
#include "spec/run_def.h"

/* The field `log` of a system: the name of a rule that ships, or a rule. NULL: absent, or wrong,
 * which was reported. Owned. */
struct log_rule *log_rule_of_system(struct diags *diags, const struct place *system);

/* Is it a rule without a name, written in the definition itself? Then its summaries say "inline".
 * NULL is no rule. */
bool log_rule_is_unnamed(const struct log_rule *rule);

/* Do its lines of kind Step say neither their number nor what to skip? Then measure.warmupSteps has
 * no effect on them. NULL is no rule. */
bool log_rule_counts_warmup(const struct log_rule *rule);

/* What a parser of this replica's log is made with; rule NULL: the replica writes records. The rule
 * is borrowed from `def`. */
struct log_parser_params log_rule_params(const struct run_def *def, const struct replica_id *id);
