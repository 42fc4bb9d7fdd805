/* Options of `benchctl run` and `benchctl attach`, for local runs and runs in a cluster. */
#pragma once

#include "ctl/cli/cli.h"
#include "ctl/runs/progress.h"

struct run_opts {
    enum progress_mode mode;
    int64_t timeout_ms; /* 0: none */
    const char *resume; /* NULL: a new run */
    bool is_ours;       /* in a cluster: this command created the run, and shows all of it */
};
enum exit_code run_opts_take(const struct cli *cli, struct run_opts *ret);
