/* A run and its driver: whose turn it is, and what is passed on. */
#include "drive_world.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "daemon/run/run.h"
#include "run/pods/pods_internal.h"

/* What a new leader finds Running, or Queued after its start, may have pods: only a driver can
 * remove them. */
TEST(a_running_run_is_driven_to_its_suspension)
{
    _cleanup_(world_freep) struct world *w = open_world();
    json_t *bmr = inline_bmr("u1");
    struct run *run = take_over(w, bmr, RUN_QUEUED);
    w->env.is_store_full = true;
    assert_false(run_is_due(run)); /* it would measure what cannot be stored */
    ask(run, bmr, "cancel", true);
    assert_int_equal(run_steer(run, NULL), 0);
    assert_int_equal(run->status.phase, RUN_QUEUED);
    ask(run, bmr, "cancel", false);
    ask(run, bmr, "suspend", true);
    assert_true(run_is_due(run));
    assert_int_equal(run_start(run, NULL), 0);
    assert_int_equal(run_steer(run, NULL), 0);
    assert_int_equal(run->at.driven.driver->n_suspends, 1);
    assert_int_equal(run->at.driven.driver->n_cancels, 0);
    close_world(run, bmr);
}

/* A person may change it while the run waits; the next process knows what the status says. */
TEST(the_object_says_how_long_it_waits)
{
    _cleanup_(world_freep) struct world *w = open_world();
    json_t *bmr = inline_bmr("u1");
    struct run *run = take_over(w, bmr, RUN_RUNNING);
    w->env.options.wait_ms = 5000;
    (void)snprintf(run->status.reason, sizeof(run->status.reason), "WaitsForNodes");
    assert_int_equal(run_start(run, NULL), 0);
    const struct pods *pods = (const struct pods *)run->at.driven.launcher;
    assert_string_equal(pods->told.reason, "WaitsForNodes");
    assert_int_equal(run_steer(run, NULL), 0);
    assert_int_equal(pods->wait_ms, 5000);
    json_object_set_new(json_object_get(bmr, "spec"), "scheduling",
                        json_pack("{s:i}", "waitSeconds", 60));
    update_run(run, bmr);
    assert_int_equal(run_steer(run, NULL), 0);
    assert_int_equal(pods->wait_ms, 60000);
    static const int wrong[] = {-1, 0, 31536001};
    for (int i = 0; i < 3; i++) { /* past a schema: said, and as long as before */
        json_object_set_new(json_object_get(bmr, "metadata"), "generation", json_integer(i + 2));
        json_object_set_new(json_object_get(bmr, "spec"), "scheduling",
                            json_pack("{s:i}", "waitSeconds", wrong[i]));
        update_run(run, bmr);
        assert_int_equal(run_steer(run, NULL), 0);
        assert_int_equal(pods->wait_ms, 60000);
        const char *event = fake_kube.calls[fake_kube.n - 1].req.body;
        assert_non_null(strstr(event, "InvalidWaitSeconds"));
    }
    close_world(run, bmr);
}

TEST(a_deletion_cancels_what_is_driven)
{
    _cleanup_(world_freep) struct world *w = open_world();
    json_t *bmr = inline_bmr("u1");
    struct run *run = accepted_run(w, bmr);
    assert_int_equal(run_start(run, NULL), 0);
    assert_int_equal(run_steer(run, NULL), 0);
    assert_int_equal(run->at.driven.driver->n_cancels, 0);
    ask_to_delete(run, bmr);
    assert_int_equal(run_steer(run, NULL), 0);
    assert_int_equal(run->at.driven.driver->n_cancels, 1);
    close_world(run, bmr);
}

/* Neither accepted nor started. */
TEST(a_run_that_is_being_deleted_is_left_alone)
{
    _cleanup_(world_freep) struct world *w = open_world();
    json_t *bmr = inline_bmr("u1");
    struct run *run = new_run(w, bmr);
    ask_to_delete(run, bmr);
    assert_int_equal(take(run, bmr, NULL), 0);
    assert_int_equal(run->life, LIFE_WAITING);
    assert_null(open_call(0));
    json_object_del(json_object_get(bmr, "metadata"), "deletionTimestamp");
    update_run(run, bmr);
    assert_int_equal(take_good(run, bmr, NULL), 1);
    assert_true(run_is_due(run));
    ask_to_delete(run, bmr);
    assert_false(run_is_due(run));
    close_world(run, bmr);
}

TEST(a_queued_run_says_what_it_waits_for)
{
    _cleanup_(world_freep) struct world *w = open_world();
    json_t *bmr = inline_bmr("u1");
    struct run *run = accepted_run(w, bmr);
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

TEST(what_the_store_or_object_says_has_ended_stays_so)
{
    _cleanup_(world_freep) struct world *w = open_world();
    json_t *bmr = inline_bmr("u1");
    struct run *run = take_over(w, bmr, RUN_SUCCEEDED);
    assert_int_equal(run->life, LIFE_ENDED);
    assert_false(run_is_due(run));
    run_free(run);
    json_decref(bmr);
    /* The store is another one: only the object tells. */
    bmr = inline_bmr("u2");
    json_object_set_new(bmr, "status", json_pack("{s:s}", "phase", "Succeeded"));
    run = new_run(w, bmr);
    assert_int_equal(take(run, bmr, NULL), 0);
    assert_int_equal(run->life, LIFE_PAST);
    assert_null(open_call(0));
    close_world(run, bmr);
}

TEST(one_run_is_driven_at_a_time)
{
    _cleanup_(world_freep) struct world *w = open_world();
    struct run_queue q = {0};
    json_t *bmrs[] = {inline_bmr("u1"), inline_bmr("u2")};
    for (size_t i = 0; i < 2; i++) {
        _cleanup_(freep) char *name = xasprintf("r%zu", i);
        json_object_set_new(json_object_get(bmrs[i], "metadata"), "name", json_string(name));
        struct run *run = accepted_run(w, bmrs[i]);
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

static unsigned n_ends;
static int64_t end_ns; /* the CPU time that one takes */
static const struct store_ops *real_ops;

static int end_slowly(struct store *s, const char *uid, const struct run_status *status,
                      struct err *err)
{
    const int64_t until_ns = clock_thread_cpu_ns() + end_ns;
    while (clock_thread_cpu_ns() < until_ns) {
    }
    n_ends++;
    return real_ops->put_status(s, uid, status, err);
}

/* Each end is written into the store: a turn of the loop has one that takes long. */
TEST(runs_that_are_cancelled_together_end_one_a_turn)
{
    _cleanup_(world_freep) struct world *w = open_world();
    struct run_queue q = {0};
    json_t *bmrs[3];
    for (size_t i = 0; i < 3; i++) {
        bmrs[i] = inline_bmr(((const char *[]){"u1", "u2", "u3"})[i]);
        _cleanup_(freep) char *name = xasprintf("r%zu", i);
        json_object_set_new(json_object_get(bmrs[i], "metadata"), "name", json_string(name));
        struct run *run = accepted_run(w, bmrs[i]);
        run->is_seen = true;
        run_queue_add(&q, run);
        ask(run, bmrs[i], "cancel", true);
        assert_false(run_is_due(run)); /* it is not started before its end is stored */
    }
    struct store_ops slow = *w->env.store->ops;
    real_ops = w->env.store->ops;
    slow.put_status = end_slowly;
    w->env.store->ops = &slow;
    n_ends = 0;
    for (unsigned n = 1; n <= 3; n++) {
        /* Either the end itself takes the turn's time, or what came before it in the turn did. */
        end_ns = n == 1 ? RUN_QUEUE_TURN_NS : RUN_QUEUE_LEAST_NS;
        q.turn_cpu_ns = clock_thread_cpu_ns() - (n == 1 ? 0 : RUN_QUEUE_TURN_NS);
        assert_int_equal(run_queue_accept(&q, NULL), 0);
        assert_int_equal(n_ends, n);
    }
    w->env.store->ops = real_ops;
    run_queue_done(&q);
    json_decref(bmrs[1]);
    json_decref(bmrs[2]);
    close_world(NULL, bmrs[0]);
}

/* Pods can be stopped without space. */
TEST(a_driver_hears_what_is_asked_on_a_full_disk)
{
    _cleanup_(world_freep) struct world *w = open_world();
    struct run_queue q = {.turn_cpu_ns = TURN_WITHOUT_END};
    json_t *bmr = inline_bmr("u1"), *next = inline_bmr("u2");
    struct run *run = drive(w, &q, bmr);
    run_queue_add(&q, new_run(w, next));
    w->env.is_store_full = true;
    ask(run, bmr, "cancel", true);
    assert_int_equal(run_queue_accept(&q, NULL), 0);
    assert_int_equal(run->at.driven.driver->n_cancels, 1);
    assert_int_equal(run_queue_find(&q, "u2")->life, LIFE_WAITING);
    assert_false(run_queue_find(&q, "u2")->is_seen);
    run_queue_done(&q);
    json_decref(next);
    close_world(NULL, bmr);
}

/* The watch may still show it when its removal was reported. */
TEST(what_is_gone_is_not_accepted)
{
    _cleanup_(world_freep) struct world *w = open_world();
    json_t *bmr = inline_bmr("u1");
    struct run_queue q = {.turn_cpu_ns = TURN_WITHOUT_END};
    run_queue_add(&q, new_run(w, bmr));
    q.runs.items[0]->asked.is_gone = true;
    assert_int_equal(run_queue_accept(&q, NULL), 0);
    assert_int_equal(q.runs.items[0]->life, LIFE_WAITING);
    q.runs.items[0]->asked.is_gone = false;
    assert_int_equal(run_queue_accept(&q, NULL), 0);
    assert_int_equal(q.runs.items[0]->life, LIFE_READING);
    run_queue_done(&q);
    close_world(NULL, bmr);
}

/* Each may have a megabyte, and one account can queue hundreds of runs. */
TEST(a_queued_run_has_no_definition_in_memory)
{
    _cleanup_(world_freep) struct world *w = open_world();
    json_t *bmr = inline_bmr("u1");
    json_object_set_new(json_object_get(json_object_get(bmr, "spec"), "definition"), "runPolicy",
                        json_pack("{s:i}", "ttlSecondsAfterFinished", 60));
    struct run *run = accepted_run(w, bmr);
    for (int i = 0; i < 2; i++) {
        run_refresh_shown(run, 1);
        assert_true(run->shown->frozen.is_known);
        run_drop_def(run);
        assert_null(run->def);
        assert_int_equal(run_ttl_s(run), 60);
        assert_int_equal(run_start(run, NULL), 0);
        run_drop_def(run);
        assert_int_equal(run->def->spec->steps, 5); /* the driver has it */
        run_detach(run);
    }
    close_world(run, bmr);
}

static size_t answer_each_read(json_t *const *bmrs, size_t n)
{
    size_t n_reads = 0;
    for (size_t i = 0; i < n; i++) {
        const json_t *metadata = json_object_get(bmrs[i], "metadata");
        _cleanup_(freep) char *path =
            xasprintf("/benchmarkruns/%s", json_string_value(json_object_get(metadata, "name")));
        struct kube_call *call;
        for (size_t k = 0; (call = open_call(k)) != NULL; k++) {
            if (call->req.method == KUBE_GET && str_has_suffix(call->req.path, path)) {
                _cleanup_(freep) char *text = json_dumps(bmrs[i], JSON_COMPACT);
                fake_kube_answer(call, 0, text);
                n_reads++;
                break;
            }
        }
    }
    return n_reads;
}

/* Turns of the loop, until all that can happen without an answer has happened. */
static void turn(struct run_queue *q)
{
    for (size_t i = 0; i < 2 * q->runs.len; i++) {
        q->turn_cpu_ns = TURN_WITHOUT_END;
        assert_int_equal(run_queue_accept(q, NULL), 0);
    }
}

TEST(few_definitions_are_read_at_a_time)
{
    enum { N = RUN_QUEUE_READ_MAX + 2 };
    _cleanup_(world_freep) struct world *w = open_world();
    struct run_queue q = {0};
    json_t *bmrs[N];
    for (size_t i = 0; i < N; i++) {
        _cleanup_(freep) char *name = xasprintf("r%zu", i);
        bmrs[i] = inline_bmr(name);
        json_object_set_new(json_object_get(bmrs[i], "metadata"), "name", json_string(name));
        run_queue_add(&q, new_run(w, bmrs[i]));
        q.runs.items[i]->is_seen = true; /* else a turn may leave it for the next one */
    }
    struct run *first = q.runs.items[0];
    first->at.retry_ns = INT64_MAX;
    turn(&q);
    first->at.retry_ns = 0;
    assert_int_equal(answer_each_read(bmrs, N), RUN_QUEUE_READ_MAX);
    turn(&q);
    assert_int_equal(answer_each_read(bmrs, N), 0); /* the others are being checked */
    (void)answer_checks(0, "{}");
    w->n_wakes = 0;
    q.turn_cpu_ns = TURN_WITHOUT_END;
    assert_int_equal(run_queue_accept(&q, NULL), 0);
    assert_true(w->n_wakes > 0); /* it had its turn before there was room */
    turn(&q);
    assert_int_equal(answer_each_read(bmrs, N), 2);
    turn(&q);
    assert_int_equal(first->life, LIFE_CHECKING);
    ask_to_delete(first, bmrs[0]); /* somebody's finalizer may hold it for ever */
    assert_int_equal(first->life, LIFE_WAITING);
    turn(&q);
    assert_int_equal(first->life, LIFE_WAITING);
    run_queue_done(&q);
    for (size_t i = 1; i < N; i++) {
        json_decref(bmrs[i]);
    }
    close_world(NULL, bmrs[0]);
}
