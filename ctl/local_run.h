/* `benchctl run` on this machine. */
#pragma once

#include "ctl/cli.h"

/* The whole verb, see local_run.c. */
enum exit_code local_run(const struct cli *cli);
