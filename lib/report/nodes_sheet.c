/* A result by node, see sheets.h and layout.h. */
#include "base/text.h"
#include "report/layout.h"
#include "report/sheets.h"
#include "result/nodes.h"

const char layout_nodes_method[] =
    "Time a step: the replica's own work (data, forward and backward of a trainer or worker, "
    "update of a pserver), or its median step time if it does not report that. It is compared with "
    "replicas of the same role on other nodes in the same trial: median of a point, geometric mean "
    "over points. Slower at: by 5% or more.";
const char layout_pairs_method[] =
    "Pairs: throughput of the pairs of nodes that have this one, over that with the median of the "
    "others, with its 95% interval. Least squares of the logs; p is that of a node that is not "
    "slower than the others, adjusted for the number of nodes (Holm). Slow: p of 0.05 or less.";

struct table *layout_nodes(const struct result *r)
{
    if (r->nodes.len == 0) {
        return NULL;
    }
    struct table *t = table_new();
    const bool has_pairs = nodes_have_pairs(r);
    vec_each (struct node_result, n, &r->nodes) {
        table_text(t, "NODE", "%s", n->name);
        table_number(t, "REPLICAS", "%zu", n->n_replicas);
        table_number(t, "POINTS", "%u", n->n_points);
        table_percent(t, "TIME A STEP", n->excess, true);
        table_part_of(t, "SLOWER AT", n->n_slower, n->n_compared);
        table_percent(t, "THROTTLED", node_result_throttled_ratio(n), false);
        if (has_pairs) {
            const struct estimate *e = &n->pairs.ratio;
            table_number(t, "PAIRS", "%zu", n->pairs.n_pairs);
            table_percent(t, "OF OTHERS", e->value, false);
            table_number(t, "95% INTERVAL", "%.1f..%.1f%%", 100 * e->low, 100 * e->high);
            table_number(t, "P", "%.2g", n->pairs.p);
        }
        table_text(t, "CPU", "%s", n->cpu_model == NULL ? "-" : n->cpu_model);
        table_end_row(t);
    }
    return t;
}

void layout_describe_slow(const struct layout *l, const struct slow_replica *s, struct buf *out)
{
    const struct replica_id *id = &s->id;
    if (l == NULL) {
        buf_printf(out, "point %u", s->point);
    } else {
        layout_describe_place(l, s->point, out);
    }
    buf_printf(out, ": %s/%u", role_to_string(id->role), id->index);
    if (s->node != NULL) {
        /* Start records are written by replicas. */
        _cleanup_(freep) char *node = text_without_control(s->node, "", '?');
        buf_printf(out, " on node '%s'", node);
    }
    buf_printf(out,
               " needs %.1f%% more time a step than the median of %zu other%s, which differ by "
               "%.1f%%; slowest in %zu of %zu trials",
               100 * s->excess, s->n_others, plural(s->n_others), 100 * s->spread, s->n_slow,
               s->n_trials);
}

static void put_people(struct sheet *s, const struct result *r)
{
    sheet_put_run(s, r, NULL);
    struct table *t = layout_nodes(r);
    if (t == NULL) {
        sheet_line(s, &sheet_paragraph, "No replica of a succeeded trial reports its node.");
        return;
    }
    sheet_table(s, NULL, t, 1);
    sheet_block(s, NULL);
    sheet_line(s, NULL, "%s", layout_nodes_method);
    if (nodes_have_pairs(r)) {
        sheet_line(s, NULL, "%s", layout_pairs_method);
    }
    vec_each (struct warning, w, &r->warnings) {
        if (w->code == WARNING_SLOW_NODE || w->code == WARNING_THROTTLED ||
            w->code == WARNING_MIXED_HARDWARE) {
            sheet_line(s, &sheet_warning, "%s", w->message);
        }
    }
}

static void put_row(struct sheet *s, const struct result *r, const struct node_result *n)
{
    sheet_word(s, "run", r->def->name);
    sheet_word(s, "node", n->name);
    sheet_word(s, "cpu_model", n->cpu_model);
    sheet_count(s, "replicas", n->n_replicas);
    sheet_count(s, "points", n->n_points);
    sheet_count(s, "points_compared", n->n_compared);
    sheet_count(s, "points_slower", n->n_slower);
    sheet_number(s, "excess", n->excess);
    sheet_bool(s, "slow", node_result_is_slow(n));
    sheet_number(s, "throttled", node_result_throttled_ratio(n));
    if (nodes_have_pairs(r)) {
        const struct estimate *e = &n->pairs.ratio;
        sheet_count(s, "pairs", n->pairs.n_pairs);
        sheet_number(s, "pair_ratio", e->value);
        sheet_number(s, "pair_ratio_low", e->low);
        sheet_number(s, "pair_ratio_high", e->high);
        sheet_number(s, "pair_p", n->pairs.p);
    }
    sheet_end_row(s);
}

void sheet_nodes(struct sheet *s, const struct result *r)
{
    if (s->form != SHEET_CSV) {
        put_people(s, r);
        return;
    }
    put_row(s, r, &(struct node_result){0});
    sheet_drop_rows(s);
    vec_each (struct node_result, n, &r->nodes) {
        put_row(s, r, n);
    }
}
