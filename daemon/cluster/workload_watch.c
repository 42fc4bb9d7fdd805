/* See workload_watch.h. */
#include "daemon/cluster/workload_watch.h"

#include <errno.h>

#include "base/log.h"
#include "daemon/cluster/watches.h"
#include "pod/body.h"
#include "pod/workload.h"

#define SWEEP_EVERY_NS (2 * INT64_C(1000000000)) /* the watch may be that late */

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
