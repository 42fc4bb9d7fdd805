/* All-reduce over TCP: the calls of collective.h on a mesh (mesh.h), step by step of the plan. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/exit_code.h"
#include "base/mem.h"
#include "worker/comm/mesh.h"

static int ended(const struct mesh *m, struct err *err)
{
    return m->fault.exit_code != 0 ? fault_to_err(&m->fault, err)
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

/* Of one segment: all steps of the plan. */
static int reduce_segment(struct mesh *m, enum collective_way way, const float *from, float *to,
                          size_t n, struct err *err)
{
    const uint32_t n_ranks = m->params.n_ranks, n_steps = collective_n_steps(way, n_ranks);
    int e = 0;
    for (uint32_t k = 0; k < n_steps && e >= 0; k++) {
        const struct collective_step step = collective_step_at(way, n_ranks, mesh_self(m), n, k);
        e = mesh_transfer(m, &step, from, to, err);
    }
    m->step++;
    return e;
}

static int tcp_all_reduce(struct collective *c, const float *from, float *to, size_t n,
                          struct err *err)
{
    struct mesh *m = (struct mesh *)c;
    const uint32_t n_ranks = m->params.n_ranks;
    if (m->ended) {
        return ended(m, err);
    }
    if (n_ranks == 1) {
        memmove(to, from, n * sizeof(float));
        return 0;
    }
    const enum collective_way way = collective_way_of(m->params.algorithm, n_ranks, n);
    const size_t most = collective_segment(way, n_ranks, n);
    int e = 0;
    for (size_t at = 0; at < n && e >= 0; at += most) {
        e = reduce_segment(m, way, from + at, to + at, n - at < most ? n - at : most, err);
    }
    return checked(m, e, err);
}

static int tcp_beat(struct collective *c, struct err *err)
{
    struct mesh *m = (struct mesh *)c;
    return m->ended ? ended(m, err) : checked(m, mesh_beat(m, err), err);
}

static const char *tcp_way(const struct collective *c, size_t n)
{
    const struct mesh *m = (const struct mesh *)c;
    return collective_way_names[collective_way_of(m->params.algorithm, m->params.n_ranks, n)];
}

static int tcp_goodbye(struct collective *c, struct err *err)
{
    struct mesh *m = (struct mesh *)c;
    if (m->ended) {
        return ended(m, err);
    }
    mesh_goodbye(m);
    return 0;
}

static void tcp_abandon(struct collective *c, int exit_code, const char *why)
{
    struct mesh *m = (struct mesh *)c;
    if (!m->ended) {
        struct err err;
        m->fault = (struct fault){.exit_code = exit_code, .peer = m->params.self};
        (void)snprintf(m->fault.message, sizeof(m->fault.message), "%s", why); /* may truncate */
        (void)checked(m, -ECANCELED, &err); /* the fault is known */
    }
}

static void tcp_fault(const struct collective *c, struct exchange_fault *ret)
{
    const struct mesh *m = (const struct mesh *)c;
    *ret = (struct exchange_fault){.exit_code = m->fault.exit_code};
    if (m->fault.has_peer) {
        frame_id_name(&m->fault.peer, ret->peer);
    }
}

static void tcp_free(struct collective *c)
{
    struct mesh *m = (struct mesh *)c;
    if (m == NULL) {
        return;
    }
    tcp_abandon(c, EXIT_WORKER_PEER_LOST, "it left before the end");
    mesh_peers_done(m);
    if (m->listener.fd >= 0) {
        (void)close(m->listener.fd); /* a listener has nothing to lose */
    }
    free(m->landing);
    free(m);
}

static const struct collective_ops tcp_ops = {
    .all_reduce = tcp_all_reduce,
    .beat = tcp_beat,
    .way = tcp_way,
    .goodbye = tcp_goodbye,
    .abandon = tcp_abandon,
    .fault = tcp_fault,
    .free = tcp_free,
};

int collective_tcp_new(const struct collective_params *params, struct collective **ret,
                       struct exchange_fault *ret_fault, struct err *err)
{
    struct mesh *m = xnew(struct mesh);
    m->base.ops = &tcp_ops;
    m->params = *params;
    m->params.addrs = NULL;
    m->listener = (struct net_listener){.fd = params->listen_fd};
    /* Of one chunk, or of all that goes by doubling. */
    _Static_assert(COLLECTIVE_DOUBLING_BYTES <= MESH_CHUNK_BYTES, "a landing is a chunk");
    m->landing_floats = MESH_CHUNK_BYTES / sizeof(float);
    m->landing = xnew_array(float, m->landing_floats);
    mesh_peers_init(m, params->addrs);
    const int e = params->n_ranks > 1 ? checked(m, mesh_connect(m, err), err) : 0;
    tcp_fault(&m->base, ret_fault);
    if (e < 0) {
        tcp_free(&m->base);
        return e;
    }
    *ret = &m->base;
    return 0;
}
