/* All-reduce on a mesh (mesh.h): the calls of collective.h, over TCP step by step of the plan, or
 * through shared memory (mesh_shm.h). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/exit_code.h"
#include "base/fd.h"
#include "base/mem.h"
#include "worker/comm/collective/mesh.h"
#include "worker/comm/collective/mesh_shm.h"

static int ended(const struct mesh *m, struct err *err)
{
    return m->meet.fault.exit_code != 0 ? fault_to_err(&m->meet.fault, err)
                                        : err_set(err, EPIPE, "the ranks have said goodbye");
}

/* The result of a call: the first failure ends the mesh. */
static int checked(struct mesh *m, int e, struct err *err)
{
    if (e >= 0) {
        return 0;
    }
    mesh_fail(m, e, err);
    mesh_tell_late_comers(m);
    return ended(m, err);
}

static int call_all_reduce(struct collective *c, const float *from, float *to, size_t n,
                           struct err *err)
{
    struct mesh *m = (struct mesh *)c;
    if (m->ended) {
        return ended(m, err);
    }
    if (m->params.n_ranks == 1) {
        memmove(to, from, n * sizeof(float));
        return 0;
    }
    const int e = m->share.is_shared ? mesh_shm_all_reduce(m, from, to, n, err)
                                     : mesh_all_reduce(m, from, to, n, err);
    return checked(m, e, err);
}

static int call_beat(struct collective *c, struct err *err)
{
    struct mesh *m = (struct mesh *)c;
    return m->ended ? ended(m, err) : checked(m, mesh_beat(m, err), err);
}

/* The additions are those of the way, also where the numbers are not sent. */
static const char *call_way(const struct collective *c, size_t n)
{
    const struct mesh *m = (const struct mesh *)c;
    return collective_way_names[collective_way_of(m->params.algorithm, m->params.n_ranks, n)];
}

static int call_goodbye(struct collective *c, struct err *err)
{
    struct mesh *m = (struct mesh *)c;
    if (m->ended) {
        return ended(m, err);
    }
    mesh_goodbye(m);
    return 0;
}

static void call_abandon(struct collective *c, int exit_code, const char *why)
{
    struct mesh *m = (struct mesh *)c;
    if (!m->ended) {
        struct err err;
        m->meet.fault = (struct fault){.exit_code = exit_code, .peer = m->params.gang.self};
        (void)snprintf(m->meet.fault.message, sizeof(m->meet.fault.message), "%s",
                       why);                /* may truncate */
        (void)checked(m, -ECANCELED, &err); /* the fault is known */
    }
}

static void call_fault(const struct collective *c, struct exchange_fault *ret)
{
    const struct mesh *m = (const struct mesh *)c;
    *ret = (struct exchange_fault){.exit_code = m->meet.fault.exit_code};
    if (m->meet.fault.has_peer) {
        frame_id_name(&m->meet.fault.peer, ret->peer);
    }
}

static enum exchange_transport call_transport(const struct collective *c)
{
    const struct mesh *m = (const struct mesh *)c;
    return m->share.is_shared ? EXCHANGE_TRANSPORT_SHARED_MEMORY : EXCHANGE_TRANSPORT_TCP;
}

static void call_memory(const struct collective *c, struct collective_memory *ret)
{
    const struct mesh *m = (const struct mesh *)c;
    *ret = m->share.is_shared && m->params.n_max > 0 ? mesh_shm_memory(m)
                                                     : (struct collective_memory){0};
}

static void call_free(struct collective *c)
{
    struct mesh *m = (struct mesh *)c;
    if (m == NULL) {
        return;
    }
    call_abandon(c, EXIT_WORKER_PEER_LOST, "it left before the end");
    mesh_share_done(m);
    mesh_peers_done(m);
    fd_close(&m->meet.listener.fd);
    free(m->landing);
    free(m);
}

static const struct collective_ops mesh_ops = {
    .all_reduce = call_all_reduce,
    .beat = call_beat,
    .way = call_way,
    .goodbye = call_goodbye,
    .abandon = call_abandon,
    .fault = call_fault,
    .transport = call_transport,
    .memory = call_memory,
    .free = call_free,
};

/* Whether it is shared memory. */
static int agree(struct mesh *m, struct err *err)
{
    const int e = mesh_share_agree(m, err);
    m->step = 0;
    if (e == -ENOTSUP) { /* all ranks know it, and none is to blame */
        mesh_goodbye(m);
        return e;
    }
    return checked(m, e, err);
}

int collective_mesh_new(const struct collective_params *params, struct collective **ret,
                        struct exchange_fault *ret_fault, struct err *err)
{
    if (params->n_ranks == 0 || params->n_ranks > COLLECTIVE_RANKS_MAX ||
        params->gang.self.index >= params->n_ranks) {
        if (params->gang.listen_fd >= 0) {
            (void)close(params->gang.listen_fd); /* nothing came there */
        }
        *ret_fault = (struct exchange_fault){0};
        return err_set(err, EINVAL, "rank %" PRIu32 " of %" PRIu32 ": expected 1 to %u ranks",
                       params->gang.self.index, params->n_ranks, COLLECTIVE_RANKS_MAX);
    }
    struct mesh *m = xnew(struct mesh);
    m->base.ops = &mesh_ops;
    m->params = *params;
    m->params.addrs = NULL;
    /* Of one chunk, or of all that goes by doubling. */
    _Static_assert(COLLECTIVE_DOUBLING_MOST_BYTES <= MESH_CHUNK_BYTES, "a landing is a chunk");
    m->landing_floats = MESH_CHUNK_BYTES / sizeof(float);
    m->landing = xnew_array(float, m->landing_floats);
    mesh_peers_init(m, params->addrs);
    mesh_share_init(m);
    int e = params->n_ranks > 1 ? checked(m, mesh_connect(m, err), err) : 0;
    e = e < 0 ? e : agree(m, err);
    call_fault(&m->base, ret_fault);
    if (e < 0) {
        call_free(&m->base);
        return e;
    }
    *ret = &m->base;
    return 0;
}
