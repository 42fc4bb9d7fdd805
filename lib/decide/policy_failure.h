/* The class of a replica's failure: docs/contracts/retries.md, "Classes". Launchers classify an
 * exit with failure_classify_exit (core/replica.h); policy_attempt.c asks for a replica's class.
 * Pure. */
#pragma once

#include "decide/observed.h"

/* The class of an observed replica: a lost one is infrastructure; a failed one whose launcher gave
 * no class gets one from its exit code; one that did not fail has FAILURE_NONE. */
enum failure_class failure_of_replica(const struct observed_replica *replica);
