/* Which attempt and which replica a reader means, by the numbers that were given;
 * the names of phases. */
#include "tests/test.h"
#include "core/phase.h"

TEST(finds_the_attempt_that_is_meant)
{
    /* As a store lists them. */
    static const struct attempt_row attempts[] = {
        {.id = {0, 0, 0}}, {.id = {0, 0, 1}}, {.id = {0, 1, 0}}, {.id = {2, 1, 0}},
        {.id = {2, 1, 1}}, {.id = {2, 1, 2}}, {.id = {2, 3, 0}}, {.id = {3, 1, 0}},
    };
    static const struct {
        const char *name;
        struct attempt_wanted wanted;
        int found; /* -1: none */
    } rows[] = {
        {"nothing is given", {-1, -1, -1}, 1},
        {"a point: its first trial's last attempt", {2, -1, -1}, 5},
        {"a trial", {2, 3, -1}, 6},
        {"all three", {2, 1, 1}, 4},
        {"an attempt: of the first trial that has it", {2, -1, 0}, 3},
        {"an attempt that only a later trial has", {0, 1, -1}, 2},
        {"a trial of the first point that has it, not of later ones", {-1, 1, -1}, 2},
        {"no such point", {1, -1, -1}, -1},
        {"no such trial", {2, 0, -1}, -1},
        {"no such attempt", {2, 3, 1}, -1},
        {"more than 32 bits are another number", {INT64_C(4294967296), -1, -1}, -1},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        const struct attempt_row *found =
            attempt_rows_find(attempts, N_ROWS(attempts), &rows[i].wanted);
        const int at = found == NULL ? -1 : (int)(found - attempts);
        if (at != rows[i].found) {
            fail_msg("row '%s': expected attempt %d, got %d", rows[i].name, rows[i].found, at);
        }
    }
    assert_null(attempt_rows_find(NULL, 0, &rows[0].wanted));
}

TEST(finds_the_replica_that_is_meant)
{
    struct replica_row replicas[] = {{.id = {.role = ROLE_PSERVER, .index = 0}},
                                     {.id = {.role = ROLE_PSERVER, .index = 1}},
                                     {.id = {.role = ROLE_TRAINER, .index = 0}},
                                     {.id = {.role = ROLE_TRAINER, .index = 1}}};
    const struct attempt_row attempt = {.replicas = {.items = replicas, .len = N_ROWS(replicas)}};
    static const struct {
        const char *name;
        int role;
        int64_t index;
        int found; /* -1: none */
    } rows[] = {
        {"nothing is given: trainer/0", -1, -1, 2},       {"an index alone: a trainer's", -1, 1, 3},
        {"a role alone: its first", ROLE_PSERVER, -1, 0}, {"both", ROLE_PSERVER, 1, 1},
        {"no such index", ROLE_TRAINER, 2, -1},           {"no such role", ROLE_WORKER, -1, -1},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        const struct replica_row *found =
            attempt_row_find_replica(&attempt, rows[i].role, rows[i].index);
        const int at = found == NULL ? -1 : (int)(found - replicas);
        if (at != rows[i].found) {
            fail_msg("row '%s': expected replica %d, got %d", rows[i].name, rows[i].found, at);
        }
    }
}

TEST(finds_whose_log_says_most)
{
    static const struct {
        const char *name, *error;
        const char *failures[3]; /* of pserver/0, trainer/1, trainer/12 */
        int exit_codes[3];
        int found; /* -1: none */
    } rows[] = {
        {"the one that is named", "trainer/12: killed by signal 9", {"gone"}, {1, 1, -1}, 2},
        {"named first", "trainer/12: lost trainer/1 and pserver/0", {NULL}, {0}, 2},
        {"named behind a longer name", "trainer/123: lost trainer/12", {NULL}, {0}, 2},
        {"a shorter name, behind its longer one", "trainer/120, trainer/1", {NULL}, {0}, 1},
        {"none is named: who says a failure", "out of room", {NULL, NULL, "evicted"}, {0, 1, 1}, 2},
        {"nobody says anything: who ended badly", NULL, {NULL}, {0, 7, 7}, 1},
        {"all went well", NULL, {NULL}, {0}, -1},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct replica_row replicas[] = {{.id = {.role = ROLE_PSERVER, .index = 0}},
                                         {.id = {.role = ROLE_TRAINER, .index = 1}},
                                         {.id = {.role = ROLE_TRAINER, .index = 12}}};
        for (size_t k = 0; k < N_ROWS(replicas); k++) {
            replicas[k].failure = (char *)rows[i].failures[k];
            replicas[k].exit_code = rows[i].exit_codes[k];
        }
        const struct attempt_row attempt = {
            .error = (char *)rows[i].error,
            .replicas = {.items = replicas, .len = N_ROWS(replicas)}};
        const struct replica_row *found = attempt_row_find_culprit(&attempt);
        const int at = found == NULL ? -1 : (int)(found - replicas);
        if (at != rows[i].found) {
            fail_msg("row '%s': expected replica %d, got %d", rows[i].name, rows[i].found, at);
        }
    }
}

static const struct run_status one_status = {
    .phase = RUN_RUNNING,
    .reason = "Running",
    .message = "point 0, trial 1, attempt 2",
    .trials_done = 1,
    .trials_failed = 1,
    .trials_total = 4,
    .has_current = true,
    .current = {0, 1, 2},
    .started_unix_ms = 1000,
    .ended_unix_ms = 2000,
};

/* A status is written if it changed: each of its fields counts. */
TEST(any_change_of_a_status_is_seen)
{
    struct run_status other[13];
    static const char *const names[N_ROWS(other)] = {
        "phase", "reason", "message", "trials done", "trials failed", "trials",       "no current",
        "point", "trial",  "attempt", "start",       "end",           "another lane",
    };
    for (size_t i = 0; i < N_ROWS(other); i++) {
        other[i] = one_status;
    }
    assert_true(run_status_eq(&one_status, &other[0]));
    other[0].phase = RUN_SUSPENDED;
    other[1].reason[0] = 'r';
    other[2].message[0] = 'P';
    other[3].trials_done = 2;
    other[4].trials_failed = 0;
    other[5].trials_total = 5;
    other[6].has_current = false;
    other[7].current.point = 1;
    other[8].current.trial = 0;
    other[9].current.number = 3;
    other[10].started_unix_ms = 1001;
    other[11].ended_unix_ms = 0;
    other[12].lanes[15].has_current = true;
    for (size_t i = 0; i < N_ROWS(other); i++) {
        if (run_status_eq(&one_status, &other[i]) || run_status_eq(&other[i], &one_status)) {
            fail_msg("%s: expected a change, got none", names[i]);
        }
    }
}

TEST(final_phases)
{
    static const bool is_final[] = {
        [RUN_PENDING] = false,  [RUN_QUEUED] = false,          [RUN_RUNNING] = false,
        [RUN_SUCCEEDED] = true, [RUN_PARTIALLY_FAILED] = true, [RUN_FAILED] = true,
        [RUN_CANCELLED] = true, [RUN_SUSPENDED] = false,
    };
    for (size_t i = 0; i < N_ROWS(is_final); i++) {
        if (run_phase_is_final((enum run_phase)i) != is_final[i]) {
            fail_msg("%s: expected final %d", run_phase_to_string((enum run_phase)i), is_final[i]);
        }
    }
}

TEST(points_given_up)
{
    assert_false(point_is_given_up(0, 0));
    assert_true(point_is_given_up(0, 1));
    assert_true(point_is_given_up(0, 5));
    assert_false(point_is_given_up(1, 0));
    assert_false(point_is_given_up(1, 4));
}

TEST(names_go_both_ways)
{
    int final = 0;
    for (int i = 0; i <= RUN_SUSPENDED; i++) {
        assert_int_equal(run_phase_from_string(run_phase_to_string((enum run_phase)i)), i);
        final += run_phase_is_final((enum run_phase)i);
    }
    assert_int_equal(final, 4); /* Succeeded, PartiallyFailed, Failed, Cancelled */
    for (int i = 0; i <= ATTEMPT_METRICS_UNAVAILABLE; i++) {
        assert_int_equal(
            attempt_outcome_from_string(attempt_outcome_to_string((enum attempt_outcome)i)), i);
    }
    assert_true(run_phase_from_string("running") < 0);
    assert_true(attempt_outcome_from_string("Voids") < 0);
}
