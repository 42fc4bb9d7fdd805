/* The daemon is freed during a name lookup, which cannot be cut short: its memory must live until
 * the lookup ends. A fault shows under AddressSanitizer. */
#include <netdb.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "tests/test.h"
#include "base/clock.h"
#include "daemon/daemon.h"
#include "daemon/daemon_internal.h"
#include "daemon/loop_meter.h"
#include "daemon/cluster/key.h"
#include "daemon/web/daemon_view.h"

static sem_t is_looking, may_answer;

static int answer = EAI_FAIL; /* of the lookup; its third one finds the name if it is EAI_AGAIN */
static atomic_int n_lookups;

/* libuv's lookups come here instead of to the C library. */
int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                struct addrinfo **ret)
{
    (void)node, (void)service, (void)hints;
    (void)sem_post(&is_looking);
    (void)sem_wait(&may_answer);
    *ret = NULL;
    return atomic_fetch_add(&n_lookups, 1) == 2 && answer == EAI_AGAIN ? 0 : answer;
}

static int keep_nothing(struct store *s, int64_t bytes, struct err *err)
{
    (void)s, (void)bytes, (void)err;
    return 0;
}

static void get_nothing(struct store *s, struct store_space *ret)
{
    (void)s;
    *ret = (struct store_space){0};
}

static void never_stops(void *ctx)
{
    (void)ctx;
    fail_msg("on_stop was called");
}

struct world {
    uv_loop_t loop;
    struct daemon_view *view;
    struct daemon *daemon;
};

static void start(struct world *w)
{
    static const unsigned char key[KEY_SIZE];
    static const struct options options;
    static const struct kube_config config = {.server = (char *)"https://127.0.0.1:1"};
    static const struct store_ops ops = {.keep_reserve = keep_nothing, .get_space = get_nothing};
    static struct store store = {&ops};
    static const struct loop_meter meter;
    w->view = daemon_view_new();
    atomic_store(&n_lookups, 0);
    assert_int_equal(uv_loop_init(&w->loop), 0);
    assert_int_equal(sem_init(&is_looking, 0, 0), 0);
    assert_int_equal(sem_init(&may_answer, 0, 0), 0);
    const struct daemon_params params = {.loop = &w->loop,
                                         .options = &options,
                                         .config = &config,
                                         .ns = "ns",
                                         .identity = "me",
                                         .key = key,
                                         .store = &store,
                                         .view = w->view,
                                         .meter = &meter,
                                         .on_stop = never_stops};
    assert_int_equal(daemon_new(&params, &w->daemon, NULL), 0);
    daemon_start(w->daemon, "service");
    (void)uv_run(&w->loop, UV_RUN_NOWAIT);
}

static void end(struct world *w)
{
    (void)uv_run(&w->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&w->loop), 0);
    daemon_view_free(w->view);
    (void)sem_destroy(&is_looking);
    (void)sem_destroy(&may_answer);
}

TEST(ends_during_a_lookup)
{
    _cleanup_(end) struct world w;
    start(&w);
    assert_int_equal(sem_wait(&is_looking), 0);
    daemon_free(w.daemon);
    for (int i = 0; i < 3; i++) { /* every handle closes */
        (void)uv_run(&w.loop, UV_RUN_NOWAIT);
    }
    assert_int_equal(sem_post(&may_answer), 0);
}

/* Cluster DNS that starts after benchd: its silence is no answer. */
TEST(asks_again_for_a_name)
{
    _cleanup_(end) struct world w;
    answer = EAI_AGAIN;
    start(&w);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(sem_post(&may_answer), 0);
    }
    const int64_t end_ns = clock_monotonic_ns() + INT64_C(60000000000);
    while (!w.daemon->is_dns_known && clock_monotonic_ns() < end_ns) {
        (void)uv_run(&w.loop, UV_RUN_ONCE);
    }
    assert_true(w.daemon->run_env.has_dns);
    assert_int_equal(atomic_load(&n_lookups), 3);
    daemon_free(w.daemon);
}
