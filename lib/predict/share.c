/* Max-min rates, see share.h. The way: a link's level follows from the levels at the other links of
 * its flows, and the links are computed again until no level changes. The level of the tightest
 * link is right after its first turn, whatever the others say, because none can be lower; then that
 * of the second tightest, and so on. The links take turns: were the last one that has changed the
 * next, a change would be followed to its end before others that it depends on. */
#include "predict/share.h"

#include <math.h>

#include "base/mem.h"

/* Levels that differ by less are the same: else two links could answer each
 * other's rounding for ever. */
#define SAME_RATIO 1e-12

void share_init(struct share *s, uint32_t n_links, uint32_t n_flows)
{
    *s = (struct share){
        .links = xnew_array(struct share_link, n_links),
        .flows = xnew_array(struct share_flow, n_flows),
        .ends = xnew_array(struct share_tie, 2 * (size_t)n_flows),
        .dirty = xnew_array(uint32_t, n_links),
        .touched = xnew_array(uint32_t, n_flows),
        .n_links = n_links,
        .n_flows = n_flows,
    };
    for (uint32_t i = 0; i < n_links; i++) {
        s->links[i] = (struct share_link){INFINITY, INFINITY, SHARE_NONE, 0, false};
    }
}

void share_done(struct share *s)
{
    free(s->links);
    free(s->flows);
    free(s->ends);
    free(s->dirty);
    free(s->touched);
    *s = (struct share){0};
}

static void soil(struct share *s, uint32_t link)
{
    if (!s->links[link].is_dirty) {
        s->links[link].is_dirty = true;
        s->dirty[(s->first_dirty + s->n_dirty++) % s->n_links] = link;
    }
}

static void touch(struct share *s, uint32_t flow)
{
    if (!s->flows[flow].is_touched) {
        s->flows[flow].is_touched = true;
        s->touched[s->n_touched++] = flow;
    }
}

void share_limit(struct share *s, uint32_t link, double bytes_per_s)
{
    s->links[link].bytes_per_s = bytes_per_s;
    soil(s, link);
}

void share_begin(struct share *s, uint32_t flow, uint32_t link_a, uint32_t link_b)
{
    struct share_flow *f = &s->flows[flow];
    f->link[0] = link_a;
    f->link[1] = link_b;
    f->bytes_per_s = 0;
    f->is_on = true;
    for (uint32_t i = 0; i < 2; i++) {
        struct share_link *l = &s->links[f->link[i]];
        const uint32_t end = 2 * flow + i;
        s->ends[end] = (struct share_tie){l->first, SHARE_NONE};
        if (l->first != SHARE_NONE) {
            s->ends[l->first].prev = end;
        }
        l->first = end;
        l->n_flows++;
        soil(s, f->link[i]);
    }
    touch(s, flow);
}

void share_stop(struct share *s, uint32_t flow)
{
    struct share_flow *f = &s->flows[flow];
    f->is_on = false;
    for (uint32_t i = 0; i < 2; i++) {
        struct share_link *l = &s->links[f->link[i]];
        const struct share_tie e = s->ends[2 * flow + i];
        if (e.prev == SHARE_NONE) {
            l->first = e.next;
        } else {
            s->ends[e.prev].next = e.next;
        }
        if (e.next != SHARE_NONE) {
            s->ends[e.next].prev = e.prev;
        }
        l->n_flows--;
        soil(s, f->link[i]);
    }
}

/* The level at the other link of the flow that this end belongs to. */
static double level_beyond(const struct share *s, uint32_t end)
{
    return s->links[s->flows[end / 2].link[1 - end % 2]].level;
}

/* The level for which the flows use the link up: sum of min(level, level beyond) = bytes_per_s. */
static double find_level(const struct share *s, const struct share_link *l)
{
    double level = l->bytes_per_s / l->n_flows, before;
    uint32_t n_free;
    if (l->n_flows == 0 || isinf(l->bytes_per_s)) {
        return INFINITY;
    }
    do { /* it rises in each round, until no further flow is held back elsewhere */
        before = level;
        double held = 0;
        n_free = l->n_flows;
        for (uint32_t e = l->first; e != SHARE_NONE; e = s->ends[e].next) {
            const double beyond = level_beyond(s, e);
            if (beyond < level) {
                held += beyond;
                n_free--;
            }
        }
        level = n_free == 0 ? INFINITY : (l->bytes_per_s - held) / n_free;
    } while (n_free > 0 && level > before * (1 + SAME_RATIO));
    return level;
}

static bool is_same(double a, double b)
{
    return a == b || (isfinite(a) && isfinite(b) && fabs(a - b) <= SAME_RATIO * fabs(b));
}

static void settle_link(struct share *s, uint32_t link)
{
    struct share_link *l = &s->links[link];
    const double old = l->level, level = find_level(s, l);
    l->level = level;
    if (is_same(old, level)) {
        return;
    }
    for (uint32_t e = l->first; e != SHARE_NONE; e = s->ends[e].next) {
        const uint32_t other = s->flows[e / 2].link[1 - e % 2];
        const double there = s->links[other].level;
        touch(s, e / 2);
        if (old < there || level < there || isinf(there)) { /* else it is held back there */
            soil(s, other);
        }
    }
}

void share_settle(struct share *s, share_rate_fn rate, void *ctx)
{
    while (s->n_dirty > 0) {
        const uint32_t link = s->dirty[s->first_dirty];
        s->first_dirty = (s->first_dirty + 1) % s->n_links;
        s->n_dirty--;
        s->links[link].is_dirty = false;
        settle_link(s, link);
    }
    for (uint32_t i = 0; i < s->n_touched; i++) {
        struct share_flow *f = &s->flows[s->touched[i]];
        f->is_touched = false;
        if (!f->is_on) {
            continue;
        }
        const double now = fmin(s->links[f->link[0]].level, s->links[f->link[1]].level);
        if (!is_same(f->bytes_per_s, now)) {
            f->bytes_per_s = now;
            rate(ctx, s->touched[i], now);
        }
    }
    s->n_touched = 0;
}
