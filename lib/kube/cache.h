/* The objects of one kind in one namespace as last seen, by name. Pure. Written by a reflector,
 * read by whoever decides. An object of the same name with a new uid is another object: the change
 * is reported as a removal and an addition. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/vec.h"

struct kube_object {
    char *name, *uid, *resource_version; /* owned; "" if the server gave none */
    json_t *json;   /* the whole object without managedFields, after the owner's prune */
    unsigned epoch; /* of the list that contained it last; for the cache only */
};

enum kube_change { KUBE_CHANGE_ADDED, KUBE_CHANGE_UPDATED, KUBE_CHANGE_REMOVED };
/* `object` is borrowed for the call: the new state, or the last known one of a removed object. In
 * the call the cache holds the new state already. The callback must not change the cache. */
typedef void (*kube_change_fn)(void *ctx, enum kube_change change,
                               const struct kube_object *object);
/* Removes what nobody needs before an object is stored. */
typedef void (*kube_prune_fn)(json_t *object);

struct kube_cache {
    VEC(struct kube_object *) objects; /* by name, in strcmp order; read-only for others */
    kube_prune_fn prune;               /* may be NULL */
    kube_change_fn on_change;          /* may be NULL */
    void *ctx;
    unsigned epoch;
};
void kube_cache_init(struct kube_cache *c, kube_prune_fn prune, kube_change_fn on_change,
                     void *ctx);
void kube_cache_done(struct kube_cache *c); /* without callbacks */
/* NULL: not found. Borrowed until the cache changes. */
const struct kube_object *kube_cache_get(const struct kube_cache *c, const char *name);
/* Keeps a reference and removes managedFields from the object. An object without a name is ignored
 * (false). */
bool kube_cache_put(struct kube_cache *c, json_t *object);
void kube_cache_remove(struct kube_cache *c, json_t *object);
/* A complete list: begin, put each object, end. The end removes objects that were not put. */
void kube_cache_begin_list(struct kube_cache *c);
void kube_cache_end_list(struct kube_cache *c);
