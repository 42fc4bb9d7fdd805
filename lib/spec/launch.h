/* What a system runs in place of its roles' templates, or in addition to them: in all its
 * roles, or in one. Pure. */
#pragma once

#include <stdbool.h>

#include "base/vec.h"

/* A command line, word by word. */
struct command {
    VEC(char *) words; /* owned; none: not known */
};
void command_done(struct command *command);

struct env_var { /* owned */
    char *name, *value;
};

struct launch {
    char *image;            /* owned; NULL: not given */
    struct command command; /* no words: not given */
    struct command args;    /* with has_args; no words: none at all */
    bool has_args;
    VEC(struct env_var) env;
};
void launch_done(struct launch *launch);
