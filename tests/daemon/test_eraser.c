/* Results without an object are erased when a BenchmarkRun that asks for it, and was granted that,
 * is deleted, and no others. */
#include "run_world.h"

#include <errno.h>

#include "base/mem.h"
#include "base/str.h"
#include "daemon/retention.h"

/* Whoever may create an object chooses its annotations; only who may patch benchmarkruns/status has
 * chosen what is in its status. */
TEST(a_request_is_no_run_and_needs_a_status)
{
    static const struct {
        const char *annotation, *phase, *granted;
        bool is_request;
        const char *erases;
    } rows[] = {
        {NULL, NULL, NULL, false, NULL},
        {"u1", NULL, NULL, true, NULL},
        {"u1", NULL, "u1", true, "u1"},
        {"u2", NULL, "u1", true, "u1"},
        {NULL, NULL, "u1", false, NULL},
        /* A run on which somebody writes both stays a run: its pods must go with it. */
        {"u1", "Running", "u1", false, NULL},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        json_auto_t *bmr = json_pack("{s:{s:s, s:{s:s*}}, s:{s:s*, s:s*}}", "metadata", "name",
                                     "w1", "annotations", "benchd.io/erase-run", rows[i].annotation,
                                     "status", "phase", rows[i].phase, "eraseRun", rows[i].granted);
        _cleanup_(freep) struct bmr_facts *facts = bmr_facts_decode(bmr);
        if (facts->is_erase_request != rows[i].is_request ||
            !str_eq(facts->erase_run ?: "", rows[i].erases ?: "")) {
            fail_msg("row %zu: request %d, erases %s", i, facts->is_erase_request,
                     facts->erase_run);
        }
    }
}

/* The garbage collector deletes an object whose owner does not exist. */
TEST(an_object_with_owners_takes_no_results_with_it)
{
    for (int has_owner = 0; has_owner < 2; has_owner++) {
        json_auto_t *owners = has_owner ? json_pack("[{s:s}]", "kind", "ConfigMap") : json_array();
        json_auto_t *bmr = json_pack("{s:{s:{s:s}, s:O}}", "metadata", "annotations",
                                     "benchd.io/erase", "Now", "ownerReferences", owners);
        _cleanup_(freep) struct bmr_facts *facts = bmr_facts_decode(bmr);
        assert_int_equal(facts->erase, !has_owner);
    }
}

static void put(struct world *w, const char *uid, const char *ns)
{
    struct run_row row = {.uid = (char *)uid,
                          .name = (char *)uid,
                          .benchmark = (char *)"b",
                          .definition_json = (char *)"{}",
                          .object_ns = (char *)ns,
                          .status = {.phase = RUN_SUCCEEDED, .ended_unix_ms = 1}};
    assert_int_equal(w->env.store->ops->put_run(w->env.store, &row, NULL), 0);
}

static bool is_stored(struct world *w, const char *uid)
{
    struct run_brief brief;
    return w->env.store->ops->get_brief(w->env.store, uid, &brief, NULL) == 0;
}

static void ask(struct world *w, const struct run_queue *q, const char *uid)
{
    _cleanup_(eraser_done) struct eraser e = {0};
    eraser_take(&e, uid);
    eraser_work(&e, &w->env, q);
    assert_int_equal(e.uids.len, 0);
}

TEST(what_nobody_has_in_hand_goes)
{
    _cleanup_(world_freep) struct world *w = world_new();
    struct store *store = w->env.store;
    _cleanup_(run_queue_done) struct run_queue q = {0};
    put(w, "expired", NULL);
    put(w, "deleted", NULL);
    assert_int_equal(store->ops->set_object(store, "deleted", NULL, 5, NULL), 0);
    put(w, "there", "ns");
    put(w, "claimed", NULL);
    put(w, "queued", NULL);
    json_t *bmr = inline_bmr("queued");
    run_queue_add(&q, new_run(w, bmr));
    json_decref(bmr);
    struct store *other = NULL;
    assert_int_equal(store_open(w->url, false, &other, NULL), 0);
    assert_int_equal(other->ops->claim_run(other, "claimed", NULL), 0);
    static const struct {
        const char *uid;
        bool stays;
    } rows[] = {{"expired", false}, {"deleted", false}, {"there", true},
                {"claimed", true},  {"queued", true},   {"never-stored", false}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        print_message("# row '%s'\n", rows[i].uid);
        ask(w, &q, rows[i].uid);
        assert_int_equal(is_stored(w, rows[i].uid), rows[i].stays);
    }
    assert_int_equal(w->counters.runs_deleted, 2);
    store_close(other);
    ask(w, &q, "claimed");
    assert_false(is_stored(w, "claimed"));
}

static int fail_busy(struct store *s, const char *uid, struct err *err)
{
    (void)s, (void)uid;
    return err_set(err, EBUSY, "another process writes");
}

/* What a busy store refuses is not forgotten. */
TEST(a_busy_store_is_asked_again)
{
    _cleanup_(world_freep) struct world *w = world_new();
    const struct store_ops *real = w->env.store->ops;
    struct store_ops busy = *real;
    const struct run_queue q = {0};
    put(w, "a", NULL);
    put(w, "b", NULL);
    _cleanup_(eraser_done) struct eraser e = {0};
    eraser_take(&e, "a");
    eraser_take(&e, "b");
    busy.delete_run = fail_busy;
    w->env.store->ops = &busy;
    eraser_work(&e, &w->env, &q);
    assert_int_equal(e.uids.len, 2);
    w->env.store->ops = real;
    eraser_work(&e, &w->env, &q);
    assert_int_equal(e.uids.len, 0);
    assert_false(is_stored(w, "a") || is_stored(w, "b"));
}
