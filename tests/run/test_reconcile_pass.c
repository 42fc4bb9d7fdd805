/* The driver's passes over a fake launcher, store and clock: no process, no time, no disk. */
#include "tests/test.h"
#include "base/str.h"
#include "fakes.h"
#include "run/reconcile_pass.h"
#include "test_def.h"

struct world {
    struct run_def *def;
    struct fake_clock clock;
    struct fake_faults faults;
    struct fake_launcher launcher;
    struct fake_store store;
    struct reconcile_pass pass;
    int64_t wait_ms;
    struct err err;
};

static const struct test_def_params one_point = {
    .grid = "{pservers: [1], trainers: [1, 2]}", .repeats = 1, .max_failed = 0, .backoff_limit = 1};

static int world_turn_init(struct world *w)
{
    struct driver_params params = {.def = w->def,
                                   .launcher = &w->launcher.base,
                                   .store = &w->store.base,
                                   .clock = fake_clock_get(&w->clock),
                                   .status = w->store.status};
    return reconcile_pass_init(&w->pass, &params, &w->err);
}

static void world_open(struct world *w, const struct test_def_params *params)
{
    *w = (struct world){.clock.now_ms = 1000000};
    w->def = test_def_new(params);
    fake_launcher_init(&w->launcher, &w->faults, &w->store);
    fake_store_init(&w->store, &w->faults, &w->clock);
}

static void world_close(struct world *w)
{
    reconcile_pass_done(&w->pass);
    fake_launcher_done(&w->launcher);
    fake_store_done(&w->store);
    run_def_free(w->def);
}

/* Passes until there is nothing to do at once: PASS_WAIT, PASS_FINISHED or an error. */
static int settle(struct world *w)
{
    for (int i = 0; i < 100; i++) {
        int r = reconcile_pass_once(&w->pass, &w->wait_ms, &w->err);
        if (r != PASS_AGAIN) {
            return r;
        }
    }
    fail_msg("still not settled after 100 passes");
    return -1;
}

static void world_begin(struct world *w)
{
    assert_int_equal(world_turn_init(w), 0);
    assert_int_equal(settle(w), PASS_WAIT);
}

/* A run of one point with its baseline; its first attempt has been created. */
static void world_open_begun(struct world *w)
{
    world_open(w, &one_point);
    world_begin(w);
}

/* The whole run, everybody succeeding; PASS_FINISHED or an error. */
static int run_well(struct world *w)
{
    for (int i = 0; i < 1000; i++) {
        int r = settle(w);
        if (r != PASS_WAIT) {
            return r;
        }
        w->clock.now_ms += 5000;
        fake_launcher_succeed(&w->launcher, w->clock.now_ms);
    }
    fail_msg("the run does not end");
    return -1;
}

TEST(a_run_ends_well)
{
    _cleanup_(world_close) struct world w;
    world_open(&w, &(struct test_def_params){.grid = "{pservers: [1, 2], trainers: [1, 2]}",
                                             .repeats = 3,
                                             .backoff_limit = 1});
    w.store.late_ms = 40;
    assert_int_equal(world_turn_init(&w), 0);
    assert_int_equal(run_well(&w), PASS_FINISHED);
    assert_int_equal(w.store.status.phase, RUN_SUCCEEDED);
    assert_int_equal(w.store.rows.len, 4 * 3);
    assert_int_equal(w.launcher.n_created, 3 * (2 + 3 + 3 + 4));
    assert_int_equal(w.launcher.n_removed, w.launcher.n_created);
    assert_int_equal(w.store.n_logs, w.launcher.n_created);
    assert_int_equal(w.store.log_bytes, strlen("hello\n") * w.store.n_logs);
    vec_each (struct attempt_row, row, &w.store.rows) {
        const struct point *point = &w.def->matrix.points[row->id.point];
        assert_int_equal(row->replicas.len,
                         point->replicas[ROLE_PSERVER] + point->replicas[ROLE_TRAINER]);
        assert_int_equal(row->replicas.items[0].id.role, ROLE_PSERVER);
        const struct summary *s = row->replicas.items[point->replicas[ROLE_PSERVER]].summary;
        assert_int_equal(metrics_get(&s->metrics, "start_spread_s") == 0, row->replicas.len > 1);
        assert_true(row->ended_unix_ms - row->started_unix_ms >= 5000);
        assert_null(row->error);
    }
}

TEST(a_finished_run_does_nothing)
{
    _cleanup_(world_close) struct world w;
    world_open(&w, &one_point);
    assert_int_equal(world_turn_init(&w), 0);
    assert_int_equal(run_well(&w), PASS_FINISHED);
    unsigned n_created = w.launcher.n_created, n_status = w.store.n_status;
    reconcile_pass_done(&w.pass);
    assert_int_equal(world_turn_init(&w), 0);
    assert_int_equal(reconcile_pass_once(&w.pass, &w.wait_ms, &w.err), PASS_FINISHED);
    assert_int_equal(w.launcher.n_created, n_created);
    assert_int_equal(w.store.n_status, n_status);
}

/* How members of the first attempt fail, and what is said of it. */
static void kill_trainer(struct world *w)
{
    fake_launcher_fail(&w->launcher, ROLE_TRAINER, 0, 0, 9, "killed by signal 9", w->clock.now_ms);
    fake_launcher_fail(&w->launcher, ROLE_PSERVER, 0, 11, 0, "connection closed",
                       w->clock.now_ms - 5);
}

static void stop_trainer(struct world *w)
{
    struct observed_replica *pserver = &fake_launcher_find(&w->launcher, ROLE_PSERVER, 0)->seen;
    fake_launcher_fail(&w->launcher, ROLE_PSERVER, 0, 11, 0, "silent for 6 s", w->clock.now_ms);
    pserver->has_blamed = true;
    pserver->blamed_role = ROLE_TRAINER;
    assert_int_equal(settle(w), PASS_WAIT); /* the cause may show yet */
    assert_true(w->wait_ms > 0);
    w->clock.now_ms += w->wait_ms;
}

static void fill_disk(struct world *w)
{
    fake_launcher_fail(&w->launcher, ROLE_TRAINER, 0, 10, 0, "exit code 10: no data",
                       w->clock.now_ms);
}

static const struct cause_row {
    const char *name;
    void (*happen)(struct world *w);
    enum attempt_outcome outcome;
    const char *error;
} cause_rows[] = {
    {"killed", kill_trainer, ATTEMPT_VOID, "trainer/0: killed by signal 9"},
    {"stopped", stop_trainer, ATTEMPT_VOID,
     "trainer/0: lost, reported by pserver/0: silent for 6 s"},
    {"no data", fill_disk, ATTEMPT_VOID, "trainer/0: exit code 10: no data"},
};

TEST(the_cause_is_named_and_the_trial_repeated)
{
    for (size_t i = 0; i < sizeof(cause_rows) / sizeof(*cause_rows); i++) {
        const struct cause_row *row = &cause_rows[i];
        _cleanup_(world_close) struct world w;
        world_open_begun(&w);
        row->happen(&w);
        assert_int_equal(settle(&w), PASS_WAIT);
        assert_int_equal(w.store.rows.len, 1);
        const struct attempt_row *saved = &w.store.rows.items[0];
        if (saved->outcome != row->outcome || !str_eq(saved->error, row->error)) {
            fail_msg("%s: outcome %d error '%s', expected %d '%s'", row->name, saved->outcome,
                     saved->error, row->outcome, row->error);
        }
        assert_int_equal(saved->replicas.len, w.launcher.n_removed);
        assert_int_equal(run_well(&w), PASS_FINISHED);
        assert_int_equal(w.store.status.phase, RUN_SUCCEEDED);
    }
}

/* Another process writes: the pass is made again, soon, and no end of the run. */
TEST(a_busy_store_is_asked_again)
{
    struct fake_faults none = {0}; /* of the launcher */
    bool is_through = false;
    for (unsigned n = 3; !is_through; n++) { /* the first calls read the events and the rows */
        _cleanup_(world_close) struct world w;
        world_open(&w, &one_point);
        w.launcher.faults = &none;
        w.faults = (struct fake_faults){.fail_at = n, .fail_code = EBUSY};
        assert_int_equal(world_turn_init(&w), 0);
        const int r = run_well(&w);
        if (r != PASS_FINISHED || w.store.status.phase != RUN_SUCCEEDED || w.store.rows.len != 2) {
            fail_msg("call %u busy: answer %d, phase %s, %zu rows: %s", n, r,
                     run_phase_to_string(w.store.status.phase), w.store.rows.len, w.err.msg);
        }
        is_through = w.faults.n_calls < n;
    }
}

/* A full disk, for three passes, at each call of the store: nothing is lost, and the run goes on. A
 * program that cannot wait is told, and gives up. */
TEST(a_full_disk_is_waited_for)
{
    struct fake_faults none = {0}; /* of the launcher */
    bool is_through = false;
    for (unsigned n = 3; !is_through; n++) {
        for (int waits = 0; waits < 2; waits++) {
            _cleanup_(world_close) struct world w;
            world_open(&w, &one_point);
            w.launcher.faults = &none;
            w.faults = (struct fake_faults){.fail_at = n, .fail_code = ENOSPC};
            assert_int_equal(world_turn_init(&w), 0);
            w.pass.params.waits_for_space = waits;
            const int r = run_well(&w);
            is_through = w.faults.n_calls < n;
            const bool is_well = r == PASS_FINISHED && w.store.status.phase == RUN_SUCCEEDED &&
                                 w.store.rows.len == 2;
            if (is_well != (waits || is_through) || (!is_well && r != -ENOSPC)) {
                fail_msg("call %u full, waits %d: answer %d, phase %s, %zu rows: %s", n, waits, r,
                         run_phase_to_string(w.store.status.phase), w.store.rows.len, w.err.msg);
            }
        }
    }
}

TEST(what_cannot_start_is_a_failed_replica)
{
    static const struct {
        const char *name;
        bool in_prepare;
        int code;
        enum run_phase phase;
        size_t n_rows;
        const char *error;
    } rows[] = {
        {"no such program", false, ENOENT, RUN_FAILED, 1,
         "pserver/0: start 'benchworker': exec: No such file or directory"},
        {"no process left", false, EAGAIN, RUN_SUCCEEDED, 3,
         "pserver/0: start 'benchworker': exec: Resource temporarily unavailable"},
        {"no port left", true, EADDRINUSE, RUN_SUCCEEDED, 3,
         "pserver/0: reserve a port: Address already in use"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        _cleanup_(world_close) struct world w;
        world_open(&w, &(struct test_def_params){.grid = "{pservers: [1], trainers: [1, 2]}",
                                                 .on_failure = "Stop",
                                                 .repeats = 1,
                                                 .backoff_limit = 1});
        w.launcher.create_code = rows[i].in_prepare ? 0 : rows[i].code;
        w.launcher.prepare_code = rows[i].in_prepare ? rows[i].code : 0;
        assert_int_equal(world_turn_init(&w), 0);
        assert_int_equal(run_well(&w), PASS_FINISHED);
        if (w.store.status.phase != rows[i].phase || w.store.rows.len != rows[i].n_rows ||
            !str_eq(w.store.rows.items[0].error, rows[i].error)) {
            fail_msg("%s: phase %s, %zu rows, '%s'; expected %s, %zu, '%s'", rows[i].name,
                     run_phase_to_string(w.store.status.phase), w.store.rows.len,
                     w.store.rows.items[0].error, run_phase_to_string(rows[i].phase),
                     rows[i].n_rows, rows[i].error);
        }
        assert_int_equal(w.store.rows.items[0].replicas.len, 1); /* itself; no other was tried */
        assert_int_equal(w.store.rows.items[0].replicas.items[0].exit_code, -1);
        assert_int_equal(w.pass.failed_create.len, 0);
    }
}

/* benchworker looks at the machine itself, other programs do not. */
TEST(who_does_not_look_is_looked_at)
{
    static const char *const logs[] = {NULL, "torch-ddp"};
    for (size_t i = 0; i < 2; i++) {
        _cleanup_(world_close) struct world w;
        world_open(&w, &(struct test_def_params){.grid = "{pservers: [1], trainers: [1]}",
                                                 .log = logs[i],
                                                 .command = logs[i] == NULL ? NULL : "[x]",
                                                 .repeats = 1});
        world_begin(&w);
        assert_true(w.launcher.members.len > 0);
        assert_int_equal(w.launcher.is_probed, logs[i] != NULL);
    }
}

TEST(cancel_leaves_nothing)
{
    _cleanup_(world_close) struct world w;
    world_open_begun(&w);
    assert_true(w.launcher.members.len > 0);
    w.pass.request = REQUEST_CANCEL;
    assert_int_equal(settle(&w), PASS_FINISHED);
    assert_int_equal(w.store.status.phase, RUN_CANCELLED);
    assert_int_equal(w.launcher.members.len, 0);
    assert_int_equal(w.store.rows.len, 0);
}

TEST(the_deadline_is_asked_for_and_kept)
{
    _cleanup_(world_close) struct world w;
    world_open(&w, &(struct test_def_params){
                       .grid = "{pservers: [1], trainers: [1]}", .repeats = 1, .deadline_s = 60});
    world_begin(&w);
    assert_int_equal(w.wait_ms, 60000);
    w.clock.now_ms += w.wait_ms;
    assert_int_equal(settle(&w), PASS_FINISHED);
    assert_int_equal(w.store.status.phase, RUN_FAILED);
    assert_string_equal(w.store.status.reason, "DeadlineExceeded");
    assert_int_equal(w.launcher.members.len, 0);
}

/* Of a run with an attempt, and of one whose first status cannot be written: it has no start. */
TEST(the_deadline_does_not_count_a_full_disk)
{
    for (int has_begun = 0; has_begun < 2; has_begun++) {
        _cleanup_(world_close) struct world w;
        world_open(&w, &(struct test_def_params){.grid = "{pservers: [1], trainers: [1]}",
                                                 .repeats = 1,
                                                 .deadline_s = 60});
        w.launcher.faults = &(struct fake_faults){0};
        assert_int_equal(world_turn_init(&w), 0);
        w.pass.params.waits_for_space = !has_begun || settle(&w) == PASS_WAIT;
        fake_launcher_succeed(&w.launcher, w.clock.now_ms);
        w.faults = (struct fake_faults){.fail_at = 1, .fail_code = ENOSPC, .stays = true};
        for (int i = 0; i < 60; i++) {
            assert_int_equal(reconcile_pass_once(&w.pass, &w.wait_ms, &w.err), PASS_WAIT);
            w.clock.now_ms += w.wait_ms;
        }
        w.faults = (struct fake_faults){0};
        assert_int_equal(run_well(&w), PASS_FINISHED);
        assert_int_equal(w.store.status.started_unix_ms, 1000000 + 300000);
        assert_int_equal(w.store.status.phase, RUN_SUCCEEDED);
    }
}

/* A disk that fills up at the n-th call, for each n, until a run needs fewer calls. */
TEST(a_broken_store_stops_the_run_and_resume_ends_it)
{
    bool is_through = false;
    for (unsigned n = 1; !is_through; n++) {
        _cleanup_(world_close) struct world w;
        world_open(&w, &one_point);
        w.faults = (struct fake_faults){.fail_at = n, .fail_code = ENOSPC, .stays = n % 2 == 0};
        int r = world_turn_init(&w);
        r = r < 0 ? r : run_well(&w);
        is_through = r == PASS_FINISHED;
        if (!is_through) {
            assert_int_equal(r, -ENOSPC);
            assert_non_null(strstr(w.err.msg, "No space left on device"));
            w.faults = (struct fake_faults){0};
            reconcile_pass_done(&w.pass); /* its replicas stay */
            assert_int_equal(world_turn_init(&w), 0);
            assert_int_equal(run_well(&w), PASS_FINISHED);
        }
        assert_int_equal(w.store.status.phase, RUN_SUCCEEDED);
        size_t n_good = 0;
        vec_each (struct attempt_row, row, &w.store.rows) {
            n_good += row->outcome == ATTEMPT_SUCCEEDED;
        }
        assert_int_equal(n_good, 2);
        assert_in_range(n, 1, 100);
    }
}

/* kill -9 of the driver's process, after which its local replicas are gone, at each pass. */
TEST(a_killed_driver_is_resumed)
{
    for (int at = 0; at < 4; at++) {
        _cleanup_(world_close) struct world w;
        world_open(&w, &one_point);
        assert_int_equal(world_turn_init(&w), 0);
        for (int i = 0; i < at; i++) {
            (void)reconcile_pass_once(&w.pass, &w.wait_ms, &w.err);
            fake_launcher_succeed(&w.launcher, w.clock.now_ms);
        }
        reconcile_pass_done(&w.pass);
        fake_launcher_done(&w.launcher);
        fake_launcher_init(&w.launcher, &w.faults, &w.store);
        assert_int_equal(world_turn_init(&w), 0);
        assert_int_equal(run_well(&w), PASS_FINISHED);
        assert_int_equal(w.store.status.phase, RUN_SUCCEEDED);
    }
}

/* The points with two trainers are noisy: 98, 100 and 102 samples/s ask for
 * four trials within 5%. */
static double calm_and_noisy(const struct replica_id *id)
{
    static const double noisy[] = {98, 100, 102, 99, 101, 100};
    const bool is_noisy = id->attempt.point % 2 == 1;
    return is_noisy ? noisy[id->attempt.trial % 6] / 2 : 100 + 0.1 * id->attempt.trial;
}

/* A whole run whose driver is replaced `every` so many passes, while its replicas go on (0: never).
 * The order of its trials as "0.0 1.0 ..." */
static char *order_of_run(const struct test_def_params *params, int every, struct world *w)
{
    world_open(w, params);
    w->launcher.throughput = calm_and_noisy;
    assert_int_equal(world_turn_init(w), 0);
    int r = PASS_AGAIN;
    for (int i = 1; r != PASS_FINISHED && i < 1000; i++) {
        if (every != 0 && i % every == 0) {
            reconcile_pass_done(&w->pass);
            assert_int_equal(world_turn_init(w), 0);
        }
        r = reconcile_pass_once(&w->pass, &w->wait_ms, &w->err);
        if (r == PASS_WAIT) {
            w->clock.now_ms += 5000;
            fake_launcher_succeed(&w->launcher, w->clock.now_ms);
        }
    }
    assert_int_equal(r, PASS_FINISHED);
    struct buf order = BUF_INIT;
    vec_each (struct attempt_row, row, &w->store.rows) {
        buf_printf(&order, "%s%u.%u", order.len > 0 ? " " : "", row->id.point, row->id.trial);
    }
    return buf_take(&order);
}

/* All points run their trial k before any runs k + 1; those with enough drop out; and whoever
 * continues the run in the middle decides the same from the stored rows. */
TEST(points_stop_early)
{
    const struct test_def_params params = {
        .grid = "{pservers: [1, 2], trainers: [1, 2]}",
        .range = "{min: 3, max: 6, stopWhen: {relativeHalfWidth: \"0.05\"}}",
        .backoff_limit = 1};
    for (int every = 0; every < 7; every++) {
        _cleanup_(world_close) struct world w;
        _cleanup_(freep) char *order = order_of_run(&params, every, &w);
        assert_string_equal(order,
                            "2.0 0.0 3.0 1.0 1.1 2.1 0.1 3.1 3.2 2.2 0.2 1.2 1.3 3.3 3.4 1.4");
        assert_int_equal(w.store.status.phase, RUN_SUCCEEDED);
        assert_int_equal(w.store.status.trials_total, 16);
    }
}

/* One replica waits ten minutes longer than the other for its node, and their end is seen ten
 * minutes late, by another process: the attempt took 10 s. */
TEST(an_attempt_takes_as_long_as_it_ran)
{
    const int64_t ten_minutes_ms = 600 * 1000;
    _cleanup_(world_close) struct world w;
    world_open_begun(&w);
    struct observed_replica *last = &fake_launcher_find(&w.launcher, ROLE_TRAINER, 0)->seen;
    last->state = REPLICA_PENDING;
    last->started_unix_ms = 0;
    w.clock.now_ms += ten_minutes_ms;
    assert_int_equal(settle(&w), PASS_WAIT);
    last->state = REPLICA_RUNNING;
    const int64_t start_ms = last->started_unix_ms = w.clock.now_ms;
    reconcile_pass_done(&w.pass);
    w.clock.now_ms += 10000;
    vec_each (struct fake_member, m, &w.launcher.members) {
        m->seen.finished_unix_ms = w.clock.now_ms - (m->seen.id.role == ROLE_TRAINER);
    }
    w.clock.now_ms += ten_minutes_ms;
    fake_launcher_succeed(&w.launcher, w.clock.now_ms);
    world_begin(&w);
    assert_int_equal(w.store.rows.len, 1);
    assert_true(w.store.rows.items[0].started_unix_ms == start_ms);
    assert_true(w.store.rows.items[0].ended_unix_ms == start_ms + 10000);
    assert_int_equal(run_well(&w), PASS_FINISHED);
}

/* Of one that fails while another runs: until it is ended. Of one of which nothing ran: no time. */
TEST(a_failed_attempt_takes_until_it_is_ended)
{
    for (int has_started = 0; has_started <= 1; has_started++) {
        _cleanup_(world_close) struct world w;
        world_open_begun(&w);
        vec_each (struct fake_member, m, &w.launcher.members) {
            m->seen.started_unix_ms = has_started * w.clock.now_ms;
        }
        w.clock.now_ms += 7000;
        fake_launcher_fail(&w.launcher, ROLE_TRAINER, 0, 2, 0, "exit code 2",
                           w.clock.now_ms - 2000);
        assert_int_equal(settle(&w), PASS_WAIT);
        const struct attempt_row *row = &w.store.rows.items[0];
        assert_true(row->ended_unix_ms - row->started_unix_ms == has_started * 7000);
    }
}

/* A status that names an attempt says that all of it exists: kill -9 between request and answer
 * must not make an attempt look as if its members had vanished. */
TEST(the_status_waits_for_creations)
{
    _cleanup_(world_close) struct world w;
    world_open(&w, &one_point);
    w.launcher.is_settling = true;
    world_begin(&w);
    assert_true(w.launcher.members.len > 0);
    assert_int_equal(w.store.status.phase, RUN_RUNNING);
    assert_false(w.store.status.has_current);
    unsigned n_status = w.store.n_status;
    assert_int_equal(settle(&w), PASS_WAIT);
    assert_int_equal(w.store.n_status, n_status); /* not written again and again */
    w.launcher.is_settling = false;
    assert_int_equal(settle(&w), PASS_WAIT);
    assert_true(w.store.status.has_current);
}

/* An attempt that is given up without a row is named although it was never complete, so that the
 * next process knows what the rest of it is; until the next attempt is. It is counted. */
TEST(what_is_given_up_is_named)
{
    _cleanup_(world_close) struct world w;
    world_open(&w, &one_point);
    w.launcher.is_settling = true;
    world_begin(&w);
    struct observed_replica *trainer = &fake_launcher_find(&w.launcher, ROLE_TRAINER, 0)->seen;
    trainer->state = REPLICA_FAILED;
    trainer->failure = FAILURE_PREEMPTED;
    trainer->ended_unix_ms = w.clock.now_ms;
    assert_int_equal(settle(&w), PASS_WAIT);
    assert_int_equal(fake_launcher_find(&w.launcher, ROLE_TRAINER, 0)->seen.id.attempt.number, 1);
    assert_true(w.store.status.has_current && w.store.status.is_cut_short);
    assert_int_equal(w.store.status.current.number, 0);
    w.launcher.is_settling = false;
    assert_int_equal(settle(&w), PASS_WAIT);
    assert_int_equal(w.store.status.current.number, 1);
    assert_false(w.store.status.is_cut_short);
    for (unsigned n_processes = 0; n_processes < 2; n_processes++) {
        assert_int_equal(w.pass.history.counts.preempted, 1);
        reconcile_pass_done(&w.pass);
        assert_int_equal(world_turn_init(&w), 0);
    }
    do {
        fake_launcher_succeed(&w.launcher, w.clock.now_ms);
    } while (settle(&w) != PASS_FINISHED);
    assert_non_null(strstr(w.store.status.message, " 0 failed, 1 preempted"));
}

/* Nobody looks after a run that has ended, or is suspended: killed before its removals have
 * arrived, the next process must find it as one that is to be ended. */
TEST(the_end_waits_for_removals)
{
    static const struct {
        enum run_request request;
        enum run_phase phase;
    } rows[] = {{REQUEST_CANCEL, RUN_CANCELLED}, {REQUEST_SUSPEND, RUN_SUSPENDED}};
    for (size_t i = 0; i < 2; i++) {
        _cleanup_(world_close) struct world w;
        world_open_begun(&w);
        const unsigned n_events = w.store.n_events;
        w.pass.request = rows[i].request;
        w.launcher.is_removing = true;
        assert_int_equal(settle(&w), PASS_WAIT);
        assert_int_equal(w.launcher.n_removed, w.launcher.n_created);
        assert_int_equal(w.store.status.phase, RUN_RUNNING);
        assert_int_equal(settle(&w), PASS_WAIT); /* looked at again meanwhile */
        w.launcher.is_removing = false;
        assert_int_equal(settle(&w), PASS_FINISHED);
        assert_int_equal(w.store.status.phase, rows[i].phase);
        assert_int_equal(w.store.n_events, n_events + 1); /* told once */
    }
}

static void set_wait(struct world *w, const char *reason, const char *text)
{
    w->launcher.wait = (struct run_wait){0};
    (void)snprintf(w->launcher.wait.reason, sizeof(w->launcher.wait.reason), "%s", reason);
    (void)snprintf(w->launcher.wait.text, sizeof(w->launcher.wait.text), "%s", text);
}

/* Before an attempt and before the end: the status and one event say what is waited for. */
TEST(a_wait_is_told)
{
    _cleanup_(world_close) struct world w;
    world_open(&w, &one_point);
    w.launcher.is_settling = true;
    set_wait(&w, "PodsRemain", "pod 'a'");
    world_begin(&w);
    assert_string_equal(w.store.status.reason, "PodsRemain");
    assert_string_equal(w.store.status.message, "pod 'a'");
    assert_string_equal(w.store.last_note, "pod 'a'");
    unsigned n_events = w.store.n_events;
    set_wait(&w, "PodsRemain", "pod 'b'");
    assert_int_equal(settle(&w), PASS_WAIT);
    assert_string_equal(w.store.status.message, "pod 'b'");
    assert_int_equal(w.store.n_events, n_events); /* the same reason */
    w.launcher.is_settling = false;
    set_wait(&w, "", "");
    assert_int_equal(settle(&w), PASS_WAIT);
    assert_string_equal(w.store.status.reason, "Running");
    w.pass.request = REQUEST_CANCEL;
    w.launcher.is_removing = true;
    set_wait(&w, "DeletionFails", "pod 'c'");
    assert_int_equal(settle(&w), PASS_WAIT);
    assert_int_equal(w.store.status.phase, RUN_RUNNING);
    assert_string_equal(w.store.status.reason, "DeletionFails");
    assert_string_equal(w.store.last_note, "pod 'c'");
    n_events = w.store.n_events;
    const unsigned n_status = w.store.n_status;
    assert_int_equal(settle(&w), PASS_WAIT);
    assert_int_equal(w.store.n_events, n_events);
    assert_int_equal(w.store.n_status, n_status);
    w.launcher.is_removing = false;
    set_wait(&w, "", "");
    assert_int_equal(settle(&w), PASS_FINISHED);
    assert_int_equal(w.store.status.phase, RUN_CANCELLED);
    assert_string_equal(w.store.status.reason, "CancelRequested");
}

TEST(outputs_are_waited_for)
{
    _cleanup_(world_close) struct world w;
    world_open_begun(&w);
    fake_launcher_succeed(&w.launcher, w.clock.now_ms);
    w.launcher.is_fetching = true;
    assert_int_equal(settle(&w), PASS_WAIT);
    assert_int_equal(w.launcher.n_collects, w.launcher.members.len); /* all were asked */
    assert_int_equal(w.store.rows.len, 0);
    assert_int_equal(w.launcher.n_removed, 0);
    w.launcher.is_fetching = false;
    w.launcher.is_simulated = true;
    assert_int_equal(settle(&w), PASS_WAIT); /* the second trial runs */
    assert_int_equal(w.store.rows.len, 1);
    assert_true(w.store.rows.items[0].simulated);
}

/* OnSuccess, the default: what has failed stays to be looked at, what lives does not. */
TEST(ended_replicas_of_a_failed_attempt_stay)
{
    _cleanup_(world_close) struct world w;
    world_open_begun(&w);
    unsigned n_members = (unsigned)w.launcher.members.len;
    fake_launcher_fail(&w.launcher, ROLE_TRAINER, 0, 2, 0, "exit code 2", w.clock.now_ms);
    assert_int_equal(settle(&w), PASS_WAIT);
    assert_int_equal(w.launcher.n_forgotten, 1);
    assert_int_equal(w.launcher.n_removed, n_members); /* the fake forgets by removing */
    fake_launcher_succeed(&w.launcher, w.clock.now_ms);
    assert_int_equal(settle(&w), PASS_WAIT);
    assert_int_equal(w.launcher.n_forgotten, 1);
}

TEST(a_suspended_run_goes_on)
{
    _cleanup_(world_close) struct world w;
    world_open_begun(&w);
    w.pass.request = REQUEST_SUSPEND;
    assert_int_equal(settle(&w), PASS_FINISHED);
    assert_int_equal(w.store.status.phase, RUN_SUSPENDED);
    assert_int_equal(w.launcher.members.len, 0);
    reconcile_pass_done(&w.pass);
    assert_int_equal(world_turn_init(&w), 0);
    assert_int_equal(run_well(&w), PASS_FINISHED);
    assert_int_equal(w.store.status.phase, RUN_SUCCEEDED);
    assert_int_equal(w.store.rows.items[0].id.number, 1); /* number 0 was cut short */
}
