/* Links that flows share fairly: each flow crosses two of them and gets its max-min rate,
 * as connections of TCP get it, roughly: no flow can be faster unless one that is not
 * faster becomes slower. Pure.
 *
 * Each link has a level: what a flow may have that no other link holds back. A flow's rate is the
 * lower level of its two links, and the levels of a link's flows use the link up. Where a link
 * changes, only the links are looked at again that this can change.
 *
 * A flow belongs to the link that holds it back. All that belong to a link have the same rate, so
 * one number says how much each of them has moved, and the one that ends first ends first whatever
 * the rate: only the link's next end has a time. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

struct share_end {         /* of a flow, at one of its links */
    uint32_t flow, beyond; /* beyond: its other link */
    bool is_own;           /* the flow belongs to this one */
};
struct share_link {
    double bytes_per_s;         /* INFINITY: it holds no flow back */
    double fair;                /* bytes_per_s for each of its flows: no level is lower */
    double moved, at_s, rate;   /* bytes of each flow of its own up to at_s, and then per second */
    VEC(struct share_end) ends; /* in no order */
    uint32_t first, last;       /* its own flows in the order of their ends; SHARE_NONE */
    uint32_t due;               /* the caller knows when this flow ends; SHARE_NONE */
    int32_t n_held;             /* of its flows: with a level beyond that is not INFINITY */
};
struct share_flow {
    uint32_t link[2], place[2]; /* place: in the ends of the link */
    uint32_t next, prev;        /* of those that belong to the same link */
    double ends_at;             /* when that many bytes of each have moved; left, if it is new */
    uint8_t owner;              /* it belongs to link[owner]; 2: it is new */
    bool is_on;
};
#define SHARE_NONE UINT32_MAX

struct share_set {
    VEC(uint32_t) members;
    bool *is_in; /* owned */
};

struct share {
    struct share_link *links; /* owned, like the rest */
    double *levels;           /* (n_links) INFINITY: the link's flows do not use it up */
    /* (n_links) no level beyond a link reaches its `fair`, which this is, so its own is INFINITY;
     * 0: that is not known */
    double *calm;
    struct share_flow *flows;
    struct share_set dirty, stale; /* links: the level, the next end must be found anew */
    struct share_set touched;      /* flows that may belong to another link */
    uint32_t n_links;
};

/* All links are without a limit at first. */
void share_init(struct share *s, uint32_t n_links, uint32_t n_flows);
void share_done(struct share *s);
void share_limit(struct share *s, uint32_t link, double bytes_per_s);
/* The flow begins, with so much to move. When it ends, and others, is known after share_settle. */
void share_begin(struct share *s, uint32_t flow, uint32_t link_a, uint32_t link_b, double bytes);
/* It ends. Returns another one that has ended at the same time, or SHARE_NONE. */
uint32_t share_stop(struct share *s, uint32_t flow);

/* It ends at this time if nothing changes; INFINITY: another one ends before it. */
typedef void (*share_due_fn)(void *ctx, uint32_t flow, double at_s);
/* Finds the rates from now on, and reports which flows end next: one of each link. */
void share_settle(struct share *s, double now_s, share_due_fn due, void *ctx);
