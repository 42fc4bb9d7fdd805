/* Links that flows share fairly: each flow crosses two of them and gets its max-min rate,
 * as connections of TCP get it, roughly: no flow can be faster unless one that is not
 * faster becomes slower. Pure.
 *
 * Each link has a level: what a flow may have that no other link holds back. A flow's rate is the
 * lower level of its two links, and the levels of a link's flows use the link up. Where a link
 * changes, only the links are looked at again that this can change. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct share_link {
    double bytes_per_s; /* INFINITY: it holds no flow back */
    double level;       /* INFINITY: its flows do not use it up */
    uint32_t first;     /* of its flows' ends, see below; SHARE_NONE */
    uint32_t n_flows;
    bool is_dirty; /* it is in `dirty` */
};
/* End 2f + i of flow f is at its link[i]; the ends at a link are a list. */
struct share_tie {
    uint32_t next, prev;
};
struct share_flow {
    uint32_t link[2];
    double bytes_per_s; /* as last reported to the caller; 0: it is new */
    bool is_on, is_touched;
};
#define SHARE_NONE UINT32_MAX

struct share {
    struct share_link *links; /* owned, like the rest */
    struct share_flow *flows;
    struct share_tie *ends; /* (2 n_flows) */
    uint32_t *dirty;        /* (n_links) a ring, the first of which is at first_dirty */
    uint32_t *touched;
    uint32_t n_links, n_flows, first_dirty, n_dirty, n_touched;
};

/* All links are without a limit at first. */
void share_init(struct share *s, uint32_t n_links, uint32_t n_flows);
void share_done(struct share *s);
void share_limit(struct share *s, uint32_t link, double bytes_per_s);
/* The flow begins or ends. Its rate, and those of others, are known after share_settle. */
void share_begin(struct share *s, uint32_t flow, uint32_t link_a, uint32_t link_b);
void share_stop(struct share *s, uint32_t flow);

typedef void (*share_rate_fn)(void *ctx, uint32_t flow, double bytes_per_s);
/* Finds the rates, and reports those that have changed. */
void share_settle(struct share *s, share_rate_fn rate, void *ctx);
