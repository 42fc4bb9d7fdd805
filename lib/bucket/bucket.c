/* See bucket.h. */
#include "bucket/bucket.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/whole_file.h"
#include "bucket/s3.h"

#define S3_SCHEME "s3://"
#define FILE_SCHEME "file://"

struct bucket {
    char *folder; /* NULL: it is in S3 */
    struct s3 s3;
};

bool bucket_is_url(const char *text)
{
    return str_has_prefix(text, S3_SCHEME) || str_has_prefix(text, FILE_SCHEME);
}

int bucket_open(const char *url, char *(*env)(const char *name), struct bucket **ret,
                struct err *err)
{
    const bool is_file = str_has_prefix(url, FILE_SCHEME), is_s3 = str_has_prefix(url, S3_SCHEME);
    const char *place = url + (is_file ? strlen(FILE_SCHEME) : is_s3 ? strlen(S3_SCHEME) : 0);
    if (place[0] == '\0' || (is_file && place[0] != '/') ||
        (!is_file && !is_s3 && strstr(url, "://") != NULL)) {
        return err_set(err, EINVAL, "'%s': expected s3://BUCKET/PREFIX, file:///DIR or a path",
                       url);
    }
    struct bucket *b = xnew(struct bucket);
    b->folder = is_s3 ? NULL : xstrdup(place);
    const int r = is_s3 ? s3_open(place, env, &b->s3, err) : 0;
    if (r < 0) {
        bucket_free(b);
        return r;
    }
    *ret = b;
    return 0;
}

void bucket_free(struct bucket *b)
{
    if (b != NULL) {
        free(b->folder);
        free(b->s3.url);
        free(b->s3.prefix);
        free(b->s3.sign);
        free(b->s3.user);
        free(b->s3.token);
        free(b->s3.ca);
        free(b);
    }
}

void bucket_stop(struct bucket *b)
{
    atomic_store(&b->s3.is_stopping, true);
}

static int list_folder(const char *folder, struct texts *ret, struct err *err)
{
    const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return err_set_errno(err, errno, "folder '%s'", folder);
    }
    (void)close(fd); /* it was only asked whether it can be read */
    file_names(folder, ret);
    return 0;
}

int bucket_list(struct bucket *b, const char *ending, struct texts *ret, struct err *err)
{
    _cleanup_(texts_done) struct texts all = {0};
    const int r =
        b->folder != NULL ? list_folder(b->folder, &all, err) : s3_list(&b->s3, &all, err);
    vec_each (char *, name, &all.list) {
        if (r >= 0 && str_has_suffix(*name, ending) && (*name)[0] != '.' &&
            (*name)[strspn(*name, BUF_ALNUM "._-")] == '\0') {
            *vec_push(&ret->list) = take_ptr(*name);
        }
    }
    return r;
}

int bucket_get(struct bucket *b, const char *name, size_t max_bytes, struct buf *ret,
               struct err *err)
{
    if (b->folder == NULL) {
        return s3_get(&b->s3, name, max_bytes, ret, err);
    }
    _cleanup_(freep) char *path = xasprintf("%s/%s", b->folder, name);
    return file_read(path, max_bytes, ret, err);
}

int bucket_put(struct bucket *b, const char *name, const struct buf *data, struct err *err)
{
    if (b->folder == NULL) {
        return s3_put(&b->s3, name, data, err);
    }
    _cleanup_(freep) char *path = xasprintf("%s/%s", b->folder, name);
    const int r = file_replace(path, data);
    return r < 0 ? err_set_errno(err, -r, "%s", path) : 0;
}
