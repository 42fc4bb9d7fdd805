/* Other runs of a benchmark, for how far runs of the same thing differ. */
#pragma once

#include "base/texts.h"
#include "compare/comparison.h"
#include "ctl/runs/backend.h"

struct history {
    VEC(struct loaded_run) runs;        /* owned */
    VEC(const struct result *) results; /* of these; borrowed */
};
/* The newest runs of the base's benchmark that can be used, without these two; comparison_new
 * chooses those that are of the base's kind. EXIT_OK, or prints the error. */
enum exit_code history_load(struct backend *b, const struct loaded_run two[static 2],
                            struct history *h);
/* Compares the second run with the first, and both with that history. Only the threshold and
 * is_strict of `params` are read. EXIT_OK, or prints the error. */
enum exit_code history_compare(struct backend *b, const struct loaded_run two[static 2],
                               struct compare_params params, struct comparison **ret);
/* The newest `max` real runs of a benchmark that succeeded and were made before a date, the oldest
 * first. EXIT_OK, or prints the error. */
enum exit_code history_load_before(struct backend *b, const char *benchmark, int64_t before_unix_ms,
                                   size_t max, struct history *h);
void history_done(struct history *h);
/* The names of these runs, the newest first. For callers that load them one after another. */
enum exit_code history_list_before(struct backend *b, const char *benchmark, int64_t before_unix_ms,
                                   size_t max, struct texts *ret);
