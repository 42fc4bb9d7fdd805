/* A client without a network and with a clock of its own, for the tests of what sits on the client:
 * calls and streams are kept until the test answers them, and time passes only in
 * fake_client_pass(). Defines what kube/client.h declares; the linker also takes libuv's clock and
 * timer from here (meson.build). */
#pragma once

#include "cmocka_kube.h"

#include <uv.h>

#include "kube/client.h"

struct kube_call { /* here: one call */
    struct kube_request req;
    struct kube_call_options options;
    kube_done_fn on_done;
    void *ctx;
    bool is_open; /* neither answered nor cancelled */
};

struct kube_stream { /* here: one stream */
    struct kube_request req;
    struct kube_stream_ops ops;
    void *ctx;
    bool is_open, is_abandoned;
};

#define FAKE_CLIENT_MAX 32
struct fake_client {
    uv_loop_t loop;
    int64_t now_ns;
    struct {
        uv_timer_t *handle; /* NULL: not started */
        uv_timer_cb on_timer;
        int64_t due_ns;
    } timer;
    struct kube_call calls[FAKE_CLIENT_MAX]; /* in the order in which they were made */
    struct kube_stream streams[FAKE_CLIENT_MAX];
    size_t n_calls, n_streams;
};
extern struct fake_client fake_client;

void fake_client_init(void);
/* Nothing may be open. */
void fake_client_done(void);
/* Lets `ns` go by, with the timers that fall due. */
void fake_client_pass(int64_t ns);
/* The one stream that is open; fails the test if there is none, or more. */
struct kube_stream *fake_client_stream(void);
void fake_client_data(struct kube_stream *s, const char *data);
/* The end of a stream, and the answer to a call: a code of HTTP, or 0: the
 * server is unreachable. */
void fake_client_end(struct kube_stream *s, int http_code);
void fake_client_answer(struct kube_call *call, int http_code, const char *body);
