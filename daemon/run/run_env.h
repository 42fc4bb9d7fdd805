/* What every run of benchd uses and none owns. daemon.c fills it; it lives longer than the runs. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "daemon/cluster/event_recorder.h"
#include "daemon/run/options.h"
#include "daemon/web/daemon_view.h"
#include "kube/cache.h"
#include "kube/client.h"
#include "run/pods/pods.h"
#include "store/store.h"

struct run_env {
    struct uv_loop_s *loop;
    struct kube_client *client;
    struct store *store;
    const char *ns;
    struct options options;
    const struct kube_cache *benchmarks, *runs, *pods; /* of the watches; NULL before their start */
    const struct pod_workloads *workloads;             /* of their watch */
    const unsigned char *key;        /* KEY_SIZE bytes; runs' secrets are derived from it */
    bool is_store_full;              /* nothing can be accepted or driven */
    bool are_objects_known;          /* the store knows which of its runs have objects */
    struct node_labels *node_labels; /* of the options: a launcher notes what it may not read */
    bool has_dns;                    /* addressing Auto: do names of the cluster resolve here? */

    struct event_recorder *events;
    struct pods_counters *pod_counters;
    struct daemon_counters *counters;
    void (*wake)(void *ctx); /* something has changed: look at all runs in the loop's next turn */
    void *ctx;
};
