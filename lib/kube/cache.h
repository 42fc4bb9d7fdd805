/* The objects of one kind in one namespace as last seen, by name. Pure. Written by a reflector,
 * read by whoever decides. An object of the same name with a new uid is another object: the change
 * is reported as a removal and an addition.
 *
 * There may be ten thousand. So an object is a tree of JSON only for the call that reports its
 * change; in between it is one packed block (packed.h) of what its owner's prune has left, and its
 * readers get a new tree when they ask (kube_cache_json). What a reader asks of all objects again
 * and again is kept next to it as a mark. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/vec.h"
#include "kube/packed.h"

/* An object as a callback gets it. */
struct kube_object {
    const char *name, *uid, *resource_version; /* "" if the server gave none */
    const json_t *json; /* the whole object without managedFields, after the owner's prune */
};

/* An object as it is kept. */
struct kube_entry {
    uint64_t mark;  /* what the owner's mark function said; 0 without one */
    unsigned epoch; /* of the list that contained it last; for the cache only */
    uint32_t uid_at, version_at, packed_at, size; /* in `text`, the same */
    char text[];                                  /* its name, its uid ... */
};
const char *kube_entry_name(const struct kube_entry *e);
const char *kube_entry_uid(const struct kube_entry *e);
const char *kube_entry_version(const struct kube_entry *e);

enum kube_change { KUBE_CHANGE_ADDED, KUBE_CHANGE_UPDATED, KUBE_CHANGE_REMOVED };
/* `object` is borrowed for the call: the new state, or the last known one of a removed object. In
 * the call the cache holds the new state already. The callback must not change the cache. */
typedef void (*kube_change_fn)(void *ctx, enum kube_change change,
                               const struct kube_object *object);
/* Removes what is not needed before an object is stored. */
typedef void (*kube_prune_fn)(json_t *object);
/* Of a pruned object. */
typedef uint64_t (*kube_mark_fn)(const json_t *object);

struct kube_cache_params {
    kube_prune_fn prune;      /* may be NULL */
    kube_mark_fn mark;        /* may be NULL */
    kube_change_fn on_change; /* may be NULL */
    void *ctx;
};

struct kube_cache {
    VEC(struct kube_entry *) entries; /* by name, in strcmp order; read-only for others */
    struct kube_cache_params params;
    struct kube_words words;
    VEC(struct kube_entry *) listed; /* of the list that has begun: those that are new or changed */
    size_t n_put;                    /* of them, once it ends */
    unsigned epoch;
};
void kube_cache_init(struct kube_cache *c, const struct kube_cache_params *params);
void kube_cache_done(struct kube_cache *c); /* without callbacks */
/* NULL: not found. Borrowed until the cache changes. */
const struct kube_entry *kube_cache_get(const struct kube_cache *c, const char *name);
/* An entry of this cache as it was put; a new tree, owned. */
json_t *kube_cache_json(const struct kube_cache *c, const struct kube_entry *e);

/* Prunes the object and keeps a copy. An object without a name is ignored (false). */
bool kube_cache_put(struct kube_cache *c, json_t *object);
void kube_cache_remove(struct kube_cache *c, json_t *object);
/* A complete list: begin, add each object, end. Nothing changes before the end, which puts what is
 * new and then removes objects that were not added: about `most` changes a call, so that a list of
 * thousands need not be one turn of a loop. Until it returns true, there is more, and no other
 * function changes the cache. An unchanged object needs no memory until then. */
void kube_cache_begin_list(struct kube_cache *c); /* drops one that has not ended */
void kube_cache_add_listed(struct kube_cache *c, json_t *object);
bool kube_cache_end_list(struct kube_cache *c, size_t most);
