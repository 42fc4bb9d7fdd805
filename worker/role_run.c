/* See role_run.h. */
#include "worker/role_run.h"

#include <stdio.h>

#include "base/exit_code.h"

int role_run(enum role role, int argc, char *const *argv,
             int (*run)(const struct role_env *e, struct report *r))
{
    struct role_env e;
    struct err err = {0};
    const int r = role_env_read(role, argc, argv, &e, &err);
    if (r < 0) {
        fprintf(stderr, "benchworker %s: %s\n", role_to_string(role), err.msg);
        return EXIT_USAGE;
    }
    if (r > 0) {
        return EXIT_OK;
    }
    struct report report;
    report_init(&report, &e);
    const int code = run(&e, &report);
    report_done(&report);
    role_env_done(&e);
    return code;
}
