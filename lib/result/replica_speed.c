/* See replica_speed.h. */
#include "result/replica_speed.h"

#include <math.h>
#include <stdlib.h>

#include "stats/stats.h"

/* Sums of all measured steps. A program may say times of any length. */
static double work_ns(enum role role, const struct summary *s)
{
    const int64_t *ns = s->phase_ns;
    return role == ROLE_PSERVER
               ? (double)ns[PHASE_UPDATE]
               : (double)ns[PHASE_DATA] + (double)ns[PHASE_FORWARD] + (double)ns[PHASE_BACKWARD];
}

struct replica_speed replica_speed_of(enum role role, const struct summary *s,
                                      const struct step_times *steps)
{
    const double work = s == NULL ? 0 : work_ns(role, s);
    if (work > 0 && s->steps > 0) {
        return (struct replica_speed){SPEED_WORK, work / s->steps};
    }
    if (steps->median_ns > 0) {
        return (struct replica_speed){SPEED_STEP, steps->median_ns};
    }
    return (struct replica_speed){0};
}

/* ---- gangs ---- */

static int by_pace(const void *a, const void *b)
{
    const struct speed_member *x = a, *y = b;
    return (x->log_ns > y->log_ns) - (x->log_ns < y->log_ns);
}

void speed_gang_init(struct speed_gang *gang, const struct trial_result *t, enum role role)
{
    *gang = (struct speed_gang){.members = xnew_array(struct speed_member, t->n_replicas)};
    enum speed_kind kind = SPEED_NONE; /* of the first: what is compared is of one kind */
    trial_each_replica (r, t) {
        if (t->phase != TRIAL_SUCCEEDED || r->row->id.role != role || r->speed.kind == SPEED_NONE ||
            (kind != SPEED_NONE && r->speed.kind != kind)) {
            continue;
        }
        kind = r->speed.kind;
        gang->members[gang->n++] = (struct speed_member){r, log(r->speed.step_ns)};
    }
    qsort(gang->members, gang->n, sizeof(*gang->members), by_pace);
}

void speed_gang_done(struct speed_gang *gang)
{
    free(gang->members);
    *gang = (struct speed_gang){0};
}

/* The median of all members but the k-th; there are two at least. */
static double median_of_others(const struct speed_gang *gang, size_t k)
{
    const size_t n = gang->n - 1, low = (n - 1) / 2, high = n / 2;
    return (gang->members[low < k ? low : low + 1].log_ns +
            gang->members[high < k ? high : high + 1].log_ns) /
           2;
}

double speed_gang_excess(const struct speed_gang *gang, size_t k)
{
    return gang->members[k].log_ns - median_of_others(gang, k);
}

/* ---- stragglers ---- */

double straggler_share(const struct trial_result *t, enum role leading)
{
    double most = 0, work = 0, step = 0;
    size_t n = 0;
    trial_each_replica (r, t) {
        if (r->row->id.role == leading && r->speed.kind == SPEED_WORK) {
            most = fmax(most, r->speed.step_ns);
            work += r->speed.step_ns;
            step += (double)r->summary->duration_ns / r->summary->steps;
            n++;
        }
    }
    return n < 2 || step <= 0 ? NAN : ((double)n * most - work) / step;
}
