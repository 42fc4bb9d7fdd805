/* The text of `benchctl describe`. */
#pragma once

#include "base/buf.h"
#include "ctl/runs/run_word.h"

struct describe_params { /* all borrowed */
    /* Without a result its `object` is described, if there is one. */
    const struct loaded_run *run;
    const char *where; /* "--local" or "--store URL": for commands that the user can copy */
    int64_t now_unix_ms;
    /* Of the terminal; 0: any width fits. Lines are broken between columns and at blanks, commands
     * that the user can copy and lines of logs are not. */
    size_t columns;
};
/* Nothing is written if replicas cannot be read. */
int describe_format(const struct describe_params *p, struct buf *out, struct err *err);
