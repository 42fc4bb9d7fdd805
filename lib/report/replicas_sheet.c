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

static struct table *table_of(const struct replica_lines *lines, bool is_wide)
{
    struct table *t = table_new();
    vec_each (const struct replica_line, line, &lines->list) {
        table_number(t, "POINT", "%u", line->point);
        table_text(t, "REPLICA", "%s/%u", role_to_string(line->role), line->index);
        table_number(t, "STEPS", "%llu", (unsigned long long)line->n_steps);
        table_value(t, "WORK MS", MS_PER_NS * line->work_ns);
        table_percent(t, "EXCHANGE", line->exchange, false);
        table_percent(t, "EXCESS", line->excess, true);
        table_part_of(t, "SLOWEST", line->n_slowest, line->n_compared);
        if (is_wide) {
            table_percent(t, "THROTTLED", line->throttled, false);
            table_text(t, "NODE", "%s%s", line->node == NULL ? "-" : line->node,
                       line->n_nodes > 1 ? " and others" : "");
        }
        table_end_row(t);
    }
    return t;
}

static void put_table(struct sheet *s, const struct replica_lines *lines)
{
    struct table *t = table_of(lines, true);
    if (!sheet_fits(s, t)) {
        table_free(t);
        t = table_of(lines, false);
    }
    sheet_table(s, NULL, t, 2); /* each part with point and replica */
}

static void put_people(struct sheet *s, const struct result *r, const struct replica_lines *lines)
{
    static const struct sheet_mark slow = {
        .word = "!", .color = TERMINAL_YELLOW, .indent = 2, .markdown = "**Slow:** "};
    struct buf text = BUF_INIT;
    struct layout l;
    sheet_put_run(s, r, NULL);
    if (lines->list.len == 0) {
        sheet_line(s, &sheet_paragraph, "No trial has succeeded.");
        return;
    }
    put_table(s, lines);
    layout_init(&l, r);
    sheet_block(s, NULL);
    for (size_t i = 0; i < lines->list.len; i++) {
        const uint32_t point = lines->list.items[i].point;
        if (i == 0 || point != lines->list.items[i - 1].point) {
            buf_printf(&text, "Point %u: ", point);
            layout_describe_point(&l, point, &text);
            sheet_put_line(s, NULL, &text);
        }
    }
    layout_done(&l);
    sheet_block(s, NULL);
    sheet_line(s, NULL, "%s", method);
    vec_each (const struct slow_replica, replica,
              &r->slow) { /* beyond their spread, see replica_speed.h */
        layout_describe_slow(NULL, replica, &text);
        sheet_put_line(s, &slow, &text);
    }
}

static void put_row(struct sheet *s, const struct result *r, const struct replica_line *line)
{
    sheet_word(s, "run", r->def->name);
    sheet_count(s, "point", line->point);
    sheet_word(s, "role", role_to_string(line->role));
    sheet_count(s, "index", line->index);
    sheet_word(s, "node", line->node);
    sheet_count(s, "nodes", line->n_nodes);
    sheet_count(s, "trials", line->n_trials);
    sheet_count(s, "steps", line->n_steps);
    sheet_number(s, "work_ns", line->work_ns);
    sheet_number(s, "exchange", line->exchange);
    sheet_number(s, "throttled", line->throttled);
    sheet_number(s, "excess", line->excess);
    sheet_count(s, "trials_compared", line->n_compared);
    sheet_count(s, "trials_slowest", line->n_slowest);
    sheet_end_row(s);
}

void sheet_replicas(struct sheet *s, const struct result *r)
{
    _cleanup_(replica_lines_done) struct replica_lines lines;
    replica_lines_init(&lines, r);
    if (s->form == SHEET_CSV) {
        put_row(s, r, &(struct replica_line){0});
        sheet_drop_rows(s);
        vec_each (const struct replica_line, line, &lines.list) {
            put_row(s, r, line);
        }
    } else {
        put_people(s, r, &lines);
    }
}
