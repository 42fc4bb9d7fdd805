/* Whether the first pod of an attempt may be created: what may run at the same time. Pods of ours
 * may still run that are of an earlier attempt, of a run that was deleted, of one that no process
 * drives, and no measurement may share its CPUs with them. "Nothing of it lives" is a fact about
 * the namespace, so the cache of its pods is asked, and not only what a launcher remembers. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "decide/policy_wait.h"

struct pod_gang;

/* A lane is free for the attempt that is due if no pod of another run or of the same point may
 * still run, and another attempt of the run, of which a pod may still run, takes a lane. Otherwise
 * *ret_wait says what may run. It is asked until the first pod of the attempt is created: no other
 * process creates pods then. */
bool pod_lane_is_free(const struct pod_gang *g, struct run_wait *ret_wait, int64_t now_ns);
