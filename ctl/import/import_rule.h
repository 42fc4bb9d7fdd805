/* The log rule of an import: the one of --rules, else the shipped one that reads the first log. */
#pragma once

#include <stdint.h>

#include <jansson.h>

#include "ctl/cli/cli.h"
#include "ctl/import/import_args.h"
#include "logparse/rule.h"

struct import_rule { /* owned */
    struct log_rule *rule;
    json_t *json; /* the same as a definition has it: a name, or a map */
};
/* `batch_size`: of --batch; 0: none. Prints the error. */
enum exit_code import_rule_take(const struct cli *cli, const struct import_trials *trials,
                                int64_t batch_size, struct import_rule *ret);
void import_rule_done(struct import_rule *rule);
