/* See spec_parts.h. */
#include "spec/spec_parts.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"

#define RESERVED_PREFIX "BENCHD_"

void spec_read_roles_or_all(const struct place *map, bool *flags)
{
    if (tree_get(map->node, "roles") == NULL) {
        memset(flags, true, ROLE_COUNT * sizeof(*flags));
    }
    place_flags(map, "roles", role_names, ROLE_COUNT, flags);
}

void spec_read_words(const struct place *map, const char *key, struct command *ret)
{
    place_items (item, map, key) {
        if (place_is_good(&item)) {
            *vec_push(&ret->words) = xstrdup(item.node->s);
        }
    }
}

bool spec_env_name_is_free(struct diags *diags, const struct place *place)
{
    if (place_is_good(place) && str_has_prefix(place->node->s, RESERVED_PREFIX)) {
        return reader_complain(diags, place, "choose another name",
                               "names that begin with " RESERVED_PREFIX " are benchd's own");
    }
    return place_is_good(place);
}
