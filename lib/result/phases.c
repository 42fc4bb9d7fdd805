/* See phases.h. */
#include "result/phases.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "result/result.h"

#define HIDDEN 0.1   /* up to here the exchange is hidden well enough */
#define BUSY 0.5     /* from here on a server is what trainers wait for */
#define RELAXED 0.25 /* a server that works so much of a step is not */
#define USED_UP 0.8  /* more than that no server can work */

const char *const limit_kind_names[] = {LIMIT_KINDS(ENUM_NAME)};

static bool says_phases(const struct replica_row *r)
{
    const struct summary *s = replica_summary(r);
    return s->steps > 0 && array_any(s->phase_ns, PHASE_COUNT, ns, *ns > 0);
}

bool phase_is_own(enum phase phase)
{
    return phase == PHASE_DATA || phase == PHASE_FORWARD || phase == PHASE_BACKWARD ||
           phase == PHASE_UPDATE;
}

static void add_steps(struct step_means *m, const struct summary *s)
{
    const double steps = s->steps;
    m->n_replicas++;
    m->steps += steps;
    m->step_ns += (double)s->duration_ns / steps;
    for (int k = 0; k < PHASE_COUNT; k++) {
        m->phase_ns[k] += (double)s->phase_ns[k] / steps;
        m->exposed_ns += phase_is_own((enum phase)k) ? 0 : (double)s->phase_ns[k] / steps;
    }
    m->cpu_ns += s->cpu_ns > 0 ? (double)s->cpu_ns / steps : NAN;
    m->bytes_tx += s->source.rule != NULL ? NAN : (double)s->bytes_tx / steps;
    m->bytes_rx += s->source.rule != NULL ? NAN : (double)s->bytes_rx / steps;
}

static void divide_steps(struct step_means *m)
{
    const double n = m->n_replicas;
    for (int k = 0; k < PHASE_COUNT; k++) {
        m->phase_ns[k] /= n;
    }
    m->steps /= n;
    m->step_ns /= n;
    m->exposed_ns /= n;
    m->cpu_ns /= n;
    m->bytes_tx /= n;
    m->bytes_rx /= n;
}

const struct step_means *phases_of_leading(const struct point_result *p)
{
    static const struct step_means none;
    const struct step_means *m = phases_of(p->kept, point_leading_role(p->point));
    return m == NULL ? &none : m;
}

static void collect_means(struct point_kept *kept, const struct point_result *p)
{
    struct step_means all[ROLE_COUNT] = {0};
    point_each_replica (r, p) {
        if (says_phases(r)) {
            add_steps(&all[r->id.role], r->summary);
        }
    }
    for (int role = 0; role < ROLE_COUNT; role++) {
        if (all[role].n_replicas > 0) {
            all[role].role = (enum role)role;
            divide_steps(&all[role]);
            all[kept->n_phases++] = all[role];
        }
    }
    kept->phases = xmemdup(all, kept->n_phases * sizeof(*all));
}

const struct step_means *phases_of(const struct point_kept *kept, enum role role)
{
    return array_find(kept->phases, kept->n_phases, it, it->role == role);
}

/* What one server worked, and how long the others waited there for each trainer (`late_s`, room for
 * all), each by its mean over the trials, as the table shows them. `steps`: of a trainer, which may
 * be some for each round of a server; 0: not known. */
static void take_server(struct limit_facts *f, const struct point_result *p, uint32_t server,
                        double steps, double *late_s)
{
    double busy_s = 0, n = 0;
    memset(late_s, 0, f->n_trainers * sizeof(*late_s));
    point_each_replica (r, p) {
        if (r->id.role != ROLE_PSERVER || r->id.index != server || !says_phases(r)) {
            continue;
        }
        const struct summary *s = r->summary;
        const double rounds = steps > 0 ? steps : s->steps;
        n++;
        busy_s += (double)(s->phase_ns[PHASE_RECEIVE] + s->phase_ns[PHASE_UPDATE] +
                           s->phase_ns[PHASE_SEND]) /
                  1e9 / rounds;
        if (s->last.trainer < f->n_trainers) {
            late_s[s->last.trainer] += (double)s->last.wait_ns / 1e9 / rounds;
        }
    }
    if (n > 0 && busy_s / n > f->server_busy_s) {
        f->server_busy_s = busy_s / n;
        f->server = server;
    }
    for (uint32_t k = 0; k < f->n_trainers && n > 0; k++) {
        if (late_s[k] / n > f->late_s) {
            f->late_s = late_s[k] / n;
            f->late_trainer = k;
        }
    }
}

static struct limit_facts limit_facts_of(const struct point_result *p)
{
    static const struct step_means none;
    const struct step_means *m = phases_of(p->kept, ROLE_TRAINER);
    m = m == NULL ? &none : m;
    struct limit_facts f = {
        .n_trainers = p->point->replicas[ROLE_TRAINER],
        .n_servers = p->point->replicas[ROLE_PSERVER],
        .step_s = m->step_ns / 1e9,
        .exposed_s = m->exposed_ns / 1e9,
    };
    _cleanup_(freep) double *late_s = xnew_array(double, f.n_trainers);
    for (uint32_t i = 0; i < f.n_servers; i++) {
        take_server(&f, p, i, m->steps, late_s);
    }
    return f;
}

void phases_collect(struct point_result *p)
{
    collect_means(p->kept, p);
    p->kept->limit = limit_facts_of(p);
}

struct limit limit_find(const struct limit_facts *f)
{
    struct limit limit = {.kind = LIMIT_UNKNOWN, .exposed = NAN, .share = NAN, .advice = NAN};
    if (f->step_s <= 0 || f->n_servers == 0) {
        return limit;
    }
    const double busy = f->server_busy_s / f->step_s, late = f->late_s / f->step_s;
    limit.exposed = f->exposed_s / f->step_s;
    if (limit.exposed < HIDDEN) {
        limit.kind = LIMIT_COMPUTE;
        limit.share = 1 - limit.exposed;
        limit.advice = busy > 0 && busy < USED_UP ? floor(f->n_trainers * USED_UP / busy) : NAN;
    } else if (f->n_trainers > 1 && f->late_s >= f->exposed_s / 2) {
        limit.kind = LIMIT_STRAGGLER;
        limit.share = late;
        limit.advice = late;
    } else if (busy >= BUSY) {
        limit.kind = LIMIT_SERVER_CPU;
        limit.share = busy;
        limit.advice = ceil(f->n_servers * busy / RELAXED);
    } else if (f->n_trainers > f->n_servers) {
        limit.kind = LIMIT_SERVER_LINK;
        limit.advice = 2.0 * f->n_servers;
    } else {
        limit.kind = LIMIT_TRAINER_LINK;
        const double other_s = f->step_s - f->exposed_s; /* grows with the batch */
        limit.advice = other_s > 0 ? f->exposed_s * (1 - HIDDEN) / HIDDEN / other_s : NAN;
    }
    return limit;
}
