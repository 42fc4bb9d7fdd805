/* A heap of times, see agenda.h. */
#include "predict/agenda.h"

#include "base/mem.h"

void agenda_init(struct agenda *a, uint32_t n_actors)
{
    *a = (struct agenda){
        .heap = xnew_array(uint32_t, n_actors),
        .place = xnew_array(uint32_t, n_actors),
        .time_s = xnew_array(double, n_actors),
    };
}

void agenda_done(struct agenda *a)
{
    free(a->heap);
    free(a->place);
    free(a->time_s);
    *a = (struct agenda){0};
}

static bool is_before(const struct agenda *a, uint32_t x, uint32_t y)
{
    return a->time_s[x] < a->time_s[y] || (a->time_s[x] == a->time_s[y] && x < y);
}

static void put(struct agenda *a, uint32_t i, uint32_t actor)
{
    a->heap[i] = actor;
    a->place[actor] = i + 1;
}

static void rise(struct agenda *a, uint32_t i, uint32_t actor)
{
    while (i > 0 && is_before(a, actor, a->heap[(i - 1) / 2])) {
        put(a, i, a->heap[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
    put(a, i, actor);
}

static void sink(struct agenda *a, uint32_t i, uint32_t actor)
{
    for (uint32_t child = 2 * i + 1; child < a->n; child = 2 * i + 1) {
        if (child + 1 < a->n && is_before(a, a->heap[child + 1], a->heap[child])) {
            child++;
        }
        if (!is_before(a, a->heap[child], actor)) {
            break;
        }
        put(a, i, a->heap[child]);
        i = child;
    }
    put(a, i, actor);
}

void agenda_set(struct agenda *a, uint32_t actor, double time_s)
{
    const uint32_t place = a->place[actor];
    const bool is_later = place > 0 && time_s > a->time_s[actor];
    a->time_s[actor] = time_s;
    if (is_later) {
        sink(a, place - 1, actor);
    } else {
        rise(a, place > 0 ? place - 1 : a->n++, actor);
    }
}

void agenda_drop(struct agenda *a, uint32_t actor)
{
    if (a->place[actor] == 0) {
        return;
    }
    const uint32_t i = a->place[actor] - 1;
    const uint32_t last = a->heap[--a->n];
    a->place[actor] = 0;
    if (last == actor) {
        return;
    }
    if (is_before(a, last, actor)) {
        rise(a, i, last);
    } else {
        sink(a, i, last);
    }
}

bool agenda_first(const struct agenda *a, uint32_t *ret_actor, double *ret_time_s)
{
    if (a->n == 0) {
        return false;
    }
    *ret_actor = a->heap[0];
    *ret_time_s = a->time_s[a->heap[0]];
    return true;
}
