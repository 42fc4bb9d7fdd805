/* `benchctl import --rules NAME LOG...`: old logs become a run in the store,
 * all of them or none. */
#pragma once

#include "ctl/cli/cli.h"

/* The whole verb but for archives. */
enum exit_code import_logs(const struct cli *cli);
