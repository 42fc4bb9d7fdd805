/* benchctl delete --older-than: finished runs of a store on this machine, by the rules of
 * lib/decide/policy_retention.h. */
#pragma once

#include <stdbool.h>

#include "ctl/cli/cli.h"
#include "decide/policy_retention.h"

/* Prints each run that it has deleted, or would delete. Runs that a process works
 * with stay, with a note. */
enum exit_code local_delete_old(const struct cli *cli, const struct retention_policy *policy,
                                bool is_dry_run);
