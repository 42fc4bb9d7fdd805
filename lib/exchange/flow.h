/* How many slices may be on their way between a server and its trainers, in one direction, and
 * which of them goes next. Without a limit a gang fills the kernel's memory for TCP: 100
 * trainers that send 61 MB each at once need more than a machine gives, and what it drops then
 * looks like silence. Pure.
 *
 * Slices are counted over all rounds. For each link: taken <= sent <= ready.
 *
 *     ready   they exist: offered by the trainer, or parameters that the server has computed
 *     sent    the trainer has the credit for them, or the server has handed them to the connection
 *     taken   they have arrived
 *
 * At most `max` slices of all links and `max_each` of one are sent and not taken. The next one is
 * of the link that has sent the fewest, the first of several: so the first slices of all trainers
 * are complete first, in trainer order.
 *
 * With so few links that each may have max_each, this alone does not keep them together: one whose
 * slices arrive sooner gets ahead, and a shared wire carries slices that cannot be used yet. Where
 * all wait for the last one, the links are joint: none is sent more than max_each slices beyond
 * those that have arrived of one that has as many to send. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* More than a link of 10 Gbit/s holds in 5 ms, and half of it for one trainer. */
#define FLOW_BYTES ((size_t)8 << 20)
#define FLOW_EACH_BYTES ((size_t)4 << 20)

/* What a link holds up for so long counts no more, of so many links at a time:
 * 32 MiB more on their way. */
#define FLOW_STUCK_NS INT64_C(1000000000)
#define FLOW_STUCK_LINKS 8u

struct flow_link {
    uint64_t ready, sent, taken;
    /* Of flow_look: `taken` when it last saw the link move, and when that was. */
    uint64_t seen;
    int64_t moved_ns;
    bool is_stuck; /* nothing more goes to it, and what it has does not count for the others */
};

struct flow {
    struct flow_link *links; /* (n_links) owned */
    /* (2 n_leaves) owned; a tree whose leaf n_leaves + i is link i. Of the links below whose next
     * slice no limit of one holds back: how many the one with the fewest has sent. */
    uint64_t *fewest;
    uint32_t n_links, n_leaves;
    uint64_t max, max_each;
    uint64_t n_moving; /* sent and not taken, of all links */
    uint64_t n_stuck;  /* the same of the links that are stuck */
    uint32_t n_stuck_links;
    bool is_joint;
};

/* `slice_bytes` is the length of the longest slice; a limit is at least one slice. */
void flow_init(struct flow *f, uint32_t n_links, size_t slice_bytes);
void flow_done(struct flow *f);
/* All wait for the last link (Sync, gradients): they stay together. With more links the
 * limit of all sees to it. */
void flow_join(struct flow *f);
/* In Async, a link that takes nothing must not hold up the others: call this a few times a second.
 * A link is stuck when it has slices on their way and takes none for FLOW_STUCK_NS, until it takes
 * one. Returns true if more may go now. */
bool flow_look(struct flow *f, int64_t now_ns);

/* So many slices of the link exist now. */
void flow_offer(struct flow *f, uint32_t link, uint64_t ready);

/* Says whether the slice with this number may go. It changes nothing: another one may go before. */
typedef bool (*flow_may_fn)(void *ctx, uint32_t link, uint64_t number);
/* Counts the next slice as sent and returns true and its link; its number is links[].sent - 1.
 * False: none may go now. `may` NULL: every slice may. */
bool flow_next(struct flow *f, flow_may_fn may, void *ctx, uint32_t *ret_link);
/* Every slice of the link up to this number, at most `sent`, has arrived. */
void flow_take(struct flow *f, uint32_t link, uint64_t taken);
