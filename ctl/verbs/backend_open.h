/* Where the runs are that a command line means. */
#pragma once

#include "ctl/runs/backend.h"

/* --local and --store choose the store, otherwise it is the cluster. EXIT_OK, or prints the
 * error. */
enum exit_code backend_open(const struct cli *cli, struct backend **ret);
