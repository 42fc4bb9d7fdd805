/* A run and its driver: whose turn it is, what is passed on, what is told of it. The driver is a fake
 * that notes what it is asked for; the pods are the real launcher over a client without a network. */
#include "run_world.h"

#include <errno.h>
#include <string.h>

#include <uv.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "daemon/run_drive.h"
#include "daemon/run_publish.h"
#include "daemon/run_queue.h"
#include "daemon/run_remove.h"
#include "fake_driver.h"
#include "run/pod_leftovers.h"
#include "result_fixture.h"

/* ---- objects ---- */

static json_t *watched; /* what the watch has, whatever the name */

json_t *watches_get(const struct watches *w, enum watch_kind kind, const char *name)
{
    (void)w, (void)name;
    return kind == WATCH_RUNS ? json_incref(watched) : NULL;
}

static uv_loop_t loop;
static struct kube_cache no_pods;
static struct pods_counters pod_counters;
static const unsigned char key[32];

static struct world *open_world(void **state)
{
    struct world *w = *state;
    assert_int_equal(uv_loop_init(&loop), 0);
    kube_cache_init(&no_pods, &(struct kube_cache_params){.mark = pod_leftover_mark});
    w->env.loop = &loop;
    w->env.pods = &no_pods;
    w->env.pod_counters = &pod_counters;
    w->env.key = key;
    fake_driver_made = 0;
    return w;
}

/* The run's last words; then the loop has nothing left. */
static void close_world(struct run *run, json_t *bmr)
{
    if (run != NULL) {
        run_free(run);
    }
    json_decref(bmr);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
    kube_cache_done(&no_pods);
}

static void ask(struct run *run, json_t *bmr, const char *key_of_spec, bool value)
{
    json_object_set_new(json_object_get(bmr, "spec"), key_of_spec, json_boolean(value));
    run_update(run, bmr);
}

static void ask_to_delete(struct run *run, json_t *bmr)
{
    json_object_set_new(json_object_get(bmr, "metadata"), "deletionTimestamp",
                        json_string("2026-01-01T00:00:00Z"));
    run_update(run, bmr);
}

/* As the store has it when another benchd ends at this phase: read by the next one. */
static struct run *take_over(struct world *w, json_t *bmr, enum run_phase phase)
{
    struct run *run = run_new(&w->env, bmr);
    assert_int_equal(take_good(run, bmr, NULL), 1);
    const struct run_status status = {.phase = phase, .started_unix_ms = 1, .trials_total = 2};
    assert_int_equal(w->env.store->ops->put_status(w->env.store, run->uid, &status, NULL), 0);
    run_free(run);
    run = run_new(&w->env, bmr);
    assert_int_equal(take_good(run, bmr, NULL), 1);
    return run;
}

/* A run that is accepted, in the queue, and driven. */
static struct run *drive(struct world *w, struct run_queue *q, json_t *bmr)
{
    struct run *run = run_new(&w->env, bmr);
    assert_int_equal(take_good(run, bmr, NULL), 1);
    run_queue_add(q, run);
    assert_int_equal(run_queue_advance(q, NULL), 0);
    return run;
}

/* ---- tests ---- */

/* What a new leader finds Running may have pods: only a driver can remove them. */
static void a_running_run_is_driven_to_its_suspension(void **state)
{
    struct world *w = open_world(state);
    json_t *bmr = inline_bmr("u1");
    struct run *run = take_over(w, bmr, RUN_RUNNING);
    ask(run, bmr, "suspend", true);
    assert_true(run_is_due(run));
    assert_int_equal(run_start(run, NULL), 0);
    assert_int_equal(run_steer(run, NULL), 0);
    assert_int_equal(run->at.driven.driver->n_suspends, 1);
    assert_int_equal(run->at.driven.driver->n_cancels, 0);
    close_world(run, bmr);
}

static void a_deletion_cancels_what_is_driven(void **state)
{
    struct world *w = open_world(state);
    json_t *bmr = inline_bmr("u1");
    struct run *run = run_new(&w->env, bmr);
    assert_int_equal(take_good(run, bmr, NULL), 1);
    assert_int_equal(run_start(run, NULL), 0);
    assert_int_equal(run_steer(run, NULL), 0);
    assert_int_equal(run->at.driven.driver->n_cancels, 0);
    ask_to_delete(run, bmr);
    assert_int_equal(run_steer(run, NULL), 0);
    assert_int_equal(run->at.driven.driver->n_cancels, 1);
    close_world(run, bmr);
}

/* Neither accepted nor started. */
static void a_run_that_is_being_deleted_is_left_alone(void **state)
{
    struct world *w = open_world(state);
    json_t *bmr = inline_bmr("u1");
    struct run *run = run_new(&w->env, bmr);
    ask_to_delete(run, bmr);
    assert_int_equal(take(run, bmr, NULL), 0);
    assert_int_equal(run->life, LIFE_WAITING);
    assert_null(open_call(0));
    json_object_del(json_object_get(bmr, "metadata"), "deletionTimestamp");
    run_update(run, bmr);
    assert_int_equal(take_good(run, bmr, NULL), 1);
    assert_true(run_is_due(run));
    ask_to_delete(run, bmr);
    assert_false(run_is_due(run));
    close_world(run, bmr);
}

static void a_queued_run_says_what_it_waits_for(void **state)
{
    struct world *w = open_world(state);
    json_t *bmr = inline_bmr("u1");
    struct run *run = run_new(&w->env, bmr);
    assert_int_equal(take_good(run, bmr, NULL), 1);
    assert_int_equal(run_steer(run, NULL), 0);
    assert_int_equal(run->status.phase, RUN_QUEUED);
    ask(run, bmr, "suspend", true);
    assert_int_equal(run_steer(run, NULL), 0);
    assert_int_equal(run->status.phase, RUN_SUSPENDED);
    assert_string_equal(run->status.reason, "SuspendRequested");
    assert_false(run_is_due(run));
    ask(run, bmr, "suspend", false);
    assert_int_equal(run_steer(run, NULL), 0);
    assert_int_equal(run->status.phase, RUN_QUEUED);
    assert_true(run_is_due(run));
    close_world(run, bmr);
}

static void what_the_store_or_object_says_has_ended_stays_so(void **state)
{
    struct world *w = open_world(state);
    json_t *bmr = inline_bmr("u1");
    struct run *run = take_over(w, bmr, RUN_SUCCEEDED);
    assert_int_equal(run->life, LIFE_ENDED);
    assert_false(run_is_due(run));
    run_free(run);
    json_decref(bmr);
    /* The store is another one: only the object tells. */
    bmr = inline_bmr("u2");
    json_object_set_new(bmr, "status", json_pack("{s:s}", "phase", "Succeeded"));
    run = run_new(&w->env, bmr);
    assert_int_equal(take(run, bmr, NULL), 0);
    assert_int_equal(run->life, LIFE_PAST);
    assert_null(open_call(0));
    close_world(run, bmr);
}

static void one_run_is_driven_at_a_time(void **state)
{
    struct world *w = open_world(state);
    struct run_queue q = {0};
    json_t *bmrs[] = {inline_bmr("u1"), inline_bmr("u2")};
    for (size_t i = 0; i < 2; i++) {
        _cleanup_(freep) char *name = xasprintf("r%zu", i);
        json_object_set_new(json_object_get(bmrs[i], "metadata"), "name", json_string(name));
        struct run *run = run_new(&w->env, bmrs[i]);
        assert_int_equal(take_good(run, bmrs[i], NULL), 1);
        run_queue_add(&q, run);
    }
    assert_int_equal(run_queue_advance(&q, NULL), 0);
    assert_int_equal(run_queue_advance(&q, NULL), 0);
    assert_int_equal(fake_driver_made, 1);
    struct run *active = run_queue_active(&q);
    assert_string_equal(active->name, "r0");
    active->at.driven.driver->params.status.phase = RUN_SUCCEEDED;
    const struct driver_events *events = &active->at.driven.driver->params.events;
    events->done(events->ctx);
    assert_int_equal(run_queue_advance(&q, NULL), 0);
    assert_int_equal(fake_driver_made, 2);
    assert_string_equal(run_queue_active(&q)->name, "r1");
    run_queue_done(&q);
    json_decref(bmrs[1]);
    close_world(NULL, bmrs[0]);
}

/* The next one has its turn; an error of the whole store ends the daemon. */
static void an_error_of_one_run_parks_it(void **state)
{
    static const struct {
        int code;
        bool is_fatal;
    } rows[] = {{-E2BIG, false}, {-EEXIST, false}, {-EBADMSG, false},
                {-EBUSY, false}, {-ENOSPC, true},  {-EIO, true}};
    struct world *w = open_world(state);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        _cleanup_(freep) char *uid = xasprintf("u%zu", i);
        struct run_queue q = {0};
        json_t *bmr = inline_bmr(uid);
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
        json_decref(bmr);
        fake_kube_reset();
    }
    close_world(NULL, inline_bmr("u9"));
}

/* It does not come back for ever, and what is wrong with it is told meanwhile. */
static void a_run_whose_driver_always_fails_ends(void **state)
{
    struct world *w = open_world(state);
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
static void a_saved_attempt_ends_the_count(void **state)
{
    struct world *w = open_world(state);
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
static void a_parked_run_waits_longer_each_time(void **state)
{
    struct world *w = open_world(state);
    json_t *bmr = inline_bmr("u1");
    struct run *run = run_new(&w->env, bmr);
    struct err why;
    (void)err_set(&why, E2BIG, "too long");
    int64_t waits_s[8];
    for (size_t i = 0; i < 8; i++) {
        const int64_t now_ns = clock_monotonic_ns();
        run_park(run, &why);
        waits_s[i] = (run->parking.until_ns - now_ns) / INT64_C(1000000000);
    }
    static const int64_t expected_s[8] = {5, 10, 20, 40, 80, 160, 320, 320};
    for (size_t i = 0; i < 8; i++) {
        assert_in_range(waits_s[i], expected_s[i], expected_s[i] + 3);
    }
    assert_string_equal(run->refusal.reason, "RunParked");
    assert_string_equal(run->refusal.text, "too long");
    struct run_queue q = {0};
    run_queue_add(&q, run);
    watched = bmr;
    assert_int_equal(run_queue_accept(&q, NULL, NULL), 0);
    assert_int_equal(run->life, LIFE_WAITING);
    json_object_set_new(json_object_get(bmr, "metadata"), "generation", json_integer(2));
    run_update(run, bmr);
    assert_int_equal(run_queue_accept(&q, NULL, NULL), 0);
    assert_int_equal(run->life, LIFE_CHECKING);
    run_queue_done(&q);
    close_world(NULL, bmr);
}

static int delete_fails(struct store *s, const char *uid, struct err *err)
{
    (void)s;
    return err_set(err, EBADMSG, "damaged rows of '%s'", uid);
}

/* Its rows are deleted later: nobody would ask for that after benchd has forgotten the run. */
static void rows_that_cannot_be_deleted_are_tried_again(void **state)
{
    struct world *w = open_world(state);
    struct run_queue q = {0};
    json_t *bmr = inline_bmr("u1");
    struct run *run = drive(w, &q, bmr);
    run->asked.is_gone = run->asked.erase = true;
    struct driver *driver = run->at.driven.driver;
    assert_int_equal(run_queue_bury(&q, NULL), 0);
    assert_ptr_equal(run_queue_active(&q), run); /* until its pods are gone */
    assert_int_equal(driver->n_cancels, 1);
    driver->params.events.done(driver->params.events.ctx);
    driver->params.status.phase = RUN_CANCELLED;
    assert_int_equal(run_queue_advance(&q, NULL), 0);
    const struct store_ops *ops = w->env.store->ops;
    struct store_ops failing = *ops;
    failing.delete_run = delete_fails;
    w->env.store->ops = &failing;
    assert_int_equal(run_queue_bury(&q, NULL), 0);
    w->env.store->ops = ops;
    assert_int_equal(q.runs.len, 1);
    assert_null(run_queue_active(&q));
    assert_int_equal(run_queue_bury(&q, NULL), 0);
    assert_int_equal(q.runs.len, 1); /* not at once */
    run->parking.until_ns = 1;
    assert_int_equal(run_queue_bury(&q, NULL), 0);
    assert_int_equal(q.runs.len, 0);
    assert_int_equal(ops->get_run(w->env.store, "u1", &(struct run_row){0}, NULL), -ENOENT);
    run_queue_done(&q);
    close_world(NULL, bmr);
}

/* Its driver may wait for the very space that its deletion frees, and nothing is advanced. */
static void a_full_disk_keeps_no_run_that_is_to_be_erased(void **state)
{
    struct world *w = open_world(state);
    struct run_queue q = {0};
    json_t *bmr = inline_bmr("u1");
    struct run *run = drive(w, &q, bmr);
    struct driver *driver = run->at.driven.driver;
    w->env.is_store_full = true;
    run->asked.is_gone = true;
    assert_int_equal(run_queue_bury(&q, NULL), 0);
    assert_int_equal(driver->n_cancels, 1); /* its results stay: they are waited for */
    run->asked.erase = true;
    assert_int_equal(run_queue_bury(&q, NULL), 0);
    assert_int_equal(driver->n_abandons, 1);
    assert_int_equal(q.runs.len, 1); /* until its pods are gone */
    fake_driver_finish_code = -ECANCELED;
    driver->params.events.done(driver->params.events.ctx);
    assert_int_equal(run_queue_bury(&q, NULL), 0);
    fake_driver_finish_code = 0;
    assert_int_equal(q.runs.len, 0);
    struct run_row row;
    assert_int_equal(w->env.store->ops->get_run(w->env.store, "u1", &row, NULL), -ENOENT);
    run_queue_done(&q);
    close_world(NULL, bmr);
}

/* Its time to live is over, but benchd could not delete the object; a person does, with the results. */
static void an_expired_run_can_be_erased(void **state)
{
    struct world *w = open_world(state);
    for (int erase = 0; erase < 2; erase++) {
        const char *uid = erase ? "u1" : "u0";
        struct run_queue q = {0};
        json_t *bmr = inline_bmr(uid);
        json_object_set_new(json_object_get(bmr, "metadata"), "name", json_string(uid));
        struct run *run = run_new(&w->env, bmr);
        assert_int_equal(take_good(run, bmr, NULL), 1);
        run_queue_add(&q, run);
        run->expiry.state = EXPIRY_DUE;
        run->asked.is_gone = true;
        run->asked.erase = erase;
        assert_int_equal(run_queue_bury(&q, NULL), 0);
        struct run_brief brief = {0};
        assert_int_equal(w->env.store->ops->get_brief(w->env.store, uid, &brief, NULL),
                         erase ? -ENOENT : 0);
        assert_int_equal(brief.deleted_unix_ms, 0);
        run_queue_done(&q);
        json_decref(bmr);
    }
    close_world(NULL, NULL);
}

/* Pods can be stopped without space. */
static void a_driver_hears_what_is_asked_on_a_full_disk(void **state)
{
    struct world *w = open_world(state);
    struct run_queue q = {0};
    json_t *bmr = inline_bmr("u1"), *next = inline_bmr("u2");
    struct run *run = drive(w, &q, bmr);
    run_queue_add(&q, run_new(&w->env, next));
    w->env.is_store_full = true;
    watched = bmr;
    ask(run, bmr, "cancel", true);
    assert_int_equal(run_queue_accept(&q, NULL, NULL), 0);
    assert_int_equal(run->at.driven.driver->n_cancels, 1);
    assert_int_equal(run_queue_find(&q, "u2")->life, LIFE_WAITING);
    assert_false(run_queue_find(&q, "u2")->is_seen);
    run_queue_done(&q);
    json_decref(next);
    close_world(NULL, bmr);
}

/* The watch may still show it when its removal was reported. */
static void what_is_gone_is_not_accepted(void **state)
{
    struct world *w = open_world(state);
    json_t *bmr = inline_bmr("u1");
    struct run_queue q = {0};
    run_queue_add(&q, run_new(&w->env, bmr));
    watched = bmr;
    q.runs.items[0]->asked.is_gone = true;
    assert_int_equal(run_queue_accept(&q, NULL, NULL), 0);
    assert_int_equal(q.runs.items[0]->life, LIFE_WAITING);
    q.runs.items[0]->asked.is_gone = false;
    assert_int_equal(run_queue_accept(&q, NULL, NULL), 0);
    assert_int_equal(q.runs.items[0]->life, LIFE_CHECKING);
    run_queue_done(&q);
    close_world(NULL, bmr);
}

/* The live view shows a step of the attempt that runs, and when the run may end. */
static void progress_and_time_left(void **state)
{
    struct world *w = open_world(state);
    json_t *bmr = inline_bmr("u1");
    struct run *run = run_new(&w->env, bmr);
    assert_int_equal(take_good(run, bmr, NULL), 1);
    assert_int_equal(run_start(run, NULL), 0);
    const struct driver_events *events = &run->at.driven.driver->params.events;
    const struct run_status status = {.phase = RUN_RUNNING,
                                      .started_unix_ms = clock_steady_unix_ms() - 100000,
                                      .trials_total = 4,
                                      .trials_done = 1};
    events->status(events->ctx, &status);
    const struct replica_id id = {{0, 0, 0}, ROLE_TRAINER, 0};
    const struct record record = {.type = RECORD_STEP, .step = {.step = 3, .samples = 8}};
    w->followed = run;
    events->record(events->ctx, &id, &record);
    w->followed = NULL;
    assert_true(run->progress.is_known);
    assert_int_equal(run->progress.step, 3);
    assert_int_equal(w->n_shows, 1); /* who follows the run need not wait for the next look */
    assert_int_equal(run->shown->progress.step, 3);
    assert_non_null(run->def); /* the driver goes on with it */
    const struct attempt_row row = {.outcome = ATTEMPT_SUCCEEDED};
    events->attempt(events->ctx, &row);
    assert_false(run->progress.is_known); /* it was of the attempt that has ended */
    assert_int_equal(w->counters.attempts[ATTEMPT_SUCCEEDED], 1);
    /* Two trials took 100 s, and two are left; a slow machine adds seconds. */
    assert_in_range(run->eta_s, 100, 130);
    close_world(run, bmr);
}

static void expect_wait(struct run *run, int64_t now_unix_ms, const char *reason,
                        int64_t since_unix_ms)
{
    run_refresh_shown(run, now_unix_ms);
    assert_string_equal(run->shown->wait.reason, reason);
    assert_int_equal(run->shown->wait.since_unix_ms, since_unix_ms);
}

/* The alert for a run that waits for long needs the reason, and since when; a count of each reason. */
static void a_run_shows_what_it_waits_for(void **state)
{
    struct world *w = open_world(state);
    json_t *bmr = make_bmr("u1", "{\"benchmarkRef\":{\"name\":\"b\"}}", "{}");
    struct run *run = run_new(&w->env, bmr);
    const uint64_t *waits = w->counters.waits;
    assert_int_equal(take(run, bmr, NULL), 0);
    expect_wait(run, 1000, "BenchmarkNotFound", 1000);
    expect_wait(run, 2000, "BenchmarkNotFound", 1000);
    assert_int_equal(waits[daemon_wait_index("BenchmarkNotFound")], 1);
    w->env.is_store_full = true;
    expect_wait(run, 3000, "StoreFull", 3000);
    w->env.is_store_full = false;
    expect_wait(run, 4000, "BenchmarkNotFound", 4000);
    assert_int_equal(waits[daemon_wait_index("BenchmarkNotFound")], 2);
    run_free(run);
    json_decref(bmr);
    bmr = inline_bmr("u2");
    run = run_new(&w->env, bmr);
    assert_int_equal(take_good(run, bmr, NULL), 1);
    run->status.phase = RUN_QUEUED;
    text_put(run->status.reason, sizeof(run->status.reason), "Queued");
    expect_wait(run, 5000, "", 0); /* its turn will come */
    assert_int_equal(run->shown->advanced_unix_ms, 0);
    const int64_t before_ms = clock_steady_unix_ms();
    assert_int_equal(run_start(run, NULL), 0);
    const struct driver_events *events = &run->at.driven.driver->params.events;
    const struct run_status status = {.phase = RUN_RUNNING, .reason = "QuotaExceeded"};
    events->status(events->ctx, &status);
    expect_wait(run, 6000, "QuotaExceeded", 6000);
    assert_true(run->shown->advanced_unix_ms >= before_ms);
    run->advanced_unix_ms = 1;
    const struct replica_id id = {{0, 0, 0}, ROLE_TRAINER, 0};
    const struct record record = {.type = RECORD_STEP, .step = {.step = 3, .samples = 8}};
    events->record(events->ctx, &id, &record);
    expect_wait(run, 6500, "QuotaExceeded", 6000);
    assert_true(run->shown->advanced_unix_ms >= before_ms);
    run->advanced_unix_ms = 1;
    const struct attempt_row row = {.outcome = ATTEMPT_SUCCEEDED};
    events->attempt(events->ctx, &row);
    run_refresh_shown(run, 6600);
    assert_true(run->shown->advanced_unix_ms >= before_ms);
    const struct run_status done = {.phase = RUN_FAILED, .reason = "QuotaExceeded"};
    events->status(events->ctx, &done);
    run_refresh_shown(run, 7000);
    assert_string_equal(run->shown->wait.reason, "");
    assert_int_equal(waits[daemon_wait_index("QuotaExceeded")], 1);
    assert_int_equal(waits[DAEMON_N_WAITS - 1], 0);
    close_world(run, bmr);
}

/* A suspended run has an end too, but it goes on. */
static void only_the_final_end_counts_for_the_time_to_live(void **state)
{
    static const struct {
        enum run_phase phase;
        int64_t ago_ms;
        bool is_sent;
    } rows[] = {
        {RUN_SUCCEEDED, 5000, false},
        {RUN_SUSPENDED, 60000, false},
        {RUN_RUNNING, 60000, false},
        {RUN_SUCCEEDED, 11000, true},
    };
    struct world *w = open_world(state);
    json_t *bmr = inline_bmr("u1");
    struct run *run = run_new(&w->env, bmr);
    assert_int_equal(take_good(run, bmr, NULL), 1);
    run->def->spec->run_policy.ttl_s = 10;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        run->status.phase = rows[i].phase;
        run->status.ended_unix_ms = clock_steady_unix_ms() - rows[i].ago_ms;
        run_expire(run);
        if ((run->expiry.state == EXPIRY_SENT) != rows[i].is_sent) {
            fail_msg("row %zu: %s ended %lld ms ago", i, run_phase_to_string(rows[i].phase),
                     (long long)rows[i].ago_ms);
        }
    }
    close_world(run, bmr);
}

/* A condition of the object, "" if it has none. Owned. */
static char *condition_of(const struct kube_call *apply, const char *type)
{
    json_t *body = parse(apply->req.body);
    const json_t *list = json_object_get(json_object_get(body, "status"), "conditions");
    char *found = xstrdup("");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        if (str_eq(json_string_value(json_object_get(one, "type")), type)) {
            free(found);
            found = xstrdup(json_string_value(json_object_get(one, "status")));
        }
    }
    json_decref(body);
    return found;
}

static void a_missed_threshold_is_a_condition(void **state)
{
    static const struct {
        double two_trainers;
        const char *status;
    } rows[] = {{120, "True"}, {190, "False"}};
    struct world *w = open_world(state);
    for (size_t i = 0; i < 2; i++) {
        _cleanup_(freep) char *uid = xasprintf("%08zu", i);
        json_t *bmr = inline_bmr(uid);
        json_t *definition = json_object_get(json_object_get(bmr, "spec"), "definition");
        json_object_set_new(definition, "thresholds",
                            parse("[{\"metric\":\"efficiency\",\"min\":0.9,"
                                  "\"where\":{\"trainers\":2}}]"));
        json_object_set_new(definition, "repeats", parse("{\"min\":1}"));
        struct run *run = run_new(&w->env, bmr);
        assert_int_equal(take_good(run, bmr, NULL), 1);
        struct fixture f = {.def = run->def};
        for (uint32_t p = 0; p < 2; p++) {
            const struct attempt_row *row =
                fixture_throughput(&f, p, 0, p == 0 ? 100 : rows[i].two_trainers);
            assert_int_equal(w->env.store->ops->save_attempt(w->env.store, uid, row, NULL, 0, NULL),
                             0);
        }
        run->status = (struct run_status){.phase = RUN_SUCCEEDED, .trials_total = 2};
        run_enter(run, LIFE_ON_ENDED_QUEUED);
        run_publish(run);
        assert_null(open_call(0)); /* first the verdict */
        (void)uv_run(&loop, UV_RUN_DEFAULT);
        run_publish(run);
        _cleanup_(freep) char *got = condition_of(open_call(0), "ThresholdFailed");
        assert_string_equal(got, rows[i].status);
        f.def = NULL; /* the run's */
        fixture_done(&f);
        run_free(run);
        json_decref(bmr);
    }
    close_world(NULL, NULL);
}

/* Between the driver's last status and its end there is a turn of the loop, or more. */
static void the_end_is_told_with_its_verdict(void **state)
{
    struct world *w = open_world(state);
    struct run_queue q = {0};
    json_t *bmr = inline_bmr("u1");
    struct run *run = drive(w, &q, bmr);
    const struct driver_events *events = &run->at.driven.driver->params.events;
    run->at.driven.driver->params.status =
        (struct run_status){.phase = RUN_FAILED, .trials_total = 2};
    events->status(events->ctx, &run->at.driven.driver->params.status);
    run_publish(run);
    assert_null(open_call(0));
    events->done(events->ctx);
    run_publish(run);
    assert_null(open_call(0));
    assert_int_equal(run_queue_advance(&q, NULL), 0);
    assert_int_equal(run->life, LIFE_ENDED);
    run_publish(run);
    assert_null(open_call(0)); /* first the verdict */
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    run_publish(run);
    _cleanup_(freep) char *got = condition_of(open_call(0), "MetricsUnavailable");
    assert_string_equal(got, "False");
    run_queue_done(&q);
    close_world(NULL, bmr);
}

#define ROW(test) cmocka_unit_test_setup_teardown(test, world_setup, world_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(a_running_run_is_driven_to_its_suspension),
        ROW(a_deletion_cancels_what_is_driven),
        ROW(a_run_that_is_being_deleted_is_left_alone),
        ROW(a_queued_run_says_what_it_waits_for),
        ROW(what_the_store_or_object_says_has_ended_stays_so),
        ROW(one_run_is_driven_at_a_time),
        ROW(an_error_of_one_run_parks_it),
        ROW(a_run_whose_driver_always_fails_ends),
        ROW(a_saved_attempt_ends_the_count),
        ROW(a_parked_run_waits_longer_each_time),
        ROW(rows_that_cannot_be_deleted_are_tried_again),
        ROW(a_full_disk_keeps_no_run_that_is_to_be_erased),
        ROW(an_expired_run_can_be_erased),
        ROW(a_driver_hears_what_is_asked_on_a_full_disk),
        ROW(what_is_gone_is_not_accepted),
        ROW(a_run_shows_what_it_waits_for),
        ROW(progress_and_time_left),
        ROW(only_the_final_end_counts_for_the_time_to_live),
        ROW(a_missed_threshold_is_a_condition),
        ROW(the_end_is_told_with_its_verdict),
    };
    return cmocka_run_group_tests_name("daemon/run_drive", tests, NULL, NULL);
}
