/* See response_cache.h. */
#include "daemon/web/response_cache.h"

#include "base/str.h"
#include "base/vec_walk.h"

static void drop(struct cache *c, size_t i)
{
    struct cache_entry *e = &c->entries.items[i];
    c->bytes -= e->body->n_bytes;
    body_unref(e->body);
    free(e->key);
    free(e->version);
    *e = c->entries.items[--c->entries.len];
}

void cache_done(struct cache *c)
{
    while (c->entries.len > 0) {
        drop(c, c->entries.len - 1);
    }
    vec_done(&c->entries);
}

static struct cache_entry *find(struct cache *c, const char *key)
{
    return vec_find(&c->entries, e, str_eq(e->key, key));
}

struct body *cache_get(struct cache *c, const char *key, const char *version, int64_t now_ns)
{
    struct cache_entry *e = find(c, key);
    if (e == NULL || !str_eq(e->version, version)) {
        return NULL;
    }
    e->used_ns = now_ns;
    return body_ref(e->body);
}

static void drop_oldest(struct cache *c)
{
    size_t oldest = 0;
    for (size_t i = 1; i < c->entries.len; i++) {
        if (c->entries.items[i].used_ns < c->entries.items[oldest].used_ns) {
            oldest = i;
        }
    }
    drop(c, oldest);
}

void cache_put(struct cache *c, const char *key, const char *version, struct body *body,
               int64_t now_ns)
{
    struct cache_entry *before = find(c, key);
    if (before != NULL) {
        drop(c, (size_t)(before - c->entries.items));
    }
    if (body->n_bytes > CACHE_BYTES) {
        return;
    }
    while (c->bytes + body->n_bytes > CACHE_BYTES || c->entries.len == CACHE_ENTRIES) {
        drop_oldest(c);
    }
    c->bytes += body->n_bytes;
    *vec_push(&c->entries) =
        (struct cache_entry){xstrdup(key), xstrdup(version), body_ref(body), now_ns};
}

void cache_drop_idle(struct cache *c, int64_t now_ns)
{
    for (size_t i = c->entries.len; i-- > 0;) {
        if (now_ns - c->entries.items[i].used_ns > CACHE_IDLE_NS) {
            drop(c, i);
        }
    }
}
