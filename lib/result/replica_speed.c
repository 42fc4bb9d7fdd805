/* See replica_speed.h. */
#include "result/replica_speed.h"

#include <math.h>
#include <stdlib.h>

#include "base/str.h"
#include "stats/student.h"
#include "stats/significance.h"
#include "stats/stats.h"

/* A gang of at least this size shows by itself how much its replicas differ. Of a smaller one,
 * trials have to show it. */
#define GANG_MIN 4
#define GANG_DEVIATIONS 4
#define TRIALS_MIN 3
#define TRIALS_ALPHA 0.01
/* Of normal noise, a median absolute deviation times this is a standard deviation. */
#define MAD_TO_SD 1.4826

const char *const speed_kind_names[] = {
    [SPEED_NONE] = "None", [SPEED_WORK] = "Work", [SPEED_STEP] = "StepTime"};

/* Sums of all measured steps. */
static int64_t work_ns(enum role role, const struct summary *s)
{
    return role == ROLE_PSERVER
               ? s->phase_ns[PHASE_UPDATE]
               : s->phase_ns[PHASE_DATA] + s->phase_ns[PHASE_FORWARD] + s->phase_ns[PHASE_BACKWARD];
}

struct replica_speed replica_speed_of(enum role role, const struct summary *s)
{
    const int64_t work = work_ns(role, s);
    if (work > 0 && s->steps > 0) {
        return (struct replica_speed){SPEED_WORK, (double)work / s->steps};
    }
    const double step_us = stats_middle(s->series_us, s->n_series);
    if (step_us > 0) {
        return (struct replica_speed){SPEED_STEP, step_us * 1e3};
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

/* ---- a gang that shows its spread ---- */

/* The standard deviation of all members but the last, each compared with the others. */
static double spread_without_last(const struct speed_gang *gang)
{
    const size_t n = gang->n - 1;
    _cleanup_(freep) double *sizes = xnew_array(double, n);
    for (size_t i = 0; i < n; i++) {
        sizes[i] = fabs(speed_gang_excess(gang, i));
    }
    return MAD_TO_SD * stats_middle(sizes, n);
}

static struct slow_replica slow_of(const struct replica_result *r)
{
    return (struct slow_replica){.id = r->row->id, .node = r->node, .by = r->speed.kind};
}

static bool is_same_place(const struct slow_replica *a, const struct slow_replica *b)
{
    if (a->node != NULL && b->node != NULL) {
        return str_eq(a->node, b->node);
    }
    return a->node == b->node && a->id.index == b->id.index;
}

/* The slowest of a large gang, if it is slow. */
static bool look_at_gang(const struct speed_gang *gang, struct slow_replica *ret)
{
    const size_t last = gang->n - 1;
    const double excess = speed_gang_excess(gang, last), spread = spread_without_last(gang);
    if (excess < SPEED_MIN || excess <= GANG_DEVIATIONS * spread) {
        return false;
    }
    *ret = slow_of(gang->members[last].replica);
    ret->excess = expm1(excess);
    ret->spread = expm1(spread);
    ret->n_others = last;
    return true;
}

/* One trial after another; the slowest of all is named, and the trials are counted in which the
 * slowest was in the same place. */
static bool look_at_large(const struct point_result *p, enum role role, struct slow_replica *ret)
{
    VEC(struct slow_replica) found = {0};
    struct slow_replica worst = {0};
    size_t n_trials = 0;
    point_each_trial (t, p) {
        _cleanup_(speed_gang_done) struct speed_gang gang;
        struct slow_replica slow;
        speed_gang_init(&gang, t, role);
        n_trials += gang.n >= GANG_MIN;
        if (gang.n >= GANG_MIN && look_at_gang(&gang, &slow)) {
            *vec_push(&found) = slow;
            worst = slow.excess > worst.excess ? slow : worst;
        }
    }
    worst.n_trials = n_trials;
    vec_each (struct slow_replica, it, &found) {
        worst.n_slow += is_same_place(it, &worst);
    }
    vec_done(&found);
    *ret = worst;
    return worst.excess > 0;
}

/* ---- a small gang, over its trials ---- */

/* The replica with this index in trial after trial. */
struct history {
    double *excess; /* owned */
    size_t n;
    struct slow_replica worst; /* without its excess; of none before n is 1 */
    double worst_excess;
    bool has_moved;
};

static void follow(struct history *h, const struct trial_result *t, enum role role, uint32_t index)
{
    _cleanup_(speed_gang_done) struct speed_gang gang;
    speed_gang_init(&gang, t, role);
    for (size_t k = 0; gang.n > 1 && k < gang.n; k++) {
        const struct replica_result *r = gang.members[k].replica;
        if (r->row->id.index != index) {
            continue;
        }
        const double excess = speed_gang_excess(&gang, k);
        const struct slow_replica its = slow_of(r);
        h->has_moved = h->has_moved || (h->n > 0 && !is_same_place(&h->worst, &its));
        if (h->n == 0 || excess > h->worst_excess) {
            h->worst = its;
            h->worst_excess = excess;
            h->worst.n_others = gang.n - 1;
        }
        h->excess[h->n++] = excess;
        break; /* rows may say an index twice, and there is room for one of a trial */
    }
}

static bool is_slow(const struct history *h, const struct contrast *c)
{
    if (h->has_moved || h->n < TRIALS_MIN || c->value < SPEED_MIN) {
        return false;
    }
    return c->variance <= 0 ||
           student_two_sided(c->value / sqrt(c->variance), c->df) <= TRIALS_ALPHA;
}

static bool look_at_small(const struct point_result *p, enum role role, struct slow_replica *ret)
{
    struct slow_replica slowest = {0};
    for (uint32_t index = 0; index < p->point->replicas[role]; index++) {
        _cleanup_(freep) double *excess = xnew_array(double, p->n_trials);
        struct history h = {.excess = excess};
        point_each_trial (t, p) {
            follow(&h, t, role, index);
        }
        const struct contrast c = significance_mean(&(struct sample){h.excess, h.n});
        if (is_slow(&h, &c) && expm1(c.value) > slowest.excess) {
            slowest = h.worst;
            slowest.excess = expm1(c.value);
            slowest.spread = expm1(sqrt(c.variance * (double)h.n));
            slowest.n_slow = slowest.n_trials = h.n;
        }
    }
    *ret = slowest;
    return slowest.excess > 0;
}

void replica_speed_find_slow(struct result *r, const struct point_result *p)
{
    struct slow_replica slowest = {0};
    for (enum role role = 0; role < ROLE_COUNT; role++) {
        struct slow_replica slow;
        const bool is_large = p->point->replicas[role] >= GANG_MIN;
        if ((is_large ? look_at_large : look_at_small)(p, role, &slow) &&
            slow.excess > slowest.excess) {
            slowest = slow;
        }
    }
    if (slowest.excess > 0) {
        slowest.point = p->point->index;
        *vec_push(&r->slow) = slowest;
    }
}
