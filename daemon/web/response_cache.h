/* Documents that were made already, by what was asked (the key) and the state of the run that they
 * were made from (the version, see site_run_version). A key has one version: the last. The least
 * recently used go first when CACHE_BYTES or CACHE_ENTRIES are exceeded; all are dropped when no
 * request arrives for CACHE_IDLE_NS. Of one thread; takes time as data. */
#pragma once

#include <stdint.h>

#include "base/vec.h"
#include "daemon/web/response_body.h"

#define CACHE_BYTES ((size_t)16 << 20)
#define CACHE_ENTRIES 128 /* it is searched from end to end */
#define CACHE_IDLE_NS (30 * INT64_C(1000000000))

struct cache_entry {
    char *key, *version; /* owned */
    struct body *body;   /* referenced */
    int64_t used_ns;
};

struct cache {
    VEC(struct cache_entry) entries;
    size_t bytes; /* of the bodies */
};
void cache_done(struct cache *c);

/* Referenced for the caller; NULL: it is not there, or it is out of date. */
struct body *cache_get(struct cache *c, const char *key, const char *version, int64_t now_ns);
/* References the body. A body that is larger than the cache is not kept. */
void cache_put(struct cache *c, const char *key, const char *version, struct body *body,
               int64_t now_ns);
/* Drops documents that were not requested for CACHE_IDLE_NS. */
void cache_drop_idle(struct cache *c, int64_t now_ns);
