/* A run that shall go: with its rows or without, when its time to live is
 * over, and on a full disk. */
#include "drive_world.h"

#include <errno.h>

#include "base/clock.h"
#include "daemon/run/run.h"

static int delete_fails(struct store *s, const char *uid, struct err *err)
{
    (void)s;
    return err_set(err, EBADMSG, "damaged rows of '%s'", uid);
}

/* Its rows are deleted later: nobody would ask for that after benchd has forgotten the run. */
TEST(rows_that_cannot_be_deleted_are_tried_again)
{
    _cleanup_(world_freep) struct world *w = open_world();
    struct run_queue q = {0};
    json_t *bmr = inline_bmr("u1");
    struct run *run = drive(w, &q, bmr);
    run->asked.is_gone = run->asked.erase = true;
    struct driver *driver = run->at.driven.driver;
    assert_int_equal(run_queue_drop_deleted(&q, NULL), 0);
    assert_ptr_equal(run_queue_active(&q), run); /* until its pods are gone */
    assert_int_equal(driver->n_cancels, 1);
    driver->params.events.done(driver->params.events.ctx);
    driver->params.status.phase = RUN_CANCELLED;
    assert_int_equal(run_queue_advance(&q, NULL), 0);
    const struct store_ops *ops = w->env.store->ops;
    struct store_ops failing = *ops;
    failing.delete_run = delete_fails;
    w->env.store->ops = &failing;
    assert_int_equal(run_queue_drop_deleted(&q, NULL), 0);
    w->env.store->ops = ops;
    assert_int_equal(q.runs.len, 1);
    assert_null(run_queue_active(&q));
    assert_int_equal(run_queue_drop_deleted(&q, NULL), 0);
    assert_int_equal(q.runs.len, 1); /* not at once */
    run->parking.until_ns = 1;
    assert_int_equal(run_queue_drop_deleted(&q, NULL), 0);
    assert_int_equal(q.runs.len, 0);
    assert_int_equal(ops->get_run(w->env.store, "u1", &(struct run_row){0}, NULL), -ENOENT);
    run_queue_done(&q);
    close_world(NULL, bmr);
}

/* Its driver may wait for the very space that its deletion frees, and nothing is advanced. */
TEST(a_full_disk_keeps_no_run_that_is_to_be_erased)
{
    _cleanup_(world_freep) struct world *w = open_world();
    struct run_queue q = {0};
    json_t *bmr = inline_bmr("u1");
    struct run *run = drive(w, &q, bmr);
    struct driver *driver = run->at.driven.driver;
    w->env.is_store_full = true;
    run->asked.is_gone = true;
    assert_int_equal(run_queue_drop_deleted(&q, NULL), 0);
    assert_int_equal(driver->n_cancels, 1); /* its results stay: they are waited for */
    run->asked.erase = true;
    assert_int_equal(run_queue_drop_deleted(&q, NULL), 0);
    assert_int_equal(driver->n_abandons, 1);
    assert_int_equal(q.runs.len, 1); /* until its pods are gone */
    fake_driver_finish_code = -ECANCELED;
    driver->params.events.done(driver->params.events.ctx);
    assert_int_equal(run_queue_drop_deleted(&q, NULL), 0);
    fake_driver_finish_code = 0;
    assert_int_equal(q.runs.len, 0);
    struct run_row row;
    assert_int_equal(w->env.store->ops->get_run(w->env.store, "u1", &row, NULL), -ENOENT);
    run_queue_done(&q);
    close_world(NULL, bmr);
}

/* Its time to live is over, but benchd could not delete the object; a person
 * does, with the results. */
TEST(an_expired_run_can_be_erased)
{
    _cleanup_(world_freep) struct world *w = open_world();
    for (int erase = 0; erase < 2; erase++) {
        const char *uid = erase ? "u1" : "u0";
        struct run_queue q = {0};
        json_t *bmr = inline_bmr(uid);
        json_object_set_new(json_object_get(bmr, "metadata"), "name", json_string(uid));
        struct run *run = accepted_run(w, bmr);
        run_queue_add(&q, run);
        run->expiry.state = EXPIRY_DUE;
        run->asked.is_gone = true;
        run->asked.erase = erase;
        assert_int_equal(run_queue_drop_deleted(&q, NULL), 0);
        struct run_brief brief = {0};
        assert_int_equal(w->env.store->ops->get_brief(w->env.store, uid, &brief, NULL),
                         erase ? -ENOENT : 0);
        assert_int_equal(brief.deleted_unix_ms, 0);
        run_queue_done(&q);
        json_decref(bmr);
    }
    close_world(NULL, NULL);
}

/* A suspended run has an end too, but it goes on. */
TEST(only_the_final_end_counts_for_the_time_to_live)
{
    static const struct {
        enum run_phase phase;
        int64_t ago_ms;
        bool asks_to_erase; /* then only who may delete the object erases its results */
        bool is_sent;
    } rows[] = {
        {RUN_SUCCEEDED, 5000, false, false}, {RUN_SUSPENDED, 60000, false, false},
        {RUN_RUNNING, 60000, false, false},  {RUN_SUCCEEDED, 11000, true, false},
        {RUN_SUCCEEDED, 11000, false, true},
    };
    _cleanup_(world_freep) struct world *w = open_world();
    json_t *bmr = inline_bmr("u1");
    struct run *run = accepted_run(w, bmr);
    run->def->spec->run_policy.ttl_s = 10;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        run->status.phase = rows[i].phase;
        run->asked.erase = rows[i].asks_to_erase;
        run->status.ended_unix_ms = clock_steady_unix_ms() - rows[i].ago_ms;
        run_expire(run);
        if ((run->expiry.state == EXPIRY_SENT) != rows[i].is_sent) {
            fail_msg("row %zu: %s ended %lld ms ago", i, run_phase_to_string(rows[i].phase),
                     (long long)rows[i].ago_ms);
        }
    }
    close_world(run, bmr);
}
