/* `benchctl run` on this machine. */
#pragma once

#include "ctl/runs/backend.h"
#include "spec/run_def.h"
#include "store/store.h"

/* The whole verb, see local_run.c. *ret_name as in backend.h. */
enum exit_code local_run(struct backend *b, char **ret_name);
/* Stores a run of the definition under a new name (owned). EXIT_OK, or prints the error. */
enum exit_code local_run_put(struct store *s, const struct run_def *def, char **ret_name);
