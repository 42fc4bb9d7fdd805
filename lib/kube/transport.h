/* Connections to the API server: libcurl's multi interface on a libuv loop. Edge: sockets and timers.
 * client.c makes one and frees it; transfer.c sends requests over it.
 *
 * curl must not be entered from its own callbacks, and users cancel and start transfers whenever
 * they like. So curl's callbacks only store what came; it is delivered when curl has returned:
 *
 *   uv_poll, uv_timer --> curl_multi_socket_action --> on_header, on_write: into the transfer
 *                     '-> deliver: on_open, on_data, on_done
 *
 * curl keeps an HTTP/2 connection that does not answer, and sends the next request over it, as long as
 * TCP reports no error. So after a timeout later requests get a new multi handle with new connections;
 * the old one is freed with its last transfer. */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct uv_loop_s;
struct kube_transport;

int kube_transport_new(struct uv_loop_s *loop, struct kube_transport **ret, struct err *err);
/* Cancels everything; calls on_closed from the loop when the last handle has closed. */
void kube_transport_free(struct kube_transport *t, void (*on_closed)(void *ctx), void *ctx);
uint64_t kube_transport_connections(const struct kube_transport *t);
uint64_t kube_transport_bytes_in(const struct kube_transport *t);
