/* The profiles that are part of every program: those that only say how processes find each other.
 * Their texts are benchmarks/profiles/NAME/profile.yaml. */
#pragma once

#include "doc/embedded.h"

extern const struct embedded shipped_profiles[]; /* sorted by name */
extern const size_t shipped_profiles_count;
