/* The watches of benchd: Benchmarks, BenchmarkRuns and the pods of runs, in one namespace. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "kube/informer.h"
#include "run/pods/pod_queue.h"

enum watch_kind { WATCH_BENCHMARKS, WATCH_RUNS, WATCH_PODS, WATCH_COUNT };

struct watches {
    struct kube_informer *informers[WATCH_COUNT]; /* NULL before watches_start */
};

struct watches_params {
    struct kube_client *client; /* borrowed; lives longer */
    const char *ns;             /* borrowed */
    kube_change_fn on_change[WATCH_COUNT];
    void (*on_synced)(void *ctx);
    void *ctx;
    uint64_t seed; /* of jitter */
};
void watches_start(struct watches *w, const struct watches_params *params);
void watches_stop(struct watches *w);
/* The on_silence of all watches of benchd. */
void watch_log_silence(void *ctx, const struct kube_resource *resource);

/* Each has had its first complete list. False before watches_start. */
bool watches_are_synced(const struct watches *w);
/* The same, but of BenchmarkRuns perhaps only those whose objects do not say that they are over:
 * the list of all takes seconds where thousands have ended. */
bool watches_know_open_runs(const struct watches *w);
/* The first failure that lasts, NULL: none, also before watches_start. Borrowed. */
const struct err *watches_error(const struct watches *w);
/* Synced and without a failure; `why` (may be NULL) names the first that is not. Not before
 * watches_start. */
bool watches_are_ready(const struct watches *w, struct err *why);
/* The facts of its objects: none of a Benchmark, a struct bmr_facts, a struct pod_facts. */
const struct kube_cache *watches_cache(const struct watches *w, enum watch_kind kind);
/* Pages of lists that were asked for. */
uint64_t watches_count_pages(const struct watches *w);
/* For /metrics. `ret_resource` is static: "pods". */
void watches_get_stats(const struct watches *w, enum watch_kind kind, const char **ret_resource,
                       struct kube_informer_stats *ret);

/* The watch of benchd's Workloads, the objects of Kueue by which attempts wait in a queue. It is
 * begun for the first run that names a queue, because most clusters have no such kind; that it
 * fails stops nothing but the runs with a queue.
 *
 * Workloads of a run that is driven are its launcher's business. One of a run that is over would
 * hold its quota for ever, for instance if its creation took effect late: it is deleted here. */
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
