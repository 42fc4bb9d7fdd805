/* Small files, see small_file.h. */
#include "kube/small_file.h"

#include "base/whole_file.h"

int kube_file_read(const char *path, char **ret, size_t *ret_len, struct err *err)
{
    struct buf text;
    struct err why;
    const int r = file_read(path, KUBE_FILE_MAX, &text, &why);
    if (r < 0) {
        return err_set(err, -r, "open %s", why.msg);
    }
    *ret_len = text.len;
    *ret = buf_take(&text);
    return 0;
}
