/* One run between its object, the store and a client without a network: how it is accepted, what is
 * refused, what is written and when again. */
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "daemon/run/run.h"
#include "decide/policy_retention.h"
#include "run_world.h"

/* Results outlive their object: nothing may keep the name from the next one. */
TEST(a_name_is_used_again)
{
    _cleanup_(world_freep) struct world *w = world_new();
    json_t *first = inline_bmr("11111111-aaaa"), *second = inline_bmr("22222222-bbbb");
    struct run *run = accepted_run(w, first);
    run_free(run); /* as after its time to live */
    run = accepted_run(w, second);
    struct run_row row;
    assert_int_equal(w->env.store->ops->get_run(w->env.store, "r1", &row, NULL), 0);
    assert_string_equal(row.uid, "22222222-bbbb");
    run_row_done(&row);
    assert_int_equal(w->env.store->ops->get_run(w->env.store, "r1-11111111", &row, NULL), 0);
    assert_string_equal(row.uid, "11111111-aaaa");
    run_row_done(&row);
    run_free(run);
    json_decref(first);
    json_decref(second);
}

/* A run may have the very name that the results of an earlier one would be kept under. */
TEST(a_kept_name_is_taken_already)
{
    _cleanup_(world_freep) struct world *w = world_new();
    struct store *store = w->env.store;
    json_t *first = inline_bmr("11111111-aaaa"), *second = inline_bmr("22222222-bbbb");
    struct run *run = accepted_run(w, first);
    run_free(run);
    struct run_row other = {.uid = (char *)"33333333-cccc",
                            .name = (char *)"r1-11111111",
                            .benchmark = (char *)"b",
                            .definition_json = (char *)"{}"};
    assert_int_equal(store->ops->put_run(store, &other, NULL), 0);
    run = accepted_run(w, second);
    static const struct {
        const char *name, *uid;
    } rows[] = {{"r1", "22222222-bbbb"},
                {"r1-11111111", "33333333-cccc"},
                {"r1-11111111-aaaa", "11111111-aaaa"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        _cleanup_(run_row_done) struct run_row row;
        assert_int_equal(store->ops->get_run(store, rows[i].name, &row, NULL), 0);
        assert_string_equal(row.uid, rows[i].uid);
    }
    run_free(run);
    json_decref(first);
    json_decref(second);
}

/* One row that cannot be read must not keep the daemon from the other runs. */
TEST(a_stored_run_that_cannot_be_read)
{
    static const struct {
        const char *name;
        enum run_phase before, after;
        enum run_life life;
        int r;
    } rows[] = {
        {"under way", RUN_RUNNING, RUN_FAILED, LIFE_REFUSED, 0},
        {"ended", RUN_SUCCEEDED, RUN_SUCCEEDED, LIFE_ENDED, 1},
    };
    _cleanup_(world_freep) struct world *w = world_new();
    for (size_t i = 0; i < 2; i++) {
        _cleanup_(freep) char *uid = xasprintf("uid-%zu", i);
        struct run_row row = {.uid = uid,
                              .name = uid,
                              .benchmark = (char *)"b",
                              .definition_json = (char *)"{\"kind\":\"Nonsense\"}",
                              .status = {.phase = rows[i].before}};
        assert_int_equal(w->env.store->ops->put_run(w->env.store, &row, NULL), 0);
        _cleanup_(json_decrefp) json_t *bmr = inline_bmr(uid);
        _cleanup_(run_freep) struct run *run = new_run(w, bmr);
        assert_int_equal(take(run, bmr, NULL), rows[i].r);
        assert_int_equal(take(run, bmr, NULL), rows[i].r); /* and stays so */
        if (run->status.phase != rows[i].after || run->life != rows[i].life) {
            fail_msg("row '%s': phase %s", rows[i].name, run_phase_to_string(run->status.phase));
        }
        assert_false(run_is_due(run));
    }
}

static bool is_kept(const struct world *w, const char *uid)
{
    _cleanup_(run_row_done) struct run_row row = {0};
    const int r = w->env.store->ops->get_run(w->env.store, uid, &row, NULL);
    return r == 0;
}

/* Only who asks for that takes the rows along with the object; the end of its time
 * to live leaves them. */
TEST(what_is_stored_outlives_the_object)
{
    static const struct {
        const char *name;
        bool is_unreadable, is_held, is_expired, was_expired, erase; /* before */
        bool is_kept, is_tombstone;
    } rows[] = {
        {.name = "deleted", .is_kept = true, .is_tombstone = true},
        {.name = "erased", .erase = true},
        {.name = "its time is over", .is_expired = true, .is_kept = true},
        {.name = "an earlier process found its time over", .was_expired = true, .is_kept = true},
        {.name = "the same, erased", .was_expired = true, .erase = true},
        {.name = "cannot be read", .is_unreadable = true, .is_kept = true, .is_tombstone = true},
        {.name = "cannot be read, erased", .is_unreadable = true, .erase = true},
        {.name = "cannot be read, and its time is over",
         .is_unreadable = true,
         .is_expired = true,
         .is_kept = true},
        {.name = "another process drives it", .is_held = true, .is_kept = true},
        {.name = "another process drives what is erased",
         .is_held = true,
         .erase = true,
         .is_kept = true},
    };
    _cleanup_(world_freep) struct world *w = world_new();
    struct store *store = w->env.store;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        _cleanup_(freep) char *uid = xasprintf("%08zu", i);
        struct run_row row = {.uid = uid,
                              .name = uid,
                              .benchmark = (char *)"b",
                              .definition_json = (char *)"{\"kind\":\"Nonsense\"}",
                              .status = {.phase = i % 2 == 0 ? RUN_RUNNING : RUN_SUCCEEDED}};
        const struct run_verdict verdict = {.is_judged = true, .ttl_s = 60};
        if (rows[i].was_expired) {
            row.status.phase = RUN_SUCCEEDED;
        }
        if (rows[i].is_unreadable || rows[i].was_expired) {
            assert_int_equal(store->ops->put_run(store, &row, NULL), 0);
        }
        if (rows[i].was_expired) { /* and asked the server to delete its object */
            assert_int_equal(store->ops->put_verdict(store, uid, &verdict, NULL), 0);
            assert_int_equal(store->ops->set_object(store, uid, NULL, 0, NULL), 0);
        }
        struct store *other = NULL;
        assert_int_equal(store_open(w->url, false, &other, NULL), 0);
        if (rows[i].is_held) {
            assert_int_equal(other->ops->claim_run(other, uid, NULL), 0);
        }
        _cleanup_(json_decrefp) json_t *bmr = inline_bmr(uid);
        struct run *run = new_run(w, bmr);
        (void)take_good(run, bmr, NULL);
        assert_true(is_kept(w, uid));
        if (rows[i].erase) {
            json_object_set_new(json_object_get(bmr, "metadata"), "annotations",
                                json_pack("{s:s}", "benchd.io/erase", "Now"));
            update_run(run, bmr);
        }
        run->expiry.state = rows[i].is_expired ? EXPIRY_DUE : EXPIRY_NOT_DUE;
        assert_int_equal(run_drop_deleted(run, NULL), 0);
        run_free(run);
        struct run_brief brief = {0};
        const int r = store->ops->get_brief(store, uid, &brief, NULL);
        if ((r == 0) != rows[i].is_kept || (brief.deleted_unix_ms != 0) != rows[i].is_tombstone) {
            fail_msg("%s: expected %s", rows[i].name, rows[i].is_kept ? "kept" : "gone");
        }
        store_close(other);
        fake_kube_reset();
    }
}

/* After a restore of the cluster's state: the same uid, and the results are there. */
TEST(a_tombstone_goes_when_the_object_is_back)
{
    _cleanup_(world_freep) struct world *w = world_new();
    struct store *store = w->env.store;
    _cleanup_(json_decrefp) json_t *bmr = inline_bmr("u1");
    struct run *run = accepted_run(w, bmr);
    assert_int_equal(run_drop_deleted(run, NULL), 0);
    run_free(run);
    struct run_brief brief;
    assert_int_equal(store->ops->get_brief(store, "u1", &brief, NULL), 0);
    assert_int_not_equal(brief.deleted_unix_ms, 0);
    assert_false(brief.has_object);
    run = new_run(w, bmr);
    assert_int_equal(take(run, bmr, NULL), 1);
    assert_int_equal(store->ops->get_brief(store, "u1", &brief, NULL), 0);
    assert_int_equal(brief.deleted_unix_ms, 0);
    assert_true(brief.has_object);
    run_free(run);
}

/* Each in its turn, the oldest first, and none before its time or in somebody's hands. */
TEST(tombstones_are_erased_when_their_time_is_over)
{
    _cleanup_(world_freep) struct world *w = world_new();
    struct store *store = w->env.store;
    w->env.options.undelete_ms = 60000;
    const int64_t now_ms = clock_steady_unix_ms();
    const int64_t deleted_ms[] = {now_ms - 61000, now_ms - 90000, now_ms - 30000, 0};
    for (size_t i = 0; i < 4; i++) {
        _cleanup_(freep) char *uid = xasprintf("u%zu", i);
        struct run_row row = {.uid = uid,
                              .name = uid,
                              .benchmark = (char *)"b",
                              .definition_json = (char *)"{}",
                              .status = {.phase = RUN_SUCCEEDED}};
        assert_int_equal(store->ops->put_run(store, &row, NULL), 0);
        assert_int_equal(store->ops->set_object(store, uid, NULL, deleted_ms[i], NULL), 0);
    }
    struct store *other = NULL;
    assert_int_equal(store_open(w->url, false, &other, NULL), 0);
    assert_int_equal(other->ops->claim_run(other, "u1", NULL), 0);
    assert_int_equal(run_purge(&w->env, now_ms, NULL), 0);
    assert_true(is_kept(w, "u1"));
    store_close(other);
    assert_int_equal(run_purge(&w->env, 1000, NULL), 0); /* the clock says 1970 */
    assert_int_equal(run_purge(&w->env, now_ms, NULL), 1);
    assert_false(is_kept(w, "u1"));
    assert_true(is_kept(w, "u0"));
    assert_int_equal(run_purge(&w->env, now_ms, NULL), 1);
    assert_int_equal(run_purge(&w->env, now_ms, NULL), 0);
    assert_false(is_kept(w, "u0"));
    assert_true(is_kept(w, "u2"));
    assert_true(is_kept(w, "u3"));
}

/* One that was written before the clock was set has the whole time to be brought back. */
TEST(a_tombstone_without_a_date_gets_one)
{
    _cleanup_(world_freep) struct world *w = world_new();
    struct store *store = w->env.store;
    w->env.options.undelete_ms = 60000;
    const int64_t now_ms = clock_steady_unix_ms();
    struct run_row row = {.uid = (char *)"u0",
                          .name = (char *)"u0",
                          .benchmark = (char *)"b",
                          .definition_json = (char *)"{}",
                          .status = {.phase = RUN_SUCCEEDED}};
    assert_int_equal(store->ops->put_run(store, &row, NULL), 0);
    assert_int_equal(store->ops->set_object(store, "u0", NULL, RETENTION_FIRST_DATE_MS - 1, NULL),
                     0);
    struct run_brief brief;
    assert_int_equal(run_purge(&w->env, RETENTION_FIRST_DATE_MS - 1, NULL), 0);
    assert_int_equal(run_purge(&w->env, now_ms, NULL), 1);
    assert_int_equal(store->ops->get_brief(store, "u0", &brief, NULL), 0);
    assert_int_equal(brief.deleted_unix_ms, now_ms);
    assert_int_equal(run_purge(&w->env, now_ms + 60000, NULL), 0);
    assert_true(is_kept(w, "u0"));
    assert_int_equal(run_purge(&w->env, now_ms + 60001, NULL), 1);
    assert_false(is_kept(w, "u0"));
}

TEST(a_run_that_another_process_drives_is_waited_for)
{
    _cleanup_(world_freep) struct world *w = world_new();
    _cleanup_(json_decrefp) json_t *bmr = inline_bmr("u1");
    _cleanup_(freep) char *url = xasprintf("sqlite:%s/results.db", w->folder);
    struct store *other = NULL;
    assert_int_equal(store_open(url, false, &other, NULL), 0);
    assert_int_equal(other->ops->claim_run(other, "u1", NULL), 0);
    _cleanup_(run_freep) struct run *run = new_run(w, bmr);
    assert_int_equal(take_good(run, bmr, NULL), 0);
    assert_string_equal(run->refusal.reason, "HeldByAnother");
    assert_non_null(strstr(run->refusal.text, "is being driven by process"));
    assert_int_equal(run->life, LIFE_WAITING);
    store_close(other);
    assert_int_equal(take(run, bmr, NULL), 0); /* not at once */
    run->at.retry_ns = 0;
    assert_int_equal(take(run, bmr, NULL), 1);
}

TEST(a_run_that_waits_for_its_benchmark_is_cancelled)
{
    _cleanup_(world_freep) struct world *w = world_new();
    _cleanup_(json_decrefp) json_t *bmr =
        make_bmr("u1", "{\"benchmarkRef\":{\"name\":\"b\"}}", "{}");
    _cleanup_(run_freep) struct run *run = new_run(w, bmr);
    assert_int_equal(take(run, bmr, NULL), 0);
    assert_string_equal(run->refusal.reason, "BenchmarkNotFound");
    assert_false(run_is_final(run));
    json_object_set_new(json_object_get(bmr, "spec"), "cancel", json_true());
    update_run(run, bmr);
    assert_int_equal(take(run, bmr, NULL), 0);
    assert_int_equal(run->status.phase, RUN_CANCELLED);
    assert_string_equal(run->status.reason, "CancelRequested");
}

static json_t *with_cancel(json_t *bmr)
{
    json_object_set_new(json_object_get(bmr, "spec"), "cancel", json_true());
    return bmr;
}

TEST(a_run_is_cancelled_while_its_templates_are_checked)
{
    _cleanup_(world_freep) struct world *w = world_new();
    _cleanup_(json_decrefp) json_t *bmr = inline_bmr("u1");
    _cleanup_(run_freep) struct run *run = new_run(w, bmr);
    assert_int_equal(take(run, bmr, NULL), 0);
    assert_int_equal(run->life, LIFE_CHECKING);
    assert_non_null(open_call(0));
    update_run(run, with_cancel(bmr));
    assert_int_equal(take(run, bmr, NULL), 0);
    assert_int_equal(run->status.phase, RUN_CANCELLED);
    assert_int_equal(run->life, LIFE_REFUSED);
    assert_null(open_call(0)); /* the checks went with the state */
}

/* Whatever order the answers come in: a refusal counts more than a server that was away for one. */
TEST(a_refusal_beside_no_answer)
{
    _cleanup_(world_freep) struct world *w = world_new();
    for (size_t refused = 0; refused < 2; refused++) {
        _cleanup_(json_decrefp) json_t *bmr = inline_bmr("u1");
        struct run *run = new_run(w, bmr);
        assert_int_equal(take(run, bmr, NULL), 0);
        struct kube_call *first = open_call(0), *second = open_call(1);
        fake_kube.http_code = 0;
        fake_kube_answer(refused == 0 ? second : first, -EHOSTUNREACH, "no connection");
        assert_int_equal(take(run, bmr, NULL), 0);
        assert_int_equal(run->life, LIFE_CHECKING); /* one is still open */
        fake_kube.http_code = 400;
        fake_kube_answer(refused == 0 ? first : second, -EINVAL, "unknown field");
        assert_int_equal(take(run, bmr, NULL), 0);
        assert_int_equal(run->life, LIFE_REFUSED);
        run_free(run);
        fake_kube_reset();
    }
}

/* A definition that could not be written is written again, but not at once. */
TEST(keeping_a_definition_is_retried)
{
    _cleanup_(world_freep) struct world *w = world_new();
    _cleanup_(json_decrefp) json_t *bmr =
        make_bmr("u1", "{\"benchmarkRef\":{\"name\":\"b\"}}", "{}");
    _cleanup_(freep) char *text = xasprintf("{\"spec\":" DEFINITION "}", 5);
    _cleanup_(json_decrefp) json_t *benchmark = parse(text);
    _cleanup_(run_freep) struct run *run = new_run(w, bmr);
    assert_int_equal(take(run, bmr, benchmark), 0);
    assert_int_equal(run->life, LIFE_FREEZING);
    fake_kube_answer(open_call(0), -EHOSTUNREACH, "no connection");
    assert_int_equal(run->life, LIFE_WAITING);
    assert_int_equal(take(run, bmr, benchmark), 0);
    assert_null(open_call(0));
    run->at.retry_ns = 1; /* long over */
    assert_int_equal(take(run, bmr, benchmark), 0);
    assert_int_equal(run->life, LIFE_FREEZING);
    fake_kube_answer(open_call(0), -EINVAL, "not like that");
    assert_int_equal(run->life, LIFE_REFUSED);
    assert_string_equal(run->refusal.reason, "DefinitionRefused");
}

/* run_life.h says what can happen; nothing else moves a run. */
TEST(an_impossible_event_changes_nothing)
{
    _cleanup_(world_freep) struct world *w = world_new();
    _cleanup_(json_decrefp) json_t *bmr = inline_bmr("u1");
    _cleanup_(run_freep) struct run *run = new_run(w, bmr);
    run->at.retry_ns = 7;
    assert_false(run_enter(run, LIFE_ON_DRIVER_DONE));
    assert_int_equal(run->life, LIFE_WAITING);
    assert_int_equal(run->at.retry_ns, 7);
}

/* The removal of an expired run's object has its own time of retry: its status
 * does not wait for it. */
TEST(an_expired_run_is_removed)
{
    _cleanup_(world_freep) struct world *w = world_new();
    _cleanup_(json_decrefp) json_t *bmr = inline_bmr("u1");
    struct run *run = accepted_run(w, bmr);
    run->def->spec->run_policy.ttl_s = 10;
    run_expire(run);
    assert_null(open_call(0)); /* it is not final */
    update_run(run, with_cancel(bmr));
    assert_int_equal(run_steer(run, NULL), 0);
    assert_int_equal(run->life, LIFE_ENDED);
    run_expire(run);
    assert_int_equal(run->expiry.state, EXPIRY_NOT_DUE);
    run->status.ended_unix_ms -= 11000;
    run_expire(run);
    assert_int_equal(run->expiry.state, EXPIRY_SENT);
    assert_int_equal(open_call(0)->req.method, KUBE_DELETE);
    run_expire(run);
    assert_null(open_call(1)); /* sent once */
    fake_kube_answer(open_call(0), -EHOSTUNREACH, "no connection");
    assert_int_equal(run->expiry.state, EXPIRY_DUE);
    run_expire(run);
    assert_null(open_call(0)); /* not at once */
    run_publish(run);
    let_summarize(w);
    run_publish(run);
    assert_non_null(open_call(0));
    fake_kube_answer(open_call(0), 0, "{}");
    run->expiry.retry_ns = 1;
    run_expire(run);
    assert_int_equal(open_call(0)->req.method, KUBE_DELETE);
    assert_int_equal(run_drop_deleted(run, NULL), 0);
    run_free(run); /* cancels the open request */
    assert_true(is_kept(w, "u1"));
}

/* A list that is on its way when the object is deleted still has it, and then the store would say
 * so for good: the next benchd would take the object for one that somebody deleted. */
TEST(nothing_expires_before_all_objects_are_known)
{
    _cleanup_(world_freep) struct world *w = world_new();
    struct store *store = w->env.store;
    const char *const uids[] = {"u1"};
    size_t n_deleted;
    _cleanup_(json_decrefp) json_t *bmr = inline_bmr("u1");
    struct run *run = accepted_run(w, bmr);
    run->def->spec->run_policy.ttl_s = 10;
    update_run(run, with_cancel(bmr));
    assert_int_equal(run_steer(run, NULL), 0);
    run->status.ended_unix_ms -= 11000;
    w->env.are_objects_known = false;
    run_expire(run);
    assert_int_equal(store->ops->sync_objects(store, "ns", uids, 1, 1, &n_deleted, NULL), 0);
    w->env.are_objects_known = true;
    run_expire(run);
    assert_int_equal(run->expiry.state, EXPIRY_SENT);
    assert_int_equal(run_drop_deleted(run, NULL), 0);
    run_free(run);
    assert_int_equal(store->ops->sync_objects(store, "ns", NULL, 0, 1, &n_deleted, NULL), 0);
    assert_int_equal(n_deleted, 0);
}

/* A run that was cancelled, or refused, before it was accepted has ended like any other. */
TEST(an_unaccepted_run_expires)
{
    _cleanup_(world_freep) struct world *w = world_new();
    for (int i = 0; i < 2; i++) {
        const bool is_cancelled = i == 0;
        _cleanup_(json_decrefp) json_t *bmr = inline_bmr("u1");
        json_t *definition = json_object_get(json_object_get(bmr, "spec"), "definition");
        json_object_set_new(definition, "runPolicy",
                            json_pack("{s:i}", "ttlSecondsAfterFinished", 10));
        _cleanup_(run_freep) struct run *run = new_run(w, bmr);
        if (is_cancelled) {
            update_run(run, with_cancel(bmr));
        }
        assert_int_equal(take(run, bmr, NULL), 0);
        if (!is_cancelled) {
            (void)answer_checks(-EINVAL, "no");
            assert_int_equal(take(run, bmr, NULL), 0);
        }
        assert_int_equal(run->life, LIFE_REFUSED);
        run_expire(run);
        assert_int_equal(run->expiry.state, EXPIRY_NOT_DUE);
        run->status.ended_unix_ms -= 11000;
        run_expire(run);
        assert_int_equal(run->expiry.state, EXPIRY_SENT);
    }
}

static json_t *stored_spec(const struct world *w, const char *uid)
{
    _cleanup_(run_row_done) struct run_row row = {0};
    assert_int_equal(w->env.store->ops->get_run(w->env.store, uid, &row, NULL), 0);
    json_auto_t *document = parse(row.definition_json);
    return json_incref(json_object_get(document, "spec"));
}

/* The copy in the object is what runs and what is stored, byte by byte, also when the Benchmark
 * changes before the watch shows that it is frozen, and when another process accepts the run. */
TEST(what_was_kept_is_what_runs)
{
    for (int is_restarted = 0; is_restarted < 2; is_restarted++) {
        _cleanup_(world_freep) struct world *w = world_new();
        w->env.has_dns = true; /* addressing is Auto, and decided before it is frozen */
        _cleanup_(json_decrefp) json_t *bmr =
            make_bmr("u1", "{\"benchmarkRef\":{\"name\":\"b\"}}", "{}");
        _cleanup_(freep) char *text = xasprintf("{\"spec\":" DEFINITION "}", 5);
        _cleanup_(freep) char *changed_text = xasprintf("{\"spec\":" DEFINITION "}", 99);
        _cleanup_(json_decrefp) json_t *benchmark = parse(text), *changed = parse(changed_text);
        struct run *run = new_run(w, bmr);
        assert_int_equal(take(run, bmr, benchmark), 0);
        struct kube_call *apply = open_call(0);
        assert_non_null(strstr(apply->req.path, "fieldManager=benchd-definition"));
        _cleanup_(json_decrefp) json_t *body = parse(apply->req.body);
        fake_kube_answer(apply, 0, "{}");
        if (is_restarted) {
            run_free(run);
            json_object_set(bmr, "status", json_object_get(body, "status"));
            run = new_run(w, bmr);
        } else { /* the watch shows the object as it was before, and nothing is read again */
            const struct bmr_facts *before = kube_cache_get(&w->runs, "r1")->facts;
            assert_int_equal(run_accept(run, before, true, NULL), 0);
            assert_int_equal(run->life, LIFE_CHECKING);
        }
        assert_int_equal(take_good(run, bmr, changed), 1);
        assert_int_equal(run->def->spec->steps, 5);
        const json_t *frozen = json_object_get(json_object_get(body, "status"), "definition");
        _cleanup_(json_decrefp) json_t *stored = stored_spec(w, "u1");
        _cleanup_(freep) char *a = json_dumps(frozen, JSON_COMPACT),
                              *b = json_dumps(stored, JSON_COMPACT);
        assert_string_equal(a, b);
        assert_non_null(strstr(a, "\"addressing\":\"DNS\""));
        run_free(run);
    }
}

/* A status that is refused for long is not sent, and not logged, every second. */
TEST(a_refused_status_is_tried_again_later)
{
    _cleanup_(world_freep) struct world *w = world_new();
    _cleanup_(json_decrefp) json_t *bmr = inline_bmr("u1");
    _cleanup_(run_freep) struct run *run = accepted_run(w, bmr);
    run_publish(run);
    assert_non_null(open_call(0));
    fake_kube_answer(open_call(0), -EACCES, "HTTP 403");
    run->publication.next_ns -= INT64_C(2000000000);
    run_publish(run);
    assert_null(open_call(0));
    run->publication.next_ns -= INT64_C(4000000000);
    run_publish(run);
    assert_non_null(open_call(0));
    fake_kube_answer(open_call(0), 0, "{}");
    run->publication.next_ns = 0;
    run_publish(run);
    assert_null(open_call(0)); /* nothing new */
}

/* The next process may be unable to look up names, while pods of the run are there. */
TEST(addressing_is_decided_once)
{
    for (int has_dns = 0; has_dns < 2; has_dns++) {
        _cleanup_(world_freep) struct world *w = world_new();
        w->env.has_dns = has_dns;
        _cleanup_(json_decrefp) json_t *bmr = inline_bmr("u1");
        for (int i = 0; i < 2; i++) {
            struct run *run = accepted_run(w, bmr);
            assert_int_equal(run_naming(run, run->def), has_dns ? POD_BY_DNS : POD_BY_IP);
            const json_t *spec = json_object_get(run->def->spec->definition, "spec");
            assert_string_equal(json_string_value(json_object_get(spec, "addressing")),
                                has_dns ? "DNS" : "IP");
            run_free(run);
            w->env.has_dns = !has_dns;
        }
    }
}

/* As it is when the run is accepted, whatever becomes of the object or of benchd's option. */
TEST(scheduling_is_decided_once)
{
    static const struct {
        const char *scheduling, *of_benchd, *queue, *text, *refusal; /* NULL: accepted */
    } rows[] = {
        {"{}", NULL, NULL, "", NULL},
        {"{\"queueName\":\"a\",\"priorityClass\":\"low\",\"topology\":{\"key\":\"zone\"},"
         "\"exclusiveNodes\":true,\"waitSeconds\":7}",
         "b", "a",
         "queue 'a', priority class 'low', all pods of an attempt where nodes have one value of "
         "'zone', exclusive nodes",
         NULL},
        {"{\"waitSeconds\":7}", "b", "b", "queue 'b'", NULL},
        {"{\"gang\":\"None\"}", "b", NULL, "", NULL},
        {"{\"gang\":\"None\",\"queueName\":\"a\"}", NULL, NULL, NULL, "gang None has no queue"},
        {"{\"gang\":\"Kueue\"}", NULL, NULL, NULL, "gang Kueue needs a queue"},
        {"{\"priorityClass\":\"low\"}", NULL, NULL, NULL, "priorityClass is that of a queue"},
        {"[]", "b", NULL, NULL, "spec.scheduling: must be a map"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        _cleanup_(world_freep) struct world *w = world_new();
        w->env.has_dns = true;
        w->env.options.queue = rows[i].of_benchd;
        _cleanup_(json_decrefp) json_t *bmr = inline_bmr("u1");
        json_t *spec = json_object_get(bmr, "spec");
        json_object_set_new(spec, "scheduling", parse(rows[i].scheduling));
        for (int again = 0; again < 2; again++) {
            _cleanup_(run_freep) struct run *run = new_run(w, bmr);
            if (rows[i].refusal != NULL) {
                assert_int_equal(take(run, bmr, NULL), 0);
                assert_non_null(strstr(run->refusal.text, rows[i].refusal));
                break;
            }
            assert_int_equal(take_good(run, bmr, NULL), 1);
            const struct run_options *s = &run->def->options;
            _cleanup_(buf_done) struct buf text = BUF_INIT;
            run_options_put(s, &text);
            assert_string_equal(buf_cstr(&text), rows[i].text);
            assert_string_equal(s->queue == NULL ? "" : s->queue,
                                rows[i].queue == NULL ? "" : rows[i].queue);
            json_object_set_new(spec, "scheduling", parse("{\"queueName\":\"other\"}"));
            w->env.options.queue = "another";
        }
    }
}

/* An API server without the CRD's schema, or with that of another version, lets them pass. */
TEST(an_option_out_of_range_is_refused)
{
    static const char *const specs[] = {"{\"parallelism\":{\"trials\":99}}",
                                        "{\"scheduling\":{\"waitSeconds\":0}}"};
    for (size_t i = 0; i < N_ROWS(specs); i++) {
        _cleanup_(world_freep) struct world *w = world_new();
        _cleanup_(json_decrefp) json_t *bmr = inline_bmr("u1"), *more = parse(specs[i]);
        json_object_update(json_object_get(bmr, "spec"), more);
        _cleanup_(run_freep) struct run *run = new_run(w, bmr);
        assert_int_equal(take(run, bmr, NULL), 0);
        assert_int_equal(run->life, LIFE_REFUSED);
        assert_string_equal(run->refusal.reason, "InvalidDefinition");
        assert_non_null(strstr(run->refusal.text, "is out of range"));
        struct run_row row;
        assert_int_equal(w->env.store->ops->get_run(w->env.store, "u1", &row, NULL), -ENOENT);
    }
}

/* By address its servers would hold the place of all. */
TEST(a_queue_needs_names)
{
    _cleanup_(world_freep) struct world *w = world_new();
    _cleanup_(json_decrefp) json_t *bmr = inline_bmr("u1");
    w->env.options.queue = "team";
    w->env.has_dns = false;
    _cleanup_(run_freep) struct run *run = new_run(w, bmr);
    assert_int_equal(take(run, bmr, NULL), 0);
    assert_string_equal(run->refusal.reason, "InvalidDefinition");
    assert_non_null(strstr(run->refusal.text, "write addressing: DNS, or scheduling.gang: None"));
}

/* A broken webhook: the run waits for it, and says so. */
TEST(templates_without_an_answer_are_told)
{
    _cleanup_(world_freep) struct world *w = world_new();
    _cleanup_(json_decrefp) json_t *bmr = inline_bmr("u1");
    _cleanup_(run_freep) struct run *run = new_run(w, bmr);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(take(run, bmr, NULL), 0);
        fake_kube.http_code = 500;
        assert_int_equal(answer_checks(-EIO, "HTTP 500: failed calling webhook \"a.b\""), 2);
        assert_int_equal(take(run, bmr, NULL), 0);
        assert_int_equal(run->life, LIFE_WAITING);
        assert_string_equal(run->refusal.reason, "TemplateCheckFails");
        assert_string_equal(run->refusal.text, "HTTP 500: failed calling webhook \"a.b\"");
        run->at.retry_ns = 0;
    }
    size_t n_events = 0;
    for (size_t i = 0; i < fake_kube.n; i++) {
        const char *body = fake_kube.calls[i].req.body;
        n_events += body != NULL && strstr(body, "TemplateCheckFails") != NULL;
    }
    assert_int_equal(n_events, 1);
    assert_int_equal(take_good(run, bmr, NULL), 1);
}

/* A server's words are cut between two characters: half of one is no JSON, and so no condition. */
TEST(long_refusals_stay_text)
{
    _cleanup_(world_freep) struct world *w = world_new();
    for (size_t shift = 0; shift < 2; shift++) {
        char words[402] = "x";
        for (size_t i = shift; i + 2 < sizeof(words); i += 2) {
            memcpy(words + i, "\xc3\xa9", 3);
        }
        _cleanup_(json_decrefp) json_t *bmr = inline_bmr("u1");
        _cleanup_(run_freep) struct run *run = new_run(w, bmr);
        run_refuse(run, "InvalidTemplate", words);
        _cleanup_(json_decrefp) json_t *value = json_string(run->status.message);
        assert_non_null(value);
        assert_true(json_string_length(value) > 200);
    }
}

/* What a profile runs is not in an image. */
TEST(foreign_systems_without_a_command_are_refused)
{
    _cleanup_(world_freep) struct world *w = world_new();
    _cleanup_(json_decrefp) json_t *bmr = inline_bmr("u1");
    json_t *definition = json_object_get(json_object_get(bmr, "spec"), "definition");
    json_t *system = json_array_get(json_object_get(definition, "systems"), 0);
    json_object_set_new(system, "profile", json_string("torchrun"));
    _cleanup_(run_freep) struct run *run = new_run(w, bmr);
    assert_int_equal(take(run, bmr, NULL), 0);
    assert_int_equal(run->life, LIFE_REFUSED);
    assert_string_equal(run->status.reason, "InvalidTemplate");
    assert_non_null(strstr(run->refusal.text, "'torchrun'"));
    assert_null(open_call(0));
}
