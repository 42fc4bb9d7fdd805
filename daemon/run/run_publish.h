/* Writing a run's status into its object, at most once a second and only when it changed. A run
 * that has ended is judged before. */
#pragma once

#include "daemon/run/run.h"

/* True: a request was sent. */
bool run_publish(struct run *run);
