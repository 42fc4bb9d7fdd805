/* --archive: puts each run that has ended into a folder or a bucket outside of the volume, and
 * fills a new store from there. The archive has a name for each run, NAME.UID.benchd.tar.zst, and
 * is listed at the start, so a restart loses nothing. One job at a time, on a thread of libuv's
 * pool:
 *
 *   list      what the archive has
 *   restore   one run of it, while the store is new
 *   put       one run that the archive lacks
 *
 * until nothing is left to do, then again when a run ends. A failure is logged, counted and an
 * Event of the run; the job is tried again later, and runs do not wait for it. Edge file: libuv's
 * work queue. */
#pragma once

#include "bucket/bucket.h"
#include "daemon/run/run_queue.h"

struct archiver;
/* `new_mark`: a file that exists while the store is new; copied. The rest is borrowed. */
struct archiver *archiver_new(struct bucket *bucket_take, const char *new_mark,
                              const struct run_env *env, struct run_queue *q);
/* Starts the next job if it is due. NULL is fine. */
void archiver_look(struct archiver *a);
/* A request under way ends; the loop's next turns free the memory. NULL is fine. */
void archiver_free(struct archiver *a);
