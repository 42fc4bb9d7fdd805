/* See pod_wait.h. */
#include "run/pod_wait.h"

#include <string.h>

static bool is_same(const struct run_wait *a, const struct run_wait *b)
{
    return strcmp(a->reason, b->reason) == 0 && strcmp(a->text, b->text) == 0;
}

bool pod_wait_look(struct pod_wait_told *w, const struct run_wait *now, int64_t now_ns)
{
    struct run_wait before, after;
    pod_wait_tell(w, &before);
    if (now->reason[0] == '\0' || strcmp(w->now.reason, now->reason) != 0) {
        w->since_ns = now_ns;
    }
    w->now = *now;
    w->is_told = now->reason[0] != '\0' && now_ns - w->since_ns >= POD_WAIT_TOLD_NS;
    pod_wait_tell(w, &after);
    return !is_same(&before, &after);
}

void pod_wait_tell(const struct pod_wait_told *w, struct run_wait *ret)
{
    *ret = w->is_told ? w->now : (struct run_wait){0};
}
