/* The HTTP side of benchd: /metrics, /healthz, /readyz, /api/v1 and pages for people, in the daemon's
 * own loop. daemon/main.c starts it after the store and stops it before the loop closes. It reads the
 * daemon through inspect.h alone and changes nothing. Implemented in http.c. */
#pragma once

#include "base/err.h"
#include "daemon/web/inspect.h"

struct uv_loop_s;
struct web;
/* `listen`: "host:port"; port 0 picks one. -EADDRINUSE, -EINVAL, ... with the address in the text. */
int web_new(struct uv_loop_s *loop, const struct daemon *daemon, const char *listen,
            struct web **ret, struct err *err);
/* "host:port" that is bound. Borrowed. */
const char *web_address(const struct web *w);
/* Stops listening and closes all connections; the loop's next turns free the memory. */
void web_free(struct web *w);
