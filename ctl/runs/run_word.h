/* How users name runs, and whether there is something to show of one. */
#pragma once

#include "base/exit_code.h"
#include "ctl/cli/cli.h"
#include "load/loaded_run.h"

/* EXIT_OK if there are results to show (with a note if the run has not finished), or prints the
 * error. */
enum exit_code loaded_run_check(const struct cli *cli, const struct loaded_run *run);

/* Without "benchmarkrun/", "bmr/", ... Borrowed. */
const char *run_word_name(const char *what);
/* The newest run goes by this name, too, where no run has it for its own. */
#define RUN_WORD_LATEST "latest"
struct run_names { /* among which a run is looked for; borrowed */
    const char *const *names;
    size_t n;
    int newest;            /* -1: no run exists */
    const char *not_found; /* the error for a run that does not exist */
    const char *where;     /* the options that say where the runs are */
};
/* Which of the names is `what`: the full name, or the characters after its last "-"; or "latest",
 * which is noted. An index; or prints the error and returns -1 with *ret_code. */
int run_word_find(const struct cli *cli, const char *what, const struct run_names *among,
                  enum exit_code *ret_code);
