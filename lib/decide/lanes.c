/* See lanes.h. */
#include "decide/lanes.h"

size_t lane_place(const struct decision *d, const struct lane *l)
{
    return (size_t)(l - d->lanes.items);
}

static bool is_undecided(const struct decision *d, uint32_t point, uint32_t trial)
{
    return !decision_view_trial(&d->view, point, trial)->is_decided &&
           decision_view_is_open(&d->view, point);
}

/* Another lane measures the point: two attempts of one point never run at once. */
static bool is_taken(const struct decision *d, const struct lane *l, uint32_t point)
{
    return vec_any(&d->lanes, it, it != l && it->has_current && it->current.point == point);
}

static void put_current(struct decision *d, struct lane *l, uint32_t point, uint32_t trial)
{
    l->has_current = true;
    l->current = (struct attempt_id){
        point, trial, attempt_number(&decision_view_trial(&d->view, point, trial)->seen)};
    vec_each (struct observed_gang, g, &d->view.gangs) {
        if (!g->has_row && !g->is_cut_short &&
            attempt_id_eq(&g->members[0].id.attempt, &l->current)) {
            l->gang = g;
        }
    }
}

bool lanes_are_over(const struct decision *d)
{
    return run_end_decide(&d->view.counts, &d->def->spec->failure_policy).is_end;
}

/* The trial that the status names stays in its lane while it is not decided, so that nothing (for
 * example a row that the store has lost) turns a healthy gang into a stray, and the number of an
 * attempt that was cut short is not used again. A lane alone goes back to a trial before it of
 * which the row was lost, if nothing lives. Of a run that has ended what lives stays. */
static void keep_named(struct decision *d, struct lane *l)
{
    const struct run_lane *named = &d->o->status.lanes[lane_place(d, l)];
    const struct attempt_id *id = &named->current;
    if (!named->has_current || !attempt_history_may_have(d->o->history, id)) {
        return;
    }
    const struct attempt_seen *seen = &decision_view_trial(&d->view, id->point, id->trial)->seen;
    if ((seen->is_status_live || named->is_cut_short || d->lanes.len > 1) &&
        is_undecided(d, id->point, id->trial) && !is_taken(d, l, id->point)) {
        put_current(d, l, id->point, id->trial);
        l->has_current = l->gang != NULL || !lanes_are_over(d);
    }
}

/* What lives goes on, though the status does not name it: it did not get as far. What begins is
 * found when it is known what has ended. */
static void adopt(struct decision *d, struct lane *l)
{
    for (size_t i = 0; i < d->view.gangs.len && !l->has_current; i++) {
        const struct attempt_id *id = &d->view.gangs.items[i].members[0].id.attempt;
        if (is_undecided(d, id->point, id->trial) && !is_taken(d, l, id->point)) {
            put_current(d, l, id->point, id->trial);
            l->has_current = l->gang != NULL;
        }
    }
}

/* The first undecided trial in the order of which no other lane measures the point. */
static void find_due(struct decision *d, struct lane *l)
{
    if (l->has_current || lanes_are_over(d)) {
        return;
    }
    for (uint32_t i = d->o->history->first_open; i < d->def->n_slots; i++) {
        const struct slot *slot = &d->def->slots[i];
        if (is_undecided(d, slot->point, slot->trial) && !is_taken(d, l, slot->point)) {
            put_current(d, l, slot->point, slot->trial);
            return;
        }
    }
}

void lanes_find_more(struct decision *d)
{
    vec_each (struct lane, l, &d->lanes) {
        find_due(d, l);
    }
}

void lanes_find(struct decision *d)
{
    while (d->lanes.len < run_options_lanes(&d->def->options)) {
        *vec_push(&d->lanes) = (struct lane){0};
    }
    vec_each (struct lane, l, &d->lanes) {
        keep_named(d, l);
    }
    vec_each (struct lane, l, &d->lanes) {
        (d->lanes.len > 1 ? adopt : find_due)(d, l);
    }
}

void lane_retry(struct decision *d, struct lane *l)
{
    const struct attempt_id last = l->current;
    const bool stays = d->lanes.len > 1 || l->gang->is_cut_short; /* as in keep_named() */
    l->has_current = false;
    l->gang = NULL;
    if (stays && !lanes_are_over(d) && is_undecided(d, last.point, last.trial)) {
        put_current(d, l, last.point, last.trial);
    }
}
