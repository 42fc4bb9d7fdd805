/* Whose turn it is, without a driver: runs that are not due are put in order all the same. */
#include <errno.h>

#include "tests/test.h"
#include "base/str.h"
#include "daemon/run/run_queue.h"

/* An empty one. */
static int probe(struct store *s, const char *uid, struct err *err)
{
    (void)s, (void)uid, (void)err;
    return 0;
}

static int set_nothing(struct store *s, const char *uid, const char *ns, int64_t deleted_unix_ms,
                       struct err *err)
{
    (void)s, (void)ns, (void)deleted_unix_ms;
    return err_set(err, ENOENT, "there is no run '%s'", uid);
}

static int no_brief(struct store *s, const char *uid, struct run_brief *ret, struct err *err)
{
    (void)s, (void)uid, (void)ret, (void)err;
    return -ENOENT;
}

/* The store's word on who goes on. */
static const char *const *open_uids; /* NULL: another process writes */
static size_t n_open_uids;

static int list_open(struct store *s, const char *ns, int64_t from_unix_ms, struct texts *ret,
                     struct err *err)
{
    (void)s;
    assert_string_equal(ns, "team");
    assert_true(from_unix_ms == INT64_MAX); /* who has ended has ended */
    if (open_uids == NULL) {
        return err_set(err, EBUSY, "busy");
    }
    for (size_t i = 0; i < n_open_uids; i++) {
        *vec_push(&ret->list) = xstrdup(open_uids[i]);
    }
    return 0;
}

static const struct store_ops store_ops = {
    .probe_run = probe, .set_object = set_nothing, .get_brief = no_brief, .list_open = list_open};
static struct store store = {&store_ops};

static struct run *add(struct run_queue *q, const struct run_env *env, const char *name,
                       const char *created)
{
    json_t *bmr = json_pack("{s:{s:s, s:s, s:s}}", "metadata", "name", name, "uid", name,
                            "creationTimestamp", created);
    _cleanup_(freep) struct bmr_facts *facts = bmr_facts_decode(bmr);
    struct run *run = run_new(env, facts);
    run_queue_add(q, run);
    json_decref(bmr);
    return run;
}

TEST(the_running_one_then_the_oldest)
{
    static const struct run_env env = {.store = &store};
    _cleanup_(run_queue_done) struct run_queue q = {0};
    (void)add(&q, &env, "b", "2026-01-02T00:00:00Z");
    (void)add(&q, &env, "c", "2026-01-01T00:00:00Z");
    (void)add(&q, &env, "a", "2026-01-02T00:00:00Z");
    add(&q, &env, "d", "2026-01-03T00:00:00Z")->status =
        (struct run_status){.phase = RUN_QUEUED, .started_unix_ms = 1}; /* for nodes */
    q.runs.items[0]->status.phase = RUN_QUEUED;                         /* for its turn */
    assert_int_equal(run_queue_advance(&q, NULL), 0);
    static const char *const expected[] = {"d", "c", "a", "b"};
    assert_int_equal(q.runs.len, 4);
    for (size_t i = 0; i < 4; i++) {
        if (!str_eq(q.runs.items[i]->name, expected[i])) {
            fail_msg("place %zu: expected '%s', got '%s'", i, expected[i], q.runs.items[i]->name);
        }
    }
    assert_null(run_queue_active(&q));
    assert_ptr_equal(run_queue_find(&q, "c"), q.runs.items[1]);
    assert_null(run_queue_find(&q, "e"));
    q.runs.items[1]->asked.is_gone = true; /* never accepted: nothing of it is in the store */
    assert_int_equal(run_queue_drop_deleted(&q, NULL), 0);
    assert_int_equal(q.runs.len, 3);
    assert_null(run_queue_find(&q, "c"));
}

/* By the objects of runs that are not over alone, only if the store has no other run that goes on:
 * that one ran before, so it would be driven first. */
TEST(who_goes_on_is_waited_for)
{
    static const struct run_env env = {.store = &store};
    static const char *const uids[] = {"a", "b", "c"};
    static const struct {
        const char *name;
        const char *const *uids;
        size_t n;
        int r;
    } rows[] = {
        {"another process writes", NULL, 0, -EBUSY},
        {"the store has none", uids, 0, 1},
        {"all have their objects", uids, 2, 1},
        {"one has an object that says it is over", uids, 3, 0},
    };
    _cleanup_(run_queue_done) struct run_queue q = {0};
    (void)add(&q, &env, "b", "2026-01-02T00:00:00Z");
    (void)add(&q, &env, "a", "2026-01-02T00:00:00Z");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        print_message("# %s\n", rows[i].name);
        open_uids = rows[i].uids;
        n_open_uids = rows[i].n;
        assert_int_equal(run_queue_has_open(&q, &store, "team", NULL), rows[i].r);
    }
}
