/* A launcher on a loop of its own, with attempts of replicas that are fake workers or shells. */
#pragma once

#include <uv.h>

#include "run/processes/processes.h"

struct fixture {
    uv_loop_t loop;
    struct launcher *launcher;
    struct gang_addresses addresses; /* of the attempt prepared last */
    uv_timer_t limit;
    int is_late;
    int n_fds; /* open before */
    unsigned n_changes, n_records;
    bool is_emulated, is_probed; /* of the gangs that are prepared from now on, like the next one */
    uint32_t workers;
    struct log_parser_params log; /* with what the output of the next replicas is read */
};

void fixture_open(struct fixture *f, size_t log_max_bytes);
void fixture_open_with(struct fixture *f, const char *benchworker, size_t log_max_bytes);
/* Frees the launcher; fails the test if the loop does not close clean or a descriptor is left. */
void fixture_close(struct fixture *f);

/* Attempt `attempt` of trial 0 of point 0 with one thread a trainer. */
void fixture_prepare(struct fixture *f, uint32_t attempt, uint32_t pservers, uint32_t trainers);
/* Opens it, with an attempt of one trainer. */
void fixture_open_one(struct fixture *f);
struct replica_id fixture_id(uint32_t attempt, enum role role, uint32_t index);
/* argv ends with NULL. BENCHD_LISTEN is the prepared address, or `listen` if not NULL. */
void fixture_create(struct fixture *f, const struct replica_id *id, const char *const *argv,
                    const char *listen);

/* All fail the test when it is not so within two minutes. */
void fixture_wait_state(struct fixture *f, const struct replica_id *id, enum replica_state state);
void fixture_wait_ended(struct fixture *f, const struct replica_id *id);
/* Until a process that was started here is reaped. */
void fixture_wait_gone(struct fixture *f, pid_t pid);
/* Until the replica's log holds `text`; returns what follows it, borrowed till the next call. */
const char *fixture_wait_log(struct fixture *f, const struct replica_id *id, const char *text);
/* Until it has written "pid N"; N. */
pid_t fixture_pid(struct fixture *f, const struct replica_id *id);
void fixture_assert_gone(const char *who, pid_t pid);
/* Until nothing of ours is alive on the loop. */
void fixture_wait_quiet(struct fixture *f);

struct observed_replica fixture_get(struct fixture *f, const struct replica_id *id);
size_t fixture_count(struct fixture *f);
struct replica_output fixture_output(struct fixture *f, const struct replica_id *id);
