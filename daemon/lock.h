/* One benchd a store: a lock beside it, held as long as the process lives. Edge file. */
#pragma once

#include "base/err.h"

/* The descriptor that holds the lock; it goes with the process, whatever ends that. -EBUSY: another
 * process has it. */
int lock_take(const char *path, struct err *err);
