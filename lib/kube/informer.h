/* A reflector on a client: keeps its cache up to date until it is freed. */
#pragma once

#include "kube/client.h"
#include "kube/reflector.h"

struct kube_informer;
/* Begins at once; params->on_change and on_synced come from the loop. */
struct kube_informer *kube_informer_new(struct kube_client *client,
                                        const struct kube_reflector_params *params);
/* Free it before its client, and not from its own callbacks. The memory is freed in the loop's next
 * iteration. */
void kube_informer_free(struct kube_informer *i);
const struct kube_reflector *kube_informer_reflector(const struct kube_informer *i);
const struct kube_cache *kube_informer_cache(const struct kube_informer *i);

/* Since it was made. A watch ends by itself every few minutes, so both grow
 * slowly on a good day. */
struct kube_informer_stats {
    uint64_t lists;   /* begun; each page counts */
    uint64_t watches; /* begun */
};
void kube_informer_get_stats(const struct kube_informer *i, struct kube_informer_stats *ret);
