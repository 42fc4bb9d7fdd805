/* What a gang waits for, in words: see pods_internal.h. */
#include "run/pods/pods_internal.h"

/* A creation that is refused for now. */
static void say_what_is_refused(const struct pod_gang *g, struct run_wait *ret)
{
    const struct pod_member *refused =
        vec_find_item(&g->owner->members, m, pod_gang_has(g, m) && m->trouble.words != NULL);
    if (refused != NULL) {
        pod_wait_say(ret, pod_answer_reason(refused->trouble.code), "%s", refused->trouble.words);
    }
}

static void say_what_is_not_answered(const struct pod_gang *g, struct run_wait *ret)
{
    const struct pod_member *posted =
        vec_find_item(&g->owner->members, m, m->gang == g && m->life == MEMBER_POSTING);
    if (posted != NULL && !g->is_probed) {
        pod_wait_say(ret, pod_answer_reason(0),
                     "the API server does not answer the creation of pod '%s'", posted->name);
        ret->is_unanswered = true;
    }
}

void pod_words_removal(const struct pods *l, struct run_wait *ret)
{
    const struct pod_member *refused =
        vec_find_item(&l->members, m, member_life_is_dying(m->life) && m->trouble.words != NULL);
    if (refused != NULL) {
        pod_wait_say(ret, "DeletionFails", "pod '%s': %s", refused->name, refused->trouble.words);
    } else {
        pod_queue_wait(l, ret);
    }
}

/* The first of the members that wait so, NONE: that are on a node that is not ready, in its own
 * words; none: nothing. */
static void say_of(const struct pod_gang *g, enum pod_wait wait, const char *reason,
                   struct run_wait *ret)
{
    const struct pod_member *first = NULL;
    size_t n = 0;
    vec_each (struct pod_member *, it, &g->owner->members) {
        const struct pod_state *state = &(*it)->state;
        if (pod_gang_has(g, *it) &&
            (wait == POD_WAIT_NONE ? state->is_node_lost : state->wait == wait)) {
            first = n++ == 0 ? *it : first;
        }
    }
    if (first != NULL) {
        pod_wait_say(ret, reason, "%s/%u%s: %s", role_to_string(first->id.role), first->id.index,
                     n > 1 ? " and others" : "", pod_state_message(&first->state));
    }
}

/* The last attempt lacked room, and this one has not found any yet. Said without a
 * break, also while a creation is under way: a wait that came and went with each attempt
 * would look like many. */
static void say_that_room_was_missing(const struct pod_gang *g, struct run_wait *ret)
{
    size_t n = 0, n_begun = 0;
    vec_each (struct pod_member *, it, &g->owner->members) {
        const struct pod_member *m = *it;
        if (pod_gang_has(g, m)) {
            n++;
            n_begun += m->state.state != REPLICA_PENDING && m->state.failure != FAILURE_NO_ROOM;
        }
    }
    if ((n_begun < n || n == 0) && g->room.n_times > 0) {
        *ret = g->room.wait;
    }
}

/* What the pods of the gang say. */
static void say_how_pods_wait(const struct pod_gang *g, struct run_wait *ret)
{
    static const struct {
        enum pod_wait wait;
        const char *reason;
    } rows[] = {
        {POD_WAIT_IMAGE, "ImagePullFails"},
        {POD_WAIT_CONTAINER, "ContainerCreationFails"},
        {POD_WAIT_GATE, "Queued"},
        {POD_WAIT_NODE, "WaitsForNodes"},
    };
    pod_events_say_setup(g, ret);
    for (size_t i = 0; i < COUNT_OF(rows) && ret->reason[0] == '\0'; i++) {
        say_of(g, rows[i].wait, rows[i].reason, ret);
    }
}

/* The trial cannot go on, but its pods say nothing before they are deleted, minutes later. */
static void say_which_node_is_lost(const struct pod_gang *g, struct run_wait *ret)
{
    say_of(g, POD_WAIT_NONE, "NodeNotReady", ret);
}

void pod_words_wait(const struct pod_gang *g, struct run_wait *ret)
{
    static void (*const say[])(const struct pod_gang *, struct run_wait *) = {
        say_what_is_refused,      say_how_pods_wait,      say_that_room_was_missing,
        say_what_is_not_answered, say_which_node_is_lost, pod_slices_wait};
    pod_jobs_wait(&g->owner->jobs, ret);
    for (size_t i = 0; i < COUNT_OF(say) && ret->reason[0] == '\0'; i++) {
        say[i](g, ret);
    }
}
