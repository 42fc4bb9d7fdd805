/* One benchd per store: a lock file beside it, held for the life of the process. Edge file. */
#pragma once

#include "base/err.h"

/* Returns the descriptor that holds the lock. The kernel releases it when the process ends, however
 * that happens. -EBUSY: another process has the lock. */
int lock_take(const char *path, struct err *err);
