/* How much time a replica needs for a step, result/replicas.h. */
#include "tests/test.h"
#include "result/replicas.h"

#include <math.h>

#include "result/catalogue.h"
#include "result_fixture.h"

static struct replica_speed speed(enum role role, const struct summary *s)
{
    const struct step_times steps = step_times_of(s);
    return replica_speed_of(role, s, &steps);
}

TEST(what_is_compared)
{
    _cleanup_(summary_drop_series) struct summary s = {.steps = 4};
    summary_set_series(&s, (const int64_t[]){8000, 32000, 16000}, 3);
    s.phase_ns[PHASE_WAIT] = 8000;
    s.phase_ns[PHASE_SEND] = 9000;
    struct replica_speed p = speed(ROLE_TRAINER, &s);
    assert_int_equal(p.kind, SPEED_STEP);
    assert_true(fabs(p.step_ns - 16000) < 1e-9);
    s.phase_ns[PHASE_UPDATE] = 4000;
    assert_int_equal(speed(ROLE_TRAINER, &s).kind, SPEED_STEP); /* the update is the server's */
    p = speed(ROLE_PSERVER, &s);
    assert_int_equal(p.kind, SPEED_WORK);
    assert_true(fabs(p.step_ns - 1000) < 1e-9);
    s.phase_ns[PHASE_DATA] = 400;
    s.phase_ns[PHASE_FORWARD] = 800;
    s.phase_ns[PHASE_BACKWARD] = 1200;
    p = speed(ROLE_WORKER, &s);
    assert_int_equal(p.kind, SPEED_WORK);
    assert_true(fabs(p.step_ns - 600) < 1e-9);
    assert_int_equal(speed(ROLE_TRAINER, &(struct summary){.steps = 4}).kind, SPEED_NONE);
}

/* ---- figures of a trial, of which a point has the median ---- */

TEST(figures_of_trials)
{
    static const uint64_t mib[] = {300, 320, 310};
    _cleanup_(fixture_done) struct fixture f;
    fixture_init(&f, "{grid: {pservers: [1], trainers: [2]}}",
                 "  baseline: {kind: Point, where: {trainers: 2}}\n  repeats: {min: 3}\n", 8);
    for (uint32_t t = 0; t < N_ROWS(mib); t++) {
        struct attempt_row *row = fixture_throughput(&f, 0, t, 60);
        row->replicas.items[0].summary->max_rss_bytes = UINT64_C(900) << 20; /* the pserver */
        row->replicas.items[1].summary->max_rss_bytes = UINT64_C(100) << 20;
        row->replicas.items[2].summary->max_rss_bytes = mib[t] << 20;
    }
    const struct figure_kind *k = figure_find("peak-memory");
    struct figure x = figure_of(&fixture_build(&f, RUN_SUCCEEDED)->points[0], k);
    assert_true(x.estimate.known && x.estimate.has_interval);
    assert_true(fabs(x.estimate.value - 310) < 1e-9);
    assert_string_equal(x.unit, "MiB");
    f.rows.items[1].replicas.items[1].summary->max_rss_bytes = 0; /* the other one says it */
    assert_true(figure_of(&fixture_build(&f, RUN_SUCCEEDED)->points[0], k).estimate.known);
    f.rows.items[1].replicas.items[2].summary->max_rss_bytes = 0;
    assert_false(figure_of(&fixture_build(&f, RUN_SUCCEEDED)->points[0], k).estimate.known);
}
