/* Finished runs go one by one, the oldest first, and only those that nobody uses. Which one is due
 * by its age, the number or the size is tested in tests/decide/test_policy_retention.c. */
#include "run_world.h"

#include "base/clock.h"
#include "base/mem.h"
#include "daemon/retention.h"

#define DAY_MS INT64_C(86400000)

static void put(struct world *w, const char *uid, enum run_phase phase, int64_t ended_unix_ms)
{
    struct run_row row = {.uid = (char *)uid,
                          .name = (char *)uid,
                          .benchmark = (char *)"b",
                          .definition_json = (char *)"{}",
                          .status = {.phase = phase, .ended_unix_ms = ended_unix_ms}};
    assert_int_equal(w->env.store->ops->put_run(w->env.store, &row, NULL), 0);
}

/* The uids that are left, in their alphabetic order: "a b ". */
static const char *left(struct world *w)
{
    static char text[64];
    size_t len = 0;
    text[0] = '\0';
    for (int c = 'a'; c <= 'z'; c++) {
        const char uid[2] = {(char)c, '\0'};
        struct run_brief brief;
        if (w->env.store->ops->get_brief(w->env.store, uid, &brief, NULL) == 0) {
            len += (size_t)snprintf(text + len, sizeof(text) - len, "%s ", uid);
        }
    }
    return text;
}

static int look(struct world *w, struct retention *k, const struct run_queue *q,
                int64_t now_unix_ms)
{
    struct err err = {0};
    const int r = retention_erase_next(k, &w->env, q, now_unix_ms, &err);
    if (r < 0) {
        fail_msg("retention_erase_next: %s", err.msg);
    }
    return r;
}

TEST(by_age)
{
    _cleanup_(world_freep) struct world *w = world_new();
    const int64_t now = clock_steady_unix_ms();
    put(w, "a", RUN_SUCCEEDED, now - 91 * DAY_MS);
    put(w, "b", RUN_FAILED, now - 95 * DAY_MS);
    put(w, "c", RUN_CANCELLED, now - 89 * DAY_MS);
    put(w, "d", RUN_RUNNING, 0);
    put(w, "e", RUN_SUSPENDED, now - 200 * DAY_MS); /* a pause has an end, too */
    put(w, "f", RUN_PARTIALLY_FAILED, now - 300 * DAY_MS);
    put(w, "g", RUN_SUCCEEDED, 1000); /* the clock was not set */
    put(w, "h", RUN_SUCCEEDED, now + 70 * 365 * DAY_MS);
    const struct run_queue q = {0};
    struct retention none = {0}, k = {.policy = {.age_ms = 90 * DAY_MS}};
    assert_int_equal(look(w, &none, &q, now), 0);
    assert_true(none.used_bytes > 4096);
    assert_int_equal(look(w, &k, &q, 1000), 0); /* 1970 */
    assert_string_equal(left(w), "a b c d e f g h ");
    assert_int_equal(look(w, &k, &q, now), 1);
    assert_string_equal(left(w), "a b c d e g h ");
    assert_int_equal(look(w, &k, &q, now), 1);
    assert_string_equal(left(w), "a c d e g h ");
    assert_int_equal(look(w, &k, &q, now), 1);
    assert_int_equal(look(w, &k, &q, now), 0);
    assert_string_equal(left(w), "c d e g h ");
    assert_int_equal(w->counters.runs_erased[RETENTION_PAST_AGE], 3);
    assert_null(fake_kube_open(0)); /* none of them had an object */
}

TEST(by_count_and_not_while_in_use)
{
    _cleanup_(world_freep) struct world *w = world_new();
    const int64_t now = clock_steady_unix_ms();
    _cleanup_(json_decrefp) json_t *bmr = inline_bmr("a");
    _cleanup_(run_queue_done) struct run_queue q = {0};
    run_queue_add(&q, new_run(w, bmr)); /* benchd has it in its hands */
    put(w, "a", RUN_SUCCEEDED, now - 9000);
    put(w, "b", RUN_SUCCEEDED, now - 8000);
    put(w, "c", RUN_SUCCEEDED, now - 7000);
    put(w, "d", RUN_SUCCEEDED, now - 6000);
    put(w, "e", RUN_RUNNING, 0);
    struct store *other = NULL;
    assert_int_equal(store_open(w->url, false, &other, NULL), 0);
    assert_int_equal(other->ops->claim_run(other, "b", NULL), 0); /* another process has it */
    assert_int_equal(w->env.store->ops->set_object(w->env.store, "c", "ns", 0, NULL), 0);
    struct retention k = {.policy = {.n_runs = 2}};
    assert_int_equal(look(w, &k, &q, now), 1);
    assert_string_equal(left(w), "a b d e ");
    struct kube_call *event = fake_kube_open(0);
    assert_non_null(event);
    assert_non_null(strstr(event->req.path, "/events"));
    assert_non_null(strstr(event->req.body, "ResultsErased"));
    assert_non_null(strstr(event->req.body, "the store has 4 finished runs, --keep-runs allows 2"));
    fake_kube_answer(event, 0, "{}");
    assert_int_equal(look(w, &k, &q, now), 1);
    assert_string_equal(left(w), "a b e ");
    assert_int_equal(look(w, &k, &q, now), 0); /* two */
    k.policy.n_runs = 1;
    assert_int_equal(look(w, &k, &q, now), 0); /* both are in use */
    store_close(other);
    assert_int_equal(look(w, &k, &q, now), 1);
    assert_string_equal(left(w), "a e ");
    assert_int_equal(w->counters.runs_erased[RETENTION_PAST_COUNT], 3);
}

/* Pages that a deleted run leaves are free at once, though the file does not shrink. */
TEST(by_size)
{
    _cleanup_(world_freep) struct world *w = world_new();
    const int64_t now = clock_steady_unix_ms();
    struct store *store = w->env.store;
    static const char *const uids[] = {"a", "b", "c"};
    static char text[300000];
    memset(text, 'x', sizeof(text) - 1);
    for (size_t i = 0; i < 3; i++) {
        put(w, uids[i], RUN_SUCCEEDED, now - 9000 + (int64_t)i);
        struct event_row event = {1, EVENT_NORMAL, (char *)"r", text};
        assert_int_equal(store->ops->add_event(store, uids[i], &event, NULL), 0);
    }
    const struct run_queue q = {0};
    struct retention k = {.policy = {.store_bytes = 500000}};
    assert_int_equal(look(w, &k, &q, now), 1);
    assert_true(k.used_bytes > 900000);
    assert_int_equal(look(w, &k, &q, now), 1);
    assert_int_equal(look(w, &k, &q, now), 0);
    assert_in_range(k.used_bytes, 300000, 500000);
    assert_string_equal(left(w), "c ");
    assert_int_equal(w->counters.runs_erased[RETENTION_PAST_SIZE], 2);
}

/* Its object stays, and costs no more than before: also after a restart, which finds no row. */
TEST(an_object_without_results_rests)
{
    _cleanup_(world_freep) struct world *w = world_new();
    _cleanup_(json_decrefp) json_t *bmr =
        make_bmr("a", "{\"benchmarkRef\":{\"name\":\"b\"}}",
                 "{\"phase\":\"Succeeded\",\"startedAt\":\"2026-01-01T00:00:00Z\","
                 "\"endedAt\":\"2026-01-01T01:00:00Z\"}");
    struct run *run = new_run(w, bmr);
    assert_int_equal(take(run, bmr, NULL), 0);
    assert_int_equal(run->life, LIFE_PAST);
    _cleanup_(run_queue_done) struct run_queue q = {0};
    run_queue_add(&q, run);
    run_queue_rest(&q, &w->env);
    assert_null(run_queue_find(&q, "a"));
    assert_true(run_queue_is_resting(&q, "a"));
}
