/* Small files, see small_file.h. */
#include "kube/small_file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"

static int read_all(int fd, const char *path, struct buf *text, struct err *err)
{
    char chunk[4096];
    for (;;) {
        const ssize_t n = read(fd, chunk, sizeof(chunk));
        if (n == 0) {
            return 0;
        }
        if (n < 0 && errno != EINTR) {
            return err_set_errno(err, errno, "read %s", path);
        }
        if (n > 0 && buf_try_append(text, chunk, (size_t)n) < 0) {
            return err_set(err, E2BIG, "read %s: more than %zu bytes", path, KUBE_FILE_MAX);
        }
    }
}

int kube_file_read(const char *path, char **ret, size_t *ret_len, struct err *err)
{
    _cleanup_(fd_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return err_set_errno(err, errno, "open %s", path);
    }
    struct buf text;
    buf_init(&text, KUBE_FILE_MAX);
    const int r = read_all(fd, path, &text, err);
    if (r < 0) {
        buf_done(&text);
        return r;
    }
    *ret_len = text.len;
    *ret = buf_take(&text);
    return 0;
}
