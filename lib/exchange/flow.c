/* Slices on their way, see flow.h. */
#include "exchange/flow.h"

#include <assert.h>

#include "base/mem.h"

static uint64_t slices_of(size_t bytes, size_t slice_bytes)
{
    return slice_bytes == 0 || slice_bytes > bytes ? 1 : bytes / slice_bytes;
}

uint64_t flow_each(size_t slice_bytes)
{
    return slices_of(FLOW_EACH_BYTES, slice_bytes);
}

void flow_init(struct flow *f, uint32_t n_links, size_t slice_bytes)
{
    *f = (struct flow){
        .links = xnew_array(struct flow_link, n_links),
        .n_links = n_links,
        .max = slices_of(FLOW_BYTES, slice_bytes),
        .max_each = flow_each(slice_bytes),
    };
}

void flow_done(struct flow *f)
{
    free(f->links);
    *f = (struct flow){0};
}

void flow_widen(struct flow *f, uint32_t n_links)
{
    f->max += n_links * f->max_each;
}

void flow_join(struct flow *f)
{
    f->is_joint = f->n_links * f->max_each <= f->max;
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
        }
    }
    return f->n_stuck_links > n_before;
}

bool flow_next(struct flow *f, flow_may_fn may, void *ctx, uint32_t *ret_link)
{
    struct flow_link *next = NULL;
    if (f->n_moving - f->n_stuck >= f->max) {
        return false;
    }
    const uint64_t end = joint_end(f);
    for (uint32_t i = 0; i < f->n_links; i++) {
        struct flow_link *l = &f->links[i];
        if (l->sent == l->ready || l->sent >= end || l->sent - l->taken >= f->max_each ||
            l->is_stuck || (next != NULL && l->sent >= next->sent)) {
            continue;
        }
        if (may == NULL || may(ctx, i, l->sent)) {
            next = l;
            *ret_link = i;
        }
    }
    if (next == NULL) {
        return false;
    }
    next->sent++;
    f->n_moving++;
    return true;
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
}
