/* How a process of a gang begins and ends. Used by role_trainer.c and role_pserver.c. */
#pragma once

#include "core/role.h"
#include "worker/report.h"
#include "worker/role_env.h"

/* A role_verb.run: reads the settings of the role, or prints help, and calls `run` with them and a
 * new report. Returns the exit code, which is that of `run` if it was called. */
int role_run(enum role role, int argc, char *const *argv,
             int (*run)(const struct role_env *e, struct report *r));
