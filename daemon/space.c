/* See space.h. */
#include "daemon/space.h"

#include "base/log.h"

#define TRY_EVERY_NS (5 * INT64_C(1000000000))

enum space_news space_look(struct space *space, struct store *store, int64_t now_ns)
{
    struct store_space found;
    store->ops->get_space(store, &found);
    if (!space->is_full) {
        if (!found.is_full) {
            return SPACE_NO_NEWS;
        }
        space->is_full = true;
        space->try_ns = now_ns + TRY_EVERY_NS;
        log_event(LOG_LEVEL_ERROR,
                  "the disk of the store is full: runs wait until there is space; results can be "
                  "read and runs deleted",
                  NULL);
        return SPACE_IS_FULL;
    }
    if (now_ns < space->try_ns) {
        return SPACE_NO_NEWS;
    }
    space->try_ns = now_ns + TRY_EVERY_NS;
    if (store->ops->try_space(store, NULL) < 0) {
        return SPACE_NO_NEWS;
    }
    space->is_full = false;
    log_event(LOG_LEVEL_INFO, "the disk of the store has space again, runs continue", NULL);
    return SPACE_IS_BACK;
}
