/* benchctl delete --older-than: finished runs of a store on this machine, by the rules of
 * lib/decide/policy_keep.h. */
#pragma once

#include <stdbool.h>

#include "ctl/cli/cli.h"
#include "decide/policy_keep.h"

/* Prints each run that it has deleted, or would delete. Runs that a process works
 * with stay, with a note. */
enum exit_code local_delete_old(const struct cli *cli, const struct keep_policy *policy,
                                bool is_dry_run);
