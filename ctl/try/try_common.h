/* What `benchctl try` concludes from its trials, and prints and writes. */
#pragma once

#include "ctl/cli/cli.h"
#include "ctl/try/try_seen.h"
#include "result/result.h"
#include "spec/profile.h"

#define TRY_STEPS 3
#define TRY_TIMEOUT "5m"

struct try_options {
    int64_t timeout_ms;
    bool writes; /* --write: the rule that the trials show goes into the file */
};
/* EXIT_OK, or prints the error. */
enum exit_code try_options_take(const struct cli *cli, struct try_options *ret);

enum try_end { TRY_ENDED, TRY_ENOUGH, TRY_TIMED_OUT, TRY_INTERRUPTED };

/* A trial of one point, and what came of it. */
struct try_trial {
    const char *system;    /* borrowed */
    struct run_def *small; /* the run of that point alone; owned */
    struct try_seen seen;
    enum try_end end;
    bool has_figure;
    bool has_failed; /* the program did: its output is no figure */
    struct buf out;  /* the figure, or why it is missing, in lines */
};

/* Appends the stored log of a replica; false if none exists. */
typedef bool (*try_log_fn)(void *ctx, const struct replica_id *id, struct buf *out);
/* What came of a run that ended by itself, and what its trainers or workers printed. */
void try_take_result(struct try_trial *t, const struct result *result, try_log_fn get_log,
                     void *ctx);

struct try_params { /* all borrowed */
    const struct cli *cli;
    const struct run_def *def;
    const struct profiles *profiles; /* may be NULL */
    const struct try_options *options;
    /* Runs a trial and fills it in. EXIT_INTERRUPTED ends it all. */
    enum exit_code (*run)(void *ctx, struct try_trial *t);
    void *ctx;
};
/* Each system of the definition: its smallest point, then the smallest one with several trainers or
 * workers, if that has another number. The code of the first that failed; without one, says what
 * all figures have in common (not with -q). */
enum exit_code try_each_system(const struct try_params *params);
