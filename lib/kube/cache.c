/* Objects by name, see cache.h. */
#include "kube/cache.h"

#include <string.h>

#include "base/mem.h"
#include "kube/json.h"

void kube_cache_init(struct kube_cache *c, kube_prune_fn prune, kube_change_fn on_change, void *ctx)
{
    *c = (struct kube_cache){.prune = prune, .on_change = on_change, .ctx = ctx};
}

static void object_free(struct kube_object *o)
{
    free(o->name);
    free(o->uid);
    free(o->resource_version);
    json_decref(o->json);
    free(o);
}

void kube_cache_done(struct kube_cache *c)
{
    vec_each (struct kube_object *, it, &c->objects) {
        object_free(*it);
    }
    vec_done(&c->objects);
}

/* The object's place, or the one where it belongs. */
static bool find(const struct kube_cache *c, const char *name, size_t *ret)
{
    size_t low = 0, high = c->objects.len;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = strcmp(c->objects.items[middle]->name, name);
        if (order == 0) {
            *ret = middle;
            return true;
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    *ret = low;
    return false;
}

const struct kube_object *kube_cache_get(const struct kube_cache *c, const char *name)
{
    size_t at;
    return find(c, name, &at) ? c->objects.items[at] : NULL;
}

static void tell(const struct kube_cache *c, enum kube_change change, const struct kube_object *o)
{
    if (c->on_change != NULL) {
        c->on_change(c->ctx, change, o);
    }
}

static void insert(struct kube_cache *c, size_t at, struct kube_object *o)
{
    (void)vec_push(&c->objects); /* the room; its place is made next */
    struct kube_object **items = c->objects.items;
    memmove(&items[at + 1], &items[at], (c->objects.len - 1 - at) * sizeof(items[0]));
    items[at] = o;
    tell(c, KUBE_CHANGE_ADDED, o);
}

static void replace(struct kube_object *o, json_t *object)
{
    json_incref(object);
    json_decref(o->json);
    o->json = object;
    free(o->resource_version);
    o->resource_version = xstrdup(kube_json_metadata(object, "resourceVersion"));
}

/* Takes the object out; `last`, if not NULL, is its last state. */
static void take_out(struct kube_cache *c, size_t at, json_t *last)
{
    struct kube_object **items = c->objects.items;
    struct kube_object *o = items[at];
    memmove(&items[at], &items[at + 1], (c->objects.len - 1 - at) * sizeof(items[0]));
    c->objects.len--;
    if (last != NULL) {
        replace(o, last);
    }
    tell(c, KUBE_CHANGE_REMOVED, o);
    object_free(o);
}

static void trim(const struct kube_cache *c, json_t *object)
{
    (void)json_object_del(json_object_get(object, "metadata"), "managedFields"); /* may be absent */
    if (c->prune != NULL) {
        c->prune(object);
    }
}

bool kube_cache_put(struct kube_cache *c, json_t *object)
{
    const char *name = kube_json_metadata(object, "name");
    if (name[0] == '\0') {
        return false;
    }
    const char *uid = kube_json_metadata(object, "uid");
    const char *version = kube_json_metadata(object, "resourceVersion");
    size_t at;
    if (find(c, name, &at)) {
        struct kube_object *old = c->objects.items[at];
        if (strcmp(old->uid, uid) == 0) {
            old->epoch = c->epoch;
            if (version[0] == '\0' || strcmp(old->resource_version, version) != 0) {
                trim(c, object);
                replace(old, object);
                tell(c, KUBE_CHANGE_UPDATED, old);
            }
            return true;
        }
        take_out(c, at, NULL);
    }
    struct kube_object *o = xnew(struct kube_object);
    *o = (struct kube_object){.name = xstrdup(name),
                              .uid = xstrdup(uid),
                              .resource_version = xstrdup(version),
                              .epoch = c->epoch};
    trim(c, object);
    o->json = json_incref(object);
    insert(c, at, o);
    return true;
}

void kube_cache_remove(struct kube_cache *c, json_t *object)
{
    size_t at;
    if (find(c, kube_json_metadata(object, "name"), &at) &&
        strcmp(c->objects.items[at]->uid, kube_json_metadata(object, "uid")) == 0) {
        trim(c, object);
        take_out(c, at, object);
    }
}

void kube_cache_begin_list(struct kube_cache *c)
{
    c->epoch++;
}

void kube_cache_end_list(struct kube_cache *c)
{
    for (size_t i = c->objects.len; i > 0; i--) { /* from the end: places before it stay */
        if (c->objects.items[i - 1]->epoch != c->epoch) {
            take_out(c, i - 1, NULL);
        }
    }
}
