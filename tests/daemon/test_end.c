/* The daemon is freed during a name lookup, which cannot be cut short: its memory must live until
 * the lookup ends. A fault shows under AddressSanitizer. */
#include <netdb.h>
#include <semaphore.h>

#include "tests/test.h"
#include "daemon/daemon.h"
#include "daemon/key.h"
#include "daemon/web/inspect.h"

static sem_t is_looking, may_answer;

/* libuv's lookups come here instead of to the C library. */
int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                struct addrinfo **ret)
{
    (void)node, (void)service, (void)hints, (void)ret;
    (void)sem_post(&is_looking);
    (void)sem_wait(&may_answer);
    return EAI_FAIL;
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

TEST(ends_during_a_lookup)
{
    static const unsigned char key[KEY_SIZE];
    const struct options options = {.lease_name = "benchd"};
    const struct kube_config config = {.server = (char *)"https://127.0.0.1:1"};
    static const struct store_ops ops = {.keep_reserve = keep_nothing, .get_space = get_nothing};
    struct store store = {&ops};
    struct daemon_view *view = daemon_view_new();
    uv_loop_t loop;
    struct daemon *d;
    assert_int_equal(uv_loop_init(&loop), 0);
    assert_int_equal(sem_init(&is_looking, 0, 0), 0);
    assert_int_equal(sem_init(&may_answer, 0, 0), 0);
    const struct daemon_params params = {.loop = &loop,
                                         .options = &options,
                                         .config = &config,
                                         .ns = "ns",
                                         .identity = "me",
                                         .key = key,
                                         .store = &store,
                                         .view = view,
                                         .on_stop = never_stops};
    assert_int_equal(daemon_new(&params, &d, NULL), 0);
    daemon_start(d, "service");
    (void)uv_run(&loop, UV_RUN_NOWAIT);
    assert_int_equal(sem_wait(&is_looking), 0);
    daemon_free(d);
    for (int i = 0; i < 3; i++) { /* every handle closes */
        (void)uv_run(&loop, UV_RUN_NOWAIT);
    }
    assert_int_equal(sem_post(&may_answer), 0);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
    daemon_view_free(view);
    (void)sem_destroy(&is_looking);
    (void)sem_destroy(&may_answer);
}
