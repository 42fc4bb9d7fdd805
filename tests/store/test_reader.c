/* Others at the same file: how long a writer waits for them, what a reader sees, what
 * a connection counts. */
#include "store_fixture.h"

#include <sqlite3.h>

#include "base/clock.h"

static int64_t slept_ms;

int __wrap_sqlite3_sleep(int ms);
int __wrap_sqlite3_sleep(int ms)
{
    slept_ms += ms;
    return ms;
}

/* Another process writes and does not end: a call waits 10 s for it, or all together
 * as long as they may. */
TEST(test_how_long_a_writer_waits)
{
    _cleanup_(fixture_done) struct fixture f = fixture_make();
    _cleanup_(store_closep) struct store *s = fixture_open(&f);
    _cleanup_(run_row_done) struct run_row run = make_run(UID, RUN_NAME, 1);
    assert_int_equal(s->ops->put_run(s, &run, NULL), 0);
    sqlite3 *other = NULL;
    assert_int_equal(sqlite3_open(f.path, &other), SQLITE_OK);
    assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    slept_ms = 0;
    for (int64_t i = 1; i <= 2; i++) {
        assert_int_equal(s->ops->put_status(s, UID, &run.status, NULL), -EBUSY);
        assert_in_range(slept_ms, i * 10000, i * 10100);
    }
    s->ops->wait_at_most(s, 1000);
    slept_ms = 0;
    for (int i = 0; i < 5; i++) {
        assert_int_equal(s->ops->put_status(s, UID, &run.status, NULL), -EBUSY);
        assert_in_range(slept_ms, 1000, 1050);
    }
    s->ops->wait_at_most(s, 1000);
    assert_int_equal(s->ops->delete_run(s, UID, NULL), -EBUSY);
    assert_in_range(slept_ms, 2000, 2100);
    assert_int_equal(sqlite3_exec(other, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(s->ops->put_status(s, UID, &run.status, NULL), 0);
    assert_int_equal(sqlite3_close(other), SQLITE_OK);
}

/* A statement counts once, however many rows it has. */
TEST(test_statements_are_timed)
{
    const int64_t begin_ns = clock_monotonic_ns();
    _cleanup_(fixture_done) struct fixture f = fixture_make();
    _cleanup_(store_closep) struct store *s = fixture_open(&f);
    struct histogram before, after;
    for (int i = 0; i < 3; i++) {
        char uid[8], name[8];
        (void)snprintf(uid, sizeof(uid), "u%d", i);
        (void)snprintf(name, sizeof(name), "n%d", i);
        _cleanup_(run_row_done) struct run_row run = make_run(uid, name, 1);
        assert_int_equal(s->ops->put_run(s, &run, NULL), 0);
    }
    s->ops->get_times(s, &before);
    assert_true(histogram_count(&before) >= 3);
    assert_in_range(before.sum_ns, 1, clock_monotonic_ns() - begin_ns);
    _cleanup_(freep) struct run_row *rows;
    size_t n;
    assert_int_equal(s->ops->list_runs(s, &rows, &n, NULL), 0);
    assert_int_equal(n, 3);
    s->ops->get_times(s, &after);
    assert_int_equal(histogram_count(&after), histogram_count(&before) + 1);
    struct store_space space, tried;
    s->ops->get_space(s, &space);
    assert_in_range(space.disk_free_bytes, 1, space.disk_bytes);
    assert_int_equal(s->ops->try_space(s, NULL), 0); /* it writes, and makes no reserve */
    s->ops->get_space(s, &tried);
    assert_true(tried.bytes > space.bytes);
    for (size_t i = 0; i < n; i++) {
        run_row_done(&rows[i]);
    }
}

static bool says(void *ctx)
{
    return *(const bool *)ctx;
}

/* Many writes as one: others see all of them or none. */
TEST(test_writes_together)
{
    _cleanup_(fixture_done) struct fixture f = fixture_make();
    struct store *reader = NULL;
    bool must_stop = false;
    _cleanup_(store_closep) struct store *s = fixture_open(&f);
    assert_int_equal(store_open_reader(f.url, says, &must_stop, &reader, NULL), 0);
    for (int r = -EIO; r <= 0; r += EIO) {
        _cleanup_(run_row_done) struct run_row run = make_run(UID, RUN_NAME, 1);
        _cleanup_(attempt_row_done) struct attempt_row row = make_attempt(0, 0, 0);
        struct run_brief brief;
        assert_int_equal(s->ops->begin_write(s, NULL), 0);
        assert_int_equal(s->ops->put_run(s, &run, NULL), 0);
        assert_int_equal(s->ops->save_attempt(s, UID, &row, &terms, NULL, 0, NULL, NULL), 0);
        assert_int_equal(reader->ops->get_brief(reader, UID, &brief, NULL), -ENOENT);
        assert_int_equal(s->ops->end_write(s, r, NULL), r);
        assert_int_equal(reader->ops->get_brief(reader, UID, &brief, NULL), r < 0 ? -ENOENT : 0);
    }
    assert_int_equal(s->ops->put_status(s, UID, &(struct run_status){.phase = RUN_FAILED}, NULL),
                     0);
    store_close(reader);
}

/* A second connection: it sees what is committed, one state between begin_read and end_read, and
 * ends a read when it is told to. */
TEST(test_a_reader)
{
    _cleanup_(fixture_done) struct fixture f = fixture_make();
    struct store *reader = NULL;
    struct err err = {0};
    struct attempt_row *ended = NULL;
    size_t n = 0;
    bool must_stop = false;
    struct store *s = fixture_open(&f);
    _cleanup_(run_row_done) struct run_row run = make_run(UID, RUN_NAME, 1);
    assert_int_equal(s->ops->put_run(s, &run, NULL), 0);
    assert_int_equal(store_open_reader(f.url, says, &must_stop, &reader, &err), 0);
    assert_int_equal(reader->ops->list_figures(reader, UID, NULL, NULL, NULL), 0);

    assert_int_equal(reader->ops->begin_read(reader, NULL), 0);
    assert_int_equal(reader->ops->list_outcomes(reader, UID, &ended, &n, NULL), 0);
    assert_int_equal(n, 0);
    struct attempt_row rows[2] = {make_attempt(1, 0, 0), make_attempt(0, 2, 1)};
    const struct event_row event = {1, EVENT_NORMAL, (char *)"Odd", (char *)"note"};
    for (size_t i = 0; i < 2; i++) { /* nobody waits for the reader */
        assert_int_equal(s->ops->save_attempt(s, UID, &rows[i], &terms, NULL, 0, NULL, &err), 0);
        assert_string_equal(err.msg, "");
        attempt_row_done(&rows[i]);
    }
    assert_int_equal(s->ops->add_event(s, UID, &event, NULL), 0);
    struct attempt_row *listed = NULL;
    assert_int_equal(reader->ops->list_wanted(reader, UID, &(struct attempt_wanted){-1, -1, -1},
                                              &listed, &n, NULL),
                     0);
    assert_int_equal(n, 0); /* still the state of the first read */
    reader->ops->end_read(reader);

    assert_int_equal(reader->ops->list_outcomes(reader, UID, &ended, &n, NULL), 0);
    assert_int_equal(n, 2);
    assert_true(attempt_id_eq(&ended[0].id, &(struct attempt_id){0, 2, 1}));
    assert_int_equal(ended[1].id.point, 1);
    assert_int_equal(reader->ops->put_status(reader, UID, &run.status, &err), -EROFS);

    must_stop = true;
    for (uint32_t i = 0; i < 200; i++) { /* it asks now and then only */
        _cleanup_(attempt_row_done) struct attempt_row row = make_attempt(2, i, 0);
        assert_int_equal(s->ops->save_attempt(s, UID, &row, &terms, NULL, 0, NULL, NULL), 0);
    }
    assert_int_equal(reader->ops->begin_read(reader, NULL), 0);
    assert_int_equal(reader->ops->list_wanted(reader, UID, &(struct attempt_wanted){-1, -1, -1},
                                              &listed, &n, &err),
                     -ECANCELED);
    reader->ops->end_read(reader);
    must_stop = false;
    free_each(ended, 2, attempt_row_done);
    assert_int_equal(reader->ops->list_outcomes(reader, UID, &ended, &n, NULL), 0);
    assert_int_equal(n, 202);
    free_each(ended, n, attempt_row_done);
    store_close(reader);
    store_close(s);
}
