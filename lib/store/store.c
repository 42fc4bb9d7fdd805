/* Stores by URL, see store.h. */
#include "store/store.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "store/sqlite_store.h"

#define SQLITE_SCHEME "sqlite:"

/* The path in `url`, borrowed; NULL: it is no store. */
static const char *sqlite_path(const char *url, struct err *err)
{
    const size_t len = strlen(SQLITE_SCHEME);
    if (str_has_prefix(url, SQLITE_SCHEME) && url[len] != '\0') {
        return url + len;
    }
    (void)err_set(err, EINVAL, "store '%s': this is no store; write sqlite:FILE", url);
    return NULL;
}

int store_open(const char *url, bool create, struct store **ret, struct err *err)
{
    const char *path = sqlite_path(url, err);
    return path == NULL ? -EINVAL : sqlite_store_open(path, create, ret, err);
}

int store_make_folder(const char *url, struct err *err)
{
    const char *path = sqlite_path(url, err);
    return path == NULL ? -EINVAL : sqlite_store_make_folder(path, err);
}

void store_close(struct store *s)
{
    if (s != NULL) {
        s->ops->close(s);
    }
}

void run_row_done(struct run_row *row)
{
    free(row->uid);
    free(row->name);
    free(row->benchmark);
    free(row->definition_json);
    *row = (struct run_row){0};
}

void event_row_done(struct event_row *row)
{
    free(row->reason);
    free(row->note);
    *row = (struct event_row){0};
}
