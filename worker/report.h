/* Writes a replica's records to stdout, its summary file, and at most one error. Used by
 * role_trainer.c and role_pserver.c. Two threads may report, because the communication thread
 * detects faults while the trainer computes: lines never mix, and only the first error is
 * reported. */
#pragma once

#include <pthread.h>
#include <stdbool.h>

#include "base/err.h"
#include "base/vec.h"
#include "core/record.h"
#include "host/host.h"
#include "host/cpu_wait.h"
#include "worker/role_env.h"

/* How long an error waits for a reader that is stuck, once for each of mutex, stdout and stderr. */
#define REPORT_PATIENCE_MS 1000

struct report {
    struct record_who who;
    const char *summary_file; /* borrowed; NULL for stdout only */
    pthread_mutex_t mutex;    /* stdout and `failed` */
    bool failed;
    char environment_digest[65];
    struct summary summary; /* covers the reported measured steps, or a server's rounds */
    VEC(int64_t) step_ns;   /* the time of each of them */
    int64_t barrier_cpu_ns; /* 0 before the barrier */
    /* What the machine says at the barrier and at the end of the measured steps. */
    struct cpu_watch watch;
    uint64_t max_rss_bytes;
};

void report_init(struct report *r, const struct role_env *e);
void report_done(struct report *r);
/* Writes the start record: the machine, the program, the settings. Fails with the errno of the
 * write to stdout, such as -EPIPE or -ENOSPC. */
int report_start(struct report *r, const struct role_env *e, struct err *err);
/* Writes the step, and adds it to the summary unless it is of the warm-up. */
int report_step(struct report *r, const struct record_step *step, struct err *err);
/* Sets a phase's time to the time since *at_ns, and *at_ns to now. */
void report_lap(struct record_step *step, enum phase phase, int64_t *at_ns);
/* Call it at the barrier: throttling, steal and waits for CPUs are counted from here on, */
void report_barrier(struct report *r);
/* and at the end of the last measured step: until here. */
void report_measured(struct report *r);
/* Call it before what is no part of the training, and host_forget_max_rss after it: its memory does
 * not count as peak. */
void report_aside_begin(struct report *r);
/* Fills in what the machine reports (throttling, max RSS, digest) and writes
 * the summary record. */
int report_summary(struct report *r, struct err *err);
/* Writes the error record and a line to stderr, and returns exit_code. If an error was reported
 * before, drops this one and sets *ret_first (which may be NULL) to false. Never waits for a reader
 * for ever: what it does not take in REPORT_PATIENCE_MS is dropped, and while the other thread is
 * stuck in a write there is no record, only the line. */
int report_error(struct report *r, int exit_code, const char *peer, const char *message,
                 bool *ret_first);

/* A role_verb.run of a gang: reads the settings of the role, or prints help, and calls `run` with
 * them and a new report. Returns the exit code: the result of `run` if it was called. */
int role_run(enum role role, int argc, char *const *argv,
             int (*run)(const struct role_env *e, struct report *r));
