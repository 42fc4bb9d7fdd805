/* Identities and states of attempts and replicas: the words that launchers, decisions, the store
 * and results share. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The roles of a replica.
 *
 * A launcher starts the program in its gang's other replicas (mpirun) and prints what comes of it.
 * A gang has one or none. Where there is one, it leads: its end is the attempt's end, its figures
 * are the attempt's figures, and all others are servers, which need not end (sshd). */

enum role {
    ROLE_PSERVER,
    ROLE_TRAINER,
    ROLE_WORKER,
    ROLE_LAUNCHER, /* last: created when the others are */
};
#define ROLE_COUNT 4

extern const char *const role_names[ROLE_COUNT];
const char *role_to_string(enum role role); /* "pserver", "trainer", "worker", "launcher" */
int role_from_string(const char *s);        /* enum role, or -EINVAL */
/* The role that has the attempt's figures in a gang of these sizes: a launcher, else workers, else
 * trainers. */
enum role role_leading(const uint32_t sizes[static ROLE_COUNT]);
/* The role that trains in it: workers, where it has some, else trainers. */
enum role role_training(const uint32_t sizes[static ROLE_COUNT]);
/* Does a role of a gang of these sizes end the attempt and have its figures? */
bool role_leads(enum role role, const uint32_t sizes[static ROLE_COUNT]);

/* The members of a gang as numbers: counted role by role, by index in a role. */
uint32_t member_number(const uint32_t sizes[static ROLE_COUNT], enum role role, uint32_t index);
uint32_t member_count(const uint32_t sizes[static ROLE_COUNT]); /* how many it has */

/* One try at a trial, within a run. All count from 0. */
struct attempt_id {
    uint32_t point, trial, number;
};
bool attempt_id_eq(const struct attempt_id *a, const struct attempt_id *b);
/* By point, trial, number: < 0, 0, > 0 as qsort wants it. */
int attempt_id_compare(const struct attempt_id *a, const struct attempt_id *b);

/* Why an attempt ended badly, on one line: the cause, and where a log has no
 * figure its last lines. */
#define ATTEMPT_ERROR_SIZE 1024

/* One replica, within a run. */
struct replica_id {
    struct attempt_id attempt;
    enum role role;
    uint32_t index;
};
bool replica_id_eq(const struct replica_id *a, const struct replica_id *b);
/* <run>-p<point>t<trial>a<attempt>-<role>-<index>, owned. */
char *replica_name(const char *run, const struct replica_id *id);

enum replica_state {
    REPLICA_PENDING, /* created, not started */
    REPLICA_RUNNING,
    REPLICA_SUCCEEDED, /* exit 0 */
    REPLICA_FAILED,
    REPLICA_LOST, /* it existed and vanished without a report */
};
/* Succeeded, Failed, Lost. */
bool replica_state_is_final(enum replica_state state);

/* Why a replica failed: docs/contracts/retries.md, "Classes". */
enum failure_class {
    FAILURE_NONE,
    FAILURE_INFRASTRUCTURE, /* signal that is not OOM, vanished, evicted, exits 11 and 13 */
    FAILURE_CONSEQUENCE,    /* exit 11: a survivor naming a lost peer; never the cause */
    FAILURE_NO_ROOM,        /* it found no room on its node or in the quota: it never began */
    FAILURE_PREEMPTED,      /* the scheduler or its queue gave its place to others */
    FAILURE_WAIT_OVER,      /* neither queue nor node took it in time: it never began */
    FAILURE_PERMANENT,      /* any other non-zero exit, OOM, image, configuration, admission */
};
/* The event of each attempt that was preempted, by which they are counted: they have no row. */
#define PREEMPTED_EVENT "AttemptPreempted"
/* The class of an exit status. `signal` 0: the process exited by itself. */
enum failure_class failure_classify_exit(int exit_code, int signal, bool oom_killed);
