/* Whether the first pod of an attempt may be created: what may run at the same time. Pods of ours
 * may still run that are of an earlier attempt, of a run that was deleted, of one that no process
 * drives, and no measurement may share its CPUs with them. "Nothing of it lives" is a fact about
 * the namespace, so the cache of its pods is asked, and not only what a launcher remembers. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "decide/policy_wait.h"

struct pod_gang;

/* A lane is free for the attempt that is due: no pod that is of another run or of its point may
 * run, and each other attempt of the run of which one may takes a lane; for one that is to be alone
 * (spec/run_def.h) none of any. Else *ret_wait says what may run. Asked until its first pod is
 * created: no other process creates any then. */
bool pod_lane_is_free(const struct pod_gang *g, struct run_wait *ret_wait, int64_t now_ns);
