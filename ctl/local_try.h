/* `benchctl try` on this machine. */
#pragma once

#include "ctl/cli.h"

#define TRY_STEPS 3
#define TRY_TIMEOUT "5m"

/* The whole verb, see local_try.c. */
enum exit_code local_try(const struct cli *cli);
