/* Closing a descriptor of which nothing can be lost any more: a socket, a pipe, memory, or a file
 * that was only read. So what close says does not matter. */
#pragma once

#include <unistd.h>

#include "base/mem.h"

/* Sets it to -1; does nothing if it is that. For _cleanup_, too. */
static inline void fd_close(int *fd)
{
    if (*fd >= 0) {
        (void)close(*fd);
        *fd = -1;
    }
}
