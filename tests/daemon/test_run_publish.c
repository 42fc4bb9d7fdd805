/* What is told of a run: its progress, what it waits for, its end with the verdict. */
#include "drive_world.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "daemon/run/run.h"
#include "daemon/run/run_queue.h"
#include "result_fixture.h"

/* The live view shows a step of the attempt that runs, and when the run may end. */
TEST(progress_and_time_left)
{
    _cleanup_(world_freep) struct world *w = open_world();
    json_t *bmr = inline_bmr("u1");
    struct run *run = accepted_run(w, bmr);
    assert_int_equal(run_start(run, NULL), 0);
    const struct driver_events *events = &run->at.driven.driver->params.events;
    const struct run_status status = {.phase = RUN_RUNNING,
                                      .started_unix_ms = clock_steady_unix_ms() - 100000,
                                      .trials_total = 4,
                                      .trials_done = 1};
    events->status(events->ctx, &status);
    const struct replica_id id = {{0, 0, 0}, ROLE_TRAINER, 0};
    const struct record record = {.type = RECORD_STEP, .step = {.step = 3, .samples = 8}};
    events->record(events->ctx, &id, &record);
    run_refresh_shown(run, clock_steady_unix_ms());
    run_drop_def(run);
    assert_true(run->progress.is_known);
    assert_int_equal(run->progress.step, 3);
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

/* Also to one that was made after the disk had become full. What the store knows of one that was
 * accepted before is not known. */
TEST(a_full_disk_is_told_to_new_runs)
{
    static const char *const statuses[] = {"{}", "{\"phase\":\"Running\"}"};
    for (size_t i = 0; i < 2; i++) {
        _cleanup_(world_freep) struct world *w = world_new();
        _cleanup_(run_queue_done) struct run_queue q = {.turn_cpu_ns = TURN_WITHOUT_END};
        _cleanup_(json_decrefp) json_t *bmr = make_bmr("u1", "{}", statuses[i]);
        assert_true(kube_cache_put(&w->runs, bmr));
        run_queue_add(&q, new_run(w, bmr));
        w->env.is_store_full = true;
        assert_int_equal(run_queue_accept(&q, NULL), 0);
        assert_false(run_queue_publish(&q));
        const struct kube_call *call = open_call(0);
        assert_true((call != NULL) == (i == 0));
        if (i == 0) {
            assert_non_null(strstr(call->req.path, "/r1/status"));
            assert_non_null(strstr(call->req.body, "the disk of benchd's store is full"));
        }
    }
}

/* The alert for a run that waits for long needs the reason, and since when. */
TEST(a_run_shows_what_it_waits_for)
{
    _cleanup_(world_freep) struct world *w = open_world();
    json_t *bmr = make_bmr("u1", "{\"benchmarkRef\":{\"name\":\"b\"}}", "{}");
    struct run *run = new_run(w, bmr);
    assert_int_equal(take(run, bmr, NULL), 0);
    expect_wait(run, 1000, "BenchmarkNotFound", 1000);
    expect_wait(run, 2000, "BenchmarkNotFound", 1000);
    w->env.is_store_full = true;
    expect_wait(run, 3000, "StoreFull", 3000);
    w->env.is_store_full = false;
    expect_wait(run, 4000, "BenchmarkNotFound", 4000);
    run_free(run);
    json_decref(bmr);
    bmr = inline_bmr("u2");
    run = accepted_run(w, bmr);
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
    close_world(run, bmr);
}

/* A condition of the object, "" if it has none. Owned. */
static char *condition_of(const struct kube_call *apply, const char *type)
{
    _cleanup_(json_decrefp) json_t *body = parse(apply->req.body);
    const json_t *list = json_object_get(json_object_get(body, "status"), "conditions");
    char *found = xstrdup("");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        if (str_eq(json_string_value(json_object_get(one, "type")), type)) {
            free(found);
            found = xstrdup(json_string_value(json_object_get(one, "status")));
        }
    }
    return found;
}

TEST(a_missed_threshold_is_a_condition)
{
    static const struct {
        double two_trainers;
        const char *status;
    } rows[] = {{120, "True"}, {190, "False"}};
    _cleanup_(world_freep) struct world *w = open_world();
    for (size_t i = 0; i < 2; i++) {
        _cleanup_(freep) char *uid = xasprintf("%08zu", i);
        _cleanup_(json_decrefp) json_t *bmr = inline_bmr(uid);
        json_t *definition = json_object_get(json_object_get(bmr, "spec"), "definition");
        json_object_set_new(definition, "thresholds",
                            parse("[{\"metric\":\"efficiency\",\"min\":\"0.9\","
                                  "\"where\":{\"trainers\":2}}]"));
        json_object_set_new(definition, "repeats", parse("{\"min\":1}"));
        _cleanup_(run_freep) struct run *run = accepted_run(w, bmr);
        _cleanup_(fixture_done) struct fixture f = {.def = run->def};
        for (uint32_t p = 0; p < 2; p++) {
            const struct attempt_row *row =
                fixture_throughput(&f, p, 0, p == 0 ? 100 : rows[i].two_trainers);
            const struct trial_terms terms = run_def_terms(f.def, p);
            assert_int_equal(w->env.store->ops->save_attempt(w->env.store, uid, row, &terms, NULL,
                                                             0, NULL, NULL),
                             0);
        }
        run->status = (struct run_status){.phase = RUN_SUCCEEDED, .trials_total = 2};
        run_enter(run, LIFE_ON_ENDED_QUEUED);
        run_publish(run);
        assert_null(open_call(0)); /* first the verdict */
        (void)uv_run(&drive_loop, UV_RUN_DEFAULT);
        run_publish(run);
        _cleanup_(freep) char *got = condition_of(open_call(0), "ThresholdFailed");
        assert_string_equal(got, rows[i].status);
        f.def = NULL; /* the run's */
    }
    close_world(NULL, NULL);
}

/* Between the driver's last status and its end there is a turn of the loop, or more. */
TEST(the_end_is_told_with_its_verdict)
{
    _cleanup_(world_freep) struct world *w = open_world();
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
    (void)uv_run(&drive_loop, UV_RUN_DEFAULT);
    run_publish(run);
    _cleanup_(freep) char *got = condition_of(open_call(0), "MetricsUnavailable");
    assert_string_equal(got, "False");
    run_queue_done(&q);
    close_world(NULL, bmr);
}
