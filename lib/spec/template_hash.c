/* See template_hash.h. */
#include "spec/template_hash.h"

#include <stdint.h>

#include "base/mem.h"

char *template_hash(const json_t *template)
{
    if (template == NULL) {
        return xstrdup("none");
    }
    _cleanup_(freep) char *text =
        json_dumps(template, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);
    uint64_t hash = 0xcbf29ce484222325;
    for (const char *c = text; *c != '\0'; c++) {
        hash = (hash ^ (unsigned char)*c) * 0x100000001b3;
    }
    return xasprintf("%016llx", (unsigned long long)hash);
}
