/* The command line of the roles. Those of a gang also read the environment (role_env.h). */
#pragma once

#include "base/args.h"
#include "base/err.h"
#include "worker/model/model.h"

struct role_command {
    const char *name;
    const char *text; /* for --help: what the role does */
    const struct arg_opt *options;
    size_t n_options;
};
/* Parses the options. Returns 0, 1 if it printed the help, or -EINVAL. The caller frees *ret, which
 * is all zero before, in any case. */
int role_parse(const struct role_command *c, int argc, char *const *argv, struct args *ret,
               struct err *err);
/* Returns -EINVAL if no network has that name. */
int role_find_model(const char *name, const struct model_def **ret, struct err *err);
