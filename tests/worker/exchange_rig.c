/* A gang in one process, see exchange_rig.h. */
#include "exchange_rig.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "core/exchange_kind.h"
#include "worker/comm/link/handshake.h"

uint32_t rig_threads = 1;

static void check(int r, const struct err *err)
{
    if (r < 0) {
        fprintf(stderr, "rig: %s\n", err->msg);
        abort();
    }
}

void rig_apply(void *ctx, uint64_t t, size_t offset, size_t n, float *params, const float *grad_sum,
               float grad_scale)
{
    (void)ctx;
    (void)t;
    (void)offset;
    for (size_t i = 0; i < n; i++) {
        params[i] -= 0.5f * grad_scale * grad_sum[i];
    }
}

void rig_init_params(float *params, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        params[i] = (float)(i % 1000) / 7.0f;
    }
}

void rig_gradient(float *grad, size_t n, uint32_t trainer, uint64_t step)
{
    uint32_t x = (trainer + 1) * 2654435761u + (uint32_t)step * 40503u;
    for (size_t i = 0; i < n; i++) {
        x = x * 1664525u + 1013904223u;
        grad[i] = (float)(int32_t)x / (float)(1u << (x & 31u));
    }
}

uint16_t rig_port(int fd)
{
    struct sockaddr_storage ss;
    socklen_t len = sizeof(ss);
    if (getsockname(fd, (struct sockaddr *)&ss, &len) < 0) {
        abort();
    }
    const struct sockaddr_in *in4 = (const struct sockaddr_in *)&ss;
    const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&ss;
    return ntohs(ss.ss_family == AF_INET6 ? in6->sin6_port : in4->sin_port);
}

struct frame_id rig_id(enum role role, uint32_t index)
{
    return (struct frame_id){frame_run_id(RIG_RUN, 0, 0), 0, role, index};
}

static void make_digest(struct rig *r)
{
    handshake_digest("toy", 1, &r->mode, r->wire, r->n_trainers, &r->slices, r->digest);
}

void rig_init(struct rig *r, size_t n_params, uint32_t n_servers, uint32_t n_trainers,
              size_t max_bytes)
{
    *r = (struct rig){
        .n_params = n_params,
        .n_servers = n_servers,
        .n_trainers = n_trainers,
        .slices = slices_plan(n_params, n_servers * rig_threads,
                              max_bytes > 0 ? max_bytes : SLICES_MAX_BYTES),
        .rendezvous_ns = INT64_C(20000000000),
        .handshake_ns = MEET_HANDSHAKE_NS,
        .early_bytes = PS_SERVER_EARLY_BYTES,
        .apply = rig_apply,
    };
    r->slices.n_threads = rig_threads;
    memset(r->secret, 0x5a, sizeof(r->secret));
    const pid_t gang = getpid();
    memcpy(r->secret + 1, &gang, sizeof(gang)); /* tests run at the same time */
    make_digest(r);
    _cleanup_(freep) float *all = xnew_array(float, n_params + 1);
    rig_init_params(all, n_params);
    for (uint32_t s = 0; s < n_servers; s++) {
        struct rig_server *server = &r->servers[s];
        struct net_addr addr;
        struct err err;
        check(net_addr_parse("127.0.0.1:0", &addr, &err), &err);
        server->listen_fd = net_listen(&addr, &err);
        check(server->listen_fd, &err);
        server->port = rig_port(server->listen_fd);
        float *own = xnew_array(float, slices_process_params(&r->slices, s, rig_threads) + 1);
        size_t at = 0;
        for (uint32_t i = s; i < n_servers * rig_threads; i += n_servers) { /* i: a thread */
            for (uint32_t k = i; k < r->slices.n; k += n_servers * rig_threads) {
                struct slice slice = slices_get(&r->slices, k);
                memcpy(own + at, all + slice.offset, slice.len * sizeof(float));
                at += slice.len;
            }
        }
        server->params.params = own;
    }
}

void rig_set_wire(struct rig *r, enum exchange_wire wire)
{
    r->wire = wire;
    make_digest(r);
}

void rig_set_mode(struct rig *r, const struct exchange_mode *mode)
{
    r->mode = *mode;
    make_digest(r);
}

static void *serve(void *arg)
{
    struct rig_server *s = arg;
    s->result = ps_server_run(&s->params, &s->stats, &s->fault, &s->err);
    s->cpu_ns = clock_thread_cpu_ns();
    return NULL;
}

void rig_start_server(struct rig *r, uint32_t s)
{
    struct rig_server *server = &r->servers[s];
    struct ps_server_params *p = &server->params;
    p->gang.self = rig_id(ROLE_PSERVER, s);
    memcpy(p->gang.digest, r->digest, sizeof(p->gang.digest));
    memcpy(p->gang.secret, r->secret, sizeof(p->gang.secret));
    p->gang.listen_fd = server->listen_fd;
    p->n_trainers = r->n_trainers;
    p->slices = r->slices;
    p->wire = r->wire;
    p->mode = r->mode;
    p->early_bytes = r->early_bytes;
    p->apply = r->apply;
    p->apply_ctx = r->apply_ctx;
    p->gang.rendezvous_ns = r->rendezvous_ns;
    p->gang.handshake_ns = r->handshake_ns;
    server->is_running = true;
    if (pthread_create(&server->thread, NULL, serve, server) != 0) {
        abort();
    }
}

void rig_start_servers(struct rig *r)
{
    for (uint32_t s = 0; s < r->n_servers; s++) {
        rig_start_server(r, s);
    }
}

void rig_join_servers(struct rig *r)
{
    for (uint32_t s = 0; s < r->n_servers; s++) {
        if (r->servers[s].is_running) {
            (void)pthread_join(r->servers[s].thread, NULL);
            r->servers[s].is_running = false;
        }
    }
}

void rig_done(struct rig *r)
{
    rig_join_servers(r);
    for (uint32_t s = 0; s < r->n_servers; s++) {
        free(r->servers[s].params.params);
        ps_server_stats_done(&r->servers[s].stats);
    }
}

struct exchange_ps_params rig_trainer(const struct rig *r, uint32_t index,
                                      struct net_addr addrs[RIG_MAX])
{
    struct exchange_ps_params p = {
        .gang.self = rig_id(ROLE_TRAINER, index),
        .servers = addrs,
        .slices = r->slices,
        .wire = r->wire,
        .gang.rendezvous_ns = r->rendezvous_ns,
    };
    memcpy(p.gang.digest, r->digest, sizeof(p.gang.digest));
    memcpy(p.gang.secret, r->secret, sizeof(p.gang.secret));
    for (uint32_t s = 0; s < r->n_servers; s++) {
        char text[32];
        struct err err;
        (void)snprintf(text, sizeof(text), "127.0.0.1:%u", r->servers[s].port);
        check(net_addr_parse(text, &addrs[s], &err), &err);
    }
    return p;
}
