/* The insides of the daemon, for daemon.c and publish.c. One loop, one thread: the store is written
 * from it, and read where a decision needs it. HTTP has threads of its own (daemon/web). Calls of
 * the store are short (a status or an event is one row, an attempt a few hundred, once a trial).
 * For other processes that write to the file they wait 1 s a look, all together (STORE_WAIT_MS).
 * Whatever waits for the loop has a longer timeout: the Lease 10 s, watches 90 s. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <uv.h>

#include "bucket/bucket.h"
#include "daemon/api_health.h"
#include "daemon/daemon.h"
#include "daemon/cluster/event_recorder.h"
#include "daemon/web/daemon_view.h"
#include "daemon/retention.h"
#include "daemon/run/run.h"
#include "daemon/run/run_queue.h"
#include "daemon/cluster/watches.h"

struct archiver;
struct elector;

struct daemon {
    struct daemon_params params;
    char *address; /* owned */
    struct kube_client *client;
    struct watches watches;
    struct workload_watch workloads;
    struct elector *elector;
    struct event_recorder events;
    struct api_health health;
    uv_timer_t timer;
    uv_getaddrinfo_t dns_request;
    unsigned n_handles; /* the timer, dns_request while it lasts; the last one's callback frees */
    bool is_dns_known;  /* run_env.has_dns was looked up */
    bool is_asking_dns;
    int64_t started_ns, dns_due_ns;
    struct run_env run_env;
    struct run_queue queue;
    struct pods_counters pods;
    struct daemon_counters counters;
    bool has_open_runs; /* run_queue_has_open() */
    struct space space;
    struct retention retention;
    struct archiver *archiver; /* NULL: no --archive */
    int64_t purge_ns;          /* nothing is erased before that */
    int64_t trim_ns;           /* memory goes back to the system not before that */
    bool is_stopping;
    int exit_code;      /* when stopping */
    struct err failure; /* why, if exit_code is not 0 */
};

/* publish.c: shows the daemon to its HTTP threads (daemon/web/daemon_view.h), after each look and
 * when the daemon begins to stop. On the loop. */
void publish_view(struct daemon *d);

/* archiver.c, --archive: puts each run that has ended into a folder or a bucket outside of the
 * volume, and fills a new store from there. The archive has a name for each run,
 * NAME.UID.benchd.db.zst, and is listed at the start, so a restart loses nothing. One job at a
 * time, on a thread of libuv's pool:
 *
 *   list      what the archive has
 *   restore   one run of it, while the store is new
 *   put       one run that the archive lacks
 *
 * until nothing is left to do, then again when a run ends. A failure is logged, counted and an
 * Event of the run; the job is tried again later, and runs do not wait for it. Edge file: libuv's
 * work queue.
 *
 * `new_mark`: a file that exists while the store is new; copied. The rest is borrowed. */
struct archiver *archiver_new(struct bucket *bucket_take, const char *new_mark,
                              const struct run_env *env, struct run_queue *q);
/* Starts the next job if it is due. NULL is fine. */
void archiver_look(struct archiver *a);
/* A request under way ends; the loop's next turns free the memory. NULL is fine. */
void archiver_free(struct archiver *a);
