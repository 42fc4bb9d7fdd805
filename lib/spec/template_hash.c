/* See template_hash.h. */
#include "spec/template_hash.h"

#include <stdint.h>

#include "base/mem.h"

struct fnv {
    uint64_t hash;
};

static int add_chunk(const char *data, size_t len, void *ctx)
{
    struct fnv *fnv = ctx;
    for (size_t i = 0; i < len; i++) {
        fnv->hash = (fnv->hash ^ (unsigned char)data[i]) * 0x100000001b3;
    }
    return 0;
}

char *template_hash(const json_t *template)
{
    if (template == NULL) {
        return xstrdup("none");
    }
    struct fnv fnv = {.hash = 0xcbf29ce484222325};
    (void)json_dump_callback(template, add_chunk, &fnv,
                             JSON_COMPACT | JSON_SORT_KEYS |
                                 JSON_ENCODE_ANY); /* add_chunk cannot fail */
    return xasprintf("%016llx", (unsigned long long)fnv.hash);
}
