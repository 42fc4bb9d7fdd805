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

bool file_part_put(void *ctx, const void *data, size_t len)
{
    struct file_parts *f = ctx;
    for (size_t done = 0; done < len && f->r >= 0;) {
        const ssize_t n = write(f->fd, (const char *)data + done, len - done);
        if (n < 0 && errno != EINTR) {
            f->r = -errno;
        }
        done += n < 0 ? 0 : (size_t)n;
    }
    return true;
}

/* A new file next to `path`, with the mode of any new file. mkostemp() would make it private. */
static int open_aside(const char *path, char **ret)
{
    int fd = -1;
    for (unsigned i = 0; fd < 0 && (i == 0 || errno == EEXIST); i++) {
        free(*ret);
        *ret = xasprintf("%s.part%u", path, i);
        fd = open(*ret, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    }
    return fd;
}

void file_parts_begin(struct file_parts *f, const char *link)
{
    struct stat st;
    *f = (struct file_parts){0};
    if (stat(link, &st) == 0 && !S_ISREG(st.st_mode)) {
        f->fd = open(link, O_WRONLY | O_CLOEXEC);
    } else {
        char *real = realpath(link, NULL); /* NULL: there is no file yet */
        f->path = real == NULL ? xstrdup(link) : real;
        f->fd = open_aside(f->path, &f->aside);
    }
    f->r = f->fd < 0 ? -errno : 0;
}

static int name_file(const struct file_parts *f)
{
    const bool is_whole = fsync(f->fd) == 0 && /* before the name leads to it */
                          rename(f->aside, f->path) == 0;
    return is_whole ? 0 : -errno;
}

int file_parts_end(struct file_parts *f)
{
    f->r = f->r == 0 && f->aside != NULL ? name_file(f) : f->r;
    if (f->r < 0 && f->aside != NULL) {
        (void)unlink(f->aside);
    }
    f->r = f->fd >= 0 && close(f->fd) < 0 && f->r == 0 ? -errno : f->r;
    free(f->path);
    free(f->aside);
    return f->r;
}

int file_replace(const char *link, const struct buf *data)
{
    struct file_parts f;
    file_parts_begin(&f, link);
    (void)file_part_put(&f, data->data, data->len); /* says in f.r what fails */
    return file_parts_end(&f);
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
