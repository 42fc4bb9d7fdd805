/* Runs that have ended cost nothing: no descriptor, no JSON, hardly any memory, and no long turn of
 * the loop, however many there are; also where benchd is restarted. Their verdict is found once. */
#include <dirent.h>
#include <malloc.h>

#include "tests/store/store_folder.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "daemon/run/run.h"
#include "daemon/run/run_queue.h"
#include "run_world.h"

#define N_RUNS 1500

/* ---- the objects that the watch has ---- */

static json_t *objects[N_RUNS];
static size_t n_objects;

/* As benchd leaves it when the run has ended. */
static json_t *ended_bmr(size_t i, int64_t ttl_s)
{
    _cleanup_(freep) char *text = xasprintf(
        "{\"metadata\":{\"name\":\"r%zu\",\"uid\":\"%08zx-u\",\"generation\":1,"
        "\"creationTimestamp\":"
        "\"2026-01-01T00:00:00Z\"},\"spec\":{\"definition\":" DEFINITION "},\"status\":{\"phase\":"
        "\"Succeeded\",\"observedGeneration\":1,\"succeeded\":2,"
        "\"failed\":0,\"total\":2,\"conditions\":[]}}",
        i, i, 5);
    json_t *bmr = parse(text);
    if (ttl_s >= 0) {
        json_object_set_new(json_object_get(json_object_get(bmr, "spec"), "definition"),
                            "runPolicy",
                            json_pack("{s:I}", "ttlSecondsAfterFinished", (json_int_t)ttl_s));
    }
    return bmr;
}

static void put_row(struct world *w, json_t *bmr, bool is_judged, int64_t ended_unix_ms)
{
    struct store *s = w->env.store;
    _cleanup_(freep) struct bmr_facts *facts = bmr_facts_decode(bmr);
    json_t *document = json_pack("{s:s, s:s, s:{s:s}, s:O}", "apiVersion", "benchd.io/v1alpha1",
                                 "kind", "Benchmark", "metadata", "name", "b", "spec",
                                 json_object_get(json_object_get(bmr, "spec"), "definition"));
    _cleanup_(freep) char *definition = json_dumps(document, JSON_COMPACT);
    json_decref(document);
    struct run_row row = {.uid = (char *)facts->uid,
                          .name = (char *)facts->name,
                          .benchmark = (char *)"b",
                          .definition_json = definition,
                          .status = {.phase = RUN_SUCCEEDED,
                                     .trials_done = 2,
                                     .trials_total = 2,
                                     .ended_unix_ms = ended_unix_ms}};
    assert_int_equal(s->ops->put_run(s, &row, NULL), 0);
    const struct run_verdict verdict = {.is_judged = true, .ttl_s = facts->ttl_s};
    if (is_judged) {
        assert_int_equal(s->ops->put_verdict(s, facts->uid, &verdict, NULL), 0);
    }
}

/* The row of r0 for r1 and so on, in one transaction. */
static void copy_row(const struct world *w, size_t n)
{
    _cleanup_(freep) char *sql = xasprintf(
        "CREATE TEMP TABLE copy AS SELECT * FROM run;"
        "BEGIN; WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i + 1 < %zu) "
        "INSERT INTO run (uid, name, benchmark, definition, created_unix_ms, cpus, rehearsal, "
        "simulated, phase, trials_done, trials_failed, trials_total, ended_unix_ms, mute_trials, "
        "thresholds, ttl_s) SELECT printf('%%08x-u', i), 'r' || i, benchmark, definition, "
        "created_unix_ms, cpus, rehearsal, simulated, phase, trials_done, trials_failed, "
        "trials_total, ended_unix_ms, mute_trials, thresholds, ttl_s FROM copy, c; COMMIT",
        n);
    store_exec(w->url + strlen("sqlite:"), sql);
}

/* ---- what is counted ---- */

static unsigned n_descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    unsigned n = 0;
    while (readdir(dir) != NULL) {
        n++;
    }
    (void)closedir(dir);
    return n;
}

static const struct store_ops *real_ops;
static unsigned n_briefs, n_loads, n_lists, n_claims;
static int64_t brief_ns; /* of CPU time, that one takes at least */

static int count_brief(struct store *s, const char *uid, struct run_brief *ret, struct err *err)
{
    n_briefs++;
    for (const int64_t end_ns = clock_thread_cpu_ns() + brief_ns; clock_thread_cpu_ns() < end_ns;) {
    }
    return real_ops->get_brief(s, uid, ret, err);
}

static int count_load(struct store *s, const char *uid, struct run_row *ret, struct err *err)
{
    n_loads++;
    return real_ops->get_run(s, uid, ret, err);
}

static int count_list(struct store *s, const char *uid, struct attempt_row **ret, size_t *ret_n,
                      struct err *err)
{
    n_lists++;
    return real_ops->list_outcomes(s, uid, ret, ret_n, err);
}

static int count_claim(struct store *s, const char *uid, struct err *err)
{
    n_claims++;
    return real_ops->claim_run(s, uid, err);
}

/* One look of the daemon; true: it would look again at once. */
static bool turn(struct world *w, struct run_queue *q)
{
    q->turn_cpu_ns = clock_thread_cpu_ns();
    assert_int_equal(run_queue_drop_deleted(q, NULL), 0);
    const int more = run_queue_accept(q, NULL);
    assert_in_range(more, 0, 1);
    if (more == 0) {
        assert_int_equal(run_queue_advance(q, NULL), 0);
    }
    const bool has_more_to_write = run_queue_publish(q);
    run_queue_rest(q, &w->env);
    return more > 0 || has_more_to_write;
}

/* How many runs a turn gets to depends on the machine. */
static void look(struct world *w, struct run_queue *q)
{
    while (turn(w, q)) {
    }
}

static void drop_objects(void)
{
    for (size_t i = 0; i < n_objects; i++) {
        json_decref(objects[i]);
    }
    n_objects = 0;
}

static struct world *start(void)
{
    drop_objects(); /* of a test that failed */
    return world_new();
}

/* ---- tests ---- */

TEST(they_cost_nothing_after_a_restart)
{
    _cleanup_(world_freep) struct world *w = start();
    struct store *s = w->env.store;
    for (size_t i = 0; i < N_RUNS; i++) {
        objects[n_objects++] = ended_bmr(i, -1);
    }
    put_row(w, objects[0], true, 1000);
    copy_row(w, N_RUNS);
    for (size_t i = 0; i < N_RUNS; i++) {
        assert_true(kube_cache_put(&w->runs, objects[i]));
    }
    struct store_ops counting = *s->ops;
    real_ops = s->ops;
    counting.get_brief = count_brief;
    counting.get_run = count_load;
    counting.list_outcomes = count_list;
    counting.claim_run = count_claim;
    s->ops = &counting;
    n_briefs = n_loads = n_lists = n_claims = 0;

    const unsigned n_fds = n_descriptors();
    real_ops->rest(s); /* pages of the file */
    const size_t used_bytes = mallinfo2().uordblks;
    struct run_queue q = {0};
    for (size_t i = 0; i < N_RUNS; i++) {
        run_queue_add(&q, new_run(w, objects[i]));
    }
    unsigned n_looks = 0, n_before = 0, most = 0;
    bool is_again;
    do {
        is_again = turn(w, &q);
        most = n_briefs - n_before > most ? n_briefs - n_before : most;
        n_before = n_briefs;
        n_looks++;
    } while (is_again);
    s->ops = real_ops;
    assert_int_equal(n_briefs, N_RUNS);
    assert_in_range(most, 1, RUN_QUEUE_SLICE); /* so long is the longest turn of the loop */
    assert_in_range(n_looks, N_RUNS / RUN_QUEUE_SLICE, N_RUNS);
    assert_int_equal(n_loads, 0);
    assert_int_equal(n_lists, 0);
    assert_int_equal(n_claims, 0);
    assert_null(open_call(0)); /* nothing is written */
    assert_int_equal(q.runs.len, 0);
    assert_int_equal(q.resting.len, N_RUNS);
    assert_true(run_queue_is_resting(&q, "00000007-u"));
    assert_int_equal(n_descriptors(), n_fds);
    s->ops->rest(s);
    const size_t a_run_bytes = (mallinfo2().uordblks - used_bytes) / N_RUNS;
    if (a_run_bytes > 250) { /* under a sanitizer: always 0 */
        fail_msg("%zu bytes a run", a_run_bytes);
    }
    run_queue_done(&q);
    drop_objects();
}

/* A turn of the loop has one run that takes long, whatever the slice says. */
TEST(what_takes_long_is_one_a_turn)
{
    _cleanup_(world_freep) struct world *w = start();
    struct store *s = w->env.store;
    struct run_queue q = {0};
    for (size_t i = 0; i < 3; i++) {
        objects[n_objects++] = ended_bmr(i, -1);
        put_row(w, objects[i], true, 1000);
        run_queue_add(&q, new_run(w, objects[i]));
    }
    struct store_ops slow = *s->ops;
    real_ops = s->ops;
    slow.get_brief = count_brief;
    s->ops = &slow;
    brief_ns = RUN_QUEUE_TURN_NS;
    for (unsigned n = 1; n <= 3; n++) {
        n_briefs = 0;
        assert_int_equal(turn(w, &q), n < 3);
        assert_int_equal(n_briefs, 1);
    }
    brief_ns = 0;
    s->ops = real_ops;
    assert_int_equal(q.resting.len, 3);
    run_queue_done(&q);
    drop_objects();
}

/* Of 1,500 objects that say so, one is of a run that the store has as running: a
 * copy of an older store. */
TEST(objects_say_that_they_are_over)
{
    _cleanup_(world_freep) struct world *w = start();
    struct store *s = w->env.store;
    for (size_t i = 0; i < N_RUNS; i++) {
        objects[n_objects++] = ended_bmr(i, i == 9 ? 60 : -1);
    }
    put_row(w, objects[7], true, 1000);
    const struct run_status running = {.phase = RUN_RUNNING};
    assert_int_equal(s->ops->put_status(s, "00000007-u", &running, NULL), 0);
    assert_int_equal(s->ops->set_object(s, "00000007-u", "ns", 0, NULL), 0);
    size_t used_bytes = mallinfo2().uordblks;
    for (size_t i = 0; i < N_RUNS; i++) {
        assert_true(kube_cache_put(&w->runs, objects[i]));
    }
    const size_t an_object_bytes = (mallinfo2().uordblks - used_bytes) / N_RUNS;
    if (an_object_bytes > 320) { /* under a sanitizer: always 0 */
        fail_msg("%zu bytes an object", an_object_bytes);
    }
    used_bytes = mallinfo2().uordblks;
    struct run_queue q = {0};
    for (size_t i = N_RUNS; i > 0; i--) {
        run_queue_add_ended(&q, w->runs.objects.items[i - 1]->facts);
    }
    const size_t a_run_bytes = (mallinfo2().uordblks - used_bytes) / N_RUNS;
    if (a_run_bytes > 90) { /* under a sanitizer: always 0 */
        fail_msg("%zu bytes a run", a_run_bytes);
    }
    assert_int_equal(q.resting.len, N_RUNS);
    assert_int_equal(q.runs.len, 0);
    for (size_t i = 1; i < N_RUNS; i++) {
        assert_true(strcmp(q.resting.items[i - 1]->uid, q.resting.items[i]->uid) < 0);
    }
    _cleanup_(texts_done) struct texts uids = {0};
    assert_int_equal(s->ops->list_open(s, "ns", 5000, &uids, NULL), 0);
    assert_int_equal(uids.list.len, 1);
    run_queue_wake(&q, &w->env, uids.list.items, 1);
    assert_int_equal(q.runs.len, 1);
    assert_string_equal(run_queue_find(&q, uids.list.items[0])->name, "r7");
    assert_int_equal(q.resting.len, N_RUNS - 1);
    run_queue_wake(&q, &w->env, uids.list.items, 1); /* it is awake */
    assert_int_equal(q.runs.len, 1);
    run_queue_rest(&q, &w->env); /* another's time to live is over since long ago */
    assert_non_null(run_queue_find(&q, "00000009-u"));
    assert_int_equal(q.runs.len, 2);
    assert_int_equal(q.next_expiry_unix_ms, INT64_MAX);
    run_queue_done(&q);
    drop_objects();
}

/* The earliest of those that rest is the next. */
TEST(nothing_is_looked_at_before_it_expires)
{
    _cleanup_(world_freep) struct world *w = start();
    static const int64_t ttls_s[] = {7200, 3600, -1, 5400};
    const int64_t now_unix_ms = clock_steady_unix_ms();
    struct run_queue q = {0};
    char date[CLOCK_RFC3339_SIZE];
    clock_format_rfc3339(now_unix_ms, date);
    for (size_t i = 0; i < 4; i++) {
        objects[n_objects++] = ended_bmr(i, ttls_s[i]);
        json_object_set_new(json_object_get(objects[i], "status"), "completionTime",
                            json_string(date));
        assert_true(kube_cache_put(&w->runs, objects[i]));
        run_queue_add_ended(&q, w->runs.objects.items[i]->facts);
    }
    const int64_t hour_ms = 3600 * 1000;
    assert_in_range(q.next_expiry_unix_ms, now_unix_ms + hour_ms - 1000, now_unix_ms + hour_ms);
    q.next_expiry_unix_ms = now_unix_ms - 1; /* nothing is due: the next one is found again */
    run_queue_rest(&q, &w->env);
    assert_int_equal(q.resting.len, 4);
    assert_in_range(q.next_expiry_unix_ms, now_unix_ms + hour_ms - 1000, now_unix_ms + hour_ms);
    run_queue_done(&q);
    drop_objects();
}

/* The object goes when its time is over, and changes of it are heard. */
TEST(they_wake_when_something_is_to_be_done)
{
    _cleanup_(world_freep) struct world *w = start();
    const int64_t hour_ms = 3600 * 1000;
    objects[n_objects++] = ended_bmr(0, 7200);
    objects[n_objects++] = ended_bmr(1, -1);
    for (size_t i = 0; i < 2; i++) {
        put_row(w, objects[i], true, clock_steady_unix_ms() - hour_ms);
    }
    struct run_queue q = {0};
    run_queue_add(&q, new_run(w, objects[0]));
    run_queue_add(&q, new_run(w, objects[1]));
    look(w, &q);
    assert_int_equal(q.resting.len, 2);
    q.resting.items[0]->expires_unix_ms -= 2 * hour_ms;
    q.next_expiry_unix_ms -= 2 * hour_ms;
    struct run_brief brief;
    assert_int_equal(w->env.store->ops->get_brief(w->env.store, "00000000-u", &brief, NULL), 0);
    brief.status.ended_unix_ms -= hour_ms;
    assert_int_equal(w->env.store->ops->put_status(w->env.store, "00000000-u", &brief.status, NULL),
                     0);
    look(w, &q);
    assert_int_equal(q.resting.len, 1);
    assert_int_equal(q.runs.len, 1);
    look(w, &q);
    assert_int_equal(open_call(0)->req.method, KUBE_DELETE);
    /* The object of the other changes: the status is written for its new generation. */
    json_object_set_new(json_object_get(objects[1], "metadata"), "generation", json_integer(2));
    run_queue_add(&q, new_run(w, objects[1]));
    assert_int_equal(q.resting.len, 0);
    look(w, &q);
    assert_int_equal(q.resting.len, 0);
    assert_int_equal(open_call(1)->req.method, KUBE_PATCH);
    assert_non_null(strstr(open_call(1)->req.body, "\"observedGeneration\":2"));
    fake_kube_answer(open_call(1), 0, "{}");
    look(w, &q);
    assert_int_equal(q.resting.len, 1);
    run_queue_done(&q);
    drop_objects();
}

/* The state of the cluster is restored a moment after the run has ended: its object does not say
 * so any more. */
TEST(a_restored_object_gets_its_end_again)
{
    _cleanup_(world_freep) struct world *w = start();
    objects[n_objects++] = ended_bmr(0, -1);
    put_row(w, objects[0], true, clock_steady_unix_ms());
    struct run_queue q = {0};
    struct run *run = new_run(w, objects[0]);
    run_queue_add(&q, run);
    look(w, &q);
    assert_int_equal(q.runs.len, 1);
    assert_null(open_call(0));
    json_object_set_new(json_object_get(objects[0], "status"), "phase", json_string("Running"));
    update_run(run, objects[0]);
    look(w, &q);
    assert_non_null(strstr(open_call(0)->req.body, "\"phase\":\"Succeeded\""));
    run_queue_done(&q);
    drop_objects();
}

/* A row of an earlier version has no verdict: another thread finds it, one after the other. With it
 * come the figures. */
TEST(they_are_judged_once)
{
    _cleanup_(world_freep) struct world *w = start();
    for (size_t i = 0; i < 3; i++) {
        objects[n_objects++] = ended_bmr(i, 60);
        put_row(w, objects[i], false, clock_steady_unix_ms() - 30000);
        json_object_del(objects[i], "status");
    }
    for (int start = 0; start < 2; start++) {
        struct run_queue q = {0};
        for (size_t i = 0; i < 3; i++) {
            run_queue_add(&q, new_run(w, objects[i]));
        }
        look(w, &q);
        if (start == 0) {
            assert_null(open_call(0)); /* not before it is known */
            assert_true(uv_loop_alive(&w->loop));
            let_summarize(w);
            look(w, &q);
        }
        assert_false(uv_loop_alive(&w->loop));
        assert_non_null(strstr(open_call(2)->req.body, "\"ThresholdFailed\""));
        struct run_brief brief;
        assert_int_equal(w->env.store->ops->get_brief(w->env.store, "00000001-u", &brief, NULL), 0);
        assert_true(brief.verdict.is_judged);
        assert_int_equal(brief.verdict.ttl_s, 60);
        run_queue_done(&q);
        fake_kube_reset();
    }
    drop_objects();
}

static unsigned n_verdicts;

static int count_verdict(struct store *s, const char *uid, const struct run_verdict *verdict,
                         struct err *err)
{
    n_verdicts++;
    const int64_t end_ns = clock_thread_cpu_ns() + RUN_QUEUE_TURN_NS;
    while (clock_thread_cpu_ns() < end_ns) {
    }
    return real_ops->put_verdict(s, uid, verdict, err);
}

/* Those that are found at the same time are stored one a turn of the loop, if that takes long. */
TEST(verdicts_that_come_together_are_stored_one_a_turn)
{
    _cleanup_(world_freep) struct world *w = start();
    struct store *s = w->env.store;
    struct run_queue q = {0};
    for (size_t i = 0; i < 3; i++) {
        objects[n_objects++] = ended_bmr(i, 60);
        put_row(w, objects[i], false, clock_steady_unix_ms() - 30000);
        json_object_del(objects[i], "status");
        run_queue_add(&q, new_run(w, objects[i]));
    }
    look(w, &q);
    struct store_ops slow = *s->ops;
    real_ops = s->ops;
    slow.put_verdict = count_verdict;
    s->ops = &slow;
    n_verdicts = 0;
    let_summarize(w);
    assert_int_equal(n_verdicts, 0);
    for (unsigned n = 1; n <= 3; n++) {
        (void)turn(w, &q);
        assert_int_equal(n_verdicts, n);
    }
    s->ops = real_ops;
    run_queue_done(&q);
    drop_objects();
}

/* Its results are unreadable for good, so its end is told without them. */
TEST(a_run_that_cannot_be_judged_ends_too)
{
    _cleanup_(world_freep) struct world *w = start();
    struct run_row row = {.uid = (char *)"00000000-u",
                          .name = (char *)"r0",
                          .benchmark = (char *)"b",
                          .definition_json = (char *)"{\"kind\":\"Nonsense\"}",
                          .status = {.phase = RUN_SUCCEEDED}};
    assert_int_equal(w->env.store->ops->put_run(w->env.store, &row, NULL), 0);
    objects[n_objects++] = ended_bmr(0, -1);
    json_object_del(objects[0], "status");
    struct run_queue q = {0};
    run_queue_add(&q, new_run(w, objects[0]));
    look(w, &q);
    let_summarize(w);
    look(w, &q);
    assert_non_null(strstr(open_call(0)->req.body, "NotJudged"));
    run_queue_done(&q);
    drop_objects();
}

/* What is not known yet is no time to live: its object stays. */
TEST(a_run_does_not_expire_while_it_cannot_be_judged)
{
    static const int64_t ttls_s[] = {-1, 7200};
    _cleanup_(world_freep) struct world *w = start();
    for (size_t i = 0; i < 2; i++) {
        objects[n_objects++] = ended_bmr(i, ttls_s[i]);
        put_row(w, objects[i], false, clock_steady_unix_ms() - INT64_C(3600) * 1000);
    }
    w->env.options.store = "sqlite:/nowhere/results.db";
    struct run_queue q = {0};
    for (size_t i = 0; i < 2; i++) {
        run_queue_add(&q, new_run(w, objects[i]));
    }
    look(w, &q);
    let_summarize(w);
    look(w, &q);
    assert_null(open_call(0));
    assert_int_equal(q.runs.len, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(run_ttl_s(run_queue_find(&q, i == 0 ? "00000000-u" : "00000001-u")),
                         ttls_s[i]);
    }
    run_queue_done(&q);
    drop_objects();
}

/* The last look at a run may be the one that ends it, while its results are read. */
TEST(a_run_may_go_while_it_is_judged)
{
    _cleanup_(world_freep) struct world *w = start();
    objects[n_objects++] = ended_bmr(0, -1);
    put_row(w, objects[0], false, 1000);
    struct run_queue q = {0};
    run_queue_add(&q, new_run(w, objects[0]));
    look(w, &q);
    assert_true(uv_loop_alive(&w->loop));
    run_queue_done(&q);
    let_summarize(w);
    drop_objects();
}
