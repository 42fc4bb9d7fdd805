/* See lock.h. */
#include "daemon/cluster/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "host/host.h"

#define BOOT_ID "/proc/sys/kernel/random/boot_id"

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

int lock_place(int fd, char **ret, struct err *err)
{
    struct stat st;
    uint64_t random;
    if (fstat(fd, &st) < 0) {
        return err_set_errno(err, errno, "lock file");
    }
    _cleanup_(freep) char *boot = host_read_line("", BOOT_ID);
    if (boot == NULL) { /* another machine might have the same: a number of this process's own */
        if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random)) {
            return err_set_errno(err, errno, "create an identity");
        }
        boot = xasprintf("%016llx", (unsigned long long)random);
    }
    *ret = xasprintf("%s:%llx:%llx", boot, (unsigned long long)st.st_dev,
                     (unsigned long long)st.st_ino);
    return 0;
}
