/* Drives one run to its end on this machine: the loop, the signals, the launcher, the progress. */
#pragma once

#include "ctl/runs/progress.h"
#include "ctl/try/try.h"
#include "store/store.h"

enum drive_end {
    DRIVE_FINISHED,    /* the run came to its own end */
    DRIVE_INTERRUPTED, /* cancelled by a signal */
    DRIVE_TIMEOUT,     /* cancelled by --timeout */
    DRIVE_ENOUGH,      /* cancelled: what it was tried for is known */
    DRIVE_STOPPED,     /* a second signal: nothing runs any more, the run may be resumed */
};

struct drive_params {                /* all borrowed */
    struct progress_params progress; /* its definition is what runs; its loop is not read */
    struct store *store;             /* holds the run, claimed */
    const char *benchworker;
    const char *where;      /* "--local": options of commands that a message names */
    int64_t timeout_ms;     /* 0: none */
    const char *prometheus; /* URL; NULL: none */
    struct try_trial *seen; /* sees the run, and ends it once it knows enough; NULL: none */
    const struct cli *cli;  /* with `seen`: prints what no progress shows */
};

/* Returns when no process of the run is left. -Exxx: the driver gave up (full disk, bad store). */
int drive(const struct drive_params *params, enum drive_end *ret_end, struct err *err);
