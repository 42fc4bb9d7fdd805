/* The profiles that are part of every program: those that only say how processes find each other.
 * Their texts are benchmarks/profiles/NAME/profile.yaml. */
#pragma once

#include "doc/embedded.h"

extern const struct embedded shipped_profiles[]; /* sorted by name */
extern const size_t shipped_profiles_count;

/* What each profile of benchmarks/profiles is, in a line: its `description`. A run's definition
 * names profiles and does not have their files, so code that shows a run looks here. */
extern const struct embedded profile_descriptions[]; /* sorted by name */
extern const size_t profile_descriptions_count;
/* Their families, ",PyTorch,Gloo,"; "" without. As many, in the same order. */
extern const struct embedded profile_families[];
