/* Connections to the API server: libcurl's multi interface on a libuv loop. Edge: sockets and
 * timers. client.c makes one and frees it; transfer.c sends requests over it.
 *
 * curl must not be entered from its own callbacks, and users cancel and start transfers whenever
 * they like. So curl's callbacks only store what came; it is delivered when curl has returned:
 *
 *   uv_poll, uv_timer --> curl_multi_socket_action --> on_header, on_write: into the transfer
 *                     '-> deliver: on_open, on_data, on_done
 *
 * curl keeps an HTTP/2 connection that does not answer, and sends the next request over it, as long
 * as TCP reports no error. So after a timeout later requests get a new multi handle with new
 * connections; the old one is freed with its last transfer.
 *
 * A stream may be silent for minutes, so its connection is asked: when nothing has come over the
 * connections of its kind for a while, client.c sends a small request over them. If that
 * times out, they are left, and the streams on connections that were left and still say
 * nothing end as timed out. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "kube/client.h"

struct uv_loop_s;
struct kube_transport;

int kube_transport_new(struct uv_loop_s *loop, struct kube_transport **ret, struct err *err);
/* Cancels everything; calls on_closed from the loop when the last handle has closed. */
void kube_transport_free(struct kube_transport *t, void (*on_closed)(void *ctx), void *ctx);
/* Ends the streams of this kind on connections that were left and have been silent for so
 * long. True: the current connections have a stream and have been silent for so long, too.
 * Calls on_done of streams. */
bool kube_transport_check(struct kube_transport *t, enum kube_pool kind, int64_t silent_ns);
/* Connections that were opened, and bytes of bodies. */
void kube_transport_count(const struct kube_transport *t, uint64_t *ret_connections,
                          uint64_t *ret_bytes_in);
