/* Slices on their way, see flow.h. */
#include "worker/comm/flow.h"

#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"

static uint64_t slices_of(size_t bytes, size_t slice_bytes)
{
    return slice_bytes == 0 || slice_bytes > bytes ? 1 : bytes / slice_bytes;
}

void flow_init(struct flow *f, uint32_t n_links, size_t slice_bytes)
{
    *f = (struct flow){
        .links = xnew_array(struct flow_link, n_links),
        .n_links = n_links,
        .max = slices_of(FLOW_BYTES, slice_bytes),
        .max_each = slices_of(FLOW_EACH_BYTES, slice_bytes),
    };
}

void flow_done(struct flow *f)
{
    free(f->links);
    *f = (struct flow){0};
}

/* The link that comes first of those that have a slice to send and have not been asked yet. A link is
 * asked after those that have sent fewer, or as many and stand before it. */
static bool find_next(const struct flow *f, bool has_last, uint32_t last, uint32_t *ret)
{
    bool has = false;
    for (uint32_t i = 0; i < f->n_links; i++) {
        const struct flow_link *l = &f->links[i];
        if (l->sent == l->ready || l->sent - l->taken >= f->max_each) {
            continue;
        }
        const uint64_t last_sent = has_last ? f->links[last].sent : 0;
        const bool is_asked =
            has_last && (l->sent < last_sent || (l->sent == last_sent && i <= last));
        if (!is_asked && (!has || l->sent < f->links[*ret].sent)) {
            *ret = i;
            has = true;
        }
    }
    return has;
}

bool flow_next(struct flow *f, flow_may_fn may, void *ctx, uint32_t *ret_link)
{
    uint32_t link = 0;
    if (f->n_moving >= f->max) {
        return false;
    }
    for (bool has_last = false; find_next(f, has_last, link, &link); has_last = true) {
        if (may == NULL || may(ctx, link, f->links[link].sent)) {
            f->links[link].sent++;
            f->n_moving++;
            *ret_link = link;
            return true;
        }
    }
    return false;
}

void flow_take(struct flow *f, uint32_t link, uint64_t taken)
{
    struct flow_link *l = &f->links[link];
    assert(taken >= l->taken && taken <= l->sent);
    f->n_moving -= taken - l->taken;
    l->taken = taken;
}
