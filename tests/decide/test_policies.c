/* The small policies of reconcile that docs/contracts/retries.md has no table for. */
#include "tests/test.h"
#include "base/str.h"
#include "decide/policy_attempt.h"
#include "decide/policy_end.h"
#include "decide/policy_wait.h"

TEST(deadline)
{
    static const struct {
        const char *name;
        int64_t started_unix_ms, deadline_s, now_unix_ms, remaining_ms;
    } rows[] = {
        {"none", 1000, 0, 5000, DEADLINE_NONE},
        {"not started", 0, 60, 5000, DEADLINE_NONE},
        {"ahead", 1000, 60, 21000, 40000},
        {"one ms ahead", 1000, 60, 60999, 1},
        {"due", 1000, 60, 61000, 0},
        {"long past", 1000, 60, 99999999, 0},
        {"the clock went back", 1000, 60, 500, 60000},
        {"it went back by years", 4000000000000, 60, 1700000000000, 60000},
        {"beyond every clock", 1000, INT64_MAX, 5000, DEADLINE_NONE},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s'\n", rows[i].name);
        assert_int_equal(
            deadline_remaining_ms(rows[i].started_unix_ms, rows[i].deadline_s, rows[i].now_unix_ms),
            rows[i].remaining_ms);
    }
}

TEST(waits)
{
    static const struct {
        const char *reason;
        bool is_queue, stops_clock, needs_help;
    } rows[] = {{"Queued", true, true},
                {"WaitsForNodes", true, true},
                {"NoRoom", true, true},
                {"Preempted", true, true},
                {"PodsRemain", false, true},
                {"NodeNotReady", false, false},
                {"CreationFails", false, true, true},
                {"QuotaExceeded", false, true, true},
                {"PodNotSetUp", false, false, true},
                {"NoProgress", false, false},
                {"", false, false}};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        assert_int_equal(wait_is_queue(rows[i].reason), rows[i].is_queue);
        assert_int_equal(wait_stops_clock(rows[i].reason), rows[i].stops_clock);
        struct run_wait wait = {0};
        text_put(wait.reason, sizeof(wait.reason), "%s", rows[i].reason);
        assert_int_equal(wait_needs_help(&wait), rows[i].needs_help);
        wait.is_unanswered = true;
        assert_false(wait_needs_help(&wait));
    }
}

TEST(keeps_ended)
{
    /* clang-format off */
    static const struct {
        enum clean_pod_policy policy;
        enum attempt_outcome outcome;
        bool keeps;
    } rows[] = {
        {CLEAN_ALL, ATTEMPT_FAILED, false},         {CLEAN_ALL, ATTEMPT_SUCCEEDED, false},
        {CLEAN_RUNNING, ATTEMPT_SUCCEEDED, true},   {CLEAN_NONE, ATTEMPT_VOID, true},
        {CLEAN_ON_SUCCESS, ATTEMPT_FAILED, true},   {CLEAN_ON_SUCCESS, ATTEMPT_VOID, true},
        {CLEAN_ON_SUCCESS, ATTEMPT_SUCCEEDED, false},
        {CLEAN_ON_SUCCESS, ATTEMPT_METRICS_UNAVAILABLE, true},
    };
    /* clang-format on */
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# %s, %s\n", clean_pod_policy_names[rows[i].policy],
                      attempt_outcome_to_string(rows[i].outcome));
        assert_int_equal(cleanup_keeps_ended(rows[i].policy, rows[i].outcome), rows[i].keeps);
    }
}

TEST(replica_class)
{
    static const struct {
        const char *name;
        struct observed_replica replica;
        enum failure_class failure;
    } rows[] = {
        {"running", {.state = REPLICA_RUNNING}, FAILURE_NONE},
        {"succeeded", {.state = REPLICA_SUCCEEDED}, FAILURE_NONE},
        {"lost", {.state = REPLICA_LOST}, FAILURE_INFRASTRUCTURE},
        {"lost, whatever its class",
         {.state = REPLICA_LOST, .failure = FAILURE_PERMANENT},
         FAILURE_INFRASTRUCTURE},
        {"the launcher knows better than the code",
         {.state = REPLICA_FAILED, .exit_code = 1, .failure = FAILURE_INFRASTRUCTURE},
         FAILURE_INFRASTRUCTURE},
        {"by its code", {.state = REPLICA_FAILED, .exit_code = 11}, FAILURE_CONSEQUENCE},
        {"nobody knows why", {.state = REPLICA_FAILED}, FAILURE_INFRASTRUCTURE},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s'\n", rows[i].name);
        assert_int_equal(failure_of_replica(&rows[i].replica), rows[i].failure);
    }
}

TEST(numbers)
{
    static const struct {
        const char *name;
        struct attempt_seen seen;
        uint32_t number;
    } rows[] = {
        {"the first", {-1, -1, -1, false}, 0},
        {"alive", {-1, 0, -1, false}, 0},
        {"alive and named", {-1, 0, 0, true}, 0},
        {"after a row", {0, -1, 0, false}, 1},
        {"the next one lives", {0, 1, 0, false}, 1},
        {"vanished whole, nothing kept", {-1, -1, 0, false}, 1},
        {"vanished whole after rows", {1, -1, 2, false}, 3},
        {"the named one stays although a foreign one has a row", {3, 0, 0, true}, 0},
        {"an old one lives behind its rows", {3, 1, -1, false}, 4},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s'\n", rows[i].name);
        assert_int_equal(attempt_number(&rows[i].seen), rows[i].number);
    }
}

TEST(texts)
{
    static const struct {
        const char *name, *in, *out;
    } rows[] = {
        {"fits", "abcdefg", "abcdefg"},
        {"cut", "abcdefghij", "abcdefg"},
        {"cut behind a character", "abcde\u00e9x", "abcde\u00e9"},
        {"cut before a character", "abcdef\u00e9", "abcdef"},
        {"cut inside three bytes", "abcde\u20ac", "abcde"},
        {"one line", "a\nb\tc", "a b c"},
        {"empty", "", ""},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        char out[8];
        print_message("# row '%s'\n", rows[i].name);
        text_put(out, sizeof(out), "%s", rows[i].in);
        assert_string_equal(out, rows[i].out);
    }
}
