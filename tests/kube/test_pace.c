/* Logs that are printed without end, over real connections: how much of them the loop takes before
 * it turns to something else, and that a request does not wait for their end. */
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <uv.h>

#include "cmocka_kube.h"
#include "kube/client.h"

#define N_LOGS 3
#define LOG_BYTES ((size_t)1 << 20)
#define PIECE_BYTES ((size_t)80 * 1024) /* 64 KiB, and what curl had in its hands */
#define REST_NS (8 * INT64_C(1000000))  /* 10 ms by a clock of whole milliseconds */

/* ---- a server with a thread for each connection ---- */

static void *serve_one(void *ctx)
{
    const int fd = (int)(intptr_t)ctx;
    char asked[4096] = "", piece[65536];
    size_t len = 0;
    while (strstr(asked, "\r\n\r\n") == NULL && len < sizeof(asked) - 1) {
        const ssize_t n = recv(fd, asked + len, sizeof(asked) - 1 - len, 0);
        if (n <= 0) {
            break;
        }
        len += (size_t)n;
        asked[len] = '\0';
    }
    static const char head[] = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n";
    (void)send(fd, head, sizeof(head) - 1, MSG_NOSIGNAL);
    memset(piece, 'x', sizeof(piece));
    const size_t most = strstr(asked, "/log") != NULL ? LOG_BYTES : 2;
    for (size_t sent = 0; sent < most;) {
        const size_t left = most - sent;
        const ssize_t n =
            send(fd, piece, left < sizeof(piece) ? left : sizeof(piece), MSG_NOSIGNAL);
        if (n <= 0) {
            break;
        }
        sent += (size_t)n;
    }
    (void)close(fd);
    return NULL;
}

static void *serve(void *ctx)
{
    const int listening = (int)(intptr_t)ctx;
    pthread_t threads[N_LOGS + 1];
    for (int i = 0; i < N_LOGS + 1; i++) {
        const int fd = accept(listening, NULL, NULL);
        assert_true(fd >= 0);
        assert_int_equal(0, pthread_create(&threads[i], NULL, serve_one, (void *)(intptr_t)fd));
    }
    for (int i = 0; i < N_LOGS + 1; i++) {
        assert_int_equal(0, pthread_join(threads[i], NULL));
    }
    return NULL;
}

static int listen_here(int *ret_port)
{
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(a);
    assert_int_equal(0, bind(fd, (struct sockaddr *)&a, sizeof(a)));
    assert_int_equal(0, listen(fd, N_LOGS + 1));
    assert_int_equal(0, getsockname(fd, (struct sockaddr *)&a, &len));
    *ret_port = ntohs(a.sin_port);
    return fd;
}

/* ---- what is seen of it ---- */

static struct {
    size_t in_piece, most_in_piece, total;
    unsigned n_ended;
    bool is_answered;
    uv_prepare_t before_poll;
    uv_check_t after_poll;
    uv_loop_t loop;
} seen;

static void end_piece(void)
{
    seen.most_in_piece = seen.in_piece > seen.most_in_piece ? seen.in_piece : seen.most_in_piece;
    seen.in_piece = 0;
}

/* A rest may end right after a poll, whose piece was another. */
static void on_prepare(uv_prepare_t *handle)
{
    (void)handle;
    end_piece();
}

static void on_check(uv_check_t *handle)
{
    (void)handle;
    end_piece();
}

static void stop_at_the_end(void)
{
    if (seen.n_ended == N_LOGS && seen.is_answered) {
        uv_stop(&seen.loop);
    }
}

static void on_data(void *ctx, const char *data, size_t len)
{
    (void)ctx, (void)data;
    seen.in_piece += len;
    seen.total += len;
}

static void on_again(void *ctx)
{
    (void)ctx;
    fail_msg("a request was sent again");
}

static void on_end(void *ctx, int r, const struct kube_response *res, const struct err *err)
{
    (void)ctx, (void)res;
    assert_string_equal(err->msg, "");
    assert_int_equal(r, 0);
    seen.n_ended++;
    stop_at_the_end();
}

static void on_answer(void *ctx, int r, const struct kube_response *res, const struct err *err)
{
    (void)ctx, (void)err;
    assert_int_equal(r, 0);
    assert_int_equal(res->body_len, 2);
    seen.is_answered = true;
    stop_at_the_end();
}

/* Two that are followed and one that is read once share the pace. */
static void ask(struct kube_client *client)
{
    static const struct kube_stream_ops ops = {.on_data = on_data, .on_end = on_end};
    struct kube_request req;
    for (int i = 0; i < N_LOGS - 1; i++) {
        kube_request_log("n", "a", &(struct kube_log_options){.follow = true}, &req);
        (void)kube_stream_open(client, &req, KUBE_POOL_FOLLOW, &ops, NULL);
    }
    kube_request_log("n", "a", &(struct kube_log_options){0}, &req);
    (void)kube_call(client, &req,
                    &(struct kube_call_options){
                        .pool = KUBE_POOL_FOLLOW, .on_data = on_data, .on_again = on_again},
                    on_end, NULL);
    kube_request_raw("/version", "ask", &req);
    (void)kube_call(client, &req, KUBE_ONCE, on_answer, NULL);
}

TEST(logs_are_read_in_small_pieces)
{
    int port;
    const int listening = listen_here(&port);
    pthread_t server;
    assert_int_equal(0, pthread_create(&server, NULL, serve, (void *)(intptr_t)listening));
    assert_int_equal(0, uv_loop_init(&seen.loop));
    assert_int_equal(0, uv_prepare_init(&seen.loop, &seen.before_poll));
    assert_int_equal(0, uv_prepare_start(&seen.before_poll, on_prepare));
    assert_int_equal(0, uv_check_init(&seen.loop, &seen.after_poll));
    assert_int_equal(0, uv_check_start(&seen.after_poll, on_check));
    char url[64];
    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%d", port);
    const struct kube_config config = {.server = url};
    struct kube_client *client;
    struct err err;
    assert_int_equal(0, kube_client_new(&(struct kube_client_params){.loop = &seen.loop,
                                                                     .config = &config,
                                                                     .user_agent = "test/1"},
                                        &client, &err));
    ask(client);
    const uint64_t began_ns = uv_hrtime();
    (void)uv_run(&seen.loop, UV_RUN_DEFAULT);
    const int64_t took_ns = (int64_t)(uv_hrtime() - began_ns);
    print_message("# at most %zu bytes in a piece, %zu in %lld ms\n", seen.most_in_piece,
                  seen.total, (long long)took_ns / 1000000);
    assert_int_equal(seen.total, N_LOGS * LOG_BYTES);
    assert_in_range(seen.most_in_piece, 1, PIECE_BYTES);
    assert_true(took_ns > (int64_t)(seen.total / PIECE_BYTES - 1) * REST_NS);
    kube_client_free(client);
    uv_close((uv_handle_t *)&seen.before_poll, NULL);
    uv_close((uv_handle_t *)&seen.after_poll, NULL);
    (void)uv_run(&seen.loop, UV_RUN_DEFAULT);
    assert_int_equal(0, uv_loop_close(&seen.loop));
    assert_int_equal(0, pthread_join(server, NULL));
    assert_int_equal(0, close(listening));
}
