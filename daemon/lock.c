/* See lock.h. */
#include "daemon/lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

int lock_take(const char *path, struct err *err)
{
    const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) {
        return err_set_errno(err, errno, "lock file '%s'", path);
    }
    if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        const int code = errno == EWOULDBLOCK ? EBUSY : errno;
        (void)close(fd); /* nothing was written */
        return err_set(err, code,
                       "lock file '%s': another benchd uses this store; stop it, or pass "
                       "another --store",
                       path);
    }
    return fd;
}
