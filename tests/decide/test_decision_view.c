/* How rows and replicas fold into trials and gangs. */
#include "tests/test.h"
#include "decide/decision_view.h"

#include "../spec/run_def_builder.h"

#include <math.h>

/* One point of 1 pserver and 2 trainers, two trials. */
static void make_run(struct test_run *run)
{
    test_run_init(run);
    test_run_add_point(run, 1, 2, 0);
    test_run_set_repeats(run, 2);
}

static void make_history(struct attempt_history *history, const struct test_run *run,
                         const struct attempt_row *rows, size_t n)
{
    attempt_history_init(history, &run->def);
    for (size_t i = 0; i < n; i++) {
        attempt_history_add(history,
                            &(struct history_row){rows[i].id, rows[i].outcome, rows[i].error, NAN});
    }
}

TEST(rows_decide_trials)
{
    /* clang-format off */
    static const struct {
        const char *name;
        struct attempt_row rows[3];
        size_t n;
        bool is_decided;
        uint32_t decided_by, n_rows;
        int64_t last_row;
        uint32_t done, failed; /* of the run */
    } cases[] = {
        {"no row", {{.outcome = ATTEMPT_VOID}}, 0, false, 0, 0, -1, 0, 0},
        {"void alone decides nothing", {{{0, 0, 0}, ATTEMPT_VOID}}, 1, false, 0, 1, 0, 0, 0},
        {"a success", {{{0, 0, 0}, ATTEMPT_SUCCEEDED}}, 1, true, 0, 1, 0, 1, 0},
        {"a success after void, in any order",
         {{{0, 0, 1}, ATTEMPT_SUCCEEDED}, {{0, 0, 0}, ATTEMPT_VOID}}, 2, true, 1, 2, 1, 1, 0},
        {"the lowest of two that decide",
         {{{0, 0, 2}, ATTEMPT_SUCCEEDED}, {{0, 0, 1}, ATTEMPT_FAILED}}, 2, true, 1, 2, 2, 1, 1},
        {"the same, seen first",
         {{{0, 0, 1}, ATTEMPT_FAILED}, {{0, 0, 2}, ATTEMPT_SUCCEEDED}}, 2, true, 1, 2, 2, 1, 1},
        {"without metrics counts as failed",
         {{{0, 0, 0}, ATTEMPT_METRICS_UNAVAILABLE}}, 1, true, 0, 1, 0, 1, 1},
        {"rows of other points and trials are ignored",
         {{{1, 0, 0}, ATTEMPT_FAILED}, {{0, 2, 0}, ATTEMPT_FAILED}}, 2, false, 0, 0, -1, 0, 0},
    };
    /* clang-format on */
    struct test_run run;
    make_run(&run);
    for (size_t i = 0; i < N_ROWS(cases); i++) {
        _cleanup_(attempt_history_done) struct attempt_history history;
        make_history(&history, &run, cases[i].rows, cases[i].n);
        const struct observed observed = {.def = &run.def, .history = &history};
        _cleanup_(decision_view_done) struct decision_view w;
        decision_view_init(&w, &observed);
        const struct trial *t = decision_view_trial(&w, 0, 0);
        if (t->is_decided != cases[i].is_decided || t->decided_by != cases[i].decided_by ||
            t->n_rows != cases[i].n_rows || t->seen.last_row != cases[i].last_row ||
            w.counts.done != cases[i].done || w.counts.failed != cases[i].failed ||
            w.counts.total != 2) {
            fail_msg("'%s': decided %d by %u of %u rows, last %d; %u done, %u failed",
                     cases[i].name, t->is_decided, t->decided_by, t->n_rows, (int)t->seen.last_row,
                     w.counts.done, w.counts.failed);
        }
    }
}

TEST(replicas_become_gangs)
{
    const struct observed_replica replicas[] = {
        {.id = {{0, 1, 0}, ROLE_TRAINER, 1}}, /* the current attempt, in no order */
        {.id = {{0, 1, 0}, ROLE_PSERVER, 0}},
        {.id = {{0, 0, 0}, ROLE_TRAINER, 0}}, /* has a row */
        {.id = {{0, 1, 0}, ROLE_TRAINER, 2}}, /* no such member, point, trial, number */
        {.id = {{1, 0, 0}, ROLE_TRAINER, 0}},
        {.id = {{0, 2, 0}, ROLE_TRAINER, 0}},
        {.id = {{0, 0, ATTEMPT_NUMBER_MAX + 1}, ROLE_TRAINER, 0}},
    };
    const struct attempt_row rows[] = {{.id = {0, 0, 0}, .outcome = ATTEMPT_SUCCEEDED}};
    struct test_run run;
    make_run(&run);
    _cleanup_(attempt_history_done) struct attempt_history history;
    make_history(&history, &run, rows, N_ROWS(rows));
    const struct observed observed = {
        .def = &run.def,
        .status = {.has_current = true, .current = {0, 1, 0}},
        .replicas = replicas,
        .n_replicas = N_ROWS(replicas),
        .history = &history,
    };
    _cleanup_(decision_view_done) struct decision_view w;
    decision_view_init(&w, &observed);
    assert_int_equal(w.unknown.len, 4);
    assert_int_equal(w.gangs.len, 2);
    assert_true(w.gangs.items[0].has_row);
    assert_int_equal(decision_view_trial(&w, 0, 0)->seen.last_live, -1); /* its row ended it */
    struct observed_gang *gang = &w.gangs.items[1];
    assert_false(gang->has_row);
    assert_int_equal(gang->n_members, 2);
    assert_int_equal(gang->members[0].id.role, ROLE_PSERVER);
    assert_true(decision_view_trial(&w, 0, 1)->seen.is_status_live);

    decision_view_add_row(&w, gang, ATTEMPT_FAILED, "cause"); /* planned: it counts at once */
    assert_true(gang->has_row);
    assert_false(decision_view_trial(&w, 0, 1)->seen.is_status_live);
    assert_string_equal(decision_view_trial(&w, 0, 1)->error, "cause");
    assert_int_equal(w.counts.done, 2);
    assert_int_equal(w.counts.failed, 1);
    assert_int_equal(history.counts.done, 1); /* the past is that of the store */
    assert_int_equal(history.trials[1].n_rows, 0);
}

/* A list of ten thousand is not copied when it is in order, whatever it is otherwise. */
TEST(replicas_in_order_are_borrowed)
{
    /* clang-format off */
    static const struct {
        const char *name;
        struct observed_replica replicas[2];
        bool is_borrowed;
        size_t n_unknown;
    } cases[] = {
        {"in order",
         {{.id = {{0, 1, 0}, ROLE_PSERVER, 0}}, {.id = {{0, 1, 0}, ROLE_TRAINER, 1}}}, true, 0},
        {"twice the same",
         {{.id = {{0, 1, 0}, ROLE_PSERVER, 0}}, {.id = {{0, 1, 0}, ROLE_PSERVER, 0}}}, true, 0},
        {"in no order",
         {{.id = {{0, 1, 0}, ROLE_TRAINER, 1}}, {.id = {{0, 1, 0}, ROLE_PSERVER, 0}}}, false, 0},
        {"in order, one unknown",
         {{.id = {{0, 1, 0}, ROLE_PSERVER, 0}}, {.id = {{0, 1, 0}, ROLE_TRAINER, 2}}}, false, 1},
    };
    /* clang-format on */
    struct test_run run;
    make_run(&run);
    _cleanup_(attempt_history_done) struct attempt_history history;
    make_history(&history, &run, NULL, 0);
    for (size_t i = 0; i < N_ROWS(cases); i++) {
        const struct observed observed = {
            .def = &run.def, .replicas = cases[i].replicas, .n_replicas = 2, .history = &history};
        _cleanup_(decision_view_done) struct decision_view w;
        decision_view_init(&w, &observed);
        if ((w.replicas == cases[i].replicas) != cases[i].is_borrowed ||
            w.unknown.len != cases[i].n_unknown || w.n_replicas != 2 - cases[i].n_unknown ||
            w.gangs.len != 1 || w.replicas[0].id.role != ROLE_PSERVER) {
            fail_msg("'%s': %zu replicas, %zu unknown", cases[i].name, w.n_replicas, w.unknown.len);
        }
    }
}

/* A point with a failed trial and none that succeeded is not tried again, whatever
 * order the rows come in. */
TEST(failed_points_are_given_up)
{
    /* clang-format off */
    static const struct {
        const char *name;
        struct attempt_row rows[3];
        size_t n;
        bool is_given_up;
        uint32_t not_run, first_open;
    } cases[] = {
        {"no row", {{.outcome = ATTEMPT_VOID}}, 0, false, 0, 0},
        {"void alone", {{{0, 0, 0}, ATTEMPT_VOID}}, 1, false, 0, 0},
        {"a failure", {{{0, 0, 0}, ATTEMPT_FAILED}}, 1, true, 2, 3},
        {"without metrics", {{{0, 1, 0}, ATTEMPT_METRICS_UNAVAILABLE}}, 1, true, 2, 3},
        {"a success before it",
         {{{0, 0, 0}, ATTEMPT_SUCCEEDED}, {{0, 1, 0}, ATTEMPT_FAILED}}, 2, false, 0, 2},
        {"a success after it, seen later",
         {{{0, 0, 0}, ATTEMPT_FAILED}, {{0, 1, 0}, ATTEMPT_SUCCEEDED}}, 2, false, 0, 2},
        {"the lower attempt decides, seen later",
         {{{0, 0, 1}, ATTEMPT_FAILED}, {{0, 0, 0}, ATTEMPT_SUCCEEDED}}, 2, false, 0, 1},
        {"all have failed",
         {{{0, 0, 0}, ATTEMPT_FAILED}, {{0, 1, 0}, ATTEMPT_FAILED}, {{0, 2, 0}, ATTEMPT_FAILED}}, 3,
         true, 0, 3},
    };
    /* clang-format on */
    struct test_run run;
    make_run(&run);
    test_run_set_repeats(&run, 3);
    for (size_t i = 0; i < N_ROWS(cases); i++) {
        _cleanup_(attempt_history_done) struct attempt_history history;
        make_history(&history, &run, cases[i].rows, cases[i].n);
        const struct observed observed = {.def = &run.def, .history = &history};
        _cleanup_(decision_view_done) struct decision_view w;
        decision_view_init(&w, &observed);
        const bool is_given_up = point_tally_is_given_up(&history.points[0]);
        if (is_given_up != cases[i].is_given_up || (is_given_up && decision_view_is_open(&w, 0)) ||
            w.counts.n_given_up != (uint32_t)cases[i].is_given_up ||
            w.counts.not_run != cases[i].not_run || history.first_open != cases[i].first_open) {
            fail_msg("'%s': given up %d (%u points), %u not run, first open %u", cases[i].name,
                     is_given_up, w.counts.n_given_up, w.counts.not_run, history.first_open);
        }
    }
}

/* A call costs what lives, not what is done: of 2,000 trials that are done it touches none. */
TEST(what_is_done_costs_nothing)
{
    struct test_run run;
    make_run(&run);
    struct point points[1001] = {0};
    run.def.matrix.points = points;
    run.def.matrix.n_points = 1001;
    run.def.n_slots = 1001 * 2;
    struct slot *before = run.def.slots;
    run.def.slots = xnew_array(struct slot, 1001 * 2);
    for (uint32_t i = 0; i < 1001 * 2; i++) {
        run.def.slots[i] = (struct slot){i / 2, i % 2};
    }
    points[1000].replicas[ROLE_TRAINER] = 1;
    struct attempt_history history;
    attempt_history_init(&history, &run.def);
    for (uint32_t i = 0; i < 1000 * 2; i++) {
        const uint32_t at = (i * 7) % 2000; /* in any order */
        attempt_history_add(&history,
                            &(struct history_row){{at / 2, at % 2, 0}, ATTEMPT_VOID, "first", NAN});
        attempt_history_add(
            &history, &(struct history_row){{at / 2, at % 2, 1}, ATTEMPT_FAILED, "second", NAN});
    }
    assert_int_equal(history.first_open, 2000);
    assert_int_equal(history.counts.done, 2000);
    assert_int_equal(history.counts.failed, 2000);
    assert_string_equal(attempt_history_find(&history, &(struct attempt_id){999, 1, 0})->error,
                        "first");
    assert_string_equal(attempt_history_find(&history, &(struct attempt_id){0, 0, 1})->error,
                        "second");
    assert_null(attempt_history_find(&history, &(struct attempt_id){0, 0, 2}));
    assert_null(attempt_history_find(&history, &(struct attempt_id){1000, 0, 0}));
    assert_null(attempt_history_find(&history, &(struct attempt_id){1001, 0, 0}));
    const struct observed_replica pod = {.id = {{1000, 0, 3}, ROLE_TRAINER, 0}};
    const struct observed observed = {.def = &run.def,
                                      .status = {.has_current = true, .current = {1000, 0, 3}},
                                      .replicas = &pod,
                                      .n_replicas = 1,
                                      .history = &history};
    struct decision_view w;
    decision_view_init(&w, &observed);
    assert_int_equal(w.touched.len, 1);
    assert_true(decision_view_trial(&w, 1000, 0)->seen.is_status_live);
    assert_true(decision_view_trial(&w, 3, 0)->is_decided);
    decision_view_done(&w);
    attempt_history_done(&history);
    free(run.def.slots);
    run.def.slots = before;
}
