/* The sets of benchmarks/reference, compiled in: they print without a file
 * and without a network. */
#pragma once

#include <stddef.h>

#include "doc/embedded.h"
#include "reference/reference.h"

extern const struct embedded reference_shipped[]; /* sorted by name */
extern const size_t reference_shipped_count;

/* Returns NULL if no set of this name ships. Owned. */
struct reference *reference_shipped_load(const char *name);
/* Returns the shipped name that was probably meant, or NULL. */
const char *reference_shipped_suggest(const char *name);
