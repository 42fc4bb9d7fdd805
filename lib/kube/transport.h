/* HTTP over libcurl's multi interface on a libuv loop. Edge: sockets and timers. Used by client.c
 * only, which adds what Kubernetes means: retries, credentials, the queue.
 *
 * curl must not be entered from its own callbacks, and users cancel and start transfers whenever
 * they like. So curl's callbacks only put aside what came; it is delivered when curl has returned:
 *
 *   uv_poll, uv_timer --> curl_multi_socket_action --> on_header, on_write: into the transfer
 *                     '-> deliver: on_open, on_data, on_done
 *
 * A transfer frees itself after on_done; before, kube_transfer_cancel may come at any moment.
 *
 * curl keeps an HTTP/2 connection that answers nothing, and sends the next request over it again, as
 * long as TCP finds nothing wrong. So what a request waited for in vain is left by all later ones:
 * they get a new multi handle; the old one goes with its last transfer. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "kube/client.h"
#include "kube/request.h"
#include "kube/status.h"

struct kube_transport;
struct kube_transfer;

/* The server's side of every request; borrowed from the client, copied by curl. */
struct kube_endpoint {
    const char *base_url;   /* without '/' at the end */
    const char *connect_to; /* NULL, or "::HOST:PORT": where base_url's host really is */
    const char *ca_pem, *cert_pem, *key_pem; /* NULL: none */
    const char *user_agent;
    bool is_insecure;
    bool is_here; /* on this machine: never through a proxy */
};

struct kube_transfer_params {
    const struct kube_request *req; /* borrowed while the transfer lives */
    const struct kube_endpoint *endpoint;
    const char *token; /* NULL: none */
    enum kube_pool pool;
    bool is_stream;     /* on_open and on_data for a 2xx; no time-out */
    size_t max_bytes;   /* of a body that is kept whole */
    int64_t timeout_ns; /* not for streams */
    void (*on_open)(void *ctx, const struct kube_response *res);
    void (*on_data)(void *ctx, const char *data, size_t len);
    void (*on_done)(void *ctx, const struct kube_response *res); /* the transfer is gone */
    void *ctx;
};

int kube_transport_new(struct uv_loop_s *loop, struct kube_transport **ret, struct err *err);
/* Cancels everything; on_closed when the last handle has closed, from the loop. */
void kube_transport_free(struct kube_transport *t, void (*on_closed)(void *ctx), void *ctx);
uint64_t kube_transport_connections(const struct kube_transport *t);
uint64_t kube_transport_bytes_in(const struct kube_transport *t);

/* Not from inside on_data's curl: from the loop, or from a delivered callback. */
int kube_transfer_start(struct kube_transport *t, const struct kube_transfer_params *params,
                        struct kube_transfer **ret, struct err *err);
void kube_transfer_cancel(struct kube_transfer *transfer);
/* The same, for it has been silent too long: later requests leave its connection alone. */
void kube_transfer_abandon(struct kube_transfer *transfer);
