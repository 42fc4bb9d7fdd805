/* See no_room_backoff.h. */
#include "run/pods/no_room_backoff.h"

#include "base/text.h"

void no_room_backoff_lacks(struct no_room_backoff *room, const struct attempt_id *attempt,
                           const char *reason, const char *words, int64_t now_ns)
{
    if (room->n_times > 0 && attempt_id_eq(&room->attempt, attempt)) {
        return;
    }
    int64_t wait_ns = NO_ROOM_BACKOFF_MIN_NS;
    for (unsigned i = 0; i < room->n_times && wait_ns < NO_ROOM_BACKOFF_MAX_NS; i++) {
        wait_ns *= 2;
    }
    room->since_ns = room->n_times++ == 0 ? now_ns : room->since_ns;
    room->attempt = *attempt;
    room->until_ns = now_ns + (wait_ns < NO_ROOM_BACKOFF_MAX_NS ? wait_ns : NO_ROOM_BACKOFF_MAX_NS);
    text_put(room->wait.reason, sizeof(room->wait.reason), "%s", reason);
    text_put(room->wait.text, sizeof(room->wait.text), "%s", words);
}

void no_room_backoff_found(struct no_room_backoff *room)
{
    *room = (struct no_room_backoff){0};
}

bool no_room_backoff_must_wait(const struct no_room_backoff *room, int64_t now_ns,
                               struct run_wait *ret)
{
    if (now_ns >= room->until_ns) {
        return false;
    }
    *ret = room->wait;
    return true;
}

void no_room_backoff_tell(const struct no_room_backoff *room, struct run_wait *ret)
{
    if (room->n_times > 0) {
        *ret = room->wait;
    }
}
