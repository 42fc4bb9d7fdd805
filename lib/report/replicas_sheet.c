/* A result by replica, see sheets.h. */
#include "report/layout.h"
#include "report/sheets.h"
#include "result/replicas.h"

#define MS_PER_NS 1e-6

static const char method[] =
    "Work: the replica's own work (data, forward and backward of a trainer or worker, update of a "
    "pserver); the median over succeeded trials. Exchange: share of its measured time in other "
    "phases than its own work and update; a pserver waits there for trainers. Excess: time a step "
    "beyond the median of the others of its role in the same trial, the median over trials. "
    "Slowest: in how many trials it was the slowest of its role.";

static void put_row(struct sheet *s, const struct result *r, const struct replica_line *line)
{
    row_text(s, NULL, "run", r->def->name);
    row_count(s, "POINT", "point", line->point);
    table_text(row_people(s), "REPLICA", "%s/%u", role_to_string(line->role), line->index);
    row_text(s, NULL, "role", role_to_string(line->role));
    row_count(s, NULL, "index", line->index);
    row_count(s, NULL, "trials", line->n_trials);
    row_count(s, "STEPS", "steps", line->n_steps);
    row_number(s, "WORK MS", "work_ns", line->work_ns, MS_PER_NS);
    row_percent(s, "EXCHANGE", "exchange", line->exchange, false);
    row_percent(s, "EXCESS", "excess", line->excess, true);
    row_part_of(s, "SLOWEST", "trials_slowest", "trials_compared", line->n_slowest,
                line->n_compared);
    row_percent(s, "THROTTLED", "throttled", line->throttled, false);
    table_text(row_people(s), "NODE", "%s%s", line->node == NULL ? "-" : line->node,
               line->n_nodes > 1 ? " and others" : "");
    row_text(s, NULL, "node", line->node);
    row_count(s, NULL, "nodes", line->n_nodes);
    row_end(s);
}

void sheet_replicas(struct sheet *s, const struct result *r)
{
    struct layout l;
    const struct replica_line *before = NULL;
    sheet_put_run(s, r, NULL);
    put_row(s, r, &(struct replica_line){0});
    row_drop_all(s);
    vec_each (const struct replica_line, line, &r->lines.list) {
        put_row(s, r, line);
    }
    if (!row_end_table(s, 2)) { /* each part with point and replica */
        sheet_line(s, &sheet_paragraph, "No trial has succeeded.");
        return;
    }
    layout_init(&l, r);
    sheet_block(s, NULL);
    vec_each (const struct replica_line, line, &r->lines.list) {
        if (before == NULL || before->point != line->point) {
            sheet_put_point(s, &l.words, r->points[line->point].point);
        }
        before = line;
    }
    layout_done(&l);
    sheet_block(s, NULL);
    sheet_line(s, NULL, "%s", method);
}
