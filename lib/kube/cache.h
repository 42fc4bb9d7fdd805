/* The objects of one kind in one namespace as last seen, by name. Pure. Written by a reflector,
 * read by whoever decides. An object of the same name with a new uid is another object: the change
 * is reported as a removal and an addition.
 *
 * There may be ten thousand. So an object is a tree of JSON only while it comes in; what stays is
 * what its owner's decode function has made of it: facts. The cache does not look into them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/vec.h"

struct kube_object {
    const char *name, *uid, *resource_version; /* "" if the server gave none */
    void *facts;                               /* of the owner's kind; read-only for others */
    unsigned epoch; /* of the list that contained it last; for the cache only */
};

/* What is kept of an object: one block, owned, for free(). May take the tree apart. */
typedef void *(*kube_decode_fn)(json_t *object);

enum kube_change { KUBE_CHANGE_ADDED, KUBE_CHANGE_UPDATED, KUBE_CHANGE_REMOVED };
/* `object` is borrowed for the call: the new state, or the last known one of a removed object. In
 * the call the cache holds the new state already. The callback must not change the cache. */
typedef void (*kube_change_fn)(void *ctx, enum kube_change change,
                               const struct kube_object *object);

struct kube_cache_params {
    kube_decode_fn decode;    /* NULL: kube_json_keep (json.h) */
    kube_change_fn on_change; /* may be NULL */
    void *ctx;
};

struct kube_cache {
    VEC(struct kube_object *) objects; /* by name, in strcmp order; read-only for others */
    struct kube_cache_params params;
    VEC(struct kube_object *)
    listed;       /* of the list that has begun: those that are new or changed */
    size_t n_put; /* of them, once it ends */
    unsigned epoch;
};
void kube_cache_init(struct kube_cache *c, const struct kube_cache_params *params);
void kube_cache_done(struct kube_cache *c); /* without callbacks */
/* NULL: not found. Borrowed until the cache changes. */
const struct kube_object *kube_cache_get(const struct kube_cache *c, const char *name);

/* Decodes the object and keeps that. An object without a name is ignored (false). */
bool kube_cache_put(struct kube_cache *c, json_t *object);
void kube_cache_remove(struct kube_cache *c, json_t *object);
/* A complete list: begin, add each object, end. Nothing changes before the end, which puts what is
 * new and then removes objects that were not added: about `most` changes a call, so that a list of
 * thousands need not be one turn of a loop. Until it returns true, there is more, and no other
 * function changes the cache. An unchanged object needs no memory until then. */
void kube_cache_begin_list(struct kube_cache *c); /* drops one that has not ended */
void kube_cache_add_listed(struct kube_cache *c, json_t *object);
bool kube_cache_end_list(struct kube_cache *c, size_t most);
