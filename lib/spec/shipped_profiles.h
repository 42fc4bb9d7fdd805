/* The profiles that are part of every program: those that only say how processes find each other.
 * Their texts are benchmarks/profiles/NAME/profile.yaml. Pure. */
#pragma once

#include <stddef.h>

struct shipped_profile {
    const char *name, *text;
};
/* NULL behind the last. */
const struct shipped_profile *shipped_profile_at(size_t index);
/* NULL: no such profile. */
const struct shipped_profile *shipped_profile_find(const char *name);
