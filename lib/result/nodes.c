/* See nodes.h. */
#include "result/nodes.h"

#include <math.h>

#include "base/str.h"
#include "stats/significance.h"
#include "stats/stats.h"

#define POINTS_MIN 3
#define SLOW_ALPHA 0.05

/* ---- which nodes there are ---- */

void nodes_count(struct result *r, const struct replica_row *replica, const char *cpu_model)
{
    const char *name = replica->environment.node;
    const struct summary *s = replica_summary(replica);
    const uint32_t point = replica->id.attempt.point;
    size_t at;
    if (name == NULL) {
        return;
    }
    if (!result_find_node(r, name, &at)) {
        *vec_insert(&r->nodes, at) =
            (struct node_result){.name = xstrdup(name), .excess = NAN, .p = 1};
    }
    struct node_result *node = &r->nodes.items[at];
    node->n_replicas++;
    node->n_points += node->walk.last_point != point + 1;
    node->walk.last_point = point + 1;
    node->cpu_model = node->cpu_model == NULL ? cpu_model : node->cpu_model;
    if (s->source.rule == NULL) { /* else not known */
        node->throttled_s += (double)s->throttled_ns / 1e9;
        node->measured_s += (double)s->duration_ns / 1e9;
    }
}

/* ---- how much time they need ---- */

/* Of a gang whose members are ordered by pace: the median of those on the node, or of those
 * elsewhere. NaN if none exists. */
static double median_of(const struct speed_gang *gang, const char *node, bool is_elsewhere)
{
    _cleanup_(freep) double *values = xnew_array(double, gang->n);
    size_t n = 0;
    for (size_t i = 0; i < gang->n; i++) {
        const char *its = gang->members[i].replica->environment.node;
        if (its != NULL && str_eq(its, node) != is_elsewhere) {
            values[n++] = gang->members[i].log_ns;
        }
    }
    return stats_middle(values, n);
}

/* Each node of the gang once. */
static void compare_gang(struct result *r, const struct speed_gang *gang)
{
    _cleanup_(freep) bool *is_done = xnew_array(bool, r->nodes.len);
    for (size_t i = 0; i < gang->n; i++) {
        const char *node = gang->members[i].replica->environment.node;
        size_t at;
        if (node == NULL || !result_find_node(r, node, &at) || is_done[at]) {
            continue;
        }
        is_done[at] = true;
        const double elsewhere = median_of(gang, node, true);
        if (!isnan(elsewhere)) {
            *vec_push(&r->nodes.items[at].walk.of_point) = median_of(gang, node, false) - elsewhere;
        }
    }
}

static void end_point(struct node_result *node)
{
    struct node_walk *w = &node->walk;
    if (w->of_point.len == 0) {
        return;
    }
    const double excess = stats_median(w->of_point.items, w->of_point.len).value;
    node->n_compared++;
    node->n_slower += excess >= SPEED_MIN;
    *vec_push(&w->of_points) = excess;
    w->of_point.len = 0;
}

void nodes_collect(struct result *r, const struct point_result *p)
{
    point_each_trial (t, p) {
        for (enum role role = 0; role < ROLE_COUNT; role++) {
            _cleanup_(speed_gang_done) struct speed_gang gang;
            speed_gang_init(&gang, t, role);
            compare_gang(r, &gang);
        }
    }
    vec_each (struct node_result, node, &r->nodes) {
        end_point(node);
    }
}

/* ---- which are slow ---- */

static void walk_done(struct node_walk *w)
{
    vec_done(&w->of_point);
    vec_done(&w->of_points);
}

void nodes_end(struct result *r)
{
    _cleanup_(freep) double *p = xnew_array(double, r->nodes.len);
    for (size_t i = 0; i < r->nodes.len; i++) {
        struct node_walk *walk = &r->nodes.items[i].walk;
        const struct sample points = {walk->of_points.items, walk->of_points.len};
        const struct contrast c = significance_mean(&points);
        r->nodes.items[i].excess = points.n == 0 ? NAN : expm1(c.value);
        /* Student's t over the points against "as fast as the others". */
        const bool may_be_slow = points.n >= POINTS_MIN && c.value >= SPEED_MIN;
        p[i] = !may_be_slow     ? 1
               : c.variance > 0 ? student_two_sided(c.value / sqrt(c.variance), c.df)
                                : 0;
        walk_done(walk);
    }
    significance_adjust(p, r->nodes.len, p);
    for (size_t i = 0; i < r->nodes.len; i++) {
        r->nodes.items[i].p = p[i];
    }
}

void node_result_done(struct node_result *node)
{
    walk_done(&node->walk);
    free(node->name);
}

double node_result_throttled_ratio(const struct node_result *node)
{
    return node->measured_s > 0 ? node->throttled_s / node->measured_s : NAN;
}

bool node_result_is_slow(const struct node_result *node)
{
    return node->p <= SLOW_ALPHA;
}
