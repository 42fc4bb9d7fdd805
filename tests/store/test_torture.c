/* Every write of every call fails once, on a full disk and on a broken one: the call says so,
 * and what the file holds afterwards is all of it or nothing. On a full disk an error means
 * nothing; on a broken one it may be all, when the very last sync failed: then nobody knows what
 * the disk kept. */
#include "store_fixture.h"

#include "fail_vfs.h"

static char big_log[60000]; /* several pages even when compressed */

enum call { CALL_OPEN, CALL_PUT_RUN, CALL_PUT_STATUS, CALL_SAVE_ATTEMPT, CALL_DELETE_RUN };

static const struct {
    enum call call;
    const char *name;
} calls[] = {
    {CALL_OPEN, "open"},
    {CALL_PUT_RUN, "put_run"},
    {CALL_PUT_STATUS, "put_status"},
    {CALL_SAVE_ATTEMPT, "save_attempt"},
    {CALL_DELETE_RUN, "delete_run"},
};

/* The state in which the call is made. */
static struct store *prepare(struct fixture *f, enum call call)
{
    struct store *s = NULL;
    if (call >= CALL_PUT_RUN) {
        s = fixture_open(f);
    }
    if (call >= CALL_PUT_STATUS) {
        add_run(s);
    }
    if (call >= CALL_DELETE_RUN) {
        assert_int_equal(save(s, UID, 3, 1, 0, big_log, sizeof(big_log), NULL), 0);
    }
    return s;
}

static int make_call(struct fixture *f, struct store **s, enum call call, struct err *err)
{
    struct run_status status = {.phase = RUN_RUNNING, .trials_done = 7};
    struct run_row run;
    int r;
    switch (call) {
    case CALL_OPEN:
        return *s != NULL ? 0 : store_open(f->url, true, s, err);
    case CALL_PUT_RUN:
        run = make_run(UID, RUN_NAME, 1);
        r = (*s)->ops->put_run(*s, &run, err);
        run_row_done(&run);
        return r;
    case CALL_PUT_STATUS:
        return (*s)->ops->put_status(*s, UID, &status, err);
    case CALL_SAVE_ATTEMPT:
        return save(*s, UID, 3, 1, 0, big_log, sizeof(big_log), err);
    default:
        return (*s)->ops->delete_run(*s, UID, err);
    }
}

static int count_figures(void *ctx, const struct attempt_id *id, const struct trial_figures *f)
{
    (void)id;
    (void)f;
    ++*(int *)ctx;
    return 0;
}

static bool is_done(struct store *s, enum call call)
{
    struct run_row run;
    int r = s->ops->get_run(s, UID, &run, NULL);
    int n = 0;
    bool there = r == 0, moved = there && run.status.trials_done == 7;
    assert_true(r == 0 || r == -ENOENT);
    if (there) {
        run_row_done(&run);
    }
    switch (call) {
    case CALL_OPEN:
        return true; /* it could be opened: whole or made anew */
    case CALL_PUT_RUN:
        return there;
    case CALL_PUT_STATUS:
        assert_true(there);
        return moved;
    case CALL_SAVE_ATTEMPT:
        assert_true(there);
        if (count_attempts(s, UID) == 0) {
            return false;
        }
        assert_whole_attempt(s, big_log, sizeof(big_log));
        assert_int_equal(s->ops->list_figures(s, UID, count_figures, &n, NULL), 0);
        assert_int_equal(n, 1);
        return true;
    default:
        if (there) {
            assert_whole_attempt(s, big_log, sizeof(big_log));
        }
        return !there;
    }
}

/* One call with its n-th write failing; false when it makes fewer than n writes. */
static bool torture_once(enum call call, const char *name, long n, enum fail_kind kind)
{
    _cleanup_(fixture_done) struct fixture f = fixture_make();
    fail_vfs_arm(0, kind);
    struct store *s = prepare(&f, call);
    struct err err = {0};
    fail_vfs_arm(n, kind);
    int r = make_call(&f, &s, call, &err);
    bool reached = fail_vfs_count() >= n;
    const bool is_full = r == -ENOSPC && strstr(err.msg, "disk full") != NULL;
    if (r < 0 && is_full != (kind == FAIL_FULL)) {
        fail_msg("%s, write %ld: full: %d, got %d: %s", name, n, kind == FAIL_FULL, r, err.msg);
    }
    if (r < 0 && strstr(err.msg, f.path) == NULL) {
        fail_msg("%s, write %ld: the file is not named: %s", name, n, err.msg);
    }
    if (r < 0 && s != NULL) { /* still failing: the next call must not pretend either */
        assert_true(make_call(&f, &s, CALL_PUT_STATUS, NULL) < 0 || fail_vfs_count() < n);
    }
    store_close(s);
    fail_vfs_arm(0, kind);
    s = fixture_open(&f);
    bool done = is_done(s, call);
    if (r >= 0 && !done) {
        fail_msg("%s, write %ld: said 0 but nothing is kept", name, n);
    }
    if (r < 0 && done && kind == FAIL_FULL && call != CALL_OPEN) {
        fail_msg("%s, write %ld: said %s but it is kept", name, n, err.msg);
    }
    /* And the store works again once the disk does. */
    if (!done) {
        assert_int_equal(make_call(&f, &s, call, NULL), 0);
        assert_true(is_done(s, call));
    }
    store_close(s);
    return reached;
}

static void torture(enum fail_kind kind)
{
    for (size_t c = 0; c < sizeof(calls) / sizeof(calls[0]); c++) {
        long n = 1;
        while (torture_once(calls[c].call, calls[c].name, n, kind)) {
            n++;
        }
        if (n < 3) {
            fail_msg("%s: only %ld writes seen; the shim is not in the way", calls[c].name, n - 1);
        }
        print_message("# %s: %ld writes failed in turn\n", calls[c].name, n - 1);
    }
}

TEST(test_full_disk)
{
    torture(FAIL_FULL);
}

TEST(test_broken_disk)
{
    torture(FAIL_IO);
}

/* What a call has said is kept, a power cut does not take away. */
TEST(test_a_call_that_returned_is_on_the_disk)
{
    fail_vfs_arm(0, FAIL_IO);
    for (size_t c = 0; c < sizeof(calls) / sizeof(calls[0]); c++) {
        _cleanup_(fixture_done) struct fixture f = fixture_make();
        _cleanup_(store_closep) struct store *s = prepare(&f, calls[c].call);
        fail_vfs_arm(0, FAIL_IO);
        assert_int_equal(make_call(&f, &s, calls[c].call, NULL), 0);
        if (fail_vfs_count() == 0 || fail_vfs_n_dirty() != 0) {
            fail_msg("%s: expected 0 files without a sync after their last write, got %u, in %ld "
                     "writes",
                     calls[c].name, fail_vfs_n_dirty(), fail_vfs_count());
        }
    }
}

int main(void)
{
    uint64_t x = 88172645463325252;
    for (size_t i = 0; i < sizeof(big_log); i++) { /* half noise: compresses badly */
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        big_log[i] = (char)(i % 2 == 0 ? x : 'a');
    }
    fail_vfs_register();
    return test_run_all(NULL);
}
