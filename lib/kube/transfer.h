/* One HTTP request over a transport, and its answer. Used by client.c only, which adds what
 * Kubernetes means: retries, credentials, the queue.
 *
 * A transfer frees itself after on_done; until then kube_transfer_cancel may
 * be called at any time. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "kube/client.h"
#include "kube/request.h"
#include "kube/status.h"
#include "kube/transport.h"

struct kube_transfer;

/* The server's side of every request; borrowed from the client, copied by curl. */
struct kube_endpoint {
    const char *base_url;   /* without '/' at the end */
    const char *connect_to; /* NULL, or "::HOST:PORT": the address to connect to instead */
    const char *ca_pem, *cert_pem, *key_pem; /* NULL: none */
    const char *user_agent;
    const char *proxy;    /* NULL: as the environment says */
    char *const *headers; /* more lines, NULL at the end; NULL: none */
    bool is_insecure;
    bool is_here; /* the server is on this machine: never use the environment's proxy */
    bool is_uncompressed;
};

struct kube_transfer_params {
    const struct kube_request *req; /* borrowed while the transfer lives */
    const struct kube_endpoint *endpoint;
    const char *token; /* NULL: none */
    enum kube_pool pool;
    bool is_stream;     /* on_open and on_data for a 2xx; no timeout */
    size_t max_bytes;   /* limit for a body that is not streamed */
    int64_t timeout_ns; /* not for streams */
    void (*on_open)(void *ctx, const struct kube_response *res); /* NULL unless it is a stream */
    /* NULL: the response holds the body. */
    void (*on_data)(void *ctx, const char *data, size_t len);
    void (*on_done)(void *ctx, const struct kube_response *res); /* the transfer is gone */
    void *ctx;
};

/* Call it from the loop or from one of the callbacks above. */
int kube_transfer_start(struct kube_transport *t, const struct kube_transfer_params *params,
                        struct kube_transfer **ret, struct err *err);
void kube_transfer_cancel(struct kube_transfer *transfer);
/* Cancels a transfer that was silent for too long: later requests do not use its connection. */
void kube_transfer_abandon(struct kube_transfer *transfer);
