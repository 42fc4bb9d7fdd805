/* Replicas that say anything, for property tests of what becomes of their rows. */
#pragma once

#include <math.h>

#include "tests/core/summary_fixture.h"
#include "base/splitmix.h"
#include "core/record_members.h"
#include "logparse/reading.h"

/* 0 with a chance of a third. */
static inline int64_t some(uint64_t *random, uint32_t most)
{
    return splitmix_below(random, 3) == 0 ? 0 : (int64_t)splitmix_below(random, most) + 1;
}

/* None, a few, or so many that every k-th is kept. */
static inline void evaluate(struct evaluations *e, uint64_t *random)
{
    *e = (struct evaluations){0};
    const uint32_t most = splitmix_below(random, 4) == 0 ? 4 * EVALUATIONS_MAX : 8;
    const double pace_s = 0.1 + 0.1 * splitmix_below(random, 60);
    double t_s = splitmix_below(random, 8) == 0 ? 25 : 0;
    for (uint32_t n = splitmix_below(random, most); n > 0; n--) {
        t_s += pace_s * splitmix_below(random, 3);
        (void)evaluations_add(e, t_s, 1e-3 * splitmix_below(random, 700), NAN);
    }
    evaluations_extend(e, t_s + 5.0 * splitmix_below(random, 4));
}

static inline struct noise_probe probe_randomly(uint64_t *random)
{
    return (struct noise_probe){(uint64_t)some(random, 1000000000),
                                (uint64_t)some(random, 1000000000),
                                (uint64_t)some(random, 1000000000)};
}

static inline void say_randomly(struct replica_row *replica, uint64_t *random)
{
    const uint32_t steps = splitmix_below(random, 20);
    struct summary s = {
        .samples = replica->id.role == ROLE_TRAINER ? (uint64_t)some(random, 4000) : 0,
        .duration_ns = some(random, 1000000000) + 1000000000,
        .steps = steps,
        .bytes_tx = (uint64_t)some(random, 1000000000),
        .bytes_rx = (uint64_t)some(random, 1000000000),
        .loss_first = splitmix_below(random, 2) == 0 ? NAN : 2.3,
        .loss_last = splitmix_below(random, 2) == 0 ? NAN : 1e-3 * splitmix_below(random, 3000),
        .throttled_ns = some(random, 5) < 4 ? 0 : some(random, 1000000000),
        .throttled_periods = (uint64_t)some(random, 9),
        .max_rss_bytes = (uint64_t)some(random, 2000000000),
        .cpu_ns = some(random, 1000000000),
    };
    for (int k = 0; k < PHASE_COUNT; k++) {
        s.phase_ns[k] = some(random, 100000000);
    }
    s.source.accuracy_last = NAN;
    if (splitmix_below(random, 8) == 0) {
        s.source.unit = (enum summary_unit)splitmix_below(random, SUMMARY_UNIT_COUNT);
        s.source.is_job = splitmix_below(random, 2) == 0;
        s.source.accuracy_last = splitmix_below(random, 4) == 0 ? NAN : 0.5 + 0.1 * steps;
        s.source.rule = xasprintf("mine-%u", splitmix_below(random, 3));
        s.source.method = xasprintf("mean of %u lines", steps);
        replica->reading = json_pack("{s:s, s:o}", "verdict",
                                     log_verdict_names[splitmix_below(random, LOG_VERDICT_COUNT)],
                                     "why", json_sprintf("for %u reasons", steps));
    }
    s.staleness = (struct summary_staleness){
        splitmix_below(random, 99), 0.25 * splitmix_below(random, 9), splitmix_below(random, 9)};
    s.last = (struct summary_last){splitmix_below(random, 4), splitmix_below(random, 9),
                                   some(random, 1000000)};
    s.noise.before = probe_randomly(random);
    s.noise.after = probe_randomly(random);
    s.noise.busy_ns = some(random, 2000000000);
    s.noise.steal_ns = s.noise.busy_ns / (some(random, 99) + 1);
    s.noise.cpu_run_ns = some(random, 2000000000);
    s.noise.cpu_wait_ns = s.noise.cpu_run_ns > 0 ? some(random, 3000000000) : 0;
    s.noise.by_launcher = some(random, 2) > 0;
    s.transport = (enum exchange_transport)splitmix_below(random, EXCHANGE_TRANSPORT_COUNT);
    char digest[RECORD_DIGEST_CHARS + 1];
    (void)snprintf(digest, sizeof(digest), "%064x", splitmix_below(random, 1000));
    s.environment_digest = splitmix_below(random, 4) == 0 ? NULL : digest;
    struct evaluations e;
    evaluate(&e, random);
    s.evaluations = &e;
    metrics_set(&s.metrics, "evaluation_s", splitmix_below(random, 4) == 0 ? 1.1 : NAN);
    metrics_set(&s.metrics, "logged_mfu", splitmix_below(random, 2) == 0 ? 0.41 : NAN);
    int64_t step_ns[20];
    for (uint32_t k = 0; k < steps; k++) {
        step_ns[k] = 100000000 + splitmix_below(random, 20000000);
    }
    replica_set_summary(replica, &s, step_ns, splitmix_below(random, 4) == 0 ? 0 : steps);
    free(s.source.rule);
    free(s.source.method);
    metrics_done(&s.metrics);
}

/* Without a start record, with one, or with a node added to the one that is there. */
static inline void place_randomly(struct replica_row *replica, uint64_t *random)
{
    static const char *const nodes[] = {"node-a", "node-b", "n\xc3\xb6"};
    const uint32_t kind = splitmix_below(random, 6);
    if (kind < 2) {
        replica_set_environment(replica, NULL);
    }
    if (kind == 1) {
        json_t *record = json_pack("{s:o, s:i, s:s, s:o, s:o}", "build",
                                   json_sprintf("b%u", splitmix_below(random, 2)),
                                   "cgroup_cpu_limit", (int)splitmix_below(random, 3), "cpu_model",
                                   splitmix_below(random, 2) == 0 ? "x" : "y", "kernel",
                                   json_sprintf("6.%u", splitmix_below(random, 3)), "source",
                                   json_sprintf("s%u", splitmix_below(random, 2)));
        replica_take_environment(replica, record);
    }
    if (kind > 1) {
        replica_place(replica, nodes[splitmix_below(random, 3)], NULL);
    }
}
