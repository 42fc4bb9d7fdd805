/* The launcher of a cluster: replicas as pods, behind launcher.h. docs/pods.md is its page.
 *
 * The owner (daemon/) watches the pods of the namespace and tells each change; what is there when a
 * launcher is made is taken over from the cache, so that a new process finds what the last one left.
 * Pods live on when the launcher is freed. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kube/cache.h"
#include "kube/client.h"
#include "pod/body.h"
#include "run/launcher.h"

struct pods_counters {
    uint64_t created, deleted, failed; /* failed: refused by the server for good */
};

struct pods_params {
    struct uv_loop_s *loop;
    struct kube_client *client;
    const struct kube_cache *cache; /* of POD_SELECTOR in `ns`, complete; read at the start only */
    const char *ns;
    const struct run_def *def; /* borrowed; its uid is that of the BenchmarkRun */
    enum pod_naming naming;
    const unsigned char *secret;    /* the run's key, copied */
    size_t secret_len;              /* at most POD_SECRET_MAX */
    int64_t denied_wait_ms;         /* a missing right ends an attempt after that; 0: 12 s */
    int64_t node_wait_ms;           /* a pod that fits no node fails after that; 0: 5 min */
    int64_t image_wait_ms;          /* one whose image cannot be pulled; 0: 2 min */
    struct pods_counters *counters; /* borrowed, counted on */
    uint64_t seed;
    int64_t (*now_ns)(void); /* monotonic; NULL: the machine's */
};
#define POD_SECRET_MAX 64

struct launcher *pods_new(const struct pods_params *params);
/* What the watch says of any pod; those of other runs are passed over. */
void pods_notify(struct launcher *launcher, enum kube_change change,
                 const struct kube_object *object);
