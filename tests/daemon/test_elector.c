/* The elector with a client without a network and with a clock of the test's own: a stop at any
 * moment of a renewal gives the Lease up. The machine itself: tests/kube/test_lease.c. */
#include <uv.h>

#include "tests/test.h"
#include "daemon/cluster/elector.h"
#include "fake_kube.h"
#include "base/rfc3339.h"

#define S_NS INT64_C(1000000000)

static uv_loop_t loop;

struct uv_loop_s *kube_client_loop(const struct kube_client *c)
{
    (void)c;
    return &loop;
}

/* The clock that the elector reads and the one timer that it starts; meson.build has the linker
 * take these. Time passes only in turn(). */
static int64_t now_ns;
static struct {
    uv_timer_t *handle; /* NULL: not started */
    uv_timer_cb on_timer;
    int64_t due_ns;
} timer;

int64_t __wrap_clock_boottime_ns(void);
int64_t __wrap_clock_boottime_ns(void)
{
    return now_ns;
}

/* The date: the machine's, and as this process counts it. */
static int64_t unix_ms, steady_unix_ms;

int64_t __wrap_clock_unix_ms(void);
int64_t __wrap_clock_unix_ms(void)
{
    return unix_ms;
}

int64_t __wrap_clock_steady_unix_ms(void);
int64_t __wrap_clock_steady_unix_ms(void)
{
    return steady_unix_ms;
}

int __wrap_uv_timer_start(uv_timer_t *handle, uv_timer_cb on_timer, uint64_t wait_ms,
                          uint64_t repeat_ms);
int __wrap_uv_timer_start(uv_timer_t *handle, uv_timer_cb on_timer, uint64_t wait_ms,
                          uint64_t repeat_ms)
{
    assert_int_equal(repeat_ms, 0);
    timer.handle = handle;
    timer.on_timer = on_timer;
    timer.due_ns = now_ns + (int64_t)wait_ms * 1000000;
    return 0;
}

int __wrap_uv_timer_stop(uv_timer_t *handle);
int __wrap_uv_timer_stop(uv_timer_t *handle)
{
    assert_true(timer.handle == NULL || timer.handle == handle);
    timer.handle = NULL;
    return 0;
}

struct world {
    struct elector *elector;
    unsigned version; /* of the Lease on the server */
    unsigned n_changes, n_done;
};

static void on_change(void *ctx)
{
    ((struct world *)ctx)->n_changes++;
}

static void on_done(void *ctx)
{
    ((struct world *)ctx)->n_done++;
}

/* Lets the time pass until the timer fires. */
static void turn(void)
{
    uv_timer_t *handle = timer.handle;
    assert_non_null(handle); /* else the elector would sleep for ever */
    timer.handle = NULL;
    now_ns = timer.due_ns;
    timer.on_timer(handle);
}

#define TURNS_MAX 100

static struct kube_call *next_call(void)
{
    for (int i = 0; i < TURNS_MAX && fake_kube_open(0) == NULL; i++) {
        turn();
    }
    struct kube_call *call = fake_kube_open(0);
    assert_non_null(call);
    return call;
}

static void run_until_done(const struct world *w)
{
    for (int i = 0; i < TURNS_MAX && w->n_done == 0; i++) {
        turn();
    }
    if (w->n_done != 1) {
        fail_msg("expected one end of the release within %d turns, got %u", TURNS_MAX, w->n_done);
    }
}

/* As an API server that has the version `w->version` answers a write. */
static void answer_write(struct world *w, struct kube_call *call)
{
    _cleanup_(json_decrefp) json_t *lease = json_loads(call->req.body, 0, NULL);
    json_t *metadata = json_object_get(lease, "metadata");
    const char *version = json_string_value(json_object_get(metadata, "resourceVersion"));
    char expected[16] = "";
    if (call->req.method == KUBE_PUT) {
        (void)snprintf(expected, sizeof(expected), "%u", w->version);
        assert_string_equal(version, expected);
    }
    (void)snprintf(expected, sizeof(expected), "%u", ++w->version);
    json_object_set_new(metadata, "resourceVersion", json_string(expected));
    _cleanup_(freep) char *body = json_dumps(lease, 0);
    fake_kube_answer(call, 0, body);
}

static const char *holder_in(const struct kube_call *call)
{
    static char holder[16];
    _cleanup_(json_decrefp) json_t *lease = json_loads(call->req.body, 0, NULL);
    const char *text =
        json_string_value(json_object_get(json_object_get(lease, "spec"), "holderIdentity"));
    (void)snprintf(holder, sizeof(holder), "%s", text == NULL ? "?" : text);
    return holder;
}

/* Leader, with the next renewal open. */
static struct kube_call *lead(struct world *w)
{
    const struct kube_lease_params params = {
        .ns = "n", .name = "benchd", .identity = "me", .retry_ns = S_NS / 20, .seed = 1};
    w->elector = elector_new(NULL, &params, on_change, w);
    fake_kube.http_code = 404;
    fake_kube_answer(next_call(), -ENOENT, "{}");
    answer_write(w, next_call());
    assert_true(elector_may_write(w->elector));
    assert_int_equal(w->n_changes, 1);
    return next_call();
}

static struct world *world_new(void)
{
    fake_kube_reset();
    assert_int_equal(uv_loop_init(&loop), 0);
    now_ns = S_NS;
    timer.handle = NULL;
    return xnew(struct world);
}

static void world_freep(struct world **p)
{
    struct world *w = *p;
    elector_free(w->elector);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
    assert_int_equal(fake_kube_n_open(), 0);
    fake_kube_reset();
    free(w);
}

TEST(test_stop_between_renewals)
{
    _cleanup_(world_freep) struct world *w = world_new();
    answer_write(w, lead(w));
    elector_release(w->elector, on_done, w);
    assert_false(elector_may_write(w->elector));
    struct kube_call *call = next_call();
    assert_string_equal(holder_in(call), "");
    assert_int_equal(w->n_done, 0);
    answer_write(w, call);
    run_until_done(w);
    assert_int_equal(w->n_changes, 1); /* on_change reports no loss */
}

TEST(test_stop_while_renewing)
{
    _cleanup_(world_freep) struct world *w = world_new();
    struct kube_call *renewal = lead(w);
    elector_release(w->elector, on_done, w);
    turn();
    assert_true(renewal->is_open); /* else nobody would know the version */
    assert_int_equal(fake_kube_n_open(), 1);
    answer_write(w, renewal);
    struct kube_call *call = next_call();
    assert_string_equal(holder_in(call), "");
    answer_write(w, call);
    run_until_done(w);
}

TEST(test_stop_when_nothing_answers)
{
    _cleanup_(world_freep) struct world *w = world_new();
    (void)lead(w);
    const int64_t before_ns = now_ns;
    elector_release(w->elector, on_done, w);
    run_until_done(w);
    /* The timer counts whole milliseconds. */
    assert_in_range(now_ns - before_ns, 4 * S_NS, 4 * S_NS + 1000000);
    assert_int_equal(fake_kube_n_open(), 0);
}

TEST(test_stop_before_leading)
{
    _cleanup_(world_freep) struct world *w = world_new();
    const struct kube_lease_params params = {.ns = "n", .name = "benchd", .identity = "me"};
    w->elector = elector_new(NULL, &params, on_change, w);
    elector_release(w->elector, on_done, w);
    assert_int_equal(w->n_done, 0); /* never from inside the call */
    run_until_done(w);
    assert_int_equal(fake_kube.n, 0);
}

#define IN_2026 INT64_C(1790000000000)
#define IN_2100 INT64_C(4102444800000)

/* What cannot be taken back is done only when two clocks say that it is time. */
TEST(test_the_earlier_clock_counts)
{
    _cleanup_(world_freep) struct world *w = world_new();
    unix_ms = steady_unix_ms = IN_2026;
    struct kube_call *call = lead(w); /* without a Date there is no second clock */
    assert_int_equal(elector_careful_unix_ms(w->elector), IN_2026);
    static const struct {
        const char *name;
        int64_t machine_ms, steady_ms, server_ms, careful_ms;
    } rows[] = {
        {"all agree", IN_2026, IN_2026, IN_2026 + 900, IN_2026},
        {"this machine says 2100", IN_2100, IN_2100, IN_2026, IN_2026},
        {"the server says 2100", IN_2026, IN_2026, IN_2100, IN_2026},
        {"this machine says 1970", 1000, 1000, IN_2026, 1000},
        {"the server says 1970", IN_2026, IN_2026, 1000, 1000},
        {"set to 2100 since the start", IN_2100, IN_2026, IN_2026, IN_2026},
        {"set right since the start", IN_2026, IN_2100, IN_2026, IN_2026},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        print_message("# row '%s'\n", rows[i].name);
        answer_write(w, call); /* the renewal before: its date was that of its sending */
        unix_ms = rows[i].machine_ms;
        steady_unix_ms = rows[i].steady_ms;
        fake_kube.date_unix_ms = rows[i].server_ms;
        call = next_call();
        answer_write(w, call);
        assert_int_equal(elector_careful_unix_ms(w->elector), rows[i].careful_ms);
        call = next_call();
    }
}

static int64_t renewal_unix_ms(const struct kube_call *call)
{
    _cleanup_(json_decrefp) json_t *lease = json_loads(call->req.body, 0, NULL);
    const char *text =
        json_string_value(json_object_get(json_object_get(lease, "spec"), "renewTime"));
    int64_t unix_ns = 0;
    assert_non_null(text);
    assert_int_equal(rfc3339_parse(text, strlen(text), &unix_ns), 0);
    return unix_ns / (S_NS / 1000);
}

/* Else benchctl would take the leader for one with a wrong clock until the next answer. */
TEST(test_who_sets_the_clock_moves_no_renewal)
{
    _cleanup_(world_freep) struct world *w = world_new();
    unix_ms = steady_unix_ms = IN_2026;
    fake_kube.date_unix_ms = IN_2026;
    answer_write(w, lead(w));
    unix_ms = IN_2100; /* and no answer has come since */
    assert_int_equal(renewal_unix_ms(next_call()), IN_2026);
}
