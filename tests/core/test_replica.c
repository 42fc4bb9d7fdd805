/* Identities of attempts and replicas, and what their states mean. */
#include "tests/test.h"
#include "core/replica.h"

#include <errno.h>

#include "core/exchange_kind.h"

TEST(attempts_are_ordered)
{
    static const struct {
        const char *name;
        struct attempt_id a, b;
        int sign; /* of attempt_id_compare(a, b) */
    } rows[] = {
        {"equal", {1, 2, 3}, {1, 2, 3}, 0},
        {"the number decides last", {1, 2, 3}, {1, 2, 4}, -1},
        {"the trial goes before the number", {1, 2, 9}, {1, 3, 0}, -1},
        {"the point goes before both", {1, 9, 9}, {2, 0, 0}, -1},
        {"no difference wraps around", {0, 0, 0}, {UINT32_MAX, 0, 0}, -1},
        {"nor in the number", {0, 0, 0}, {0, 0, UINT32_MAX}, -1},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        const int there = attempt_id_compare(&rows[i].a, &rows[i].b);
        const int back = attempt_id_compare(&rows[i].b, &rows[i].a);
        if ((there > 0) - (there < 0) != rows[i].sign || (back > 0) - (back < 0) != -rows[i].sign) {
            fail_msg("row '%s': expected sign %d, got %d and back %d", rows[i].name, rows[i].sign,
                     there, back);
        }
        assert_int_equal(attempt_id_eq(&rows[i].a, &rows[i].b), rows[i].sign == 0);
    }
}

TEST(replicas_are_told_apart)
{
    const struct replica_id id = {{1, 2, 3}, ROLE_TRAINER, 4};
    struct replica_id other = id;
    assert_true(replica_id_eq(&id, &other));
    other.index = 5;
    assert_false(replica_id_eq(&id, &other));
    other = id;
    other.role = ROLE_PSERVER;
    assert_false(replica_id_eq(&id, &other));
    other = id;
    other.attempt.number = 0;
    assert_false(replica_id_eq(&id, &other));
    _cleanup_(freep) char *name = replica_name("demo-7k3fq", &id);
    assert_string_equal(name, "demo-7k3fq-p1t2a3-trainer-4");
}

TEST(final_states)
{
    static const struct {
        enum replica_state state;
        bool is_final;
    } rows[] = {
        {REPLICA_PENDING, false}, {REPLICA_RUNNING, false}, {REPLICA_SUCCEEDED, true},
        {REPLICA_FAILED, true},   {REPLICA_LOST, true},
    };
    assert_int_equal(N_ROWS(rows), REPLICA_LOST + 1); /* every state has a row */
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        assert_int_equal(rows[i].state, i);
        assert_int_equal(replica_state_is_final(rows[i].state), rows[i].is_final);
    }
}

TEST(classes_of_exits)
{
    static const struct {
        const char *name;
        int exit_code, signal;
        bool oom_killed;
        enum failure_class failure;
    } rows[] = {
        {"a good end", 0, 0, false, FAILURE_NONE},
        {"killed for memory behind a good end", 0, 0, true, FAILURE_PERMANENT},
        {"killed for memory by its signal", 0, 9, true, FAILURE_PERMANENT},
        {"killed", 0, 9, false, FAILURE_INFRASTRUCTURE},
        {"killed, as a shell says it", 137, 0, false, FAILURE_INFRASTRUCTURE},
        {"128 is no signal", 128, 0, false, FAILURE_PERMANENT},
        {"the last signal", 192, 0, false, FAILURE_INFRASTRUCTURE},
        {"beyond all signals", 193, 0, false, FAILURE_PERMANENT},
        {"a lost peer", 11, 0, false, FAILURE_CONSEQUENCE},
        {"a resource", 13, 0, false, FAILURE_INFRASTRUCTURE},
        {"anything else", 1, 0, false, FAILURE_PERMANENT},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        const enum failure_class got =
            failure_classify_exit(rows[i].exit_code, rows[i].signal, rows[i].oom_killed);
        if (got != rows[i].failure) {
            fail_msg("row '%s': expected class %d, got %d", rows[i].name, rows[i].failure, got);
        }
    }
}

TEST(words)
{
    for (int i = 0; i < EXCHANGE_COUNT; i++) {
        assert_int_equal(exchange_kind_from_string(exchange_kind_names[i]), i);
    }
    assert_int_equal(exchange_kind_from_string("PServer"), EXCHANGE_PSERVER);
    assert_int_equal(exchange_kind_from_string("pserver"), -EINVAL);
    assert_int_equal(exchange_kind_from_string(""), -EINVAL);
    for (int i = 0; i < ROLE_COUNT; i++) {
        assert_int_equal(role_from_string(role_to_string((enum role)i)), i);
    }
    assert_int_equal(role_from_string("trainers"), -EINVAL);
}
