/* The HTTP side of benchd: /metrics, /healthz, /readyz, /api/v1 and pages for people. It
 * has three threads of its own, so that the daemon's loop never waits for a client or
 * for what is made for one:
 *
 *   HTTP thread (http.c)            connections, limits, health
 *   two render threads (render.c)   /metrics; everything else that reads the store. Each has a
 *                                   connection of its own
 *
 * It sees the daemon through daemon_view.h alone and changes nothing. Implemented in http.c. */
#pragma once

#include "base/err.h"
#include "daemon/web/daemon_view.h"

/* Not Authorization, which the API server's service proxy takes for itself. */
#define WEB_READ_KEY "X-Benchd-Read-Key"

struct web_params {
    const struct daemon_view *view; /* borrowed */
    const char *store_url;          /* of a store that is open; two more connections are made */
    const char *listen;             /* "host:port"; port 0 picks one */
    const char *read_key; /* the header WEB_READ_KEY of requests that read runs; NULL: not needed */
    const char *tls_cert, *tls_key; /* files, for https; NULL: http */
};
struct web;
/* -EADDRINUSE, -EINVAL, ... with the address in the text. */
int web_new(const struct web_params *params, struct web **ret, struct err *err);
/* "host:port" that is bound. Borrowed. */
const char *web_address(const struct web *w);
/* Stops listening, closes all connections and waits for the threads: for as long as the documents
 * take that are being made. NULL is fine. */
void web_free(struct web *w);
