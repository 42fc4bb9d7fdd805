/* The client: requests and streams over libcurl (HTTP/2, one connection for most) on a libuv loop.
 * All calls return at once; callbacks come from the loop, never from inside the call.
 *
 * Ownership: a call or stream frees itself after its last callback; until then the handle may be
 * cancelled, at any moment, also from any callback, and no callback comes afterwards.
 * kube_client_free cancels everything; run the loop once more for the close callbacks. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "kube/config.h"
#include "kube/request.h"
#include "kube/status.h"
#include "kube/traffic.h"

struct uv_loop_s;
struct kube_client;
struct kube_call;
struct kube_stream;

/* Words for the user that are no failure. */
enum kube_notice {
    KUBE_NOTICE_INSECURE, /* once: the server's certificate is not verified */
    KUBE_NOTICE_WARNING,  /* of the API server; each text once */
    KUBE_NOTICE_PLUGIN,   /* why a credential plugin failed, while what it gave before is good */
};

struct kube_client_params {
    struct uv_loop_s *loop;
    const struct kube_config *config; /* copied */
    const char *user_agent;           /* "benchd/0.1.0"; the machine's kind is added */
    uint64_t seed;                    /* of back-off jitter */
    /* For credential plugins: what they inherit (environ; NULL: nothing), and whether a person is
     * at our standard input. */
    char *const *environment;
    bool is_interactive;
    uint64_t plugin_timeout_ms; /* 0: a minute, or ten for a person */
    /* A connection with streams that has said nothing for so long is asked, and its streams end
     * unless an answer comes in half of that time. 0: 15 s. */
    int64_t silence_ns;
    /* NULL, or called from the loop; it must not free the client. */
    void (*on_notice)(enum kube_notice notice, const char *text);
};
int kube_client_new(const struct kube_client_params *params, struct kube_client **ret,
                    struct err *err);
void kube_client_free(struct kube_client *c);
struct uv_loop_s *kube_client_loop(const struct kube_client *c);

/* Called right before a request that changes something is sent, unless it is KUBE_URGENT; while
 * it returns false, the request waits. For a leader that may have lost its Lease while the
 * process was stopped. */
void kube_client_set_guard(struct kube_client *c, bool (*may_write)(void *ctx), void *ctx);

/* What goes over the wire, for /metrics. */
struct kube_client_stats {
    uint64_t requests, retries, failures; /* sent, sent again, failed for good */
    uint64_t connections;                 /* opened */
    uint64_t bytes_in;
    uint32_t in_flight, queued, streams;
    struct kube_traffic traffic;
    char host[256]; /* of the server, as in its URL: HOST or HOST:PORT */
};
void kube_client_get_stats(const struct kube_client *c, struct kube_client_stats *ret);

/* FOLLOW is for logs: connections of its own, on which all of them together are read slowly enough
 * for requests and watches never to wait for them. */
enum kube_pool { KUBE_POOL_ORDINARY, KUBE_POOL_FOLLOW };

struct kube_call_options {
    enum kube_pool pool;
    size_t max_bytes;   /* of the answer; 0: 16 MiB */
    int64_t timeout_ns; /* of each attempt to send it; 0: 30 s */
    unsigned max_tries; /* 0: KUBE_RETRY_TRIES; 1: no retry, except after a refused token */
    /* For a body that need not be held: pieces of a 2xx as they come, without a limit; the answer's
     * body is empty. on_again: the request is sent again, so its body begins anew. Both or none;
     * they get the ctx of the call, which may be cancelled in on_data. */
    void (*on_data)(void *ctx, const char *data, size_t len);
    void (*on_again)(void *ctx);
};
/* One try: the caller retries and reports itself, at once and not after ten silent tries. */
#define KUBE_ONCE (&(const struct kube_call_options){.max_tries = 1})
/* r: 0 for 2xx, else the result of kube_check(), with its text in *err (never NULL). `res` is
 * borrowed for the call; its failure is KUBE_ANSWERED if the server responded. */
typedef void (*kube_done_fn)(void *ctx, int r, const struct kube_response *res,
                             const struct err *err);
/* Takes *req (empty afterwards). options NULL: the defaults. */
struct kube_call *kube_call(struct kube_client *c, struct kube_request *req,
                            const struct kube_call_options *options, kube_done_fn on_done,
                            void *ctx);
/* The request may have taken effect. NULL is fine. */
void kube_call_cancel(struct kube_call *call);

struct kube_stream_ops {
    /* All but on_end may be NULL. on_open: the headers of a 2xx have arrived. */
    void (*on_open)(void *ctx, const struct kube_response *res);
    void (*on_data)(void *ctx, const char *data, size_t len);
    /* Last callback. r 0: ended by the server after a 2xx. The client retries a stream only after
     * the server refused its credentials and there are others to try. */
    void (*on_end)(void *ctx, int r, const struct kube_response *res, const struct err *err);
};
/* No timeout: the owner must detect silence. Takes *req. */
struct kube_stream *kube_stream_open(struct kube_client *c, struct kube_request *req,
                                     enum kube_pool pool, const struct kube_stream_ops *ops,
                                     void *ctx);
void kube_stream_cancel(struct kube_stream *s); /* NULL is fine */
/* Cancels a stream that was silent for too long: later requests get another connection. */
void kube_stream_abandon(struct kube_stream *s);
