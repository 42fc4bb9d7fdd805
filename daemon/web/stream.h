/* Connections that follow a run, or the list of runs, by server-sent events.
 * All on the HTTP thread:
 *
 *   open    -> the newest event is due, unless the client has it (Last-Event-ID)
 *   due     -> MHD asks for bytes and gets them        -> sent
 *   sent    -> nothing is due: the connection sleeps (suspended)
 *   a tick  -> reads what the daemon shows; wakes those for whom something is due
 *
 * A follower has no queue: it is sent the newest state when it can take it, and what lies
 * between is skipped. So a slow one costs one reference, and one that reads nothing is closed by
 * MHD's limit of silence. An event is made once, however many follow the run. No timer runs while
 * no client follows. */
#pragma once

#include <stddef.h>

#include <microhttpd.h>
#include <uv.h>

#include "daemon/web/daemon_view.h"

#define STREAMS_MAX 100 /* connections that follow at once */
#define STREAM_TICK_MS 200
#define STREAM_BEAT_MS                                                                             \
    5000 /* a comment after so long without an event: a client that left is noticed */

struct streams;
struct streams_params {
    uv_loop_t *loop;
    const struct daemon_view *view;
    void (*on_resumed)(void *ctx); /* MHD has to run again */
    void *ctx;
};
struct streams *streams_new(const struct streams_params *params);
/* All followers are ended, once MHD runs the next time; no other may come. Before MHD stops. */
void streams_stop(struct streams *s);
/* After the loop has ended. NULL is fine. */
void streams_free(struct streams *s);

size_t streams_count(const struct streams *s);
/* A response that follows the run ("": the list), for this connection alone. `last_id`: the event
 * that the client has; NULL: none. NULL: too many follow, or there is no memory. */
struct MHD_Response *streams_open(struct streams *s, struct MHD_Connection *connection,
                                  const char *run, const char *last_id);
