/* A client that may not write: what changes something waits, what reads and the Lease do not.
 * Nobody listens at its server, so each call that is started ends at once. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <uv.h>

#include "base/vec.h"
#include "cmocka_kube.h"
#include "kube/client.h"

struct world {
    uv_loop_t loop;
    struct kube_client *client;
    bool may_write;
    unsigned n_ended;
    int r; /* of the last one */
};

static bool ask(void *ctx)
{
    return ((struct world *)ctx)->may_write;
}

static void on_done(void *ctx, int r, const struct kube_response *res, const struct err *err)
{
    (void)res;
    (void)err;
    struct world *w = ctx;
    w->n_ended++;
    w->r = r;
}

static struct world *world_at(const char *url)
{
    static struct world w;
    w = (struct world){0};
    _cleanup_(freep) char *server = xstrdup(url);
    const struct kube_config config = {.server = server};
    const struct kube_client_params params = {
        .loop = &w.loop, .config = &config, .user_agent = "test/1"};
    struct err err;
    assert_int_equal(0, uv_loop_init(&w.loop));
    assert_int_equal(0, kube_client_new(&params, &w.client, &err));
    kube_client_set_guard(w.client, ask, &w);
    return &w;
}

static struct world *world_new(int port)
{
    char server[32];
    (void)snprintf(server, sizeof(server), "http://127.0.0.1:%d", port);
    return world_at(server);
}

static void world_done(struct world **p)
{
    struct world *w = *p;
    kube_client_free(w->client);
    (void)uv_run(&w->loop, UV_RUN_DEFAULT);
    assert_int_equal(0, uv_loop_close(&w->loop));
}

static void on_deadline(uv_timer_t *timer)
{
    uv_stop(timer->loop);
    uv_close((uv_handle_t *)timer, NULL);
}

static void run_for(struct world *w, uint64_t ms)
{
    uv_timer_t timer;
    assert_int_equal(0, uv_timer_init(&w->loop, &timer));
    assert_int_equal(0, uv_timer_start(&timer, on_deadline, ms, 0));
    (void)uv_run(&w->loop, UV_RUN_DEFAULT);
    (void)uv_run(&w->loop, UV_RUN_NOWAIT); /* its close callback */
}

static void send_once(struct world *w, struct kube_request *req)
{
    const struct kube_call_options once = {.max_tries = 1};
    (void)kube_call(w->client, req, &once, on_done, w);
}

TEST(test_a_write_waits)
{
    _cleanup_(world_done) struct world *w = world_new(1);
    struct kube_request req;
    kube_request_delete(&kube_pods, "benchd", "a", "uid", -1, &req);
    send_once(w, &req);
    run_for(w, 50);
    assert_int_equal(0, w->n_ended);
    struct kube_client_stats stats;
    kube_client_get_stats(w->client, &stats);
    assert_int_equal(0, stats.requests);
    assert_int_equal(1, stats.queued);
    w->may_write = true;
    run_for(w, 1000);
    assert_int_equal(1, w->n_ended);
    assert_int_equal(-EHOSTUNREACH, w->r);
    kube_client_get_stats(w->client, &stats);
    assert_int_equal(1, stats.traffic.answers[KUBE_DELETE][KUBE_N_CODES - 1]); /* none came */
}

TEST(test_the_host_of_the_server)
{
    static const struct {
        const char *url, *host;
    } rows[] = {
        {"https://10.0.0.1:443", "10.0.0.1:443"},
        {"https://[::1]:6443/base/path", "[::1]:6443"},
        {"https://a.example.com", "a.example.com"},
        {"https://user:secret@a.example.com:1/x@y", "a.example.com:1"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(world_done) struct world *w = world_at(rows[i].url);
        struct kube_client_stats stats;
        kube_client_get_stats(w->client, &stats);
        assert_string_equal(stats.host, rows[i].host);
    }
}

TEST(test_a_read_does_not)
{
    _cleanup_(world_done) struct world *w = world_new(1);
    struct kube_request req;
    kube_request_delete(&kube_pods, "benchd", "a", "uid", -1, &req);
    send_once(w, &req); /* nor is it in the way */
    kube_request_get(&kube_pods, "benchd", "a", &req);
    send_once(w, &req);
    run_for(w, 1000);
    assert_int_equal(1, w->n_ended);
}

TEST(test_the_lease_does_not)
{
    _cleanup_(world_done) struct world *w = world_new(1);
    struct kube_request req;
    json_t *lease = json_pack("{s:{s:s}}", "metadata", "name", "benchd");
    kube_request_update(&kube_leases, "benchd", lease, &req);
    json_decref(lease);
    req.priority = KUBE_URGENT;
    send_once(w, &req);
    run_for(w, 1000);
    assert_int_equal(1, w->n_ended);
}

/* A client with nothing to do keeps no loop going. */
TEST(test_a_call_that_is_cancelled_leaves_no_timer)
{
    _cleanup_(world_done) struct world *w = world_new(1);
    struct kube_request req;
    kube_request_get(&kube_pods, "benchd", "a", &req);
    struct kube_call *call = kube_call(w->client, &req, NULL, on_done, w);
    assert_true(uv_loop_alive(&w->loop));
    kube_call_cancel(call);
    assert_false(uv_loop_alive(&w->loop));
}

/* A peer that is gone sends nothing: TCP itself must notice. */
TEST(test_connections_notice_a_lost_peer)
{
    static const int rows[][3] = {{SOL_SOCKET, SO_KEEPALIVE, 1},
                                  {IPPROTO_TCP, TCP_KEEPIDLE, 15},
                                  {IPPROTO_TCP, TCP_KEEPINTVL, 5},
                                  {IPPROTO_TCP, TCP_USER_TIMEOUT, 30000}};
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}}, peer;
    socklen_t len = sizeof(at);
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&at, len), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &len), 0);
    _cleanup_(world_done) struct world *w = world_new(ntohs(at.sin_port));
    struct kube_request req;
    kube_request_get(&kube_pods, "benchd", "a", &req);
    send_once(w, &req);
    int accepted, fd = 0, value;
    while ((accepted = accept(listener, NULL, NULL)) < 0) {
        (void)uv_run(&w->loop, UV_RUN_ONCE);
    }
    while (getpeername(fd, (struct sockaddr *)&peer, &len) < 0 || peer.sin_port != at.sin_port) {
        assert_in_range(++fd, 1, 1023); /* it is the client's end that is looked for */
        len = sizeof(peer);
    }
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        len = sizeof(value);
        assert_int_equal(getsockopt(fd, rows[i][0], rows[i][1], &value, &len), 0);
        assert_int_equal(value, rows[i][2]);
    }
    assert_int_equal(close(accepted), 0);
    assert_int_equal(close(listener), 0);
}
