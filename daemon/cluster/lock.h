/* One benchd per store: a lock file next to it, held for the life of the process. Edge file: files,
 * a random number. */
#pragma once

#include "base/err.h"

/* Returns the descriptor that holds the lock. The kernel releases it when the process ends, however
 * that happens. -EBUSY: another process has the lock. */
int lock_take(const char *path, struct err *err);
/* What no other living process can hold: this file on this boot of the machine. The same again for
 * the next process that takes the lock, but not for a copy of the file. Owned. */
int lock_place(int fd, char **ret, struct err *err);
