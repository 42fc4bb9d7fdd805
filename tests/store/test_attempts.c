/* Attempts in the store: they come back whole, in order, and those alone that are wanted. */
#include "store_fixture.h"

TEST(test_only_those_wanted)
{
    static const uint32_t keys[][3] = {{2, 0, 0}, {2, 0, 1}, {2, 1, 0}, {3, 0, 1}, {10, 0, 0}};
    static const struct {
        struct attempt_wanted wanted;
        unsigned of_keys; /* a bit each */
    } rows[] = {
        {{-1, -1, -1}, 0x1f}, {{2, -1, -1}, 0x7}, {{2, 0, -1}, 0x3},  {{2, 0, 1}, 0x2},
        {{-1, 0, -1}, 0x1b},  {{-1, -1, 1}, 0xa}, {{3, -1, -1}, 0x8}, {{4, -1, -1}, 0},
        {{10, 0, 0}, 0x10},   {{2, 2, -1}, 0},
    };
    _cleanup_(fixture_done) struct fixture f;
    _cleanup_(store_closep) struct store *s = open_with_run(&f);
    for (size_t i = 5; i-- > 0;) { /* they come back in order */
        assert_int_equal(save(s, UID, keys[i][0], keys[i][1], keys[i][2], "hello", 5, NULL), 0);
    }
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        _cleanup_(freep) struct attempt_row *got;
        size_t n, n_seen = 0;
        assert_int_equal(s->ops->list_wanted(s, UID, &rows[i].wanted, &got, &n, NULL), 0);
        for (size_t k = 0; k < 5; k++) {
            if ((rows[i].of_keys >> k & 1) != 0) {
                assert_true(n_seen < n);
                struct attempt_row expected = make_attempt(keys[k][0], keys[k][1], keys[k][2]);
                assert_attempt_equal(&got[n_seen], &expected);
                attempt_row_done(&expected);
                attempt_row_done(&got[n_seen++]);
            }
        }
        assert_int_equal(n_seen, n);
    }
}

TEST(test_saving_again_changes_nothing)
{
    _cleanup_(fixture_done) struct fixture f = fixture_make();
    _cleanup_(store_closep) struct store *s = fixture_open(&f);
    struct run_row run = make_run(UID, RUN_NAME, 1);
    assert_int_equal(s->ops->put_run(s, &run, NULL), 0);
    run_row_done(&run);
    assert_int_equal(save(s, UID, 3, 1, 0, "hello", 5, NULL), 0);
    assert_int_equal(save(s, UID, 3, 1, 0, "other", 5, NULL), 0);
    assert_whole_attempt(s, "hello", 5);
    struct err err = {0};
    assert_int_equal(save(s, "nobody", 3, 1, 0, "hello", 5, &err), -ENOENT);
    assert_has(err.msg, "there is no run 'nobody'");
}

/* An attempt is there with all its replicas and logs, or not at all. */
TEST(test_an_attempt_that_fails_half_way_leaves_nothing)
{
    _cleanup_(fixture_done) struct fixture f;
    _cleanup_(store_closep) struct store *s = open_with_run(&f);
    fixture_exec(&f,
                 "CREATE TRIGGER full BEFORE INSERT ON log BEGIN SELECT RAISE(ABORT, 'full'); END");
    _cleanup_(attempt_row_done) struct attempt_row row = make_attempt(3, 1, 0);
    struct replica_log logs[] = {{row.replicas.items[0].id, "a", 1},
                                 {row.replicas.items[0].id, "a", 1}}; /* twice the same */
    struct err err = {0};
    assert_true(s->ops->save_attempt(s, UID, &row, &terms, logs, 1, NULL, &err) < 0);
    assert_has(err.msg, "save point 3 trial 1 attempt 0: store '");
    fixture_exec(&f, "DROP TRIGGER full");
    assert_true(s->ops->save_attempt(s, UID, &row, &terms, logs, 2, NULL, &err) < 0);
    assert_has(err.msg, "save point 3 trial 1 attempt 0: pserver/0 has two logs");
    logs[0].len = logs[1].len = (size_t)1 << 30; /* not too long, and nobody reads it */
    assert_true(s->ops->save_attempt(s, UID, &row, &terms, logs, 2, NULL, &err) < 0);
    assert_has(err.msg, "save point 3 trial 1 attempt 0: pserver/0 has two logs");
    logs[0].len++;
    assert_true(s->ops->save_attempt(s, UID, &row, &terms, logs, 1, NULL, &err) < 0);
    assert_has(err.msg, "log of pserver/0: 1073741825 bytes are more than 1073741824");
    row.replicas.items[1].id = row.replicas.items[0].id;
    assert_true(s->ops->save_attempt(s, UID, &row, &terms, NULL, 0, NULL, &err) < 0);
    assert_has(err.msg, "save point 3 trial 1 attempt 0: pserver/0 is there twice");
    assert_int_equal(count_attempts(s, UID), 0);
    assert_int_equal(save(s, UID, 3, 1, 0, "hello", 5, NULL), 0); /* the store works on */
    assert_whole_attempt(s, "hello", 5);
}

/* One attempt that fake pods answered makes the run simulated, and it stays so. */
TEST(test_a_simulated_attempt_marks_its_run)
{
    _cleanup_(fixture_done) struct fixture f = fixture_make();
    _cleanup_(store_closep) struct store *s = fixture_open(&f);
    struct run_row run = make_run(UID, RUN_NAME, 1), got;
    assert_int_equal(s->ops->put_run(s, &run, NULL), 0);
    run_row_done(&run);
    static const bool simulated[] = {false, true, false};
    for (uint32_t i = 0; i < 3; i++) {
        _cleanup_(attempt_row_done) struct attempt_row row = make_attempt(0, i, 0);
        row.simulated = simulated[i];
        assert_int_equal(s->ops->save_attempt(s, UID, &row, &terms, NULL, 0, NULL, NULL), 0);
        assert_int_equal(s->ops->get_run(s, UID, &got, NULL), 0);
        assert_int_equal(got.simulated, i > 0);
        run_row_done(&got);
    }
}
