/* What a parameter server counts of its rounds (ps_round.c), for its summary. */
#include "base/clock.h"
#include "base/vec_walk.h"
#include "worker/comm/ps/ps_internal.h"

void ps_round_lap(struct ps_server *s, struct ps_server_time *phase)
{
    const int64_t now_ns = clock_monotonic_ns(), cpu_ns = clock_thread_cpu_ns();
    phase->ns += now_ns - s->lap_ns;
    phase->cpu_ns += cpu_ns - s->lap_cpu_ns;
    s->lap_ns = now_ns;
    s->lap_cpu_ns = cpu_ns;
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

void ps_round_last(const struct ps_server *s, struct ps_server_stats *ret)
{
    for (uint32_t t = 0; t < s->params.n_trainers; t++) {
        if (s->lasts[t].n_rounds > 0 && s->lasts[t].wait_ns >= ret->last_wait_ns) {
            ret->last_trainer = t;
            ret->n_last = s->lasts[t].n_rounds;
            ret->last_wait_ns = s->lasts[t].wait_ns;
        }
    }
}

void ps_round_late(const struct ps_server *s, struct ps_server_stats *ret)
{
    if (s->params.mode.backups > 0) {
        ret->n_arrived = s->backups.n_arrived;
        ret->n_dropped += array_sum(s->backups.n_dropped, s->params.n_trainers, it, *it);
        ret->latest_trainer = backups_latest(&s->backups);
        ret->n_latest = s->backups.n_dropped[ret->latest_trainer];
    }
}

void ps_round_bytes(const struct ps_server *s, uint64_t *ret_tx, uint64_t *ret_rx)
{
    *ret_tx = array_sum(s->trainers, s->params.n_trainers, it, (*it)->conn.bytes_tx);
    *ret_rx = array_sum(s->trainers, s->params.n_trainers, it, (*it)->conn.bytes_rx);
}
