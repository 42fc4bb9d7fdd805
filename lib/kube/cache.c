/* Objects by name, see cache.h. */
#include "kube/cache.h"

#include <string.h>

#include "base/mem.h"
#include "kube/json.h"

/* ---- objects ---- */

static void object_free(struct kube_object *o)
{
    free(o->facts);
    free(o);
}

/* One block with its texts; its facts are another. */
static struct kube_object *object_new(const struct kube_cache *c, json_t *json)
{
    static const char *const keys[] = {"name", "uid", "resourceVersion"};
    const char *texts[3];
    size_t size = sizeof(struct kube_object);
    for (unsigned i = 0; i < 3; i++) {
        texts[i] = kube_json_metadata(json, keys[i]);
        size += strlen(texts[i]) + 1;
    }
    struct kube_object *o = xmalloc(size);
    char *at = (char *)(o + 1);
    for (unsigned i = 0; i < 3; i++) {
        const size_t n = strlen(texts[i]) + 1;
        texts[i] = memcpy(at, texts[i], n);
        at += n;
    }
    *o = (struct kube_object){texts[0], texts[1], texts[2], NULL, c->epoch};
    o->facts = c->params.decode(json);
    return o;
}

/* ---- the cache ---- */

void kube_cache_init(struct kube_cache *c, const struct kube_cache_params *params)
{
    *c = (struct kube_cache){.params = *params};
    c->params.decode = params->decode ?: kube_json_keep;
}

static void drop_listed(struct kube_cache *c)
{
    for (size_t i = c->n_put; i < c->listed.len; i++) {
        object_free(c->listed.items[i]);
    }
    vec_done(&c->listed);
    c->n_put = 0;
}

void kube_cache_done(struct kube_cache *c)
{
    drop_listed(c);
    vec_each (struct kube_object *, it, &c->objects) {
        object_free(*it);
    }
    vec_done(&c->objects);
}

/* The object's place, or the one where it belongs. */
static bool find(const struct kube_cache *c, const char *name, size_t *ret)
{
    return vec_search(&c->objects, o, strcmp((*o)->name, name), ret);
}

const struct kube_object *kube_cache_get(const struct kube_cache *c, const char *name)
{
    size_t at;
    return find(c, name, &at) ? c->objects.items[at] : NULL;
}

static void tell(const struct kube_cache *c, enum kube_change change, const struct kube_object *o)
{
    if (c->params.on_change != NULL) {
        c->params.on_change(c->params.ctx, change, o);
    }
}

/* Takes the object out; `last`, if not NULL, is its last state. */
static void take_out(struct kube_cache *c, size_t at, json_t *last)
{
    struct kube_object *o = c->objects.items[at];
    vec_remove(&c->objects, at);
    if (last != NULL) {
        object_free(o);
        o = object_new(c, last);
    }
    tell(c, KUBE_CHANGE_REMOVED, o);
    object_free(o);
}

/* Is it there already, in this state? Then it stays. */
static bool is_known(const struct kube_cache *c, const json_t *object)
{
    const char *version = kube_json_metadata(object, "resourceVersion");
    size_t at;
    if (version[0] == '\0' || !find(c, kube_json_metadata(object, "name"), &at)) {
        return false;
    }
    struct kube_object *o = c->objects.items[at];
    if (strcmp(o->uid, kube_json_metadata(object, "uid")) != 0 ||
        strcmp(o->resource_version, version) != 0) {
        return false;
    }
    o->epoch = c->epoch;
    return true;
}

static void put(struct kube_cache *c, struct kube_object *o_take)
{
    size_t at;
    if (find(c, o_take->name, &at)) {
        struct kube_object *old = c->objects.items[at];
        if (strcmp(old->uid, o_take->uid) == 0) {
            c->objects.items[at] = o_take;
            object_free(old);
            tell(c, KUBE_CHANGE_UPDATED, o_take);
            return;
        }
        take_out(c, at, NULL);
    }
    *vec_insert(&c->objects, at) = o_take;
    tell(c, KUBE_CHANGE_ADDED, o_take);
}

bool kube_cache_put(struct kube_cache *c, json_t *object)
{
    if (kube_json_metadata(object, "name")[0] == '\0') {
        return false;
    }
    if (!is_known(c, object)) {
        put(c, object_new(c, object));
    }
    return true;
}

void kube_cache_remove(struct kube_cache *c, json_t *object)
{
    size_t at;
    if (find(c, kube_json_metadata(object, "name"), &at) &&
        strcmp(c->objects.items[at]->uid, kube_json_metadata(object, "uid")) == 0) {
        take_out(c, at, object);
    }
}

/* ---- lists ---- */

void kube_cache_begin_list(struct kube_cache *c)
{
    drop_listed(c);
    c->epoch++;
}

void kube_cache_add_listed(struct kube_cache *c, json_t *object)
{
    if (kube_json_metadata(object, "name")[0] != '\0' && !is_known(c, object)) {
        *vec_push(&c->listed) = object_new(c, object);
    }
}

bool kube_cache_end_list(struct kube_cache *c, size_t most)
{
    for (; c->n_put < c->listed.len; most--) {
        if (most == 0) {
            return false;
        }
        put(c, c->listed.items[c->n_put++]);
    }
    for (size_t i = c->objects.len; i > 0; i--) { /* from the end: places before it stay */
        if (c->objects.items[i - 1]->epoch != c->epoch) {
            if (most-- == 0) {
                return false;
            }
            take_out(c, i - 1, NULL);
        }
    }
    drop_listed(c);
    return true;
}
