/* Reads the results of a run that has ended and says what they say, on a thread of its own and from
 * a connection of its own to the store: hundreds of megabytes must not hold up the Lease. One at a
 * time; further requests wait. Edge file: libuv's work queue. */
#pragma once

#include "base/err.h"
#include "store/store.h"

/* From the loop's thread, once. `r` 0: the verdict, borrowed; -EBADMSG: the rows cannot be read;
 * -ENOENT: the run is not there; any other error may pass. */
typedef void (*summarize_run_done_fn)(void *ctx, int r, const struct run_verdict *verdict,
                                      const struct err *err);

struct summarize_run;
struct uv_loop_s;
/* The strings are copied. */
struct summarize_run *summarize_run_start(struct uv_loop_s *loop, const char *store_url,
                                          const char *uid, summarize_run_done_fn on_done,
                                          void *ctx);
/* on_done will not be called. Only before it was. */
void summarize_run_abandon(struct summarize_run *j);

/* The same on the caller's thread. */
int summarize_run(struct store *store, const char *uid, struct run_verdict *ret, struct err *err);
