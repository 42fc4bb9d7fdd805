/* The log rule of an import: the one that the user names, the shipped one that reads the first log,
 * or one made of a line of it. Edge: reads and writes files. */
#pragma once

#include <stdint.h>

#include <jansson.h>

#include "ctl/cli/cli.h"
#include "ctl/import/import_args.h"
#include "logparse/rule.h"

struct import_rule {
    json_t *json;          /* as a definition has it; owned */
    struct log_rule *rule; /* the same; owned */
};
void import_rule_done(struct import_rule *r);

/* Prints the error of a file of which the reading failed with `r`. */
enum exit_code import_explain_file(int r, const char *path, const char *fix, const struct err *err);

/* `batch_size` is 0 where it is unknown, or where the points have their own. Prints the error. */
enum exit_code import_rule_take(const struct cli *cli, const struct import_trials *trials,
                                int64_t batch_size, struct import_rule *ret);
/* Writes the rule that the first log suggests into a new file, for --rules. Prints the error. */
enum exit_code import_rule_write(const struct cli *cli, const struct import_trials *trials,
                                 int64_t batch_size, const char *path);
