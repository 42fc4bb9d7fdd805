/* `benchctl try` on this machine. */
#pragma once

#include "ctl/cli/cli.h"

/* The whole verb, see local_try.c. */
enum exit_code local_try(const struct cli *cli);
