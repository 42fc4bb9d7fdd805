/* The right to drive a run: a lock file next to the store, FILE-<uid>.lock, with a lock on the open
 * file (fcntl OFD, which unlike flock can be queried without taking it). The kernel releases the
 * lock however the process ends. After a kill -9 the file stays, unlocked, and the next claim takes
 * it over. The file contains the owner's pid. */
#include "store/sqlite_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"

/* The owner unlinks the file before it releases the lock, so a lock may be
 * taken on a deleted file. */
static bool is_linked(int fd, const char *path)
{
    struct stat held, named;
    return fstat(fd, &held) == 0 && stat(path, &named) == 0 && held.st_ino == named.st_ino &&
           held.st_dev == named.st_dev;
}

static int ofd_lock(int fd, int command, struct flock *ret)
{
    *ret = (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return fcntl(fd, command, ret);
}

static int busy(int fd, struct err *err)
{
    char pid[24] = "";
    ssize_t n = pread(fd, pid, sizeof(pid) - 1, 0);
    pid[n > 0 ? strspn(pid, "0123456789") : 0] = '\0';
    return err_set(err, EBUSY, "it is being driven by process %s",
                   pid[0] == '\0' ? "(unknown)" : pid);
}

/* Opens and locks `path`; -EAGAIN: try again, the file was replaced in between. */
static int lock_file(const char *path, struct err *err)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0) {
        return err_set_errno(err, errno, "lock file '%s'", path);
    }
    int r = 0;
    struct flock lock;
    if (ofd_lock(fd, F_OFD_SETLK, &lock) < 0) {
        r = errno == EAGAIN || errno == EACCES ? busy(fd, err)
                                               : err_set_errno(err, errno, "lock file '%s'", path);
    } else if (!is_linked(fd, path)) {
        r = -EAGAIN;
    }
    if (r < 0) {
        (void)close(fd);
        return r;
    }
    char pid[24];
    int len = snprintf(pid, sizeof(pid), "%ld\n", (long)getpid());
    /* The pid is for people: on a full disk the claim is valid without it. */
    if (ftruncate(fd, 0) < 0 || pwrite(fd, pid, (size_t)len, 0) < len) {
        (void)(ftruncate(fd, 0) == 0); /* what was written stays; another process names it */
    }
    return fd;
}

int claim_take(struct store *base, const char *uid, struct err *err)
{
    struct sqlite_store *s = sqlite_store_of(base);
    if (vec_any(&s->claims, it, str_eq(it->uid, uid))) {
        return 0;
    }
    _cleanup_(freep) char *path = xasprintf("%s-%s.lock", s->path, uid);
    int fd;
    do {
        fd = lock_file(path, err);
    } while (fd == -EAGAIN); /* ends: each time another process has taken and released it */
    if (fd < 0) {
        s->is_full |= fd == -ENOSPC; /* of bytes or of inodes */
        return fd;
    }
    *vec_push(&s->claims) = (struct claim){xstrdup(uid), take_ptr(path), fd};
    return 0;
}

int claim_probe(struct store *base, const char *uid, struct err *err)
{
    struct sqlite_store *s = sqlite_store_of(base);
    _cleanup_(freep) char *path = xasprintf("%s-%s.lock", s->path, uid);
    _cleanup_(fd_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return errno == ENOENT ? 0 : err_set_errno(err, errno, "lock file '%s'", path);
    }
    struct flock lock;
    int r = ofd_lock(fd, F_OFD_GETLK, &lock);
    if (r < 0) {
        r = err_set_errno(err, errno, "lock file '%s'", path);
    } else if (lock.l_type != F_UNLCK) {
        r = busy(fd, err);
    }
    return r;
}

static void release(struct claim *c)
{
    (void)unlink(c->path); /* before the lock is released; a file that stays is harmless */
    (void)close(c->fd);
    free(c->uid);
    free(c->path);
}

void claim_release(struct store *base, const char *uid)
{
    struct sqlite_store *s = sqlite_store_of(base);
    struct claim *held = vec_find(&s->claims, it, str_eq(it->uid, uid));
    if (held != NULL) {
        release(held);
        *held = s->claims.items[--s->claims.len];
    }
}

void claim_release_all(struct sqlite_store *s)
{
    vec_done_each(&s->claims, release);
}
