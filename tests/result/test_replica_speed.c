/* Which replicas are slower than the others of their gang, result/replica_speed.h. */
#include "tests/test.h"
#include "result/replica_speed.h"

#include <math.h>

#include "result_fixture.h"

#define POINT_BASELINE "  baseline: {kind: Point, where: {trainers: 1}}\n"
#define TRIALS 3

TEST(what_is_compared)
{
    double series_us[] = {10, 30, 20};
    struct summary s = {.steps = 4, .series_us = series_us, .n_series = 3, .series_k = 1};
    s.phase_ns[PHASE_WAIT] = 8000;
    s.phase_ns[PHASE_SEND] = 9000;
    struct replica_speed p = replica_speed_of(ROLE_TRAINER, &s);
    assert_int_equal(p.kind, SPEED_STEP);
    assert_true(fabs(p.step_ns - 20000) < 1e-9);
    s.phase_ns[PHASE_UPDATE] = 4000;
    assert_int_equal(replica_speed_of(ROLE_TRAINER, &s).kind,
                     SPEED_STEP); /* the update is the server's */
    p = replica_speed_of(ROLE_PSERVER, &s);
    assert_int_equal(p.kind, SPEED_WORK);
    assert_true(fabs(p.step_ns - 1000) < 1e-9);
    s.phase_ns[PHASE_DATA] = 400;
    s.phase_ns[PHASE_FORWARD] = 800;
    s.phase_ns[PHASE_BACKWARD] = 1200;
    p = replica_speed_of(ROLE_WORKER, &s);
    assert_int_equal(p.kind, SPEED_WORK);
    assert_true(fabs(p.step_ns - 600) < 1e-9);
    assert_int_equal(replica_speed_of(ROLE_TRAINER, &(struct summary){.steps = 4}).kind,
                     SPEED_NONE);
}

/* A point of one size; trainer i of trial t worked for ms[t][i], on the node names[t][i]. */
struct gang_row {
    const char *name;
    uint32_t n;
    double ms[TRIALS][8];
    const char *nodes[TRIALS][8];
    const char *want; /* "" : none is slow */
};

static void describe(const struct result *r, struct buf *out)
{
    vec_each (struct slow_replica, s, &r->slow) {
        const struct replica_id *id = &s->id;
        buf_printf(out, "point %u trial %u trainer/%u %s +%.0f%% spread %.0f%% of %zu, %zu/%zu",
                   s->point, id->attempt.trial, id->index, s->node == NULL ? "-" : s->node,
                   100 * s->excess, 100 * s->spread, s->n_others, s->n_slow, s->n_trials);
    }
}

TEST(who_is_slow)
{
    /* clang-format off */
    static const struct gang_row rows[] = {
        {"alike", 5,
         {{100, 101, 99, 100, 102}, {100, 100, 100, 100, 100}, {99, 100, 101, 100, 100}}, {{0}},
         ""},
        {"slow, but under 5%", 5, {{100, 100, 100, 100, 104}}, {{0}}, ""},
        {"slow in one trial", 5,
         {{100, 101, 99, 100, 112}, {100, 100, 100, 100, 100}, {99, 100, 101, 100, 100}},
         {{"a", "b", "c", "d", "e"}}, "point 0 trial 0 trainer/4 e +12% spread 1% of 4, 1/3"},
        {"within the spread of the others", 5, {{100, 130, 80, 110, 135}}, {{0}}, ""},
        {"the same node under another index", 5,
         {{100, 100, 100, 100, 120}, {130, 100, 100, 100, 100}, {100, 100, 100, 100, 100}},
         {{"a", "b", "c", "d", "e"}, {"e", "a", "b", "c", "d"}, {"a", "b", "c", "d", "e"}},
         "point 0 trial 1 trainer/0 e +30% spread 0% of 4, 2/3"},
        {"two alike and three trials", 2, {{100, 110}, {100, 111}, {100, 109}},
         {{"a", "b"}, {"a", "b"}, {"a", "b"}},
         "point 0 trial 1 trainer/1 b +10% spread 1% of 1, 3/3"},
        {"two, but not always the same", 2, {{100, 120}, {120, 100}, {100, 120}},
         {{"a", "b"}, {"a", "b"}, {"a", "b"}}, ""},
        {"two, and two trials", 2, {{100, 110}, {100, 110}}, {{0}}, ""},
        {"two that changed nodes", 2, {{100, 110}, {100, 111}, {100, 109}},
         {{"a", "b"}, {"b", "a"}, {"a", "b"}}, ""},
        {"a single one", 1, {{100}, {150}, {200}}, {{0}}, ""},
    };
    /* clang-format on */
    for (size_t k = 0; k < N_ROWS(rows); k++) {
        const struct gang_row *row = &rows[k];
        print_message("# row '%s'\n", row->name);
        _cleanup_(freep) char *sweep = xasprintf("{grid: {pservers: [1], trainers: [%u]}}", row->n);
        _cleanup_(freep) char *more =
            xasprintf("  baseline: {kind: Point, where: {trainers: %u}}\n  repeats: {min: %d}\n",
                      row->n, TRIALS);
        _cleanup_(fixture_done) struct fixture f;
        fixture_init(&f, sweep, more, 16);
        for (uint32_t t = 0; t < TRIALS && row->ms[t][0] > 0; t++) {
            struct attempt_row *attempt = fixture_throughput(&f, 0, t, 100);
            for (uint32_t i = 0; i < row->n; i++) { /* behind the pserver */
                fixture_place(attempt, i + 1, row->nodes[t][i], row->ms[t][i]);
            }
        }
        _cleanup_(buf_done) struct buf got = BUF_INIT;
        describe(fixture_build(&f, RUN_SUCCEEDED), &got);
        assert_string_equal(buf_cstr(&got), row->want);
    }
}

TEST(servers_are_compared_with_servers)
{
    _cleanup_(fixture_done) struct fixture f;
    fixture_init(&f, "{grid: {pservers: [4], trainers: [1]}}", POINT_BASELINE, 16);
    struct attempt_row *row = fixture_throughput(&f, 0, 0, 100);
    const double ms[] = {10, 10, 13, 10, 500};
    for (size_t i = 0; i < 5; i++) {
        fixture_place(row, i, "n", ms[i]);
    }
    const struct result *r = fixture_build(&f, RUN_SUCCEEDED);
    assert_int_equal(r->slow.len, 1);
    assert_int_equal(r->slow.items[0].id.role, ROLE_PSERVER);
    assert_int_equal(r->slow.items[0].id.index, 2);
}

/* A row with an index that the point does not have belongs to no replica. */
TEST(an_index_beyond_the_point)
{
    _cleanup_(fixture_done) struct fixture f;
    fixture_init(&f, "{grid: {pservers: [2], trainers: [1]}}",
                 POINT_BASELINE "  repeats: {min: 3}\n", 16);
    for (uint32_t t = 0; t < TRIALS; t++) {
        struct attempt_row *row = fixture_throughput(&f, 0, t, 100);
        fixture_place(row, 0, "a", 100);
        row->replicas.items[1].id.index = 2;
        fixture_place(row, 1, "b", 110);
    }
    assert_int_equal(fixture_build(&f, RUN_SUCCEEDED)->slow.len, 0);
}

/* A trial that failed says nothing of its replicas, and neither does one that does not say its work
 * beside some that do. */
TEST(who_is_left_out)
{
    _cleanup_(fixture_done) struct fixture f;
    fixture_init(&f, "{grid: {pservers: [1], trainers: [4]}}",
                 "  baseline: {kind: Point, where: {trainers: 4}}\n", 16);
    struct attempt_row *row = fixture_throughput(&f, 0, 0, 100);
    for (size_t i = 0; i < 5; i++) {
        fixture_place(row, i, "n", i == 4 ? 200 : 100);
    }
    assert_int_equal(fixture_build(&f, RUN_SUCCEEDED)->slow.len, 1);
    fixture_place(row, 3, "n", 0);
    assert_int_equal(fixture_build(&f, RUN_SUCCEEDED)->slow.len, 0);
    fixture_place(row, 3, "n", 100);
    row->outcome = ATTEMPT_FAILED;
    assert_int_equal(fixture_build(&f, RUN_FAILED)->slow.len, 0);
}
