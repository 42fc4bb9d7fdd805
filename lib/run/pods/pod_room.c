/* See pod_room.h. */
#include "run/pods/pod_room.h"

#include "base/text.h"

void pod_room_lacks(struct pod_room *room, const struct attempt_id *attempt, const char *reason,
                    const char *words, int64_t now_ns)
{
    if (room->n_times > 0 && attempt_id_eq(&room->attempt, attempt)) {
        return;
    }
    int64_t wait_ns = POD_ROOM_MIN_NS;
    for (unsigned i = 0; i < room->n_times && wait_ns < POD_ROOM_MAX_NS; i++) {
        wait_ns *= 2;
    }
    room->n_times++;
    room->attempt = *attempt;
    room->until_ns = now_ns + (wait_ns < POD_ROOM_MAX_NS ? wait_ns : POD_ROOM_MAX_NS);
    text_put(room->wait.reason, sizeof(room->wait.reason), "%s", reason);
    text_put(room->wait.text, sizeof(room->wait.text), "%s", words);
}

void pod_room_found(struct pod_room *room)
{
    *room = (struct pod_room){0};
}

bool pod_room_must_wait(const struct pod_room *room, int64_t now_ns, struct run_wait *ret)
{
    if (now_ns >= room->until_ns) {
        return false;
    }
    *ret = room->wait;
    return true;
}

void pod_room_tell(const struct pod_room *room, struct run_wait *ret)
{
    if (room->n_times > 0) {
        *ret = room->wait;
    }
}
