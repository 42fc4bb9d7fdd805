/* Threads on shared cores, see cores.h. */
#include "predict/cores.h"

#include <math.h>

void cores_init(struct cores *c, double n_cores, uint32_t n_threads)
{
    *c = (struct cores){.n_cores = n_cores};
    agenda_init(&c->ends, n_threads);
}

void cores_done(struct cores *c)
{
    agenda_done(&c->ends);
}

/* Of a core, to each thread. */
static double rate(const struct cores *c)
{
    return c->ends.n <= c->n_cores ? 1 : c->n_cores / c->ends.n;
}

void cores_advance(struct cores *c, double now_s)
{
    c->given_s += (now_s - c->at_s) * rate(c);
    c->used_s += (now_s - c->at_s) * rate(c) * c->ends.n;
    c->at_s = now_s;
}

void cores_begin(struct cores *c, double now_s, uint32_t thread, double work_s)
{
    cores_advance(c, now_s);
    agenda_set(&c->ends, thread, c->given_s + work_s);
}

bool cores_next(const struct cores *c, uint32_t *ret_thread, double *ret_time_s)
{
    double given_s;
    if (!agenda_first(&c->ends, ret_thread, &given_s)) {
        return false;
    }
    const double left_s = given_s > c->given_s ? given_s - c->given_s : 0;
    *ret_time_s = c->at_s + left_s / rate(c);
    return true;
}

void cores_end(struct cores *c, double now_s, uint32_t thread)
{
    cores_advance(c, now_s);
    agenda_set(&c->ends, thread, INFINITY);
}
