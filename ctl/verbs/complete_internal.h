/* A line that is being typed, and the candidates for its last word (complete_offers.c). */
#pragma once

#include "ctl/cli/cli.h"

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

/* In complete.c: the name of the i-th word in a verb's `args`, "RUN_B" for 1 in
 * "RUN_A RUN_B [option...]", "FILE" for any in "FILE...". Owned; NULL: there is no such word. */
char *complete_word_name(const char *args, size_t i);
