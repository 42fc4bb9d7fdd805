/* Runs in the store: what goes in comes out, and what is wrong is said by name. */
#include "store_fixture.h"

#include <sqlite3.h>

TEST(test_run_comes_back)
{
    _cleanup_(fixture_done) struct fixture f = fixture_make();
    struct store *s = fixture_open(&f);
    struct run_row row = make_run(UID, RUN_NAME, 1760000000123);
    row.status.phase = RUN_RUNNING;
    row.status.has_current = true;
    row.status.current.point = 2;
    row.status.is_cut_short = true;
    row.status.lanes[3] = (struct run_lane){true, {1, 4, 5}, true};
    row.status.lanes[15] = (struct run_lane){true, {0, 0, 1}, false};
    assert_int_equal(s->ops->put_run(s, &row, NULL), 0);
    store_close(s);

    s = fixture_open(&f);
    static const char *const keys[] = {UID, RUN_NAME};
    for (size_t i = 0; i < 2; i++) {
        _cleanup_(run_row_done) struct run_row got;
        assert_int_equal(s->ops->get_run(s, keys[i], &got, NULL), 0);
        assert_string_equal(got.uid, UID);
        assert_string_equal(got.name, RUN_NAME);
        assert_string_equal(got.benchmark, "vgg16-pserver-sweep");
        assert_string_equal(got.definition_json, row.definition_json);
        assert_int_equal(got.created_unix_ms, 1760000000123);
        assert_int_equal(got.cpus, 2);
        assert_true(got.rehearsal && !got.simulated);
        assert_int_equal(got.status.phase, RUN_RUNNING);
        assert_true(got.status.has_current);
        assert_int_equal(got.status.current.point, 2);
        assert_true(got.status.is_cut_short);
        assert_int_equal(got.status.trials_total, 4);
        assert_true(run_status_eq(&got.status, &row.status)); /* with all lanes */
    }
    struct err err = {0};
    assert_int_equal(s->ops->put_run(s, &row, &err), -EEXIST);
    assert_has(err.msg, RUN_NAME);
    assert_has(err.msg, f.path);
    run_row_done(&row);
    row = make_run("another", RUN_NAME, 1);
    assert_int_equal(s->ops->put_run(s, &row, NULL), -EEXIST);
    run_row_done(&row);
    store_close(s);
}

TEST(test_status_is_replaced)
{
    _cleanup_(fixture_done) struct fixture f = fixture_make();
    _cleanup_(store_closep) struct store *s = fixture_open(&f);
    _cleanup_(run_row_done) struct run_row row = make_run(UID, RUN_NAME, 1);
    assert_int_equal(s->ops->put_run(s, &row, NULL), 0);
    struct run_status status = {.phase = RUN_FAILED,
                                .trials_done = 3,
                                .trials_failed = 2,
                                .trials_total = 4,
                                .started_unix_ms = 10,
                                .ended_unix_ms = 20};
    (void)snprintf(status.reason, sizeof(status.reason), "TooManyFailedTrials");
    (void)snprintf(status.message, sizeof(status.message), "2 trials failed");
    assert_int_equal(s->ops->put_status(s, UID, &status, NULL), 0);
    _cleanup_(run_row_done) struct run_row got;
    assert_int_equal(s->ops->get_run(s, UID, &got, NULL), 0);
    assert_int_equal(got.status.phase, RUN_FAILED);
    assert_string_equal(got.status.reason, "TooManyFailedTrials");
    assert_string_equal(got.status.message, "2 trials failed");
    assert_int_equal(got.status.trials_done, 3);
    assert_int_equal(got.status.trials_failed, 2);
    assert_int_equal(got.status.started_unix_ms, 10);
    assert_int_equal(got.status.ended_unix_ms, 20);
    assert_false(got.status.has_current);
    assert_int_equal(s->ops->put_status(s, "nobody", &status, NULL), -ENOENT);
}

TEST(test_runs_are_listed_newest_first)
{
    _cleanup_(fixture_done) struct fixture f = fixture_make();
    _cleanup_(store_closep) struct store *s = fixture_open(&f);
    static const struct {
        const char *uid, *name;
        int64_t created_unix_ms;
    } runs[] = {{"u1", "b", 100}, {"u2", "c", 300}, {"u3", "a", 100}};
    for (size_t i = 0; i < 3; i++) {
        _cleanup_(run_row_done) struct run_row row =
            make_run(runs[i].uid, runs[i].name, runs[i].created_unix_ms);
        assert_int_equal(s->ops->put_run(s, &row, NULL), 0);
    }
    _cleanup_(freep) struct run_row *rows = NULL;
    size_t n = 0;
    assert_int_equal(s->ops->list_runs(s, &rows, &n, NULL), 0);
    assert_int_equal(n, 3);
    static const char *const expected[] = {"c", "a", "b"};
    for (size_t i = 0; i < n; i++) {
        assert_string_equal(rows[i].name, expected[i]);
        assert_string_equal(rows[i].definition_json, ""); /* each may have a megabyte */
        run_row_done(&rows[i]);
    }
}

TEST(test_a_run_is_renamed)
{
    _cleanup_(fixture_done) struct fixture f = fixture_make();
    _cleanup_(store_closep) struct store *s = fixture_open(&f);
    struct run_row run = make_run(UID, RUN_NAME, 1), got;
    struct err err = {0};
    assert_int_equal(s->ops->put_run(s, &run, NULL), 0);
    run_row_done(&run);
    assert_int_equal(s->ops->rename_run(s, UID, "old", NULL), 0);
    assert_int_equal(s->ops->get_run(s, RUN_NAME, &got, NULL), -ENOENT);
    assert_int_equal(s->ops->get_run(s, "old", &got, NULL), 0);
    assert_string_equal(got.uid, UID);
    run_row_done(&got);
    run = make_run("another", RUN_NAME, 1);
    assert_int_equal(s->ops->put_run(s, &run, NULL), 0); /* the name is free again */
    run_row_done(&run);
    assert_int_equal(s->ops->rename_run(s, UID, RUN_NAME, &err), -EEXIST);
    assert_has(err.msg, RUN_NAME);
    assert_int_equal(s->ops->rename_run(s, "nobody", "x", NULL), -ENOENT);
}

TEST(test_events_keep_their_order)
{
    _cleanup_(fixture_done) struct fixture f;
    _cleanup_(store_closep) struct store *s = open_with_run(&f);
    struct event_row late = {900, EVENT_WARNING, "TrialVoid", "pserver/0: killed"};
    struct event_row early = {100, EVENT_NORMAL, "Started", ""};
    assert_int_equal(s->ops->add_event(s, UID, &late, NULL), 0);
    assert_int_equal(s->ops->add_event(s, UID, &early, NULL), 0);
    assert_int_equal(s->ops->add_event(s, "nobody", &early, NULL), -ENOENT);
    _cleanup_(freep) struct event_row *rows = NULL;
    size_t n = 0;
    assert_int_equal(s->ops->list_events(s, UID, &rows, &n, NULL), 0);
    assert_int_equal(n, 2);
    assert_int_equal(rows[0].unix_ms, 900);
    assert_int_equal(rows[0].type, EVENT_WARNING);
    assert_string_equal(rows[0].reason, "TrialVoid");
    assert_string_equal(rows[0].note, "pserver/0: killed");
    assert_int_equal(rows[1].type, EVENT_NORMAL);
    assert_string_equal(rows[1].note, "");
    for (size_t i = 0; i < n; i++) {
        event_row_done(&rows[i]);
    }
}

TEST(test_delete_removes_everything)
{
    _cleanup_(fixture_done) struct fixture f = fixture_make();
    struct store *s = fixture_open(&f);
    for (int i = 0; i < 2; i++) {
        _cleanup_(run_row_done) struct run_row run =
            make_run(i == 0 ? UID : "other", i == 0 ? RUN_NAME : "other", i);
        assert_int_equal(s->ops->put_run(s, &run, NULL), 0);
        assert_int_equal(save(s, run.uid, 3, 1, 0, "hello", 5, NULL), 0);
        struct event_row event = {1, EVENT_NORMAL, "Started", ""};
        assert_int_equal(s->ops->add_event(s, run.uid, &event, NULL), 0);
    }
    assert_int_equal(s->ops->delete_run(s, "other", NULL), 0);
    assert_int_equal(s->ops->delete_run(s, "other", NULL), -ENOENT);
    assert_whole_attempt(s, "hello", 5); /* the other run is untouched */
    assert_int_equal(s->ops->delete_run(s, UID, NULL), 0);
    store_close(s);
    static const char *const tables[] = {"run",         "attempt", "replica",
                                         "environment", "log",     "event"};
    for (size_t i = 0; i < N_ROWS(tables); i++) {
        _cleanup_(freep) char *sql = xasprintf("SELECT count(*) FROM %s", tables[i]);
        assert_sql(&f, sql, "0");
    }
}

TEST(test_store_close_takes_null)
{
    store_close(NULL);
}
