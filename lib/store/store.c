/* Stores by URL, see store.h. */
#include "store/store.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "store/sqlite_store.h"

#define SQLITE_SCHEME "sqlite:"

int store_open(const char *url, bool create, struct store **ret, struct err *err)
{
    if (str_has_prefix(url, SQLITE_SCHEME) && url[strlen(SQLITE_SCHEME)] != '\0') {
        return sqlite_store_open(url + strlen(SQLITE_SCHEME), create, ret, err);
    }
    return err_set(err, EINVAL, "store '%s': this is no store; write sqlite:FILE", url);
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
