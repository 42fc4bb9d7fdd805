/* A reflector on a client: keeps its cache up to date for as long as it lives. */
#pragma once

#include "kube/client.h"
#include "kube/reflector.h"

struct kube_informer;
/* Begins at once; params->on_change and on_synced come from the loop. */
struct kube_informer *kube_informer_new(struct kube_client *client,
                                        const struct kube_reflector_params *params);
/* Before its client, and not from its own callbacks. The memory goes with the loop's next turn. */
void kube_informer_free(struct kube_informer *i);
const struct kube_reflector *kube_informer_reflector(const struct kube_informer *i);
const struct kube_cache *kube_informer_cache(const struct kube_informer *i);
