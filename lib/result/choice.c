/* See choice.h. */
#include "result/choice.h"

#include <math.h>
#include <stdlib.h>

#include "stats/student.h"

#define ALPHA 0.05 /* of a 95% interval */

static bool is_measured(const struct point_result *p)
{
    return p->throughput.estimate.known;
}

static double value_of(const struct figure *f)
{
    return f->estimate.value;
}

static void find_fastest(struct choice *c, const struct result *r)
{
    (void)result_unit(r, &c->units_differ);
    result_each_swept (p, r) {
        if (!c->units_differ && is_measured(p) &&
            (c->fastest == NULL || value_of(&p->throughput) > value_of(&c->fastest->throughput))) {
            c->fastest = p;
        }
    }
}

static int compare_speed(const void *a, const void *b)
{
    const double x = value_of(&(*(const struct point_result *const *)a)->throughput);
    const double y = value_of(&(*(const struct point_result *const *)b)->throughput);
    return (x < y) - (x > y);
}

struct estimate choice_ratio(const struct choice *c, const struct point_result *p)
{
    return stats_ratio(&p->throughput.estimate, &c->fastest->throughput.estimate, 1);
}

static void find_ties(struct choice *c, const struct result *r)
{
    result_each_swept (p, r) {
        if (c->fastest == NULL || p == c->fastest || !is_measured(p)) {
            continue;
        }
        if (c->second == NULL || value_of(&p->throughput) > value_of(&c->second->throughput)) {
            c->second = p;
        }
        const struct estimate ratio = choice_ratio(c, p);
        if (!ratio.has_interval) {
            c->n_unsure++;
        } else if (ratio.high >= 1) {
            *vec_push(&c->ties) = p;
        } else {
            c->n_slower++;
        }
    }
    array_sort(c->ties.items, c->ties.len, sizeof(*c->ties.items), compare_speed);
}

static bool is_cheaper(const struct point *p, const struct point *than)
{
    const int64_t a = point_busy_threads(p), b = point_busy_threads(than);
    const uint32_t pods_a = point_pods(p), pods_b = point_pods(than);
    return a <= b && pods_a <= pods_b && (a < b || pods_a < pods_b);
}

/* Fewer CPUs first, then fewer replicas. */
static bool needs_less(const struct point *p, const struct point *than)
{
    const int64_t a = point_busy_threads(p), b = point_busy_threads(than);
    return a < b || (a == b && point_pods(p) < point_pods(than));
}

static void find_cheapest(struct choice *c)
{
    vec_each (const struct point_result *const, it, &c->ties) {
        const struct point *p = (*it)->point;
        if (is_cheaper(p, c->fastest->point) &&
            (c->cheapest == NULL || needs_less(p, c->cheapest->point))) {
            c->cheapest = *it;
        }
    }
}

/* Do efficiencies of the swept points rank numbers of trainers, and not systems? */
static bool ranks_trainers(const struct result *r)
{
    const struct point *first = r->points[0].point;
    bool varies = false;
    result_each_swept (p, r) {
        if (p->point->system != first->system) {
            return false;
        }
        varies = varies || point_size(p->point) != point_size(first);
    }
    return varies;
}

/* Has p more trainers than what it divides by, and an efficiency? */
static bool is_scaled(const struct result *r, const struct point_result *p)
{
    const struct point *base = r->points[p->point->baseline_index].point;
    return p->efficiency.estimate.known && point_size(p->point) > point_size(base);
}

static bool is_wider(const struct point_result *p, const struct point_result *than)
{
    const uint32_t a = point_size(p->point), b = point_size(than->point);
    return a > b || (a == b && value_of(&p->throughput) > value_of(&than->throughput));
}

static void take_wide(struct choice *c, const struct point_result *p)
{
    const uint32_t n = point_size(p->point);
    const uint32_t most = c->widest == NULL ? 0 : point_size(c->widest->point);
    c->n_as_wide = n > most ? 1 : c->n_as_wide + (n == most);
    if (c->widest == NULL || is_wider(p, c->widest)) {
        c->widest = p;
    }
}

static void find_widest(struct choice *c, const struct result *r)
{
    const struct point_result *best = NULL;
    result_each_swept (p, r) {
        if (!is_scaled(r, p)) {
            continue;
        }
        if (best == NULL || value_of(&p->efficiency) > value_of(&best->efficiency)) {
            best = p;
        }
        if (value_of(&p->efficiency) >= CHOICE_EFFICIENCY) {
            take_wide(c, p);
        }
    }
    if (c->widest == NULL) {
        c->most_efficient = best;
        return;
    }
    const struct estimate *e = &c->widest->efficiency.estimate;
    c->widest_is_sure = e->has_interval && e->low >= CHOICE_EFFICIENCY;
}

void choice_init(struct choice *c, const struct result *r)
{
    *c = (struct choice){0};
    find_fastest(c, r);
    find_ties(c, r);
    find_cheapest(c);
    if (ranks_trainers(r)) {
        find_widest(c, r);
    }
}

/* The least number of trials from 3 on whose interval of +-t sqrt(variance / n) reaches `bound` at
 * most. It falls with n, so the middle of what is left says which half has it. */
static uint32_t least_trials(double variance, uint32_t n_samples, double bound)
{
    uint32_t low = 3, high = CHOICE_MAX_TRIALS + 1;
    while (low < high) {
        const uint32_t n = low + (high - low) / 2;
        const double t = student_quantile((double)n_samples * (n - 1), ALPHA);
        if (t * sqrt(variance / n) <= bound) {
            high = n;
        } else {
            low = n + 1;
        }
    }
    return low;
}

/* The variance of one log, of which `logs` has that of the mean; NaN: not known, or a stop rule
 * asks for the trials. */
static double variance_of(const struct point_result *p)
{
    const struct contrast *logs = &p->throughput.estimate.logs;
    return logs->df > 0 && !logs->is_staged ? logs->variance * (logs->df + 1) : NAN;
}

uint32_t choice_trials_to_tell(const struct choice *c, const struct point_result *p)
{
    const double variance = variance_of(c->fastest) + variance_of(p);
    const double difference =
        c->fastest->throughput.estimate.logs.value - p->throughput.estimate.logs.value;
    return isnan(variance) ? 0 : least_trials(variance, 2, fabs(difference));
}

uint32_t choice_trials_to_narrow(const struct point_result *p)
{
    const double variance = variance_of(p);
    return isnan(variance) ? 0 : least_trials(variance, 1, log1p(CHOICE_HALF_WIDTH));
}

void choice_done(struct choice *c)
{
    vec_done(&c->ties);
}
