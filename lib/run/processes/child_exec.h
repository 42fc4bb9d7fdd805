/* What a forked child does until it runs its program, and the guard of a foreign command. Used by
 * child.c only. */
#pragma once

#include <sys/types.h>

#include "run/processes/child.h"

struct child_fds {
    int null, out, err, secret, report; /* all at least CHILD_FD_MIN */
};
#define CHILD_FD_REPORT 5 /* CLOEXEC: reports a failed exec to the parent */

struct child_report {
    int code;  /* errno */
    int stage; /* enum child_stage */
};
enum child_stage {
    CHILD_STAGE_GROUP,
    CHILD_STAGE_NETWORK,
    CHILD_STAGE_CPUS,
    CHILD_STAGE_FDS,
    CHILD_STAGE_FORK,
    CHILD_STAGE_EXEC,
};

/* In the child, with all signals blocked. Makes async-signal-safe calls only and never returns. */
__attribute__((noreturn)) void child_exec_run(const struct child_params *params,
                                              const struct child_fds *fds, pid_t parent);
