/* See eraser.h. */
#include "daemon/run/eraser.h"

#include <errno.h>

#include "base/log.h"
#include "base/mem.h"

#define WISHES_MAX 1000 /* more in one look are not taken: their clients ask again */

void eraser_done(struct eraser *e)
{
    vec_free(&e->uids);
}

void eraser_take(struct eraser *e, const char *uid)
{
    if (e->uids.len < WISHES_MAX) {
        *vec_push(&e->uids) = xstrdup(uid);
    }
}

/* Only results without an active owner; for others the object must be deleted. */
static int erase(const struct run_env *env, const struct run_queue *q, const char *uid,
                 struct err *err)
{
    struct store *store = env->store;
    struct run_brief brief;
    int r = store->ops->get_brief(store, uid, &brief, err);
    if (r < 0) {
        return r;
    }
    if (brief.has_object || run_queue_find(q, uid) != NULL) {
        return err_set(err, EEXIST, "it has an object; delete that");
    }
    r = store->ops->probe_run(store, uid, err);
    if (r == -EBUSY) { /* not the store's, which is tried again */
        return err_set(err, EEXIST, "another process works with it");
    }
    return r < 0 ? r : store->ops->delete_run(store, uid, err);
}

void eraser_work(struct eraser *e, const struct run_env *env, const struct run_queue *q)
{
    while (e->uids.len > 0) {
        struct err err = {0};
        char *uid = e->uids.items[e->uids.len - 1];
        const int r = erase(env, q, uid, &err);
        if (r == -EBUSY) {
            return;
        }
        if (r == 0) {
            env->counters->runs_deleted++;
            log_event(LOG_LEVEL_INFO, "the results of a run were erased on request", "uid", uid,
                      NULL);
        } else {
            log_event(LOG_LEVEL_WARN,
                      "the results of a run were not erased, although this was requested", "uid",
                      uid, "err", err.msg, NULL);
        }
        free(uid);
        e->uids.len--;
    }
}
