/* Stores by URL, see store.h. */
#include <string.h>

#include "base/str.h"
#include "store/sqlite_store.h"
#include "store/store.h"

#define SQLITE_SCHEME "sqlite:"

/* The path in `url`, borrowed; NULL: it is not a store. */
static const char *sqlite_path(const char *url, struct err *err)
{
    const size_t len = strlen(SQLITE_SCHEME);
    if (str_has_prefix(url, SQLITE_SCHEME) && url[len] != '\0') {
        return url + len;
    }
    (void)err_set(err, EINVAL, "store '%s': not a store; write sqlite:FILE", url);
    return NULL;
}

int store_open(const char *url, bool create, struct store **ret, struct err *err)
{
    const char *path = sqlite_path(url, err);
    return path == NULL ? -EINVAL : sqlite_store_open(path, create, ret, err);
}

int store_open_reader(const char *url, bool (*must_stop)(void *ctx), void *ctx, struct store **ret,
                      struct err *err)
{
    const char *path = sqlite_path(url, err);
    return path == NULL ? -EINVAL : sqlite_store_open_reader(path, must_stop, ctx, ret, err);
}

int store_make_folder(const char *url, struct err *err)
{
    const char *path = sqlite_path(url, err);
    return path == NULL ? -EINVAL : sqlite_store_make_folder(path, err);
}
