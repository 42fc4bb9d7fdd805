/* Max-min rates, see share.h. The way: a link's level follows from the levels at the other links of
 * its flows, and the links are computed again until no level changes. The level of the tightest
 * link is right after its first turn, whatever the others say, because none can be lower; then that
 * of the second tightest, and so on. The links take turns: were the last one that has changed the
 * next, a change would be followed to its end before others that it depends on. */
#include "predict/share.h"

#include <math.h>

#include "base/vec_walk.h"

/* Levels that differ by less are the same: else two links could answer each
 * other's rounding for ever. */
#define SAME_RATIO 1e-12

#define NEW 2

void share_init(struct share *s, uint32_t n_links, uint32_t n_flows)
{
    *s = (struct share){
        .links = xnew_array(struct share_link, n_links),
        .levels = xnew_array(double, n_links),
        .calm = xnew_array(double, n_links),
        .flows = xnew_array(struct share_flow, n_flows),
        .dirty.is_in = xnew_array(bool, n_links),
        .stale.is_in = xnew_array(bool, n_links),
        .touched.is_in = xnew_array(bool, n_flows),
        .n_links = n_links,
    };
    for (uint32_t i = 0; i < n_links; i++) {
        s->levels[i] = s->links[i].bytes_per_s = s->links[i].fair = INFINITY;
        s->links[i].first = s->links[i].last = s->links[i].due = SHARE_NONE;
    }
}

static void set_done(struct share_set *set)
{
    vec_done(&set->members);
    free(set->is_in);
}

void share_done(struct share *s)
{
    for (uint32_t i = 0; i < s->n_links; i++) {
        vec_done(&s->links[i].ends);
    }
    free(s->links);
    free(s->levels);
    free(s->calm);
    free(s->flows);
    set_done(&s->dirty);
    set_done(&s->stale);
    set_done(&s->touched);
    *s = (struct share){0};
}

static void set_add(struct share_set *set, uint32_t i)
{
    if (!set->is_in[i]) {
        set->is_in[i] = true;
        *vec_push(&set->members) = i;
    }
}

static void soil(struct share *s, uint32_t link)
{
    s->calm[link] = 0;
    set_add(&s->dirty, link);
}

/* ---- the flows of a link ---- */

static void advance(struct share_link *l, double now_s)
{
    if (isfinite(l->rate)) {
        l->moved += (now_s - l->at_s) * l->rate;
    }
    l->at_s = now_s;
}

static bool is_before(const struct share_flow *flows, uint32_t a, uint32_t b)
{
    return flows[a].ends_at < flows[b].ends_at || (flows[a].ends_at == flows[b].ends_at && a < b);
}

/* It belongs to the link from now on; mostly it is the last one that ends. */
static void join(struct share *s, uint32_t flow, uint8_t owner, double now_s, double left)
{
    struct share_flow *f = &s->flows[flow];
    struct share_link *l = &s->links[f->link[owner]];
    advance(l, now_s);
    l->moved = l->first == SHARE_NONE ? 0 : l->moved;
    f->owner = owner;
    f->ends_at = l->moved + (isinf(s->levels[f->link[owner]]) ? 0 : left);
    l->ends.items[f->place[owner]].is_own = true;
    f->prev = l->last;
    while (f->prev != SHARE_NONE && is_before(s->flows, flow, f->prev)) {
        f->prev = s->flows[f->prev].prev;
    }
    uint32_t *before = f->prev == SHARE_NONE ? &l->first : &s->flows[f->prev].next;
    f->next = *before;
    *before = flow;
    *(f->next == SHARE_NONE ? &l->last : &s->flows[f->next].prev) = flow;
    set_add(&s->stale, f->link[owner]);
}

/* Returns the one that ends next, if that is now, too: SHARE_NONE else. */
static uint32_t leave(struct share *s, uint32_t flow)
{
    const struct share_flow *f = &s->flows[flow];
    struct share_link *l = &s->links[f->link[f->owner]];
    *(f->prev == SHARE_NONE ? &l->first : &s->flows[f->prev].next) = f->next;
    *(f->next == SHARE_NONE ? &l->last : &s->flows[f->next].prev) = f->prev;
    l->ends.items[f->place[f->owner]].is_own = false;
    set_add(&s->stale, f->link[f->owner]);
    return l->first != SHARE_NONE && s->flows[l->first].ends_at <= f->ends_at ? l->first
                                                                              : SHARE_NONE;
}

/* ---- what the caller changes ---- */

/* With one flow less a calm link is still calm. */
static void set_fair(struct share *s, uint32_t link, bool is_calm)
{
    struct share_link *l = &s->links[link];
    l->fair = l->ends.len == 0 ? INFINITY : l->bytes_per_s / (double)l->ends.len;
    if (is_calm) {
        s->calm[link] = l->fair;
    } else {
        soil(s, link);
    }
}

void share_limit(struct share *s, uint32_t link, double bytes_per_s)
{
    s->links[link].bytes_per_s = bytes_per_s;
    set_fair(s, link, false);
}

void share_begin(struct share *s, uint32_t flow, uint32_t link_a, uint32_t link_b, double bytes)
{
    struct share_flow *f = &s->flows[flow];
    *f = (struct share_flow){
        .link = {link_a, link_b}, .ends_at = bytes, .owner = NEW, .is_on = true};
    for (uint32_t i = 0; i < 2; i++) {
        struct share_link *l = &s->links[f->link[i]];
        f->place[i] = (uint32_t)l->ends.len;
        *vec_push(&l->ends) = (struct share_end){flow, f->link[1 - i], false};
        l->n_held += isfinite(s->levels[f->link[1 - i]]);
        set_fair(s, f->link[i], false);
    }
    set_add(&s->touched, flow);
}

uint32_t share_stop(struct share *s, uint32_t flow)
{
    struct share_flow *f = &s->flows[flow];
    const uint32_t next = f->owner == NEW ? SHARE_NONE : leave(s, flow);
    f->is_on = false;
    for (uint32_t i = 0; i < 2; i++) {
        struct share_link *l = &s->links[f->link[i]];
        const struct share_end last = l->ends.items[--l->ends.len];
        struct share_flow *moved = &s->flows[last.flow];
        const uint32_t side =
            moved->link[0] == f->link[i] && moved->place[0] == l->ends.len ? 0 : 1;
        l->ends.items[f->place[i]] = last;
        moved->place[side] = f->place[i];
        l->n_held -= isfinite(s->levels[f->link[1 - i]]);
        set_fair(s, f->link[i], s->calm[f->link[i]] > 0);
    }
    return next;
}

/* ---- levels ---- */

/* The level for which the flows use the link up: sum of min(level, level beyond) = bytes_per_s. */
static double find_level(struct share *s, uint32_t link)
{
    const struct share_link *l = &s->links[link];
    const uint32_t n = (uint32_t)l->ends.len;
    double level = l->fair, before;
    uint32_t n_free;
    if (isinf(level)) {
        s->calm[link] = INFINITY;
    }
    if (isinf(level) || l->n_held == 0) {
        return level;
    }
    do { /* it rises in each round, until no further flow is held back elsewhere */
        before = level;
        double held = 0;
        n_free = n;
        for (uint32_t i = 0; i < n; i++) {
            const double beyond = s->levels[l->ends.items[i].beyond];
            const bool is_held = beyond < level;
            held += is_held ? beyond : 0;
            n_free -= is_held;
        }
        if (n_free == 0) {
            s->calm[link] = before == l->fair ? l->fair : 0;
            return INFINITY;
        }
        level = (l->bytes_per_s - held) / n_free;
    } while (level > before * (1 + SAME_RATIO));
    return level;
}

static bool is_same(double a, double b)
{
    return a == b || (isfinite(a) && isfinite(b) && fabs(a - b) <= SAME_RATIO * fabs(b));
}

static void settle_link(struct share *s, uint32_t link)
{
    const struct share_link *l = &s->links[link];
    const double old = s->levels[link], level = find_level(s, link);
    if (old == level) {
        return;
    }
    s->levels[link] = level;
    set_add(&s->stale, link);
    if (is_same(old, level)) {
        return;
    }
    for (size_t i = 0; i < l->ends.len && isinf(old) != isinf(level); i++) {
        s->links[l->ends.items[i].beyond].n_held += isinf(old) ? 1 : -1;
    }
    for (size_t i = 0; i < l->ends.len; i++) {
        const struct share_end *e = &l->ends.items[i];
        if (level < s->calm[e->beyond]) {
            continue;
        }
        const double there = s->levels[e->beyond];
        if (e->is_own ? there < level : level < there) {
            set_add(&s->touched, e->flow);
        }
        if (old < there || level < there || isinf(there)) { /* else it is held back there */
            soil(s, e->beyond);
        }
    }
}

/* The flow belongs to the link with the lower level. */
static void rehome(struct share *s, uint32_t flow, double now_s)
{
    struct share_flow *f = &s->flows[flow];
    const double a = s->levels[f->link[0]], b = s->levels[f->link[1]];
    double left = f->ends_at;
    if (!f->is_on || (f->owner == 0 && a <= b) || (f->owner == 1 && b <= a)) {
        return;
    }
    if (f->owner != NEW) {
        struct share_link *l = &s->links[f->link[f->owner]];
        advance(l, now_s);
        left = fmax(0, f->ends_at - l->moved);
        leave(s, flow);
    }
    join(s, flow, a <= b ? 0 : 1, now_s, left);
}

static void report(struct share *s, double now_s, share_due_fn due, void *ctx)
{
    vec_each (const uint32_t, link, &s->stale.members) {
        const struct share_link *l = &s->links[*link];
        if (l->due != SHARE_NONE && l->due != l->first) {
            due(ctx, l->due, INFINITY);
        }
    }
    vec_each (const uint32_t, link, &s->stale.members) {
        struct share_link *l = &s->links[*link];
        advance(l, now_s);
        s->stale.is_in[*link] = false;
        l->rate = s->levels[*link];
        l->due = l->first;
        if (l->first != SHARE_NONE) {
            const double left = s->flows[l->first].ends_at - l->moved;
            due(ctx, l->first, now_s + fmax(0, left) / l->rate);
        }
    }
    s->stale.members.len = 0;
}

void share_settle(struct share *s, double now_s, share_due_fn due, void *ctx)
{
    for (size_t i = 0; i < s->dirty.members.len; i++) { /* it grows */
        s->dirty.is_in[s->dirty.members.items[i]] = false;
        settle_link(s, s->dirty.members.items[i]);
    }
    s->dirty.members.len = 0;
    vec_each (const uint32_t, flow, &s->touched.members) {
        s->touched.is_in[*flow] = false;
        rehome(s, *flow, now_s);
    }
    s->touched.members.len = 0;
    report(s, now_s, due, ctx);
}
