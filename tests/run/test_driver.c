/* The driver on a real event loop: over fakes for its timer, over real processes as a whole. */
#include <signal.h>
#include <sys/wait.h>

#include <uv.h>

#include "tests/test.h"
#include "core/environment.h"
#include "core/record.h"
#include "base/parse.h"
#include "base/str.h"
#include "fakes.h"
#include "run/processes/processes.h"
#include "test_def.h"

#define ONE_POINT                                                                                  \
    {                                                                                              \
        .grid = "{pservers: [1], trainers: [1]}", .repeats = 1                                     \
    }
#define END_LIMIT_MS 60000 /* of what only a broken driver does not reach */

struct world {
    uv_loop_t loop;
    uv_timer_t timer; /* the test's own */
    uv_timer_t limit; /* of run_to_end */
    struct run_def *def;
    struct fake_clock clock;
    struct fake_faults faults;
    struct fake_launcher fake;
    struct launcher *launcher; /* &fake.base, or a real one */
    struct fake_store store;
    struct driver *driver;
    unsigned n_rows_heard, n_statuses_heard, n_records_heard, n_events_heard;
};

static void hear_status(void *ctx, const struct run_status *status)
{
    (void)status;
    ((struct world *)ctx)->n_statuses_heard++;
}

static void hear_event(void *ctx, enum event_type type, const char *reason, const char *note)
{
    (void)type;
    (void)reason;
    (void)note;
    ((struct world *)ctx)->n_events_heard++;
}

static void hear_attempt(void *ctx, const struct attempt_row *row)
{
    assert_true(row->replicas.len > 0);
    ((struct world *)ctx)->n_rows_heard++;
}

static void hear_record(void *ctx, const struct replica_id *id, const struct record *record)
{
    assert_int_equal(id->role, record->who.role);
    ((struct world *)ctx)->n_records_heard++;
}

static void world_open_resync(struct world *w, const struct test_def_params *def,
                              bool has_processes, int64_t resync_ms)
{
    *w = (struct world){.clock.now_ms = 1000000};
    assert_int_equal(uv_loop_init(&w->loop), 0);
    assert_int_equal(uv_timer_init(&w->loop, &w->timer), 0);
    w->timer.data = w;
    assert_int_equal(uv_timer_init(&w->loop, &w->limit), 0);
    w->def = test_def_new(def);
    fake_store_init(&w->store, &w->faults, &w->clock);
    fake_launcher_init(&w->fake, &w->faults, &w->store);
    w->launcher = &w->fake.base;
    _cleanup_(freep) char *worker =
        xasprintf("%s/tests/run/fake_worker", getenv("BENCHD_BUILD_DIR"));
    struct processes_params processes = {.loop = &w->loop, .benchworker = worker};
    if (has_processes) {
        assert_int_equal(processes_new(&processes, &w->launcher, NULL), 0);
    }
    struct driver_params params = {
        .loop = &w->loop,
        .def = w->def,
        .launcher = w->launcher,
        .store = &w->store.base,
        .clock = has_processes ? (struct wall_clock){0} : fake_clock_get(&w->clock),
        .events = {hear_status, hear_event, hear_attempt, hear_record, NULL, w},
        .resync_ms = resync_ms,
    };
    assert_int_equal(driver_new(&params, &w->driver, NULL), 0);
}

static void world_open(struct world *w, const struct test_def_params *def, bool has_processes)
{
    world_open_resync(w, def, has_processes, 0);
}

static void world_close(struct world *w)
{
    driver_free(w->driver);
    w->launcher->ops->free(w->launcher);
    uv_close((uv_handle_t *)&w->timer, NULL);
    uv_close((uv_handle_t *)&w->limit, NULL);
    assert_int_equal(uv_run(&w->loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&w->loop), 0);
    fake_launcher_done(&w->fake);
    fake_store_done(&w->store);
    run_def_free(w->def);
}

/* The loop's own end of a test that waits for something that may not come. */
static void on_late(uv_timer_t *timer)
{
    uv_stop(timer->loop);
}

/* Runs the loop until the driver and its replicas need it no more. */
static void run_to_end(struct world *w)
{
    assert_int_equal(uv_timer_start(&w->limit, on_late, END_LIMIT_MS, 0), 0);
    uv_unref((uv_handle_t *)&w->limit);
    if (uv_run(&w->loop, UV_RUN_DEFAULT) != 0) {
        fail_msg("the run is %s after %d ms, expected its end",
                 run_phase_to_string(w->store.status.phase), END_LIMIT_MS);
    }
    (void)uv_timer_stop(&w->limit); /* never fails */
}

/* Everybody succeeds, again and again, as long as there is a run. */
static void on_succeed(uv_timer_t *timer)
{
    struct world *w = timer->data;
    w->clock.now_ms += 1000;
    fake_launcher_succeed(&w->fake, w->clock.now_ms);
    for (int i = 0; i < 100 && w->fake.base.on_change != NULL; i++) {
        w->fake.base.on_change(w->fake.base.ctx);
    }
}

TEST(many_changes_are_one_look)
{
    _cleanup_(world_close) struct world w;
    world_open(&w,
               &(struct test_def_params){.grid = "{pservers: [1], trainers: [1, 2]}", .repeats = 5},
               false);
    driver_start(w.driver);
    assert_int_equal(uv_timer_start(&w.timer, on_succeed, 1, 1), 0);
    uv_unref((uv_handle_t *)&w.timer);
    run_to_end(&w);
    struct run_status status;
    assert_int_equal(driver_finish(w.driver, &status, NULL), 0);
    assert_int_equal(status.phase, RUN_SUCCEEDED);
    assert_int_equal(w.store.rows.len, 10);
    assert_int_equal(w.n_rows_heard, 10);
    assert_int_equal(w.n_statuses_heard, w.store.n_status);
    assert_int_equal(w.n_events_heard, w.store.n_events);
    /* Per trial a look that acts and one that finds nothing to do, and some of the timer's own. */
    assert_in_range(w.fake.n_observes, 10, 60);
}

TEST(a_full_disk_is_told)
{
    _cleanup_(world_close) struct world w;
    world_open(&w, &(struct test_def_params)ONE_POINT, false);
    w.faults = (struct fake_faults){.n_calls = 0, .fail_at = 5, .fail_code = ENOSPC, .stays = true};
    driver_start(w.driver);
    assert_int_equal(uv_timer_start(&w.timer, on_succeed, 1, 1), 0);
    uv_unref((uv_handle_t *)&w.timer);
    run_to_end(&w);
    struct run_status status;
    struct err err;
    assert_int_equal(driver_finish(w.driver, &status, &err), -ENOSPC);
    assert_true(str_has_prefix(err.msg, "run 'test-abcde': "));
    assert_true(str_has_suffix(err.msg, ": No space left on device"));
}

/* An error of the store, of whatever kind: what a replica has measured may be nowhere but in it, so
 * all stay, and the next driver goes on with them. */
TEST(a_driver_that_gives_up_removes_nothing)
{
    static const int codes[] = {ENOSPC, EIO, EROFS, EACCES, ENOMEM, EBADMSG, ENOTRECOVERABLE};
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        _cleanup_(world_close) struct world w;
        world_open(&w, &(struct test_def_params)ONE_POINT, false);
        driver_start(w.driver);
        assert_int_equal(uv_run(&w.loop, UV_RUN_NOWAIT), 1);
        assert_int_equal(uv_run(&w.loop, UV_RUN_NOWAIT), 1);
        assert_true(w.fake.n_created > 0);
        w.faults = (struct fake_faults){.fail_at = 2, .fail_code = codes[i]}; /* the row */
        fake_launcher_succeed(&w.fake, w.clock.now_ms);
        w.fake.base.on_change(w.fake.base.ctx);
        run_to_end(&w);
        struct run_status status;
        assert_int_equal(driver_finish(w.driver, &status, NULL), -codes[i]);
        assert_int_equal(w.fake.n_removed, 0);
    }
}

static void on_answered(uv_timer_t *timer)
{
    struct world *w = timer->data;
    struct run_status status;
    assert_int_equal(driver_finish(w->driver, &status, NULL), -ECANCELED); /* it waits */
    if (w->fake.n_stopped == 0) {
        return; /* this thread stood still before the driver's turn */
    }
    (void)uv_timer_stop(timer); /* never fails */
    w->fake.is_settling = false;
    w->launcher->on_change(w->launcher->ctx);
}

/* Its owner frees the launcher then, and another run may follow. A pod that is still being created
 * would run at the same time. */
TEST(a_driver_that_gives_up_waits_for_what_is_being_created)
{
    _cleanup_(world_close) struct world w;
    world_open(&w, &(struct test_def_params)ONE_POINT, false);
    driver_start(w.driver);
    assert_int_equal(uv_run(&w.loop, UV_RUN_NOWAIT), 1);
    assert_int_equal(uv_run(&w.loop, UV_RUN_NOWAIT), 1);
    w.faults = (struct fake_faults){.fail_at = 2, .fail_code = EIO}; /* the row */
    fake_launcher_succeed(&w.fake, w.clock.now_ms);
    w.fake.is_settling = true;
    (void)snprintf(w.fake.wait.reason, sizeof(w.fake.wait.reason), "CreationFails");
    const unsigned n_statuses = w.n_statuses_heard;
    w.fake.base.on_change(w.fake.base.ctx);
    assert_int_equal(uv_timer_start(&w.timer, on_answered, 50, 50), 0);
    run_to_end(&w);
    struct run_status status;
    assert_int_equal(driver_finish(w.driver, &status, NULL), -EIO);
    assert_int_equal(w.fake.n_stopped, 2);
    assert_int_equal(w.n_statuses_heard, n_statuses + 1); /* people are told, once */
    assert_int_equal(w.fake.n_removed, 0);
}

static void on_removed(uv_timer_t *timer)
{
    struct world *w = timer->data;
    struct run_status status;
    if (w->fake.n_removed < w->fake.n_created) {
        return; /* this thread stood still before the driver's turn */
    }
    (void)uv_timer_stop(timer);                                            /* never fails */
    assert_int_equal(driver_finish(w->driver, &status, NULL), -ECANCELED); /* it waits */
    w->fake.is_removing = false;
    w->launcher->on_change(w->launcher->ctx);
}

/* Its owner frees the launcher then, and another run may follow: first its pods must be gone. */
TEST(an_abandoned_run_waits_for_its_removals)
{
    _cleanup_(world_close) struct world w;
    world_open(&w, &(struct test_def_params)ONE_POINT, false);
    w.fake.store = NULL; /* removed without a row */
    driver_start(w.driver);
    assert_int_equal(uv_run(&w.loop, UV_RUN_NOWAIT), 1);
    assert_int_equal(uv_run(&w.loop, UV_RUN_NOWAIT), 1);
    assert_true(w.fake.n_created > 0);
    w.fake.is_removing = true;
    (void)snprintf(w.fake.wait.reason, sizeof(w.fake.wait.reason), "DeletionFails");
    driver_abandon(w.driver);
    const unsigned n_statuses = w.n_statuses_heard;
    assert_int_equal(uv_timer_start(&w.timer, on_removed, 50, 50), 0);
    run_to_end(&w);
    struct run_status status;
    assert_int_equal(driver_finish(w.driver, &status, NULL), -ECANCELED);
    assert_int_equal(w.n_statuses_heard, n_statuses + 1); /* people are told, once */
}

static void on_observed_often(uv_check_t *check)
{
    struct world *w = check->data;
    if (w->fake.n_observes >= 6) {
        uv_stop(check->loop);
    }
}

/* The run's deadline is an hour away, and nobody reports a change. */
TEST(the_driver_looks_again_without_being_told)
{
    _cleanup_(world_close) struct world w;
    world_open_resync(&w,
                      &(struct test_def_params){.grid = "{pservers: [1], trainers: [1]}",
                                                .repeats = 1,
                                                .deadline_s = 3600},
                      false, 5);
    uv_check_t check;
    assert_int_equal(uv_check_init(&w.loop, &check), 0);
    check.data = &w;
    assert_int_equal(uv_check_start(&check, on_observed_often), 0);
    assert_int_equal(uv_timer_start(&w.timer, on_late, END_LIMIT_MS, 0), 0);
    driver_start(w.driver);
    (void)uv_run(&w.loop, UV_RUN_DEFAULT); /* says that handles are left */
    if (w.fake.n_observes < 6) {
        fail_msg("observed %u times in %d ms", w.fake.n_observes, END_LIMIT_MS);
    }
    uv_close((uv_handle_t *)&check, NULL);
}

/* Neither the work that a pass left nor a request waits for a time. */
TEST(what_is_to_be_done_is_done_at_once)
{
    static const struct {
        void (*request)(struct driver *d);
        enum run_phase phase;
    } rows[] = {{driver_cancel, RUN_CANCELLED}, {driver_suspend, RUN_SUSPENDED}};
    for (size_t k = 0; k < N_ROWS(rows); k++) {
        _cleanup_(world_close) struct world w;
        world_open(&w, &(struct test_def_params)ONE_POINT, false);
        w.fake.store = NULL; /* an attempt that is ended so has no row */
        driver_start(w.driver);
        for (int i = 0; i < 10; i++) {
            (void)uv_run(&w.loop, UV_RUN_NOWAIT); /* says whether handles are left */
        }
        const unsigned n_before = w.fake.n_observes; /* the last pass found nothing to do */
        assert_in_range(n_before, 2, 9);
        rows[k].request(w.driver);
        for (int i = 0; i < 10; i++) {
            (void)uv_run(&w.loop, UV_RUN_NOWAIT); /* as above */
        }
        assert_in_range(w.fake.n_observes, n_before + 1, n_before + 9);
        struct run_status status;
        assert_int_equal(driver_finish(w.driver, &status, NULL), 0);
        assert_int_equal(status.phase, rows[k].phase);
    }
}

TEST(a_cancellation_is_not_replaced)
{
    _cleanup_(world_close) struct world w;
    world_open(&w, &(struct test_def_params)ONE_POINT, false);
    w.fake.store = NULL; /* a cancelled attempt has no row */
    driver_start(w.driver);
    assert_int_equal(uv_run(&w.loop, UV_RUN_NOWAIT), 1);
    driver_cancel(w.driver);
    driver_suspend(w.driver);
    run_to_end(&w);
    struct run_status status;
    assert_int_equal(driver_finish(w.driver, &status, NULL), 0);
    assert_int_equal(status.phase, RUN_CANCELLED);
}

/* What is not wanted any more needs no space in the store. */
TEST(an_abandoned_run_leaves_no_replica_and_no_word)
{
    _cleanup_(world_close) struct world w;
    world_open(&w, &(struct test_def_params)ONE_POINT, false);
    struct fake_faults none = {0}; /* of the launcher */
    w.fake.faults = &none;
    w.fake.store = NULL; /* there is no row */
    driver_start(w.driver);
    assert_int_equal(uv_run(&w.loop, UV_RUN_NOWAIT), 1);
    w.faults = (struct fake_faults){.fail_at = 1, .fail_code = ENOSPC, .stays = true};
    driver_abandon(w.driver);
    driver_abandon(w.driver);
    run_to_end(&w);
    struct run_status status;
    struct err err;
    assert_int_equal(driver_finish(w.driver, &status, &err), -ECANCELED);
    assert_int_equal(w.fake.n_created, 2);
    assert_int_equal(w.fake.n_removed, 2);
    assert_int_equal(w.faults.n_calls, 0);
}

static void on_stop(uv_timer_t *timer)
{
    uv_stop(timer->loop);
}

TEST(a_stopped_loop_is_no_end)
{
    _cleanup_(world_close) struct world w;
    world_open(&w, &(struct test_def_params)ONE_POINT, false);
    driver_start(w.driver);
    assert_int_equal(uv_timer_start(&w.timer, on_stop, 5, 0), 0);
    (void)uv_run(&w.loop, UV_RUN_DEFAULT); /* says that handles are left */
    struct run_status status;
    assert_int_equal(driver_finish(w.driver, &status, NULL), -ECANCELED);
}

TEST(real_processes_run_to_the_end)
{
    _cleanup_(world_close) struct world w;
    world_open(&w,
               &(struct test_def_params){.grid = "{pservers: [1], trainers: [1, 2]}",
                                         .command = "[benchworker, records, listen]",
                                         .repeats = 2},
               true);
    driver_start(w.driver);
    run_to_end(&w);
    struct run_status status;
    assert_int_equal(driver_finish(w.driver, &status, NULL), 0);
    assert_string_equal(status.message, "4 of 4 trials done, 0 failed");
    assert_int_equal(status.phase, RUN_SUCCEEDED);
    assert_int_equal(w.n_records_heard, 4 * (2 * 2 + 2 * 3)); /* 4 records a replica */
    const struct attempt_row *row = &w.store.rows.items[0];
    assert_int_equal(row->replicas.items[0].id.role, ROLE_PSERVER);
    assert_int_equal(row->replicas.items[1].summary->samples, 32);
    const struct environment *environment = &row->replicas.items[1].environment;
    assert_string_equal(environment->host, "test");
    assert_non_null(environment->node);
    assert_true(row->replicas.items[1].log_bytes > 300);
}

/* The pid that the first trainer wrote, 0 if it has not yet. */
static pid_t trainer_pid(struct world *w, uint32_t index)
{
    _cleanup_(freep) struct observed_replica *seen = NULL;
    size_t n = 0;
    int64_t pid = 0;
    assert_int_equal(w->launcher->ops->observe(w->launcher, &seen, &n, NULL), 0);
    for (size_t i = 0; i < n; i++) {
        struct replica_output output;
        if (seen[i].id.role == ROLE_TRAINER && seen[i].id.index == index &&
            w->launcher->ops->collect(w->launcher, &seen[i].id, &output, NULL) == 0 &&
            str_has_prefix(output.log, "pid ")) {
            _cleanup_(freep) char *number = xstrndup(output.log + 4, strcspn(output.log + 4, "\n"));
            assert_int_equal(parse_i64(number, &pid), 0);
        }
    }
    return (pid_t)pid;
}

static void on_kill(uv_timer_t *timer)
{
    struct world *w = timer->data;
    pid_t pid = trainer_pid(w, 1);
    if (pid != 0) {
        assert_int_equal(kill(pid, SIGKILL), 0);
        (void)uv_timer_stop(timer); /* never fails */
    }
}

TEST(a_killed_trainer_is_named)
{
    _cleanup_(world_close) struct world w;
    world_open(&w,
               &(struct test_def_params){.grid = "{pservers: [1], trainers: [2]}",
                                         .command = "[benchworker, pid, hang]",
                                         .repeats = 1,
                                         .baseline_trainers = 2},
               true);
    driver_start(w.driver);
    assert_int_equal(uv_timer_start(&w.timer, on_kill, 1, 5), 0);
    uv_unref((uv_handle_t *)&w.timer);
    run_to_end(&w);
    struct run_status status;
    assert_int_equal(driver_finish(w.driver, &status, NULL), 0);
    assert_int_equal(status.phase, RUN_FAILED);
    const struct attempt_row *row = &w.store.rows.items[0];
    assert_string_equal(row->error, "trainer/1: killed by signal 9");
    assert_int_equal(row->replicas.len, 3);
    assert_int_equal(row->replicas.items[2].signal, 9);
    assert_int_equal(row->replicas.items[0].exit_code, -1); /* still running when it was kept */
    assert_null(row->replicas.items[0].failure);
}

static void on_cancel(uv_timer_t *timer)
{
    struct world *w = timer->data;
    if (trainer_pid(w, 0) != 0) {
        driver_cancel(w->driver);
        (void)uv_timer_stop(timer); /* never fails */
    }
}

TEST(cancel_waits_for_the_last_process)
{
    _cleanup_(world_close) struct world w;
    world_open(&w,
               &(struct test_def_params){.grid = "{pservers: [1], trainers: [1]}",
                                         .command = "[benchworker, pid, hang]",
                                         .repeats = 1},
               true);
    driver_start(w.driver);
    assert_int_equal(uv_timer_start(&w.timer, on_cancel, 1, 5), 0);
    uv_unref((uv_handle_t *)&w.timer);
    run_to_end(&w);
    struct run_status status;
    assert_int_equal(driver_finish(w.driver, &status, NULL), 0);
    assert_int_equal(status.phase, RUN_CANCELLED);
    errno = 0;
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* all were reaped */
    assert_int_equal(errno, ECHILD);
}
