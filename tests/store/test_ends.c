/* What is left of a run that has ended: its verdict; and files of an earlier version. */
#include "store_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>

#include <sqlite3.h>

#define NOW_MS INT64_C(20000)

static void put(struct store *s, const char *uid, const char *ns, enum run_phase phase)
{
    _cleanup_(run_row_done) struct run_row run = make_run(uid, uid, 1);
    run.object_ns = ns == NULL ? NULL : xstrdup(ns);
    run.status.phase = phase;
    assert_int_equal(s->ops->put_run(s, &run, NULL), 0);
}

static struct run_brief brief_of(struct store *s, const char *uid)
{
    struct run_brief brief;
    assert_int_equal(s->ops->get_brief(s, uid, &brief, NULL), 0);
    return brief;
}

TEST(a_verdict_comes_back)
{
    _cleanup_(fixture_done) struct fixture f = fixture_make();
    _cleanup_(store_closep) struct store *s = fixture_open(&f);
    put(s, UID, "ns", RUN_PARTIALLY_FAILED);
    put(s, "other", NULL, RUN_SUCCEEDED);
    assert_false(brief_of(s, UID).verdict.is_judged);
    static const struct run_verdict verdicts[] = {
        {.is_judged = true, .has_mute_trials = true, .thresholds = THRESHOLD_FAILED, .ttl_s = 60},
        {.is_judged = true, .thresholds = THRESHOLD_UNKNOWN, .ttl_s = -1},
        {.is_judged = true, .thresholds = THRESHOLD_PASSED},
    };
    for (size_t i = 0; i < sizeof(verdicts) / sizeof(verdicts[0]); i++) {
        const struct run_verdict *v = &verdicts[i];
        assert_int_equal(s->ops->put_verdict(s, UID, v, NULL), 0);
        const struct run_brief got = brief_of(s, UID);
        if (!got.verdict.is_judged || got.verdict.has_mute_trials != v->has_mute_trials ||
            got.verdict.thresholds != v->thresholds || got.verdict.ttl_s != v->ttl_s) {
            fail_msg("row %zu", i);
        }
        assert_int_equal(got.status.phase, RUN_PARTIALLY_FAILED);
        assert_int_equal(got.status.trials_total, 4);
    }
    assert_true(brief_of(s, UID).has_object);
    assert_false(brief_of(s, "other").has_object);
    assert_false(brief_of(s, "other").verdict.is_judged);
    struct run_brief none;
    assert_int_equal(s->ops->get_brief(s, "nobody", &none, NULL), -ENOENT);
    assert_int_equal(s->ops->put_verdict(s, "nobody", &verdicts[0], NULL), -ENOENT);
}

/* A row and what it looks like after all objects of "ns" were found to be those of `live`. */
TEST(objects_that_are_gone_leave_tombstones)
{
    static const struct {
        const char *uid, *ns; /* the namespace in its row */
        int64_t deleted_unix_ms, after_unix_ms;
        bool has_object; /* after it */
        int64_t ttl_s;   /* 0: it is not judged; it ended at 0.1 s */
    } rows[] = {
        {"there", "ns", 0, 0, true},
        {"gone", "ns", 0, NOW_MS, false},
        {"in-another", "elsewhere", 0, 0, true},
        {"local-or-expired", NULL, 0, 0, false},
        {"gone-before", NULL, 40, 40, false},
        {"restored", NULL, 30, 0, true},
        {"of-version-1", NULL, 0, 0, true},
        {"expires-now", NULL, 0, 0, false, 10}, /* its object is being deleted */
        {"expires-later", NULL, 0, 0, true, 99},
        {"restored-after-its-time", NULL, 30, 0, true, 10},
    };
    static const char *const live[] = {"there",       "restored",      "of-version-1",
                                       "expires-now", "expires-later", "restored-after-its-time",
                                       "not-stored"};
    _cleanup_(fixture_done) struct fixture f = fixture_make();
    _cleanup_(store_closep) struct store *s = fixture_open(&f);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        put(s, rows[i].uid, rows[i].ns, RUN_SUCCEEDED);
        const struct run_verdict verdict = {.is_judged = true, .ttl_s = rows[i].ttl_s};
        const struct run_status status = {.phase = RUN_SUCCEEDED, .ended_unix_ms = 100};
        assert_int_equal(s->ops->put_status(s, rows[i].uid, &status, NULL), 0);
        if (rows[i].ttl_s != 0) {
            assert_int_equal(s->ops->put_verdict(s, rows[i].uid, &verdict, NULL), 0);
        }
        if (rows[i].deleted_unix_ms != 0) {
            assert_int_equal(
                s->ops->set_object(s, rows[i].uid, NULL, rows[i].deleted_unix_ms, NULL), 0);
        }
    }
    for (int pass = 0; pass < 2; pass++) { /* the second time nothing changes */
        size_t n_deleted = 9;
        assert_int_equal(s->ops->sync_objects(s, "ns", live, 7, NOW_MS + pass, &n_deleted, NULL),
                         0);
        assert_int_equal(n_deleted, pass == 0 ? 1 : 0);
        for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
            const struct run_brief got = brief_of(s, rows[i].uid);
            if (got.deleted_unix_ms != rows[i].after_unix_ms ||
                got.has_object != rows[i].has_object) {
                fail_msg("%s: deleted %lld, has_object %d", rows[i].uid,
                         (long long)got.deleted_unix_ms, got.has_object);
            }
        }
    }
    _cleanup_(freep) char *uid = NULL;
    int64_t deleted_unix_ms = 0;
    assert_int_equal(s->ops->find_deleted(s, 40, &uid, &deleted_unix_ms, NULL), -ENOENT);
    assert_int_equal(s->ops->find_deleted(s, NOW_MS + 1, &uid, &deleted_unix_ms, NULL), 0);
    assert_int_equal(deleted_unix_ms, 40);
    assert_string_equal(uid, "gone-before"); /* the oldest */
    assert_int_equal(s->ops->set_object(s, "nobody", NULL, 0, NULL), -ENOENT);
}

static void put_end(struct store *s, const char *uid, const char *ns, enum run_phase phase,
                    int64_t ended_unix_ms)
{
    _cleanup_(run_row_done) struct run_row run = make_run(uid, uid, 1);
    run.object_ns = ns == NULL ? NULL : xstrdup(ns);
    run.status.phase = phase;
    run.status.ended_unix_ms = ended_unix_ms;
    assert_int_equal(s->ops->put_run(s, &run, NULL), 0);
}

TEST(finished_runs_are_listed_by_age)
{
    _cleanup_(fixture_done) struct fixture f = fixture_make();
    _cleanup_(store_closep) struct store *s = fixture_open(&f);
    put_end(s, "new", NULL, RUN_SUCCEEDED, 900);
    put_end(s, "old", "ns", RUN_FAILED, 500);
    put_end(s, "older", NULL, RUN_CANCELLED, 400);
    put_end(s, "before-all-dates", NULL, RUN_SUCCEEDED, 99);
    put_end(s, "runs", NULL, RUN_RUNNING, 0);
    put_end(s, "paused", NULL, RUN_SUSPENDED, 300);
    put_end(s, "partly", NULL, RUN_PARTIALLY_FAILED, 400);
    static const char *const expected[] = {"older", "partly", "old", "new"};
    for (size_t limit = 0; limit < 6; limit++) {
        _cleanup_(finished_runs_done) struct finished_runs runs;
        assert_int_equal(s->ops->list_finished(s, 100, limit, &runs, NULL), 0);
        assert_int_equal(runs.n_all, 4);
        assert_int_equal(runs.oldest.len, limit < 4 ? limit : 4);
        for (size_t i = 0; i < runs.oldest.len; i++) {
            assert_string_equal(runs.oldest.items[i].uid, expected[i]);
            assert_string_equal(runs.oldest.items[i].name, expected[i]);
            assert_int_equal(runs.oldest.items[i].has_object, i == 2);
        }
    }
    /* A run that ends or goes on is listed or not from then on. */
    struct run_status status = {.phase = RUN_SUCCEEDED, .ended_unix_ms = 100};
    assert_int_equal(s->ops->put_status(s, "runs", &status, NULL), 0);
    assert_int_equal(s->ops->delete_run(s, "older", NULL), 0);
    _cleanup_(finished_runs_done) struct finished_runs runs;
    assert_int_equal(s->ops->list_finished(s, 100, 9, &runs, NULL), 0);
    assert_int_equal(runs.n_all, 4);
    assert_string_equal(runs.oldest.items[0].uid, "runs");
}

TEST(runs_that_are_not_over_are_listed)
{
    static const struct run_verdict verdict = {.is_judged = true, .ttl_s = -1};
    _cleanup_(fixture_done) struct fixture f = fixture_make();
    _cleanup_(store_closep) struct store *s = fixture_open(&f);
    put_end(s, "a-over", "ns", RUN_SUCCEEDED, 499);
    put_end(s, "b-just-over", "ns", RUN_CANCELLED, 500);
    put_end(s, "c-not-judged", "ns", RUN_SUCCEEDED, 100);
    put_end(s, "d-runs", "ns", RUN_RUNNING, 0);
    put_end(s, "e-paused", "ns", RUN_SUSPENDED, 100);
    put_end(s, "f-of-others", "other", RUN_RUNNING, 0);
    put_end(s, "g-without-object", NULL, RUN_RUNNING, 0);
    static const char *const judged[] = {"a-over", "b-just-over", "d-runs", "e-paused"};
    for (size_t i = 0; i < sizeof(judged) / sizeof(judged[0]); i++) {
        assert_int_equal(s->ops->put_verdict(s, judged[i], &verdict, NULL), 0);
    }
    static const char *const expected[] = {"b-just-over", "c-not-judged", "d-runs", "e-paused"};
    struct texts uids = {0};
    assert_int_equal(s->ops->list_open(s, "ns", 500, &uids, NULL), 0);
    const size_t n = uids.list.len;
    assert_int_equal(n, sizeof(expected) / sizeof(expected[0]));
    for (size_t i = 0; i < n; i++) { /* in any order: SQLite takes that of its index */
        size_t k = 0;
        while (k < n && strcmp(uids.list.items[i], expected[k]) != 0) {
            k++;
        }
        assert_in_range(k, 0, n - 1);
    }
    texts_done(&uids);
    assert_int_equal(s->ops->list_open(s, "ns", INT64_MAX, &uids, NULL), 0);
    assert_int_equal(uids.list.len, 3); /* however late the others ended */
    texts_done(&uids);
    assert_int_equal(s->ops->list_open(s, "none", 500, &uids, NULL), 0);
    assert_int_equal(uids.list.len, 0);
}
