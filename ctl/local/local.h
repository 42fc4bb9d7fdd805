/* The runs of a store on this machine: local.c is the backend, its longer operations are
 * local_run.c and local_try.c. */
#pragma once

#include "ctl/runs/backend.h"
#include "spec/run_def.h"

/* The store is opened on first use, since `run` creates it. Always EXIT_OK. */
enum exit_code local_backend_open(const struct cli *cli, struct backend **ret);

/* `benchctl run`: the whole verb. *ret_name as in backend.h. */
enum exit_code local_run(struct backend *b, char **ret_name);
/* Stores a run of the definition under a new name (owned). EXIT_OK, or prints the error. */
enum exit_code local_run_put(struct store *s, const struct run_def *def, char **ret_name);

enum try_use { TRY_SHOW, TRY_WRITE, TRY_FOR_RUN /* writes into a file that a run will use */ };
/* `benchctl try`: the whole verb. *ret_ns: how long its trials took, unless it was interrupted; one
 * that was ended early counts as the time-out. */
enum exit_code local_try(const struct cli *cli, enum try_use use, int64_t *ret_ns);
