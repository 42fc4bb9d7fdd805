/* The life of a trainer's exchange, see exchange_ps.h. Its calls are those of the mailbox, its work
 * is that of client_loop.c. */
#include "worker/comm/ps/exchange_ps.h"

#include "base/mem.h"
#include "worker/comm/ps/client_internal.h"

static void client_free(struct exchange *x)
{
    struct client *c = (struct client *)x;
    mailbox_done(&c->box);
    free(c->links);
    free(c->is_received);
    free(c);
}

int exchange_ps_new(const struct exchange_ps_params *params, struct exchange **ret, struct err *err)
{
    const struct mailbox_params box = {params->gang.self, params->slices, params->owner,
                                       client_free};
    struct client *c = xnew(struct client);
    int r = mailbox_init(&c->box, &box, err);
    if (r < 0) {
        free(c);
        return r;
    }
    c->params = *params;
    c->params.servers = NULL;
    meet_init(&c->meet, &params->gang);
    c->links = xnew_array(struct link, params->slices.n_servers);
    c->is_received = xnew_array(bool, params->slices.n);
    for (uint32_t i = 0; i < params->slices.n_servers; i++) {
        const uint32_t process = i / params->slices.n_threads;
        meet_peer_init(&c->meet, &c->links[i].peer, ROLE_PSERVER, process,
                       &params->servers[process]);
    }
    r = mailbox_start(&c->box, client_main, err);
    if (r < 0) {
        client_free(&c->box.base);
        return r;
    }
    *ret = &c->box.base;
    return 0;
}
