/* Nodes by what the pairs with them reach (nodes.h; docs/contracts/result.md, "Pairs of nodes"). */
#include "result/nodes.h"

#include <math.h>

#include "base/str.h"
#include "base/vec_walk.h"

void node_pairs_collect(struct result *r, const struct point_result *p)
{
    if (point_training_replicas(p->point) != 2 || point_pods(p->point) != 2) {
        return;
    }
    point_each_trial (t, p) {
        if (t->phase == TRIAL_SUCCEEDED && t->throughput > 0 && t->n_replicas == 2) {
            *vec_push(&r->pairs) = (struct node_pair){
                p->point, {t->replicas[0].node, t->replicas[1].node}, log(t->throughput)};
        }
    }
}

/* Do the points differ in nothing but parameters that name a node of the trial? */
static bool is_alike(const struct node_pair *a, const struct node_pair *b)
{
    return a->point->system == b->point->system &&
           vec_all(&a->point->params.list, it,
                   params_has(&b->point->params, it) ||
                       (!it->value.is_int &&
                        (str_eq(it->value.s, a->nodes[0]) || str_eq(it->value.s, a->nodes[1]))));
}

/* The mean log of each pair, (n, n), NaN: none. False: points are not alike, or a node is
 * unknown. */
static bool average(const struct result *r, size_t n, double *ret)
{
    _cleanup_(freep) size_t *counts = xnew_array(size_t, n * n);
    vec_each (const struct node_pair, it, &r->pairs) {
        if (it->nodes[0] == NULL || it->nodes[1] == NULL || !is_alike(it, r->pairs.items)) {
            return false;
        }
        size_t a, b;
        (void)nodes_find(r, it->nodes[0], &a); /* both are listed */
        (void)nodes_find(r, it->nodes[1], &b);
        const size_t at = a < b ? a * n + b : b * n + a;
        counts[at]++;
        ret[at] += (it->log - ret[at]) / (double)counts[at];
    }
    for (size_t i = 0; i < n * n; i++) {
        ret[i] = counts[i] == 0 ? NAN : ret[i];
    }
    return true;
}

void node_pairs_end(struct result *r)
{
    const size_t n = r->nodes.len;
    if (r->pairs.len == 0 || n > PAIRS_MAX_N) {
        return;
    }
    _cleanup_(freep) double *means = xnew_array(double, n *n);
    _cleanup_(freep) struct pair_effect *effects = xnew_array(struct pair_effect, n);
    const bool is_known = average(r, n, means) && pairs_fit(means, n, effects);
    for (size_t i = 0; is_known && i < n; i++) {
        r->nodes.items[i].pairs = effects[i];
    }
}
