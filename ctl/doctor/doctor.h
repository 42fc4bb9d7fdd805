/* The findings of `benchctl doctor`: a list of checks, each with what was found and a fix. Pure,
 * but for the two functions at the end. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/buf.h"
#include "base/exit_code.h"
#include "base/vec.h"
#include "ctl/cli/cli.h"
#include "spec/run_def.h"

enum check_outcome {
    CHECK_OK,
    CHECK_WARN, /* it works, but figures suffer */
    CHECK_FAIL,
    CHECK_SKIP, /* it could not be checked, or need not be */
};
const char *check_outcome_to_string(enum check_outcome outcome); /* "ok" */

struct check {
    const char *name; /* static: "worker" */
    enum check_outcome outcome;
    enum exit_code code; /* the program's exit code, if the check failed */
    char *found;         /* owned */
    char *fix;           /* owned; NULL if nothing is to be done */
};
struct checks {
    VEC(struct check) list;
};
void checks_done(struct checks *c);
/* Copies the fix; what was found is a format. */
void checks_add(struct checks *c, struct check check, const char *fix, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
#define CHECK_OF(of, result) ((struct check){.name = (of), .outcome = (result)})
#define checks_ok(c, of, ...) checks_add(c, CHECK_OF(of, CHECK_OK), NULL, __VA_ARGS__)
#define checks_skip(c, of, ...) checks_add(c, CHECK_OF(of, CHECK_SKIP), NULL, __VA_ARGS__)
#define checks_warn(c, of, fix, ...) checks_add(c, CHECK_OF(of, CHECK_WARN), fix, __VA_ARGS__)
#define checks_fail(c, of, exit_code, fix, ...)                                                    \
    checks_add(c, (struct check){.name = (of), .outcome = CHECK_FAIL, .code = (exit_code)}, fix,   \
               __VA_ARGS__)

/* The code of the first check that failed, else EXIT_OK. */
enum exit_code checks_exit_code(const struct checks *c);
/* A line a check, the fix under it; lines of `columns` characters at most where words allow. */
void checks_format(const struct checks *c, unsigned columns, struct buf *out);
/* Kind DoctorReport, owned. */
json_t *checks_to_json(const struct checks *c);

/* --- What this machine is, evaluated --- */

struct machine_seen {
    int64_t cpus_online, cpus_usable;
    const char *governor; /* as in a start record: "performance"; "performance and powersave" if
                           * CPUs differ; NULL if the kernel shows none */
};
void machine_check(const struct machine_seen *seen, struct checks *c);

/* --- What is checked --- */

/* This machine: worker, CPUs, store. In doctor_local.c. */
void doctor_local(const struct cli *cli, struct checks *c);
/* In ctl/cluster/cluster_doctor.c. */
void doctor_cluster(const struct cli *cli, struct checks *c);
/* Checks whether the cluster's nodes, and the quota of a LocalQueue (may be NULL), can ever hold
 * each point. EXIT_OK, or prints why no cluster is asked. In ctl/cluster/cluster_doctor.c, or as
 * above. */
enum exit_code doctor_points(const struct cli *cli, const struct run_def *def, const char *queue,
                             struct checks *c);
