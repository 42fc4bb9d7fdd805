/* Built without libcurl. */
#include "bucket/s3.h"

#include <errno.h>

int s3_open(const char *place, char *(*env)(const char *name), struct s3 *ret, struct err *err)
{
    (void)env, (void)ret;
    return err_set(err, EINVAL, "s3://%s: this program was built without libcurl", place);
}

int s3_list(struct s3 *s, struct texts *ret, struct err *err)
{
    (void)s, (void)ret;
    return err_set(err, ENOSYS, "built without libcurl");
}

int s3_get(struct s3 *s, const char *name, size_t max_bytes, struct buf *ret, struct err *err)
{
    (void)name, (void)max_bytes, (void)ret;
    return s3_list(s, NULL, err);
}

int s3_put(struct s3 *s, const char *name, const struct buf *data, struct err *err)
{
    (void)name, (void)data;
    return s3_list(s, NULL, err);
}
