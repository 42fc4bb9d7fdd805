/* See pod_words.h. */
#include "run/pod_words.h"

#include "base/text.h"
#include "run/pods_internal.h"

/* A creation that is refused for now, or not answered. */
static void say_what_is_not_created(const struct pods *l, struct run_wait *ret)
{
    vec_each (struct pod_member *, it, &l->members) {
        const struct pod_member *m = *it;
        if (m->life < MEMBER_DYING_POSTING && m->trouble.words != NULL) {
            text_put(ret->reason, sizeof(ret->reason), "%s", pod_answer_reason(m->trouble.code));
            text_put(ret->text, sizeof(ret->text), "%s", m->trouble.words);
            return;
        }
        if (m->life == MEMBER_POSTING && !l->is_probed) {
            text_put(ret->reason, sizeof(ret->reason), "%s", pod_answer_reason(0));
            text_put(ret->text, sizeof(ret->text),
                     "the API server does not answer the creation of pod '%s'", m->name);
        }
    }
}

/* A deletion that is refused is the cause of whatever else is waited for. */
static bool say_what_is_not_deleted(const struct pods *l, struct run_wait *ret)
{
    vec_each (struct pod_member *, it, &l->members) {
        const struct pod_member *m = *it;
        if (member_life_is_dying(m->life) && m->trouble.words != NULL) {
            text_put(ret->reason, sizeof(ret->reason), "DeletionFails");
            text_put(ret->text, sizeof(ret->text), "pod '%s': %s", m->name, m->trouble.words);
            return true;
        }
    }
    return false;
}

/* The trial cannot go on, but its pods say nothing before they are deleted, minutes later. */
static void say_which_node_is_lost(const struct pods *l, struct run_wait *ret)
{
    const struct pod_member *first = NULL;
    size_t n = 0;
    vec_each (struct pod_member *, it, &l->members) {
        const struct pod_member *m = *it;
        if (m->life < MEMBER_DYING_POSTING && m->state.is_node_lost) {
            first = n++ == 0 ? m : first;
        }
    }
    if (first != NULL) {
        text_put(ret->reason, sizeof(ret->reason), "NodeNotReady");
        text_put(ret->text, sizeof(ret->text), "%s/%u%s: %s", role_to_string(first->id.role),
                 first->id.index, n > 1 ? " and others" : "", pod_state_message(&first->state));
    }
}

void pod_words_wait(const struct pods *l, struct run_wait *ret)
{
    if (say_what_is_not_deleted(l, ret)) {
        return;
    }
    if (ret->reason[0] == '\0') {
        say_what_is_not_created(l, ret);
    }
    if (ret->reason[0] == '\0') {
        say_which_node_is_lost(l, ret);
    }
    if (ret->reason[0] == '\0') {
        (void)pod_slices_wait(&l->slices, ret); /* true: *ret has why */
    }
}
