/* See watches.h. */
#include "daemon/cluster/watches.h"

#include <errno.h>

#include "base/log.h"
#include "base/mem.h"
#include "daemon/cluster/bmr.h"
#include "pod/body.h"
#include "pod/facts.h"
#include "pod/workload.h"

#define SWEEP_EVERY_NS (2 * INT64_C(1000000000)) /* the watch may be that late */

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

/* ---- Workloads ---- */

void workload_watch_start(struct workload_watch *w, struct kube_client *client, const char *ns,
                          kube_change_fn on_change, void (*on_synced)(void *ctx), void *ctx)
{
    if (w->informer != NULL) {
        return;
    }
    w->client = client;
    w->ns = ns;
    const struct kube_reflector_params params = {
        .resource = &kube_workloads,
        .ns = ns,
        .label_selector = POD_SELECTOR,
        .decode = workload_facts_decode,
        .on_change = on_change,
        .on_synced = on_synced,
        .on_silence = watch_log_silence,
        .ctx = ctx,
    };
    w->informer = kube_informer_new(client, &params);
    w->known.cache = kube_informer_cache(w->informer);
}

void workload_watch_stop(struct workload_watch *w)
{
    kube_call_cancel(w->sweeping);
    if (w->informer != NULL) {
        kube_informer_free(w->informer);
    }
    *w = (struct workload_watch){0};
}

bool workload_watch_look(struct workload_watch *w)
{
    if (w->informer == NULL) {
        return false;
    }
    const struct kube_reflector *r = kube_informer_reflector(w->informer);
    const struct err *error = kube_reflector_error(r);
    const int code = error == NULL ? 0 : error->code;
    const bool is_known = kube_reflector_is_synced(r) || code == ENOENT;
    const bool is_news = is_known != w->known.is_known || code != w->known.error.code;
    w->known.is_known = is_known;
    w->known.error = error == NULL ? (struct err){0} : *error;
    return is_news;
}

static void on_swept(void *ctx, int r, const struct kube_response *res, const struct err *err)
{
    (void)res;
    struct workload_watch *w = ctx;
    w->sweeping = NULL;
    if (r < 0 && r != -ENOENT) {
        log_event(LOG_LEVEL_WARN, "a Workload of a run that is over is not deleted, retrying",
                  "err", err->msg, NULL);
    }
}

void workload_watch_sweep(struct workload_watch *w, int64_t now_ns,
                          bool (*is_over)(const void *ctx, const char *run_uid), const void *ctx)
{
    for (size_t i = 0; w->known.cache != NULL && i < w->known.cache->objects.len; i++) {
        const struct kube_object *o = w->known.cache->objects.items[i];
        const struct workload_facts *facts = o->facts;
        if (w->sweeping == NULL && now_ns >= w->sweep_ns && is_over(ctx, facts->owner_uid)) {
            struct kube_request req;
            kube_request_delete(&kube_workloads, w->ns, o->name, o->uid, -1, &req);
            w->sweeping = kube_call(w->client, &req, NULL, on_swept, w);
            w->sweep_ns = now_ns + SWEEP_EVERY_NS;
        }
    }
}
