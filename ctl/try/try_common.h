/* What `benchctl try` does alike on this machine and in a cluster. */
#pragma once

#include "ctl/cli/cli.h"
#include "result/result.h"
#include "spec/profile.h"

#define TRY_STEPS 3
#define TRY_TIMEOUT "5m"

struct try_options {
    int64_t steps, timeout_ms;
};
/* EXIT_OK, or prints the error. */
enum exit_code try_options_take(const struct cli *cli, struct try_options *ret);

/* "ours (1 worker): " */
void try_put_who(const struct run_def *small, struct buf *out);
/* Appends the stored log of a replica; false if none exists. */
typedef bool (*try_log_fn)(void *ctx, const struct replica_id *id, struct buf *out);
/* What came of a run that ended by itself: true, if a figure; else why, in lines. */
bool try_put_result(const struct result *result, try_log_fn get_log, void *ctx, struct buf *out);

/* Of a system that ended so: does it have a figure? */
enum try_end { TRY_ENDED, TRY_ENOUGH, TRY_TIMED_OUT, TRY_INTERRUPTED };
enum exit_code try_exit_code(enum try_end end, bool has_figure);
struct try_params { /* all borrowed */
    const struct cli *cli;
    const struct run_def *def;
    const struct profiles *profiles; /* may be NULL */
    int64_t steps;
    int64_t deadline_s; /* of each run; 0: what the definition has, and ttl_s is not used */
    int64_t ttl_s;
    /* Tries a system by `small`, the run of its smallest point. EXIT_INTERRUPTED ends it all. */
    enum exit_code (*try_system)(void *ctx, const struct run_def *small, const char *system);
    void *ctx;
};
/* Each system of the definition. The code of the first that failed; without one, says what all
 * figures have in common (not with -q). */
enum exit_code try_each_system(const struct try_params *params);
