/* The watch of benchd's Workloads, the objects of Kueue by which attempts wait in a queue. It is
 * begun for the first run that names a queue, because most clusters have no such kind; that it
 * fails stops nothing but the runs with a queue.
 *
 * Workloads of a run that is driven are its launcher's business. One of a run that is over would
 * hold its quota for ever, for instance if its creation took effect late: it is deleted here. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "kube/informer.h"
#include "run/pods/pod_queue.h"

struct workload_watch {
    struct kube_informer *informer; /* NULL: not begun */
    struct kube_client *client;     /* borrowed */
    const char *ns;                 /* borrowed */
    struct pod_workloads known;     /* as of the last look */
    struct kube_call *sweeping;     /* the DELETE that is on its way; NULL: none */
    int64_t sweep_ns;               /* the next one not before */
};

/* Once; `client` and `ns` are borrowed. on_synced is called after each list. */
void workload_watch_start(struct workload_watch *w, struct kube_client *client, const char *ns,
                          kube_change_fn on_change, void (*on_synced)(void *ctx), void *ctx);
/* NULL is not begun: fine. */
void workload_watch_stop(struct workload_watch *w);
/* Updates `known`. True: it was another. */
bool workload_watch_look(struct workload_watch *w);
/* Deletes one that is_over() says is of a run that is over. */
void workload_watch_sweep(struct workload_watch *w, int64_t now_ns,
                          bool (*is_over)(const void *ctx, const char *run_uid), const void *ctx);
