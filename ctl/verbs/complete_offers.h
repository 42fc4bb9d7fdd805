/* A line that is being typed, and the candidates for its last word. */
#pragma once

#include "ctl/cli/cli.h"

enum completion_hint {
    COMPLETION_NO_SPACE = 2, /* the word is not finished with the candidate */
    COMPLETION_NO_FILES = 4, /* else the shell offers files too */
    COMPLETION_SORTED = 32,  /* keep the order of the candidates */
};

struct typing {
    struct cli cli;      /* what has been typed so far; its verb may be NULL */
    struct args_end end; /* the last word */
    struct arg_opt opts[CLI_MAX_OPTS];
    struct buf out; /* a candidate a line */
    unsigned hints; /* enum completion_hint */
};

void complete_verbs(struct typing *t);
void complete_options(struct typing *t);
/* The values of an option or word by its name: "RUN", "FILE", "text|json". */
void complete_value(struct typing *t, const char *value_name);
/* Is there a row for this name? */
bool complete_knows(const char *value_name);
