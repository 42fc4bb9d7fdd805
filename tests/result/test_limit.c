/* What limits a point, and where its time goes. */
#include <math.h>

#include "tests/test.h"
#include "result/phases.h"
#include "result_fixture.h"

TEST(rule)
{
    static const struct {
        const char *name;
        struct limit_facts facts; /* trainers, servers, step, exposed, busy, server, late, who */
        const char *kind;
        double share, advice;
    } rows[] = {
        {"nobody says phases", {2, 1, 0, 0, 0, 0, 0, 0}, "Unknown", NAN, NAN},
        {"no server", {1, 0, 1, .5, 0, 0, 0, 0}, "Unknown", NAN, NAN},
        {"hidden: four times the trainers", {4, 1, 1, .09, .2, 0, 0, 0}, "Compute", .91, 16},
        {"hidden, by a server that is used up", {4, 1, 1, .09, .85, 0, 0, 0}, "Compute", .91, NAN},
        {"from a tenth on it is exposed", {1, 1, 1, .1, .5, 0, 0, 0}, "ServerCpu", .5, 2},
        {"a server is busy", {8, 2, 1, .4, .7, 1, .1, 3}, "ServerCpu", .7, 6},
        {"all wait for one, though a server is busy",
         {8, 2, 1, .4, .7, 1, .2, 3},
         "Straggler",
         .2,
         .2},
        {"one trainer cannot be late", {1, 1, 1, .4, .2, 0, .3, 0}, "TrainerLink", NAN, 6},
        {"a server's link carries more", {8, 2, 1, .4, .3, 0, .1, 0}, "ServerLink", NAN, 4},
        {"a trainer's link carries as much", {2, 2, 2, 1, .9, 0, .4, 0}, "TrainerLink", NAN, 9},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        const struct limit got = limit_find(&rows[i].facts);
        print_message("# %s: %s %g %g\n", rows[i].name, limit_kind_names[got.kind], got.share,
                      got.advice);
        assert_string_equal(limit_kind_names[got.kind], rows[i].kind);
        assert_true(isnan(rows[i].share) ? isnan(got.share)
                                         : fabs(got.share - rows[i].share) < 1e-12);
        assert_true(isnan(rows[i].advice) ? isnan(got.advice)
                                          : fabs(got.advice - rows[i].advice) < 1e-9);
    }
}

/* Phases of the fixture: 1 to 7 ms, in their order, over 8 steps. */
TEST(times)
{
    _cleanup_(fixture_done) struct fixture f;
    fixture_init(&f, "{grid: {pservers: [2], trainers: [2]}}",
                 "  baseline: {kind: Point, where: {trainers: 2}}\n", 0);
    fixture_throughput(&f, 0, 0, 100); /* 2.56 s each */
    struct attempt_row *row = fixture_throughput(&f, 0, 1, 50);
    const struct summary server = {
        .duration_ns = INT64_C(5120000000),
        .steps = 8,
        .phase_ns = {0, 0, 0, 4000000, 5000000, 6000000, 27000000},
        .last = {1, 4, 800000000},
    };
    fixture_say(row, 1, &server);
    fixture_throughput(&f, 0, 2, 10)->outcome = ATTEMPT_FAILED;
    fixture_build(&f, RUN_PARTIALLY_FAILED);
    const struct point_result *p = &f.result->points[0];
    const struct step_means m = *phases_of(p->kept, ROLE_TRAINER);
    assert_int_equal(m.n_replicas, 4);
    assert_true(fabs(m.step_ns / 1e9 - (2.56 + 5.12) / 2 / 8) < 1e-9);
    assert_true(fabs(m.phase_ns[PHASE_BACKWARD] / 1e9 - 3e-3 / 8) < 1e-12);
    assert_true(fabs(m.exposed_ns / 1e9 - (4 + 5 + 7) * 1e-3 / 8) < 1e-12); /* without update */
    assert_true(isnan(m.cpu_ns)); /* old records do not say */
    assert_true(m.bytes_tx == 60800000 / 8.0);
    assert_null(phases_of(p->kept, ROLE_WORKER));
    const struct limit_facts facts = p->kept->limit;
    assert_int_equal(facts.n_trainers, 2);
    assert_int_equal(facts.n_servers, 2);
    assert_true(fabs(facts.server_busy_s - (4 + 6 + (7 + 27) / 2) * 1e-3 / 8) <
                1e-12); /* no wait */
    assert_int_equal(facts.server, 1);
    assert_true(fabs(facts.late_s - 0.1 / 2) < 1e-12); /* in one trial of two */
    assert_int_equal(facts.late_trainer, 1);
}

/* A server that has one round for two steps of its trainers works half as long in a step. */
TEST(fewer_rounds_than_steps)
{
    _cleanup_(fixture_done) struct fixture f;
    fixture_init(&f, "{grid: {pservers: [1], trainers: [2]}}",
                 "  baseline: {kind: Point, where: {trainers: 2}}\n", 0);
    const struct summary server = {
        .duration_ns = INT64_C(800000000), .steps = 4, .phase_ns = {0, 0, 0, 0, 0, 0, 80000000}};
    fixture_say(fixture_throughput(&f, 0, 0, 100), 0, &server); /* 8 steps each */
    fixture_build(&f, RUN_PARTIALLY_FAILED);
    const struct limit_facts facts = f.result->points[0].kept->limit;
    assert_true(fabs(facts.server_busy_s - 0.08 / 8) < 1e-12);
}

/* Trainer 0 is the worst of one trial, trainer 1 a little late in three: of the
 * means trainer 1 has more. */
TEST(late_in_the_mean)
{
    static const struct last_gradients {
        uint32_t trainer;
        int64_t wait_ms;
    } trials[] = {{0, 50}, {1, 30}, {1, 30}, {1, 40}};
    _cleanup_(fixture_done) struct fixture f;
    fixture_init(&f, "{grid: {pservers: [1], trainers: [2]}}",
                 "  baseline: {kind: Point, where: {trainers: 2}}\n  repeats: {min: 4}\n", 0);
    for (uint32_t t = 0; t < N_ROWS(trials); t++) {
        const struct summary server = {
            .duration_ns = INT64_C(800000000),
            .steps = 8,
            .phase_ns = {0, 0, 0, 0, 800000000, 0, 0},
            .last = {trials[t].trainer, 8, 8000000 * trials[t].wait_ms},
        };
        fixture_say(fixture_throughput(&f, 0, t, 100), 0, &server);
    }
    fixture_build(&f, RUN_SUCCEEDED);
    const struct limit_facts facts = f.result->points[0].kept->limit;
    print_message("# trainer/%u, %g s\n", facts.late_trainer, facts.late_s);
    assert_int_equal(facts.late_trainer, 1);
    assert_true(fabs(facts.late_s - 0.1 / 4) < 1e-12);
}
