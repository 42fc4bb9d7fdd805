/* The watches of benchd: Benchmarks, BenchmarkRuns and the pods of runs, in one namespace. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "kube/informer.h"

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
