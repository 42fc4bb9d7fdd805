/* A run whose driver fails: it waits while others have their turn, and ends when it
 * fails time and again. */
#include "drive_world.h"

#include <errno.h>

#include "base/clock.h"
#include "base/mem.h"
#include "daemon/run/run.h"
#include "decide/policy_wait.h"

/* The next one has its turn; an error of the whole store ends the daemon. */
TEST(an_error_of_one_run_parks_it)
{
    static const struct {
        int code;
        bool is_fatal;
    } rows[] = {{-E2BIG, false}, {-EEXIST, false}, {-EBADMSG, false},
                {-EBUSY, false}, {-ENOSPC, true},  {-EIO, true}};
    _cleanup_(world_freep) struct world *w = open_world();
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        _cleanup_(freep) char *uid = xasprintf("u%zu", i);
        struct run_queue q = {0};
        _cleanup_(json_decrefp) json_t *bmr = inline_bmr(uid);
        struct run *run = drive(w, &q, bmr);
        assert_int_equal(run->life, LIFE_DRIVEN);
        run->at.driven.driver->params.events.done(run);
        fake_driver_finish_code = rows[i].code;
        struct err err = {0};
        assert_int_equal(run_queue_advance(&q, &err), rows[i].is_fatal ? rows[i].code : 0);
        fake_driver_finish_code = 0;
        assert_int_equal(run->life, LIFE_ACCEPTED);
        if (run_is_parked(run) == rows[i].is_fatal) {
            fail_msg("code %d: parked %d", rows[i].code, run_is_parked(run));
        }
        if (!rows[i].is_fatal) {
            assert_false(run_is_due(run)); /* not at once */
            run->parking.until_ns = 1;     /* long over */
            assert_true(run_is_due(run));
        } else {
            assert_non_null(strstr(err.msg, "run 'r1': the driver gave up"));
        }
        run_queue_done(&q);
        fake_kube_reset();
    }
    close_world(NULL, inline_bmr("u9"));
}

/* It does not come back for ever, and what is wrong with it is told meanwhile. */
TEST(a_run_whose_driver_always_fails_ends)
{
    _cleanup_(world_freep) struct world *w = open_world();
    struct run_queue q = {0};
    json_t *bmr = inline_bmr("u1");
    struct run *run = take_over(w, bmr, RUN_RUNNING);
    run_queue_add(&q, run);
    fake_driver_finish_code = -EBADMSG;
    int n = 0;
    for (; n < 20 && run->life == LIFE_ACCEPTED; n++) {
        run->parking.until_ns = 0;
        assert_int_equal(run_queue_advance(&q, NULL), 0);
        assert_int_equal(run->life, LIFE_DRIVEN);
        struct driver *driver = run->at.driven.driver;
        driver->params.events.done(driver->params.events.ctx);
        assert_int_equal(run_queue_advance(&q, NULL), 0);
        if (n == 0) {
            assert_string_equal(run->status.reason, "RunParked");
            assert_non_null(strstr(run->status.message, "the driver gave up; tried again in 5 s"));
            assert_true(wait_stops_clock(run->status.reason)); /* of its deadline, from now on */
            assert_true(run->status.ended_unix_ms > 0);
        }
    }
    fake_driver_finish_code = 0;
    assert_int_equal(n, 9);
    assert_int_equal(run->life, LIFE_ENDED);
    struct run_row row;
    assert_int_equal(w->env.store->ops->get_run(w->env.store, "u1", &row, NULL), 0);
    assert_int_equal(row.status.phase, RUN_FAILED);
    assert_string_equal(row.status.reason, "DriverFailed");
    assert_non_null(strstr(row.status.message, "the driver gave up"));
    run_row_done(&row);
    run_queue_done(&q);
    close_world(NULL, bmr);
}

/* Progress is no failure in a row. */
TEST(a_saved_attempt_ends_the_count)
{
    _cleanup_(world_freep) struct world *w = open_world();
    struct run_queue q = {0};
    json_t *bmr = inline_bmr("u1");
    struct run *run = take_over(w, bmr, RUN_RUNNING);
    run_queue_add(&q, run);
    run->parking.n_times = 7;
    assert_int_equal(run_queue_advance(&q, NULL), 0);
    struct driver *driver = run->at.driven.driver;
    const struct attempt_row attempt = {.outcome = ATTEMPT_SUCCEEDED};
    driver->params.events.attempt(driver->params.events.ctx, &attempt);
    assert_int_equal(run->parking.n_times, 0);
    run_queue_done(&q);
    close_world(NULL, bmr);
}

/* Each time longer, and until somebody changes the object. */
TEST(a_parked_run_waits_longer_each_time)
{
    _cleanup_(world_freep) struct world *w = open_world();
    json_t *bmr = inline_bmr("u1");
    struct run *run = new_run(w, bmr);
    struct err why;
    (void)err_set(&why, E2BIG, "too long");
    static const int64_t expected_s[8] = {5, 10, 20, 40, 80, 160, 320, 320};
    for (size_t i = 0; i < 8; i++) {
        const int64_t wait_ns = expected_s[i] * INT64_C(1000000000),
                      before_ns = clock_monotonic_ns();
        run_park(run, &why);
        assert_in_range(run->parking.until_ns, before_ns + wait_ns, clock_monotonic_ns() + wait_ns);
    }
    assert_string_equal(run->refusal.reason, "RunParked");
    assert_string_equal(run->refusal.text, "too long");
    struct run_queue q = {.turn_cpu_ns = TURN_WITHOUT_END};
    run_queue_add(&q, run);
    assert_int_equal(run_queue_accept(&q, NULL), 0);
    assert_int_equal(run->life, LIFE_WAITING);
    json_object_set_new(json_object_get(bmr, "metadata"), "generation", json_integer(2));
    update_run(run, bmr);
    assert_int_equal(run_queue_accept(&q, NULL), 0);
    assert_int_equal(run->life, LIFE_READING);
    run_queue_done(&q);
    close_world(NULL, bmr);
}
