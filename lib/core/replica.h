/* Which replica, of which attempt, and how it stands: the words that launchers, decisions, the store
 * and results share. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/role.h"

/* One replica's identity within a run. */
struct replica_id {
    uint32_t point, trial, attempt;
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
    FAILURE_PERMANENT,      /* any other non-zero exit, OOM, image, configuration, admission */
};
const char *failure_class_to_string(enum failure_class failure); /* "Infrastructure", ... */
/* The class of an exit status. `signal` 0: the process exited by itself. */
enum failure_class failure_classify_exit(int exit_code, int signal, bool oom_killed);
