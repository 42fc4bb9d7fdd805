/* One member of an attempt as a pod: every event in every state, and what each state makes due. */
#include <malloc.h>

#include "tests/test.h"
#include "base/clock.h"
#include "base/rfc3339.h"
#include "fake_kube.h"
#include "kube/retry.h"
#include "run/pods/pod_answer.h"
#include "run/pods/pod_member.h"

#define S INT64_C(1000000000)
#define NO (-1) /* that event cannot come in that state */

FREEP(pod_member_free, struct pod_member)

/* clang-format off */
enum { WANTED, UNSURE, POSTING, TAKEN, CHECKING, SHOWN, MADE, LOOKING, THERE, REFUSED, DOUBTED, LOST,
       D_POSTING, D_UNKNOWN, D_LOOKING, D_SHOWN, D_DUE, D_DELETING, D_DELETED, GONE };

static const char *const life_names[MEMBER_LIFE_COUNT] = {
    "WANTED", "UNSURE", "POSTING", "TAKEN", "CHECKING", "SHOWN", "MADE", "LOOKING", "THERE", "REFUSED",
    "DOUBTED", "LOST",
    "DYING_POSTING", "DYING_UNKNOWN", "DYING_LOOKING", "DYING_SHOWN", "DYING_DUE", "DYING_DELETING",
    "DYING_DELETED", "GONE",
};
static const char *const event_names[MEMBER_EVENT_COUNT] = {
    "sent POST", "sent GET", "sent DELETE", "created", "name taken", "found", "not found",
    "try again", "failed", "failed, may exist", "deleted", "seen", "vanished", "remove", "forget", "timed out",
};

/* Columns: sent POST, GET, DELETE | created, name taken, found, not found, try
 * again, failed, failed and
 * may exist, deleted | seen, vanished | remove, forget, timed out */
static const int table[MEMBER_LIFE_COUNT][MEMBER_EVENT_COUNT] = {
    [WANTED] = {POSTING, NO, NO,  NO, NO, NO, NO, NO, REFUSED, NO, NO,
                THERE, WANTED,  GONE, NO, NO},
    [UNSURE] = {POSTING, NO, NO,  NO, NO, NO, NO, NO, NO, DOUBTED, NO,
                THERE, UNSURE,  D_UNKNOWN, NO, NO},
    [POSTING] = {NO, NO, NO,  MADE, TAKEN, NO, NO, UNSURE, REFUSED, DOUBTED, NO,
                 SHOWN, POSTING,  D_POSTING, NO, NO},
    [TAKEN] = {NO, CHECKING, NO,  NO, NO, NO, NO, NO, NO, NO, NO,
               THERE, TAKEN,  D_UNKNOWN, NO, NO},
    [CHECKING] = {NO, NO, NO,  NO, NO, THERE, WANTED, UNSURE, REFUSED, DOUBTED, NO,
                  SHOWN, CHECKING,  D_LOOKING, NO, NO},
    [SHOWN] = {NO, NO, NO,  THERE, THERE, THERE, THERE, THERE, THERE, THERE, NO,
               SHOWN, LOST,  D_SHOWN, GONE, NO},
    [MADE] = {NO, LOOKING, NO,  NO, NO, NO, NO, NO, NO, NO, NO,
              THERE, MADE,  D_UNKNOWN, NO, NO},
    [LOOKING] = {NO, NO, NO,  NO, NO, THERE, LOST, MADE, REFUSED, DOUBTED, NO,
                 SHOWN, LOOKING,  D_LOOKING, NO, NO},
    [THERE] = {NO, NO, NO,  NO, NO, NO, NO, NO, NO, NO, NO,
               THERE, LOST,  D_DUE, GONE, NO},
    [REFUSED] = {NO, NO, NO,  NO, NO, NO, NO, NO, NO, NO, NO,
                 REFUSED, REFUSED,  GONE, GONE, NO},
    [DOUBTED] = {NO, NO, NO,  NO, NO, NO, NO, NO, NO, NO, NO,
                 DOUBTED, DOUBTED,  D_UNKNOWN, D_UNKNOWN, NO},
    [LOST] = {NO, NO, NO,  NO, NO, NO, NO, NO, NO, NO, NO,
              LOST, LOST,  GONE, GONE, NO},
    [D_POSTING] = {NO, NO, NO,  D_UNKNOWN, D_UNKNOWN, NO, NO, D_UNKNOWN, GONE, D_UNKNOWN, NO,
                   D_SHOWN, GONE,  NO, NO, NO},
    [D_UNKNOWN] = {NO, D_LOOKING, NO,  NO, NO, NO, NO, NO, NO, NO, NO,
                   D_DUE, GONE,  NO, NO, NO},
    [D_LOOKING] = {NO, NO, NO,  NO, NO, D_DUE, GONE, D_UNKNOWN, GONE, D_UNKNOWN, NO,
                   D_SHOWN, GONE,  NO, NO, NO},
    [D_SHOWN] = {NO, NO, NO,  D_DUE, D_DUE, D_DUE, D_DUE, D_DUE, D_DUE, D_DUE, NO,
                 D_SHOWN, GONE,  NO, NO, NO},
    [D_DUE] = {NO, NO, D_DELETING,  NO, NO, NO, NO, NO, NO, NO, NO,
               D_DUE, GONE,  NO, NO, NO},
    [D_DELETING] = {NO, NO, NO,  NO, NO, NO, NO, D_DUE, GONE, NO, D_DELETED,
                    D_DELETING, GONE,  NO, NO, NO},
    [D_DELETED] = {NO, NO, NO,  NO, NO, NO, NO, NO, NO, NO, NO,
                   D_DELETED, GONE,  NO, NO, D_UNKNOWN},
    [GONE] = {NO, NO, NO,  NO, NO, NO, NO, NO, NO, NO, NO,
              GONE, GONE,  NO, NO, NO},
};
/* clang-format on */

TEST(every_event_in_every_state)
{
    for (int life = 0; life < MEMBER_LIFE_COUNT; life++) {
        for (int event = 0; event < MEMBER_EVENT_COUNT; event++) {
            const int next = member_life_next((enum member_life)life, (enum member_event)event);
            const int expected = table[life][event];
            if (next != expected) {
                fail_msg("%s, %s: %s, expected %s", life_names[life], event_names[event],
                         next < 0 ? "impossible" : life_names[next],
                         expected < 0 ? "impossible" : life_names[expected]);
            }
        }
    }
}

/* A call begins by being sent; a uid is told by the watch or by the pod itself. */
TEST(calls_and_uids_have_a_beginning)
{
    for (int life = 0; life < MEMBER_LIFE_COUNT; life++) {
        for (int event = 0; event < MEMBER_EVENT_COUNT; event++) {
            const enum member_life from = (enum member_life)life;
            if (table[life][event] < 0) {
                continue;
            }
            const enum member_life to = (enum member_life)table[life][event];
            const bool is_sent = event <= MEMBER_SENT_DELETE;
            const bool is_told = event == MEMBER_SEEN || event == MEMBER_FOUND;
            if ((member_life_has_call(to) && !member_life_has_call(from)) != is_sent ||
                (member_life_has_uid(to) && !member_life_has_uid(from) && !is_told)) {
                fail_msg("%s, %s", life_names[life], event_names[event]);
            }
        }
    }
}

TEST(what_each_state_makes_due)
{
    static const enum member_action due[MEMBER_LIFE_COUNT] = {
        [WANTED] = MEMBER_DO_POST, [UNSURE] = MEMBER_DO_POST,   [TAKEN] = MEMBER_DO_GET,
        [MADE] = MEMBER_DO_GET,    [D_UNKNOWN] = MEMBER_DO_GET, [D_DUE] = MEMBER_DO_DELETE,
    };
    for (int life = 0; life < MEMBER_LIFE_COUNT; life++) {
        const struct pod_member m = {.life = (enum member_life)life, .due_ns = 5};
        if (pod_member_due(&m, 4) != MEMBER_DO_NOTHING || pod_member_due(&m, 5) != due[life]) {
            fail_msg("%s: %d, expected %d", life_names[life], pod_member_due(&m, 5), due[life]);
        }
    }
}

/* ---- one member, from outside ---- */

static const struct replica_id trainer = {{0, 0, 0}, ROLE_TRAINER, 1};

static json_t *pod(const char *status)
{
    json_t *p = json_pack("{s:{s:[{s:s}]}}", "spec", "containers", "name", "main");
    json_object_set_new(p, "status", json_loads(status, 0, NULL));
    return p;
}

static struct pod_facts *facts_of(json_t *pod_take)
{
    struct pod_facts *facts = pod_facts_decode(pod_take);
    json_decref(pod_take);
    return facts;
}

static void see(struct pod_member *m, const char *status, int64_t now_ns)
{
    _cleanup_(freep) struct pod_facts *facts = facts_of(pod(status));
    pod_member_seen(m, "u1", facts, now_ns);
}

#define PENDING "{\"phase\":\"Pending\"}"
#define RUNNING_AT(ip)                                                                             \
    "{\"phase\":\"Running\",\"podIP\":\"" ip "\",\"containerStatuses\":[{\"name\":\"main\","       \
    "\"containerID\":\"c\",\"state\":{\"running\":{}}}]}"
#define STOPPED(phase)                                                                             \
    "{\"phase\":\"" phase "\",\"containerStatuses\":[{\"name\":\"main\",\"containerID\":\"c\","    \
    "\"state\":{\"terminated\":{\"exitCode\":0}}}]}"
#define NO_NODE                                                                                    \
    "{\"phase\":\"Pending\",\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"False\","      \
    "\"reason\":\"Unschedulable\",\"message\":\"0/3 nodes\"}]}"
#define NO_CONTAINER                                                                               \
    "{\"phase\":\"Pending\",\"containerStatuses\":[{\"name\":\"main\",\"state\":{\"waiting\":"     \
    "{\"reason\":\"CreateContainerError\",\"message\":\"context deadline exceeded\"}}}]}"
#define GATED                                                                                      \
    "{\"phase\":\"Pending\",\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"False\","      \
    "\"reason\":\"SchedulingGated\"}]}"
#define DAY_MS (86400 * INT64_C(1000))
#define NO_IMAGE                                                                                   \
    "{\"phase\":\"Pending\",\"containerStatuses\":[{\"name\":\"main\",\"state\":{\"waiting\":"     \
    "{\"reason\":\"ImagePullBackOff\",\"message\":\"no such image\"}}}]}"

TEST(the_states_wait_as_long_as_they_say)
{
    fake_kube_reset();
    _cleanup_(pod_member_freep) struct pod_member *m = pod_member_new(NULL, "r", &trainer);
    pod_member_sent(m, MEMBER_DO_POST, NULL);
    pod_member_answered(m, MEMBER_TRY_AGAIN, 10 * S);
    assert_int_equal(pod_member_due(m, 12 * S - 1), MEMBER_DO_NOTHING);
    assert_int_equal(pod_member_due(m, 12 * S), MEMBER_DO_POST);
    pod_member_sent(m, MEMBER_DO_POST, NULL);
    pod_member_answered(m, MEMBER_CREATED, 20 * S);
    assert_int_equal(pod_member_due(m, 35 * S - 1), MEMBER_DO_NOTHING);
    assert_int_equal(pod_member_due(m, 35 * S), MEMBER_DO_GET);
    see(m, STOPPED("Running"), 36 * S);
    assert_int_equal(m->state.state, REPLICA_SUCCEEDED);
    pod_member_remove(m, false, 40 * S);
    assert_int_equal(pod_member_due(m, 43 * S - 1), MEMBER_DO_NOTHING);
    assert_int_equal(pod_member_due(m, 43 * S), MEMBER_DO_DELETE);
    see(m, STOPPED("Succeeded"), 41 * S);
    assert_int_equal(pod_member_due(m, 41 * S), MEMBER_DO_DELETE); /* its phase was waited for */
    pod_member_sent(m, MEMBER_DO_DELETE, NULL);
    pod_member_answered(m, MEMBER_TRY_AGAIN, 50 * S);
    see(m, STOPPED("Succeeded"), 51 * S);
    assert_int_equal(pod_member_due(m, 52 * S - 1), MEMBER_DO_NOTHING); /* not told anything new */
    assert_int_equal(pod_member_due(m, 52 * S), MEMBER_DO_DELETE);
    pod_member_sent(m, MEMBER_DO_DELETE, NULL);
    pod_member_answered(m, MEMBER_DELETED, 60 * S);
    const struct member_limits limits = {1000, 1000, 1000, 0};
    pod_member_time_out(m, &limits, 90 * S);
    assert_int_equal(m->life, MEMBER_DYING_DELETED);
    pod_member_time_out(m, &limits, 90 * S + 1);
    assert_int_equal(m->life, MEMBER_DYING_UNKNOWN); /* to be looked up */
    assert_null(m->uid);
    assert_int_equal(pod_member_due(m, 90 * S + 1), MEMBER_DO_GET);
}

static int64_t date_ms(const char *text)
{
    int64_t ns;
    assert_int_equal(rfc3339_parse(text, strlen(text), &ns), 0);
    return ns / 1000000;
}

/* Another process made a pod at midnight, and it has ended when this one looks: the dates are those
 * of the container, but not before the pod was made and not in the future. */
TEST(dates_of_a_container)
{
    static const struct {
        const char *dates;
        const char *start, *end; /* NULL: now */
    } rows[] = {
        {"\"startedAt\":\"2026-01-01T00:30:00Z\",\"finishedAt\":\"2026-01-01T00:40:00Z\"",
         "2026-01-01T00:30:00Z", "2026-01-01T00:40:00Z"},
        {"\"startedAt\":\"2025-12-31T23:00:00Z\",\"finishedAt\":\"2026-01-01T00:40:00Z\"",
         "2026-01-01T00:00:00Z", "2026-01-01T00:40:00Z"},
        {"\"startedAt\":\"2026-01-01T00:30:00Z\",\"finishedAt\":\"2026-01-01T00:20:00Z\"",
         "2026-01-01T00:30:00Z", "2026-01-01T00:30:00Z"},
        {"\"startedAt\":\"2199-01-01T00:00:00Z\",\"finishedAt\":\"2199-01-01T00:00:10Z\"", NULL,
         NULL},
        {"\"startedAt\":null", NULL, "1970-01-01T00:00:00Z"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        _cleanup_(freep) char *status =
            xasprintf("{\"phase\":\"Running\",\"containerStatuses\":[{\"name\":\"main\","
                      "\"containerID\":\"c\",\"state\":{\"terminated\":{\"exitCode\":0,%s}}}]}",
                      rows[i].dates);
        json_t *p = pod(status);
        json_object_set_new(p, "metadata",
                            json_pack("{s:s}", "creationTimestamp", "2026-01-01T00:00:00Z"));
        const int64_t before_ms = clock_steady_unix_ms();
        _cleanup_(freep) struct pod_facts *facts = facts_of(p);
        struct pod_member *m = pod_member_adopt(NULL, "r", &trainer, "u1", facts, 0);
        const int64_t after_ms = clock_steady_unix_ms();
        const int64_t start_ms = pod_member_started_unix_ms(m);
        const int64_t end_ms = pod_member_finished_unix_ms(m);
        if (rows[i].start != NULL) {
            assert_true(start_ms == date_ms(rows[i].start));
        } else {
            assert_true(start_ms >= before_ms && start_ms <= after_ms);
        }
        if (rows[i].end != NULL) {
            assert_true(end_ms == date_ms(rows[i].end));
        } else {
            assert_true(end_ms >= before_ms && end_ms <= after_ms);
        }
        pod_member_free(m);
    }
}

TEST(waits_count_from_their_first_sight)
{
    static const struct {
        const char *status;
        struct member_limits limits;
        int64_t limit_s;
        enum failure_class failure;
    } rows[] = {{NO_IMAGE, {0, 30 * 1000, 0, 0}, 30, FAILURE_PERMANENT},
                {NO_CONTAINER, {0, 30 * 1000, 0, 0}, 30, FAILURE_PERMANENT},
                /* where they wait for a place, what the gang holds counts */
                {NO_NODE, {DAY_MS, 0, 0, POD_HALF_GANG_MS}, 1000000, FAILURE_NONE},
                {NO_NODE, {DAY_MS, 0, 0, POD_HALF_GANG_MS + 1}, -1, FAILURE_NO_ROOM},
                {GATED, {DAY_MS, 0, 0, POD_HALF_GANG_MS}, 1000000, FAILURE_NONE},
                {GATED, {DAY_MS, 0, 0, POD_HALF_GANG_MS + 1}, -1, FAILURE_NO_ROOM}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        _cleanup_(pod_member_freep) struct pod_member *m = pod_member_new(NULL, "r", &trainer);
        see(m, rows[i].status, 100 * S);
        see(m, rows[i].status, 125 * S); /* the same again does not start it anew */
        if (rows[i].limit_s > 0) {
            pod_member_time_out(m, &rows[i].limits, (100 + rows[i].limit_s) * S);
        }
        assert_int_equal(m->state.state, REPLICA_PENDING);
        pod_member_time_out(m, &rows[i].limits, (100 + rows[i].limit_s) * S + 1);
        assert_int_equal(m->state.failure, rows[i].failure);
        assert_non_null(m->state.message);
    }
}

/* Whichever process looks, the limit of a run counts from the date of the pod: before that its
 * attempt may have waited for the pods of others. */
TEST(a_place_is_waited_for_since_the_pod_was_made)
{
    static const struct {
        const char *status;
        bool is_adopted;
        int64_t limit_ms;
        const char *message; /* NULL: it waits on */
    } rows[] = {
        {NO_NODE, true, DAY_MS,
         "waited 86400 s (scheduling.waitSeconds): no node fits the pod: 0/3 nodes"},
        {GATED, true, DAY_MS,
         "waited 86400 s (scheduling.waitSeconds): queue 'q' has not admitted the pod"},
        {NO_NODE, true, 1000000 * DAY_MS, NULL},
        {NO_NODE, false, DAY_MS, NULL}, /* wanted long ago, created just now */
        {NO_IMAGE, true, DAY_MS, NULL},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const struct member_limits limits = {rows[i].limit_ms, DAY_MS, DAY_MS, 0};
        json_t *p = pod(rows[i].status);
        json_object_set_new(
            p, "metadata",
            json_pack("{s:s, s:{s:s}}", "creationTimestamp",
                      rows[i].is_adopted ? "2026-01-01T00:00:00Z" : "2199-01-01T00:00:00Z",
                      "labels", "kueue.x-k8s.io/queue-name", "q"));
        _cleanup_(freep) struct pod_facts *facts = facts_of(p);
        _cleanup_(pod_member_freep) struct pod_member *m =
            rows[i].is_adopted ? pod_member_adopt(NULL, "r", &trainer, "u1", facts, 0)
                               : pod_member_new(NULL, "r", &trainer);
        m->made_unix_ms = rows[i].is_adopted ? m->made_unix_ms : 1;
        pod_member_seen(m, "u1", facts, 0);
        pod_member_time_out(m, &limits, 1);
        assert_int_equal(m->state.failure,
                         rows[i].message == NULL ? FAILURE_NONE : FAILURE_WAIT_OVER);
        if (rows[i].message != NULL) {
            assert_string_equal(m->state.message, rows[i].message);
            pod_member_remove(m, true, 2); /* and its pod must not start later */
            assert_int_equal(m->life, MEMBER_DYING_DUE);
        }
    }
}

/* Ten thousand of them run in one gang. */
TEST(one_that_runs_takes_few_bytes)
{
    enum { N = 200 };
    struct pod_member *members[N];
    (void)malloc_trim(0);
    const size_t before_bytes = mallinfo2().uordblks;
    for (size_t i = 0; i < N; i++) {
        members[i] = pod_member_new(NULL, "r", &trainer);
        see(members[i], RUNNING_AT("10.0.0.1"), 100 * S);
        assert_int_equal(members[i]->state.state, REPLICA_RUNNING);
    }
    const size_t a_member_bytes = (mallinfo2().uordblks - before_bytes) / N;
    for (size_t i = 0; i < N; i++) {
        pod_member_free(members[i]);
    }
    if (a_member_bytes > 650) { /* under a sanitizer: always 0 */
        fail_msg("%zu bytes a member", a_member_bytes);
    }
}

TEST(another_wait_counts_anew)
{
    _cleanup_(pod_member_freep) struct pod_member *m = pod_member_new(NULL, "r", &trainer);
    const struct member_limits limits = {DAY_MS, 30 * 1000, 30 * 1000, 0};
    see(m, NO_NODE, 100 * S);
    see(m, NO_IMAGE, 120 * S);
    pod_member_time_out(m, &limits, 140 * S);
    assert_int_equal(m->state.state, REPLICA_PENDING);
    see(m, PENDING, 145 * S);
    pod_member_time_out(m, &limits, 1000 * S);
    assert_int_equal(m->state.state, REPLICA_PENDING);
}

TEST(what_is_news)
{
    static const struct {
        const char *name, *status;
        bool is_news;
    } rows[] = {
        {"it runs", RUNNING_AT("10.0.0.1"), true},
        {"nothing new", RUNNING_AT("10.0.0.1"), false},
        {"another address", RUNNING_AT("10.0.0.2"), true},
        {"its end", STOPPED("Running"), true},
        {"after its end", STOPPED("Succeeded"), false},
    };
    _cleanup_(pod_member_freep) struct pod_member *m = pod_member_new(NULL, "r", &trainer);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        m->has_news = false;
        see(m, rows[i].status, 1);
        if (m->has_news != rows[i].is_news) {
            fail_msg("%s: %d", rows[i].name, m->has_news);
        }
    }
    m->has_news = false;
    pod_member_vanished(m, 1); /* how it ended is known */
    assert_false(m->has_news);
    assert_int_equal(m->state.state, REPLICA_SUCCEEDED);
    assert_int_equal(m->life, MEMBER_THERE);
}

TEST(only_ends_are_forgotten)
{
    for (int has_ended = 0; has_ended < 2; has_ended++) {
        _cleanup_(pod_member_freep) struct pod_member *m = pod_member_new(NULL, "r", &trainer);
        see(m, has_ended ? STOPPED("Succeeded") : RUNNING_AT("10.0.0.1"), 1);
        pod_member_remove(m, true, 2);
        assert_int_equal(m->life, has_ended ? MEMBER_GONE : MEMBER_DYING_DUE);
    }
}

TEST(a_state_without_a_call_cancels_it)
{
    fake_kube_reset();
    _cleanup_(pod_member_freep) struct pod_member *m = pod_member_new(NULL, "r", &trainer);
    struct kube_request req = {0};
    pod_member_sent(m, MEMBER_DO_POST, kube_call(NULL, &req, NULL, NULL, NULL));
    see(m, PENDING, 1);
    assert_int_equal(m->life, MEMBER_SHOWN);
    assert_int_equal(fake_kube_n_open(), 1);
    pod_member_vanished(m, 2);
    assert_int_equal(m->state.state, REPLICA_LOST);
    assert_int_equal(m->state.failure, FAILURE_INFRASTRUCTURE);
    assert_int_equal(fake_kube_n_open(), 0);
    assert_null(m->call);
}

/* ---- answers that pass ---- */

static const struct kube_response no_right = {
    .http_code = 403,
    .content_type = "application/json",
    .body =
        "{\"kind\":\"Status\",\"reason\":\"Forbidden\",\"code\":403,"
        "\"message\":\"pods is forbidden: User \\\"u\\\" cannot create resource \\\"pods\\\"\"}",
};

static bool is_denied_for_now(struct pod_denial *denial, int64_t now_ns)
{
    struct kube_response res = no_right;
    res.body_len = strlen(res.body);
    return pod_answer_is_transient(denial, -EACCES, &res, now_ns);
}

TEST(a_denial_counts_from_the_first)
{
    struct pod_denial denial = {.wait_ms = 12 * 1000};
    assert_true(is_denied_for_now(&denial, 100 * S));
    assert_true(is_denied_for_now(&denial, 111 * S)); /* does not start it anew */
    assert_false(is_denied_for_now(&denial, 112 * S));
    pod_denial_clear(&denial);
    assert_true(is_denied_for_now(&denial, 113 * S));
    assert_true(is_denied_for_now(&denial, 124 * S));
    assert_false(is_denied_for_now(&denial, 125 * S));
    const struct kube_response full = {.http_code = 403, .body = ""};
    assert_true(pod_answer_is_transient(&denial, -EDQUOT, &full, 125 * S));
    assert_true(is_denied_for_now(&denial, 126 * S)); /* a quota is looked at only with the right */
}

TEST(failures_that_pass)
{
    static const struct {
        const char *name;
        int r;
        bool is_transient;
        int http_code; /* 0: 403 */
    } rows[] = {
        {"no route", -EHOSTUNREACH, true},
        {"reset", -ECONNRESET, true},
        {"time-out", -ETIMEDOUT, true},
        {"5xx", -EIO, true},
        {"429", -EBUSY, true},
        {"TLS", -EPROTO, true},
        {"invalid", -EINVAL, false},
        {"quota", -EDQUOT, true},
        {"admission", -EACCES, false},
        {"not found", -ENOENT, false},
        {"a quota counted for another pod", -ESTALE, true, 409},
        {"expired", -ESTALE, false, 410},
        {"success", 0, false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const struct kube_response res = {
            .http_code = rows[i].http_code ?: 403, .content_type = "", .body = ""};
        struct pod_denial denial = {.wait_ms = 1000};
        if (pod_answer_is_transient(&denial, rows[i].r, &res, 1) != rows[i].is_transient) {
            fail_msg("%s: expected %d", rows[i].name, rows[i].is_transient);
        }
    }
}

TEST(pauses_become_longer)
{
    static const struct {
        const char *name;
        int r;
        unsigned n_before;
        int64_t retry_after_s, wait_s;
    } rows[] = {
        {"quota, first", -EDQUOT, 0, -1, 2},
        {"quota, third", -EDQUOT, 2, -1, 8},
        {"quota, for long", -EDQUOT, 100, -1, 32},
        {"a broken webhook", -EIO, 3, -1, 16},
        {"overload says when", -EBUSY, 0, 20, 20},
        {"no sooner than it says, and no sooner than we would", -EBUSY, 4, 20, 32},
        {"no longer than 5 min", -EBUSY, 0, 100000, 300},
        {"at once: no", -EBUSY, 0, 0, 2},
        {"away", -EHOSTUNREACH, 100, -1, 8},
        {"a right is missing", -EACCES, 100, -1, 2},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const struct kube_response res = {.retry_after_s = rows[i].retry_after_s};
        const int64_t wait_ns = pod_answer_wait_ns(rows[i].n_before, rows[i].r, &res);
        if (wait_ns != rows[i].wait_s * S) {
            fail_msg("%s: %lld s, expected %lld s", rows[i].name, (long long)(wait_ns / S),
                     (long long)rows[i].wait_s);
        }
    }
}
