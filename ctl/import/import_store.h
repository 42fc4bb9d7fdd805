/* Puts a run of old logs into the store, whole or not at all. */
#pragma once

#include "ctl/cli/cli.h"
#include "ctl/import/import_log.h"
#include "spec/run_def.h"
#include "store/store.h"

struct import_row { /* an attempt with its logs and a note of each file */
    struct attempt_row row;
    VEC(struct replica_log) logs; /* borrowed */
    VEC(char *) notes;            /* owned */
};
struct import_rows {
    VEC(struct import_row) list;
    bool is_dated_by_files; /* some log has no date of its own: its file's counts */
};
void import_rows_done(struct import_rows *rows);
/* A replica, its log, which outlives the rows, and a note of its file; its summary where the row
 * succeeded. */
void import_rows_add(struct import_rows *rows, struct import_row *row, struct import_log *l);
/* What the environment of the replica `id` was, for its record. */
void import_rows_set_environment(struct import_rows *rows, const struct replica_id *id,
                                 const json_t *environment);
int64_t import_rows_date(const struct import_rows *rows); /* the first */

/* EXIT_OK and the run's name (owned), or prints the error. */
enum exit_code import_store_put(const struct cli *cli, const struct run_def *def,
                                const struct import_rows *rows, const char *rule, char **ret_name);
