/* See watches.h. */
#include "daemon/cluster/watches.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/vec_walk.h"
#include "daemon/cluster/bmr.h"
#include "pod/body.h"
#include "pod/facts.h"

/* Of a Benchmark only its name is retained: its spec is read when a run needs it. */
static void *retain_nothing(json_t *object)
{
    (void)object;
    return NULL;
}

static const struct {
    const struct kube_resource *resource;
    const char *name; /* for people */
    const char *label_selector;
    kube_decode_fn decode;
} kinds[WATCH_COUNT] = {
    [WATCH_BENCHMARKS] = {&kube_benchmarks, "Benchmarks", NULL, retain_nothing},
    /* Thousands of runs that have ended may be there. */
    [WATCH_RUNS] = {&kube_benchmark_runs, "BenchmarkRuns", NULL, bmr_facts_decode},
    [WATCH_PODS] = {&kube_pods, "pods", POD_SELECTOR, pod_facts_decode},
};

void watch_log_silence(void *ctx, const struct kube_resource *resource)
{
    (void)ctx;
    log_event(LOG_LEVEL_INFO, "a watch was silent for 90 s and is opened again", "resource",
              resource->plural, NULL);
}

void watches_start(struct watches *w, const struct watches_params *params)
{
    _cleanup_(freep) char *open_runs = bmr_open_selector();
    for (unsigned i = 0; i < WATCH_COUNT; i++) {
        const struct kube_reflector_params reflector = {
            .resource = kinds[i].resource,
            .ns = params->ns,
            .label_selector = kinds[i].label_selector,
            .first_field_selector = i == WATCH_RUNS ? open_runs : NULL,
            .decode = kinds[i].decode,
            .on_change = params->on_change[i],
            .on_synced = params->on_synced,
            .on_silence = watch_log_silence,
            .ctx = params->ctx,
            .seed = params->seed + i,
        };
        w->informers[i] = kube_informer_new(params->client, &reflector);
    }
}

void watches_stop(struct watches *w)
{
    for (unsigned i = 0; i < WATCH_COUNT && w->informers[i] != NULL; i++) {
        kube_informer_free(w->informers[i]);
        w->informers[i] = NULL;
    }
}

static const struct kube_reflector *reflector(const struct watches *w, unsigned kind)
{
    return kube_informer_reflector(w->informers[kind]);
}

bool watches_are_synced(const struct watches *w)
{
    return array_all(w->informers, WATCH_COUNT, it,
                     *it != NULL && kube_reflector_is_synced(kube_informer_reflector(*it)));
}

bool watches_know_open_runs(const struct watches *w)
{
    return array_all(w->informers, WATCH_COUNT, it,
                     *it != NULL && kube_reflector_has_first(kube_informer_reflector(*it)));
}

const struct err *watches_error(const struct watches *w)
{
    const struct err *error = NULL;
    for (unsigned i = 0; error == NULL && i < WATCH_COUNT && w->informers[i] != NULL; i++) {
        error = kube_reflector_error(reflector(w, i));
    }
    return error;
}

bool watches_are_ready(const struct watches *w, struct err *why)
{
    for (unsigned i = 0; i < WATCH_COUNT; i++) {
        const struct err *error = kube_reflector_error(reflector(w, i));
        if (error != NULL) {
            (void)err_set(why, error->code, "watch %s: %s", kinds[i].name, error->msg);
            return false;
        }
        if (!kube_reflector_is_synced(reflector(w, i))) {
            (void)err_set(why, EAGAIN, "the first list of %s is not complete", kinds[i].name);
            return false;
        }
    }
    return true;
}

uint64_t watches_count_pages(const struct watches *w)
{
    uint64_t n = 0;
    for (unsigned i = 0; i < WATCH_COUNT; i++) {
        const char *resource;
        struct kube_informer_stats stats;
        watches_get_stats(w, i, &resource, &stats);
        n += stats.lists;
    }
    return n;
}

const struct kube_cache *watches_cache(const struct watches *w, enum watch_kind kind)
{
    return kube_informer_cache(w->informers[kind]);
}

void watches_get_stats(const struct watches *w, enum watch_kind kind, const char **ret_resource,
                       struct kube_informer_stats *ret)
{
    *ret_resource = kinds[kind].resource->plural;
    *ret = (struct kube_informer_stats){0};
    if (w->informers[kind] != NULL) {
        kube_informer_get_stats(w->informers[kind], ret);
    }
}
