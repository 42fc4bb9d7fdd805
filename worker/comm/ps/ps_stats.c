/* What a parameter server counts of its rounds (ps_round.c), for its summary. */
#include "base/clock.h"
#include "worker/comm/ps/ps_internal.h"

void ps_round_lap(struct ps_server *s, int64_t *phase_ns)
{
    const int64_t now_ns = clock_monotonic_ns();
    *phase_ns += now_ns - s->lap_ns;
    s->lap_ns = now_ns;
}

void ps_round_note_arrival(struct ps_server *s, uint32_t t)
{
    const int64_t now_ns = clock_monotonic_ns();
    s->n_arrived++;
    if (s->n_arrived == s->params.n_trainers) {
        s->n_arrived = 0;
        if (s->measuring && s->params.n_trainers > 1) {
            s->lasts[t].n_rounds++;
            s->lasts[t].wait_ns += now_ns - s->arrived_ns;
        }
    }
    s->arrived_ns = now_ns;
}

/* The trainer that the others waited for longest. */
static void find_last(const struct ps_server *s, struct ps_server_stats *ret)
{
    for (uint32_t t = 0; t < s->params.n_trainers; t++) {
        if (s->lasts[t].n_rounds > 0 && s->lasts[t].wait_ns >= ret->last_wait_ns) {
            ret->last_trainer = t;
            ret->n_last = s->lasts[t].n_rounds;
            ret->last_wait_ns = s->lasts[t].wait_ns;
        }
    }
}

void ps_round_bytes(const struct ps_server *s, uint64_t *ret_tx, uint64_t *ret_rx)
{
    *ret_tx = array_sum(s->trainers, s->params.n_trainers, it, (*it)->conn.bytes_tx);
    *ret_rx = array_sum(s->trainers, s->params.n_trainers, it, (*it)->conn.bytes_rx);
}

void ps_round_stats(struct ps_server *threads, uint32_t n, struct ps_server_stats *ret)
{
    *ret = threads->last_round;
    ret->round_ns = take_ptr(threads->round_ns.items);
    ret->n_rounds = threads->round_ns.len;
    find_last(threads, ret);
    for (uint32_t i = 0; i < n; i++) {
        const struct ps_server *s = &threads[i];
        const struct ps_server_stats *one = &s->last_round;
        if (s->measuring) {
            uint64_t tx, rx;
            ps_round_bytes(s, &tx, &rx);
            ret->bytes_tx += tx - s->barrier_bytes_tx;
            ret->bytes_rx += rx - s->barrier_bytes_rx;
        }
        ret->early_peak_bytes += s->reduce.n_peak * s->reduce.buffer_bytes;
        ret->staleness_max =
            one->staleness_max > ret->staleness_max ? one->staleness_max : ret->staleness_max;
        if (i > 0) { /* *ret has those of the first */
            ret->cpu_ns += one->cpu_ns;
            ret->staleness_sum += one->staleness_sum;
            ret->n_stale += one->n_stale;
        }
    }
}
