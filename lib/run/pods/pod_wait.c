/* See pod_gang.h. */
#include "run/pods/pod_gang.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "run/pods/pod_answer.h"

static bool is_alike(const struct run_wait *a, const struct run_wait *b)
{
    return strcmp(a->reason, b->reason) == 0;
}

bool pod_wait_is_same(const struct run_wait *a, const struct run_wait *b)
{
    return is_alike(a, b) && a->is_partial == b->is_partial && strcmp(a->text, b->text) == 0;
}

void pod_wait_look(struct pod_wait_told *w, const struct run_wait *now, int64_t now_ns)
{
    if (!is_alike(&w->now, now)) {
        w->since_ns = now_ns;
    }
    w->now = *now;
    if (now->reason[0] == '\0' || is_alike(&w->told, now) ||
        now_ns - w->since_ns >= POD_WAIT_TOLD_NS) {
        w->told = *now;
    } else if (strcmp(now->reason, pod_answer_reason(0)) == 0 &&
               strcmp(w->told.reason, pod_answer_reason(-EDQUOT)) != 0) {
        w->told = (struct run_wait){0}; /* so far it waits for answers only */
    }
}

char *pod_wait_holder(const char *held_by)
{
    return *held_by == '\0' ? xstrdup("") : xasprintf("; finalizer '%s' holds it", held_by);
}

void pod_wait_say(struct run_wait *ret, const char *reason, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    assert(wait_kind_find(reason) != NULL);
    text_put(ret->reason, sizeof(ret->reason), "%s", reason);
    text_vput(ret->text, sizeof(ret->text), fmt, ap);
    va_end(ap);
}
