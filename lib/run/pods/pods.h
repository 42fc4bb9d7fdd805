/* The launcher of a cluster: replicas as pods, implementing launcher.h. docs/benchd.md
 * describes what it does.
 *
 * The owner (daemon/) watches the pods of the namespace and reports each change. A new launcher
 * adopts the run's pods in the cache, so that a restarted benchd continues. Pods stay when the
 * launcher is freed. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kube/cache.h"
#include "kube/client.h"
#include "pod/body.h"
#include "run/launcher.h"
#include "run/pods/pod_nodes.h"
#include "run/pods/pod_queue.h"

struct pods_counters {
    uint64_t created, failed; /* failed: the server refused the pod for good */
};

struct pods_params {
    struct uv_loop_s *loop;
    struct kube_client *client;
    const struct kube_cache *cache; /* POD_SELECTOR in `ns`, complete, of pod_facts; lives longer */
    const char *ns;
    const struct run_def *def;             /* borrowed; its uid is that of the BenchmarkRun */
    const struct pod_workloads *workloads; /* lives longer; not read for a run without a queue */
    enum pod_naming naming;
    const char *account;         /* ServiceAccount of the pods, borrowed; NULL: the default one */
    const char *registry;        /* of images of this tree, borrowed; NULL: as they are */
    bool has_policy;             /* a NetworkPolicy that keeps its pods among themselves */
    const unsigned char *secret; /* the run's key, copied */
    size_t secret_len;           /* at most POD_SECRET_MAX */
    const struct ssh_key *ssh;   /* of its replicas, read by pods_new alone; NULL: none */
    int64_t denied_wait_ms;      /* then a missing right fails the attempt; 0: 12 s */
    int64_t image_wait_ms;       /* then a pod whose image cannot be pulled, or whose
                                  container cannot be created, fails; 0: 2 min */
    int64_t setup_wait_ms;       /* then a pod that its node cannot set up fails; 0: 5 min */
    uint64_t log_file_bytes;     /* containerLogMaxSize of the kubelets; 0: 10 MiB, their default */
    struct pods_counters *counters;  /* borrowed; added to */
    struct node_labels *node_labels; /* borrowed; NULL: nodes are not read */
    struct run_wait wait;            /* what an earlier process said that the run waits for */
    uint64_t seed;
    int64_t (*now_ns)(void); /* monotonic; NULL: the machine's */
};
#define POD_SECRET_MAX 64

struct launcher *pods_new(const struct pods_params *params);
/* How long an attempt may wait for a queue or for nodes; 0, and before the first call: a day. */
void pods_limit_wait(struct launcher *launcher, int64_t wait_ms);
/* Reports a change of any pod of the namespace. A pod of another run matters
 * only while it may run. `object` has pod_facts. */
void pods_notify(struct launcher *launcher, enum kube_change change,
                 const struct kube_object *object);
