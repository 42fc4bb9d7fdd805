/* A result by node, see sheets.h and layout.h. */
#include "report/layout.h"
#include "report/sheets.h"
#include "result/nodes.h"

static const char nodes_method[] =
    "Time a step: the replica's own work (data, forward and backward of a trainer or worker, "
    "update of a pserver), or its median step time if it does not report that. It is compared with "
    "replicas of the same role on other nodes in the same trial: median of a point, geometric mean "
    "over points. Slower at: by 5% or more.";
static void put_row(struct sheet *s, const struct result *r, const struct node_result *n)
{
    row_text(s, NULL, "run", r->def->name);
    row_text(s, "NODE", "node", n->name);
    row_count(s, "REPLICAS", "replicas", n->n_replicas);
    row_count(s, "POINTS", "points", n->n_points);
    row_percent(s, "TIME A STEP", "excess", n->excess, true);
    row_bool(s, "slow", node_result_is_slow(n));
    row_part_of(s, "SLOWER AT", "points_slower", "points_compared", n->n_slower, n->n_compared);
    row_percent(s, "THROTTLED", "throttled", node_result_throttled_ratio(n), false);
    row_text(s, "CPU", "cpu_model", n->cpu_model);
    row_end(s);
}

bool sheet_put_nodes(struct sheet *s, const struct result *r)
{
    put_row(s, r, &(struct node_result){0});
    row_drop_all(s);
    vec_each (struct node_result, n, &r->nodes) {
        put_row(s, r, n);
    }
    const bool has_nodes = row_end_table(s, 1);
    if (has_nodes) {
        sheet_block(s, NULL);
        sheet_line(s, s->form == SHEET_HTML ? &sheet_soft : NULL, "%s", nodes_method);
    }
    return has_nodes;
}

void sheet_nodes(struct sheet *s, const struct result *r)
{
    sheet_put_run(s, r, NULL);
    if (!sheet_put_nodes(s, r)) {
        sheet_line(s, &sheet_paragraph, "No replica of a succeeded trial reports its node.");
        return;
    }
    vec_each (struct warning, w, &r->warnings) {
        if (w->code == WARNING_SLOW_NODE || w->code == WARNING_THROTTLED ||
            w->code == WARNING_MIXED_HARDWARE) {
            sheet_line(s, &sheet_warning, "%s", w->message);
        }
    }
}
