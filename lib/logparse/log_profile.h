/* A LogProfile of NVIDIA's Cluster Readiness Engine (NVCRE) as the text of a log rule. Pure. */
#pragma once

#include "doc/reader.h"

/* Appends the rule, and ", " and its name for each part of the profile that is left out. False: it
 * has problems, which are reported. */
bool log_profile_write(struct diags *d, const struct place *place, struct buf *rule,
                       struct buf *left_out);
