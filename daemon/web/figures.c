/* A result's numbers for /metrics, see figures.h. */
#include "daemon/web/figures.h"

#include "base/mem.h"
#include "report/export.h"
#include "result/nodes.h"

static void fill(const struct result *r, const struct point_result *p, struct point_figures *f)
{
    const struct point *point = p->point;
    *f = (struct point_figures){
        .point = point->index,
        .system = xstrdup(r->def->spec->systems.items[point->system].name),
        .other = openmetrics_other_values(&point->params),
        .pservers = point->replicas[ROLE_PSERVER],
        .trainers = point_training_replicas(point),
        .batch_size = point->batch_size,
        .threads = point->threads,
        .throughput = p->throughput.estimate,
        .speedup = p->speedup.estimate,
        .efficiency = p->efficiency.estimate,
        .baseline_throughput = point->baseline_excluded
                                   ? (struct estimate){0}
                                   : r->points[point->baseline_index].throughput.estimate,
        .n_succeeded = (uint32_t)p->n_succeeded,
    };
}

struct run_gauges *run_gauges_new(const struct result *r)
{
    struct run_gauges *figures = xnew(struct run_gauges);
    figures->n_points = r->def->matrix.n_swept;
    figures->points = xnew_array(struct point_figures, figures->n_points);
    for (size_t i = 0; i < figures->n_points; i++) {
        fill(r, &r->points[i], &figures->points[i]);
    }
    figures->n_nodes = r->nodes.len;
    figures->nodes = xnew_array(struct node_figures, figures->n_nodes + 1);
    for (size_t i = 0; i < figures->n_nodes; i++) {
        const struct node_result *node = &r->nodes.items[i];
        figures->nodes[i] = (struct node_figures){
            .name = xstrdup(node->name),
            .n_replicas = (uint32_t)node->n_replicas,
            .n_points = node->n_points,
            .n_slower = node->n_slower,
            .excess = node->excess,
            .throttled = node_result_throttled_ratio(node),
        };
    }
    figures->n_slow_replicas = (uint32_t)r->slow.len;
    return figures;
}

void run_gauges_free(struct run_gauges *figures)
{
    if (figures == NULL) {
        return;
    }
    for (size_t i = 0; i < figures->n_points; i++) {
        free(figures->points[i].system);
        free(figures->points[i].other);
    }
    for (size_t i = 0; i < figures->n_nodes; i++) {
        free(figures->nodes[i].name);
    }
    free(figures->nodes);
    free(figures->points);
    free(figures);
}
