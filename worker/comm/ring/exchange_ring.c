/* The life of a worker's exchange, see exchange_ring.h. Its calls are those of the mailbox, its
 * work is that of ring_loop.c. */
#include "worker/comm/ring/exchange_ring.h"

#include <inttypes.h>
#include <string.h>

#include "base/fd.h"
#include "base/mem.h"
#include "worker/comm/ring/ring_internal.h"

void exchange_ring_digest(const char *model, uint64_t seed, const struct slices *slices,
                          enum exchange_transport transport, uint8_t ret[static AUTH_DIGEST_SIZE])
{
    _cleanup_(freep) char *text =
        xasprintf("AllReduce Sync Fp32 model=%s seed=%" PRIu64 " params=%zu workers=%" PRIu32
                  " slices=%" PRIu32 " transport=%s",
                  model, seed, slices->n_params, slices->n_servers, slices->n,
                  exchange_transport_names[transport]);
    auth_sha256(text, strlen(text), ret);
}

static void free_memory(struct ring *r)
{
    fd_close(&r->params.gang.listen_fd);
    ring_round_done(r);
    free(r);
}

static void worker_free(struct exchange *x)
{
    struct ring *r = (struct ring *)x;
    mailbox_done(&r->box);
    free_memory(r);
}

int exchange_ring_new(const struct exchange_ring_params *params, struct exchange **ret,
                      struct err *err)
{
    const struct mailbox_params box = {params->gang.self, params->slices, params->owner,
                                       worker_free};
    struct ring *r = xnew(struct ring);
    r->params = *params;
    r->n_ranks = params->slices.n_servers;
    meet_init(&r->meet, &params->gang);
    r->meet.relays = true;
    ring_round_init(r);
    int e = mailbox_init(&r->box, &box, err);
    if (e < 0) {
        free_memory(r);
        return e;
    }
    ring_peers_init(r, &params->next);
    e = mailbox_start(&r->box, ring_main, err);
    if (e < 0) {
        worker_free(&r->box.base);
        return e;
    }
    *ret = &r->box.base;
    return 0;
}
