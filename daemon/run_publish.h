/* Writing a run's status into its object, at most once a second and only when it changed. */
#pragma once

#include "daemon/run.h"

void run_publish(struct run *run);
