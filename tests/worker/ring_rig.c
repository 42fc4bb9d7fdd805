/* A ring in one process, see ring_rig.h. */
#include "ring_rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

static void check(int r, const struct err *err)
{
    if (r < 0) {
        fprintf(stderr, "ring rig: %s\n", err->msg);
        abort();
    }
}

void ring_rig_init(struct ring_rig *r, size_t n_params, uint32_t n_ranks, size_t max_bytes)
{
    memset(r, 0, sizeof(*r));
    r->n_params = n_params;
    r->n_ranks = n_ranks;
    r->slices =
        max_bytes > 0 ? slices_plan(n_params, n_ranks, max_bytes) : ring_slices(n_params, n_ranks);
    r->gang = getpid();
    r->warmup = 2;
    r->steps = 4;
    r->window_bytes = RING_WINDOW_BYTES;
    r->rendezvous_ns = INT64_C(20000000000);
    for (uint32_t i = 0; i < n_ranks; i++) {
        struct net_addr addr;
        struct err err;
        char text[32];
        check(net_addr_parse("127.0.0.1:0", &addr, &err), &err);
        r->listen_fds[i] = net_listen(&addr, &err);
        check(r->listen_fds[i], &err);
        (void)snprintf(text, sizeof(text), "127.0.0.1:%u", rig_port(r->listen_fds[i]));
        check(net_addr_parse(text, &r->addrs[i], &err), &err);
    }
}

static void apply(void *ctx, uint64_t t, size_t offset, size_t n, float *params, const float *sum,
                  float scale)
{
    struct ring_worker *w = ctx;
    w->n_applied = w->applied_in == t ? w->n_applied + n : n;
    w->applied_in = t;
    rig_apply(NULL, t, offset, n, params, sum, scale);
}

struct exchange_ring_params ring_rig_params(const struct ring_rig *r, uint32_t index)
{
    struct exchange_ring_params p = {
        .gang.self = rig_id(ROLE_WORKER, index),
        .slices = r->slices,
        .next = r->addrs[ring_next(r->n_ranks, index)],
        .gang.listen_fd = r->listen_fds[index],
        .window_bytes = r->window_bytes,
        .apply = apply,
        .apply_ctx = (void *)(uintptr_t)&r->workers[index],
        .gang.rendezvous_ns = r->rendezvous_ns,
    };
    memset(p.gang.secret, 0x5a, sizeof(p.gang.secret));
    memcpy(p.gang.secret, &r->gang, sizeof(r->gang)); /* tests run at the same time */
    exchange_ring_digest("toy", 1, &r->slices, EXCHANGE_TRANSPORT_TCP, p.gang.digest);
    return p;
}

static int train(struct ring_worker *w, struct exchange *x, float *grad)
{
    struct ring_rig *rig = w->rig;
    const uint64_t warmup = w->warmup != 0 ? w->warmup : rig->warmup;
    const uint64_t steps = w->steps != 0 ? w->steps : rig->steps;
    for (uint64_t step = 0; step < warmup + steps; step++) {
        if (step == warmup && w->skips_barrier) {
            break;
        }
        if (step == warmup) {
            atomic_fetch_add(&rig->n_at_barrier, 1);
            int r = x->ops->barrier(x, &w->err);
            if (r < 0) {
                return r;
            }
            if (atomic_load(&rig->n_at_barrier) != (int)rig->n_ranks) {
                return err_set(&w->err, EBUSY, "the barrier has let go too early");
            }
        }
        if (w->leaves && step == 1) {
            x->ops->abandon(x, 10, "its data is damaged");
            return -ECANCELED;
        }
        rig_gradient(grad, rig->n_params, w->index, step);
        int r = exchange_round(x, grad, w->params, &w->times, &w->err);
        if (r < 0) {
            return r;
        }
    }
    return x->ops->goodbye(x, &w->err);
}

static void *run_worker(void *arg)
{
    struct ring_worker *w = arg;
    struct exchange_ring_params p = ring_rig_params(w->rig, w->index);
    p.gang.secret[0] ^= w->wrong_secret;
    p.gang.digest[0] ^= w->wrong_digest;
    p.gang.self.index = w->claims != 0 ? w->claims - 1 : p.gang.self.index;
    if (w->wrong_next) {
        p.next = w->rig->addrs[ring_prev(w->rig->n_ranks, w->index)];
    }
    _cleanup_(freep) float *grad = xnew_array(float, w->rig->n_params + 1);
    struct exchange *x;
    w->result = exchange_ring_new(&p, &x, &w->err);
    if (w->result == 0) {
        w->result = train(w, x, grad);
        x->ops->fault(x, &w->fault);
        struct err again = {0};
        w->after_the_end = x->ops->barrier(x, &again);
        x->ops->free(x);
    }
    return NULL;
}

void ring_rig_run(struct ring_rig *r)
{
    for (uint32_t i = 0; i < r->n_ranks; i++) {
        struct ring_worker *w = &r->workers[i];
        w->rig = r;
        w->index = i;
        w->params = xnew_array(float, r->n_params + 1);
        rig_init_params(w->params, r->n_params);
        if (w->never_starts) {
            (void)close(r->listen_fds[i]);
        } else if (pthread_create(&w->thread, NULL, run_worker, w) != 0) {
            abort();
        }
    }
    for (uint32_t i = 0; i < r->n_ranks; i++) {
        if (!r->workers[i].never_starts) {
            (void)pthread_join(r->workers[i].thread, NULL);
        }
    }
}

void ring_rig_done(struct ring_rig *r)
{
    for (uint32_t i = 0; i < r->n_ranks; i++) {
        free(r->workers[i].params);
    }
}

float *ring_rig_want(const struct ring_rig *r, uint64_t steps, bool in_order)
{
    const size_t n = r->n_params;
    float *params = xnew_array(float, n + 1), *sum = xnew_array(float, n + 1);
    float *grads[RING_MAX];
    for (uint32_t i = 0; i < r->n_ranks; i++) {
        grads[i] = xnew_array(float, n + 1);
    }
    rig_init_params(params, n);
    for (uint64_t step = 0; step < steps; step++) {
        for (uint32_t i = 0; i < r->n_ranks; i++) {
            rig_gradient(grads[i], n, i, step);
        }
        for (uint32_t s = 0; s < r->slices.n; s++) {
            const struct slice slice = slices_get(&r->slices, s);
            const uint32_t first = in_order ? 0 : ring_next(r->n_ranks, slice.server);
            for (size_t i = slice.offset; i < slice.offset + slice.len; i++) {
                sum[i] = grads[first][i];
                for (uint32_t k = 1; k < r->n_ranks; k++) {
                    sum[i] += grads[(first + k) % r->n_ranks][i];
                }
            }
        }
        rig_apply(NULL, step + 1, 0, n, params, sum, 1.0f / (float)r->n_ranks);
    }
    for (uint32_t i = 0; i < r->n_ranks; i++) {
        free(grads[i]);
    }
    free(sum);
    return params;
}
