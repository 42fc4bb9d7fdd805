/* See shipped_profiles.h. */
#include "spec/shipped_profiles.h"

#include "base/str.h"

static const struct shipped_profile shipped[] = {
#include "shipped_profiles.inc"
};

const struct shipped_profile *shipped_profile_at(size_t index)
{
    return index < sizeof(shipped) / sizeof(shipped[0]) ? &shipped[index] : NULL;
}

const struct shipped_profile *shipped_profile_find(const char *name)
{
    for (size_t i = 0; i < sizeof(shipped) / sizeof(shipped[0]); i++) {
        if (str_eq(shipped[i].name, name)) {
            return &shipped[i];
        }
    }
    return NULL;
}
