/* The command line of a replica, word by word. Pure. */
#pragma once

#include "base/vec.h"

struct command {
    VEC(char *) words; /* owned; none: not known */
};
void command_done(struct command *command);
