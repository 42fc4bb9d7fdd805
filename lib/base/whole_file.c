/* See whole_file.h. */
#include "base/whole_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

static int write_all(int fd, const struct buf *data)
{
    for (size_t done = 0; done < data->len;) {
        const ssize_t n = write(fd, data->data + done, data->len - done);
        if (n < 0 && errno != EINTR) {
            return -errno;
        }
        done += n < 0 ? 0 : (size_t)n;
    }
    return 0;
}

static int write_through(const char *path, const struct buf *data)
{
    const int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) {
        return -errno;
    }
    int r = write_all(fd, data);
    return close(fd) < 0 && r == 0 ? -errno : r;
}

int file_replace(const char *link, const struct buf *data)
{
    struct stat st;
    if (stat(link, &st) == 0 && !S_ISREG(st.st_mode)) {
        return write_through(link, data);
    }
    _cleanup_(freep) char *real = realpath(link, NULL); /* NULL: there is no file yet */
    const char *path = real == NULL ? link : real;
    _cleanup_(freep) char *aside = xasprintf("%s.XXXXXX", path);
    const int fd = mkostemp(aside, O_CLOEXEC);
    if (fd < 0) {
        return -errno;
    }
    const mode_t mask = umask(0);
    (void)umask(mask);
    int r = write_all(fd, data);
    r = r == 0 && fchmod(fd, 0666 & ~mask) < 0 ? -errno : r;
    r = r == 0 && fsync(fd) < 0 ? -errno : r; /* before the name leads to it */
    r = close(fd) < 0 && r == 0 ? -errno : r;
    r = r == 0 && rename(aside, path) < 0 ? -errno : r;
    if (r < 0) {
        (void)unlink(aside);
    }
    return r;
}

int file_read_fd(int fd, const char *path, size_t max_bytes, struct buf *ret, struct err *err)
{
    struct buf text;
    buf_init(&text, max_bytes);
    char chunk[65536];
    ssize_t n;
    int r = 0;
    while (r == 0 && (n = read(fd, chunk, sizeof(chunk))) != 0) {
        if (n < 0) {
            r = errno == EINTR ? 0 : err_set_errno(err, errno, "%s", path);
        } else if (buf_try_append(&text, chunk, (size_t)n) < 0) {
            r = err_set(err, E2BIG, "%s has more than %zu bytes", path, max_bytes);
        }
    }
    if (r < 0) {
        buf_done(&text);
        return r;
    }
    *ret = text;
    return 0;
}

int file_read(const char *path, size_t max_bytes, struct buf *ret, struct err *err)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return err_set_errno(err, errno, "%s", path);
    }
    const int r = file_read_fd(fd, path, max_bytes, ret, err);
    (void)close(fd); /* it was only read */
    return r;
}

void file_names(const char *folder, struct texts *ret)
{
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        *vec_push(&ret->list) = xstrdup(entry->d_name);
    }
    if (dir != NULL) {
        (void)closedir(dir); /* only read from */
    }
}

const char *file_last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}
