/* The insides of the daemon, for daemon.c and publish.c. One loop, one thread: the store is written
 * from it, and read where a decision needs it. HTTP has threads of its own (daemon/web). Calls of
 * the store are short (a status or an event is one row, an attempt a few hundred, once a trial).
 * For other processes that write to the file they wait 1 s a look, all together (STORE_WAIT_MS).
 * Whatever waits for the loop has a longer timeout: the Lease 10 s, watches 90 s. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <uv.h>

#include "daemon/api_health.h"
#include "daemon/daemon.h"
#include "daemon/run/eraser.h"
#include "daemon/cluster/event_recorder.h"
#include "daemon/web/daemon_view.h"
#include "daemon/retention.h"
#include "daemon/run/run_env.h"
#include "daemon/run/run_queue.h"
#include "daemon/space.h"
#include "daemon/cluster/watches.h"
#include "daemon/cluster/workload_watch.h"

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
    struct eraser eraser;
    struct retention retention;
    struct archiver *archiver; /* NULL: no --archive */
    int64_t purge_ns;          /* nothing is erased before that */
    int64_t trim_ns;           /* memory goes back to the system not before that */
    bool is_stopping;
    int exit_code;      /* when stopping */
    struct err failure; /* why, if exit_code is not 0 */
};
