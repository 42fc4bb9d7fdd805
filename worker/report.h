/* A replica's records on stdout, its summary file, and its one error. Used by role_trainer.c and
 * role_pserver.c. Two threads may report (the communication thread meets faults while the trainer
 * computes): lines never mix, and the first error is the only one. */
#pragma once

#include <pthread.h>
#include <stdbool.h>

#include "base/err.h"
#include "core/record.h"
#include "worker/role_env.h"

struct report {
    struct record_who who;
    const char *summary_file; /* borrowed; NULL: none */
    pthread_mutex_t mutex;    /* stdout and `failed` */
    bool failed;
    char environment_digest[65];
    int64_t throttled_begin_ns; /* set at the barrier */
};

void report_init(struct report *r, const struct role_env *e);
void report_done(struct report *r);
/* The start record: this machine, this program, these settings. -EPIPE, -ENOSPC...: stdout. */
int report_start(struct report *r, const struct role_env *e, struct err *err);
int report_step(struct report *r, const struct record_step *step, struct err *err);
/* At the barrier: what is counted from here on. */
void report_barrier(struct report *r);
/* Fills in what the machine knows (throttled_ns, max RSS, digest) and writes the last record. */
int report_summary(struct report *r, struct summary *s, const int64_t *step_ns, size_t n,
                   struct err *err);
/* The error record and a line on stderr. Returns the exit code. false in *ret_first (may be NULL):
 * another error was reported before, this one is dropped. */
int report_error(struct report *r, int exit_code, const char *peer, const char *message,
                 bool *ret_first);
