/* Slices on their way, see flow.h. */
#include "exchange/flow.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"

static uint64_t slices_of(size_t bytes, size_t slice_bytes)
{
    return slice_bytes == 0 || slice_bytes > bytes ? 1 : bytes / slice_bytes;
}

void flow_init(struct flow *f, uint32_t n_links, size_t slice_bytes)
{
    uint32_t n_leaves = 1;
    while (n_leaves < n_links) {
        n_leaves *= 2;
    }
    *f = (struct flow){
        .links = xnew_array(struct flow_link, n_links),
        .fewest = xnew_array(uint64_t, 2 * (size_t)n_leaves),
        .n_links = n_links,
        .n_leaves = n_leaves,
        .max = slices_of(FLOW_BYTES, slice_bytes),
        .max_each = slices_of(FLOW_EACH_BYTES, slice_bytes),
    };
    memset(f->fewest, UINT8_MAX, 2 * (size_t)n_leaves * sizeof(*f->fewest));
}

void flow_done(struct flow *f)
{
    free(f->links);
    free(f->fewest);
    *f = (struct flow){0};
}

void flow_join(struct flow *f)
{
    f->is_joint = f->n_links * f->max_each <= f->max;
}

static void set_fewest(struct flow *f, uint32_t link, uint64_t fewest)
{
    for (uint32_t i = f->n_leaves + link; i > 0 && f->fewest[i] != fewest; i /= 2) {
        f->fewest[i] = fewest;
        fewest = i > 1 && f->fewest[i ^ 1] < fewest ? f->fewest[i ^ 1] : fewest;
    }
}

/* Whether its next slice could go may have changed. */
static void note(struct flow *f, uint32_t link)
{
    const struct flow_link *l = &f->links[link];
    const bool could = l->sent < l->ready && l->sent - l->taken < f->max_each && !l->is_stuck;
    set_fewest(f, link, could ? l->sent : UINT64_MAX);
}

void flow_offer(struct flow *f, uint32_t link, uint64_t ready)
{
    f->links[link].ready = ready;
    note(f, link);
}

/* No link may be sent this slice, counted over all rounds, or one beyond it. */
static uint64_t joint_end(const struct flow *f)
{
    uint64_t end = UINT64_MAX;
    for (uint32_t i = 0; f->is_joint && i < f->n_links; i++) {
        const struct flow_link *l = &f->links[i];
        if (l->ready - l->taken >= f->max_each && l->taken + f->max_each < end) {
            end = l->taken + f->max_each;
        }
    }
    return end;
}

bool flow_look(struct flow *f, int64_t now_ns)
{
    const uint32_t n_before = f->n_stuck_links;
    for (uint32_t i = 0; i < f->n_links; i++) {
        struct flow_link *l = &f->links[i];
        if (l->taken != l->seen || l->taken == l->sent) {
            l->seen = l->taken;
            l->moved_ns = now_ns;
        } else if (!l->is_stuck && f->n_stuck_links < FLOW_STUCK_LINKS &&
                   now_ns - l->moved_ns >= FLOW_STUCK_NS) {
            l->is_stuck = true;
            f->n_stuck += l->sent - l->taken;
            f->n_stuck_links++;
            note(f, i);
        }
    }
    return f->n_stuck_links > n_before;
}

bool flow_next(struct flow *f, flow_may_fn may, void *ctx, uint32_t *ret_link)
{
    const uint64_t end = f->n_moving - f->n_stuck < f->max ? joint_end(f) : 0;
    bool is_found = false, is_one_hidden = false;
    while (!is_found && f->fewest[1] < end) {
        uint32_t i = 1;
        while (i < f->n_leaves) {
            i = 2 * i + (f->fewest[2 * i + 1] < f->fewest[2 * i]);
        }
        i -= f->n_leaves;
        is_found = may == NULL || may(ctx, i, f->links[i].sent);
        if (is_found) {
            f->links[i].sent++;
            f->n_moving++;
            *ret_link = i;
            note(f, i);
        } else {
            set_fewest(f, i, UINT64_MAX); /* until another one is found */
            is_one_hidden = true;
        }
    }
    for (uint32_t i = 0; is_one_hidden && i < f->n_links; i++) {
        note(f, i);
    }
    return is_found;
}

void flow_take(struct flow *f, uint32_t link, uint64_t taken)
{
    struct flow_link *l = &f->links[link];
    assert(taken >= l->taken && taken <= l->sent);
    if (l->is_stuck && taken > l->taken) {
        l->is_stuck = false;
        f->n_stuck -= l->sent - l->taken;
        f->n_stuck_links--;
    }
    f->n_moving -= taken - l->taken;
    l->taken = taken;
    note(f, link);
}
