/* See lock.h. */
#include "daemon/cluster/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

#define BOOT_ID "/proc/sys/kernel/random/boot_id"
#define BOOT_ID_LEN 36

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

/* Without a boot id another machine might have the same: then this process has
 * a number of its own. */
static int read_boot_id(char ret[static BOOT_ID_LEN + 1], struct err *err)
{
    const int fd = open(BOOT_ID, O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd < 0 ? -1 : read(fd, ret, BOOT_ID_LEN);
    if (fd >= 0) {
        (void)close(fd); /* only read */
    }
    ret[BOOT_ID_LEN] = '\0';
    if (n == BOOT_ID_LEN) {
        return 0;
    }
    uint64_t random;
    if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random)) {
        return err_set_errno(err, errno, "create an identity");
    }
    (void)snprintf(ret, BOOT_ID_LEN + 1, "%016llx", (unsigned long long)random); /* fits */
    return 0;
}

int lock_place(int fd, char **ret, struct err *err)
{
    struct stat st;
    char boot_id[BOOT_ID_LEN + 1];
    if (fstat(fd, &st) < 0) {
        return err_set_errno(err, errno, "lock file");
    }
    int r = read_boot_id(boot_id, err);
    if (r < 0) {
        return r;
    }
    *ret = xasprintf("%s:%llx:%llx", boot_id, (unsigned long long)st.st_dev,
                     (unsigned long long)st.st_ino);
    return 0;
}
