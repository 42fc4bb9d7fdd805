/* Variables of the user's shell that programs commonly need and that local replicas do not get,
 * because a run must not depend on the user who started it (docs/run.md). */
#pragma once

#include "ctl/cli/cli.h"
#include "spec/spec.h"

/* Prints a note that names them, with the lines that pass them on. A variable that the definition
 * sets is not named. benchworker needs none of them. */
void shell_vars_note(const struct cli *cli, const struct spec *spec);
