/* A launcher, a store and a clock in memory, for the driver's tests. They can be late, fail at the
 * n-th call with a chosen error, and watch over the driver's promises: no replica that ended is
 * removed before the row of its attempt is kept (unless the attempt was cut short),
 * no row twice. */
#pragma once

#include <stdbool.h>

#include "base/vec.h"
#include "core/record.h"
#include "run/driver.h"

struct fake_clock {
    int64_t now_ms;
};
struct wall_clock fake_clock_get(struct fake_clock *c);

/* Counts calls over launcher and store together; the fail_at-th answers -fail_code. */
struct fake_faults {
    unsigned n_calls, fail_at; /* 0: never */
    int fail_code;
    bool stays; /* and every later one too, as with a full disk */
};

struct fake_member {
    struct observed_replica seen;
    char *argv0, *listen; /* owned */
};

struct fake_store;

struct fake_launcher {
    struct launcher base;
    struct fake_faults *faults;
    const struct fake_store *store; /* where removed replicas' rows must be; NULL: anything goes */
    VEC(struct fake_member) members;
    char **addresses[ROLE_COUNT]; /* of the gang prepared last, owned */
    uint32_t n_addresses[ROLE_COUNT];
    bool is_probed;                /* the gang prepared last asks for it */
    int create_code, prepare_code; /* not 0: that call answers it, once */
    /* As pods do it: */
    bool is_settling;  /* creations are not answered yet */
    bool is_removing;  /* nor removals */
    bool is_fetching;  /* outputs are not there yet */
    bool is_simulated; /* every output is */
    struct run_wait wait;
    double (*throughput)(const struct replica_id *id); /* of a trainer; NULL: 1000/s */
    struct summary summary;                            /* of the one that was collected last */
    unsigned n_observes, n_created, n_removed, n_forgotten, n_collects, n_stopped;
};
void fake_launcher_init(struct fake_launcher *l, struct fake_faults *faults,
                        const struct fake_store *store);
void fake_launcher_done(struct fake_launcher *l);
struct fake_member *fake_launcher_find(struct fake_launcher *l, enum role role, uint32_t index);
/* All running members succeed, trainers with a summary; pservers too. */
void fake_launcher_succeed(struct fake_launcher *l, int64_t now_ms);
void fake_launcher_fail(struct fake_launcher *l, enum role role, uint32_t index, int exit_code,
                        int signal, const char *message, int64_t now_ms);

struct fake_store {
    struct store base;
    struct fake_faults *faults;
    struct fake_clock *clock;
    int64_t late_ms; /* every call takes so long */
    VEC(struct attempt_row) rows;
    struct run_status status;
    size_t log_bytes;
    unsigned n_logs, n_status, n_events, n_preempted;
    char last_note[256];
};
void fake_store_init(struct fake_store *s, struct fake_faults *faults, struct fake_clock *clock);
void fake_store_done(struct fake_store *s);
