/* The daemon's insides, for daemon/ but web/ (which has view.e). One loop, one thread: SQLite's calls
 * are made from it. They are short (a status or an event is one row, an attempt a few hundred, once
 * a trial) and everything that waits on the loop is patient: the Lease for 10 s, watches for 90 s. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <uv.h>

#include "base/vec.h"
#include "daemon/api_health.h"
#include "daemon/event_recorder.h"
#include "daemon/key.h"
#include "daemon/options.h"
#include "daemon/inspect.h"
#include "daemon/watches.h"
#include "pod/body.h"
#include "run/pods.h"

struct elector;
struct run;

struct daemon {
    uv_loop_t *loop;
    const struct options *options;
    char *ns, *identity, *address; /* owned */
    struct store *store;
    struct kube_client *client;
    struct watches watches;
    struct elector *elector;
    struct event_recorder events;
    unsigned char key[KEY_SIZE];
    uv_timer_t timer;
    uv_getaddrinfo_t dns_request;
    unsigned n_handles; /* the timer, dns_request while it lasts; the last one's callback frees */
    bool is_dns_known, has_dns; /* addressing Auto: do names of the cluster resolve here? */
    VEC(struct run *) runs;     /* in the order of their turn */
    struct run *active;
    struct pods_counters pods;
    struct daemon_counters counters;
    int64_t started_ns;
    int64_t trim_ns; /* memory goes back to the system not before that */
    struct api_health health;
    bool is_stopping;
    int exit_code;      /* when stopping */
    struct err failure; /* why, if it is one */
    void (*on_stop)(struct daemon *d);
};

/* daemon.c: something has changed, look at everything in the loop's next turn. */
void daemon_wake(struct daemon *d);
/* Cannot go on: ends the program with `exit_code`. */
void daemon_fail(struct daemon *d, int exit_code, const struct err *err);
