/* Parameters that lie in memory and not in a cache: each is read and written once. */
#pragma once

#include <stddef.h>

/* to (n) = from (n), which do not overlap. Past the caches where this CPU can, so that it evicts
 * nothing and does not first read what it overwrites: for what is not read soon. It is complete for
 * a thread that learns of it then. */
void one_pass_copy(float *to, const float *from, size_t n);
