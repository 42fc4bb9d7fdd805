/* The arguments of `benchctl import` of logs: which logs belong to which trial
 * of which point. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/exit_code.h"
#include "base/vec.h"
#include "spec/value.h"

#define IMPORT_STDIN "-"

/* An argument is a trial: [NAME=VALUE,..:]FILE[,FILE..]. Owned. */
struct import_trial {
    struct params params; /* of its point: what precedes the files, and --set */
    VEC(char *) files;    /* the logs of the trainers, by their index */
};
struct import_trials {
    VEC(struct import_trial) list; /* in the order of the command line */
    const char *count;             /* the name that counts who trains: "trainers" or "workers" */
};
void import_trials_done(struct import_trials *trials);

/* One that trains alone, without the servers that others have: the baseline of the others. */
bool import_trial_is_single(const struct import_trials *trials, const struct import_trial *trial);

/* `sets`: "NAME=VALUE" of all trials. Without a value, the number of files is the number of
 * replicas that train. Prints the error; *ret, empty before, is freed by the caller then, too. */
enum exit_code import_trials_parse(const char *const *words, size_t n_words,
                                   const char *const *sets, size_t n_sets,
                                   struct import_trials *ret);
