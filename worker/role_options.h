/* The command line of the roles; those of a gang also read the environment (role_env.h). */
#pragma once

#include "base/args.h"
#include "base/err.h"
#include "worker/model/model.h"

struct role_command {
    const char *name;
    const char *text; /* for --help: what the role does */
    const struct arg_opt *options;
    size_t n_options;
    /* Returns the exit code. With an error there is a text in *err, which is printed. */
    int (*run)(const struct args *a, struct err *err);
};
/* Parses the options. Returns 0, 1 if it printed the help, or -EINVAL. The caller frees *ret, which
 * is all zero before, in any case. */
int role_parse(const struct role_command *c, int argc, char *const *argv, struct args *ret,
               struct err *err);
/* A role_verb.run. */
int role_command_run(const struct role_command *c, int argc, char *const *argv);

struct role_number { /* an option */
    const char *name;
    int64_t fallback, min, max;
    void *ret;
    size_t size; /* of *ret, an integer of 32 or 64 bits */
};
#define ROLE_NUMBER(name, fallback, min, max, ret)                                                 \
    {                                                                                              \
        name, fallback, min, max, ret, sizeof(*(ret))                                              \
    }
/* -EINVAL. An option that is not given has its fallback. */
int role_take_numbers(const struct args *a, const struct role_number *rows, size_t n,
                      struct err *err);
/* -EINVAL: no network has that name. */
int role_find_model(const char *name, const struct model_def **ret, struct err *err);
