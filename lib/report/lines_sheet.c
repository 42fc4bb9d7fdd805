/* What the lines of each replica's log were taken for, see sheets.h. */
#include <math.h>

#include "logparse/reading.h"
#include "report/layout.h"
#include "report/sheets.h"

static const char method[] =
    "A row is lines of one use that follow each other; other lines may lie between. Values are "
    "the rates that the lines state.";

/* One replica with a reading. */
struct read_log {
    struct replica_id id;
    struct log_reading reading;
};

static bool take(const struct replica_result *rep, struct read_log *ret)
{
    json_auto_t *json =
        rep->row->reading_json == NULL ? NULL : json_loads(rep->row->reading_json, 0, NULL);
    *ret = (struct read_log){.id = rep->row->id};
    return json != NULL && log_reading_of_json(json, &ret->reading) == 0;
}

static void put_lines(struct table *t, const struct log_span *s)
{
    const unsigned long long first = s->first, last = s->last;
    if (first == last) {
        table_number(t, "LINES", "%llu", first);
    } else {
        table_number(t, "LINES", "%llu-%llu", first, last);
    }
}

static void put_range(struct table *t, const struct log_span *s)
{
    if (isnan(s->least)) {
        table_number(t, "VALUES", "-");
    } else if (s->least == s->most) {
        table_number(t, "VALUES", "%.6g", s->least);
    } else {
        table_number(t, "VALUES", "%.6g..%.6g", s->least, s->most);
    }
}

static void add_rows(struct table *t, const struct read_log *log)
{
    vec_each (const struct log_span, s, &log->reading.spans) {
        table_number(t, "POINT", "%u", log->id.attempt.point);
        table_number(t, "TRIAL", "%u", log->id.attempt.trial);
        table_text(t, "REPLICA", "%s/%u", role_to_string(log->id.role), log->id.index);
        put_lines(t, s);
        table_text(t, "TAKEN FOR", "%s", log_use_names[s->use]);
        table_number(t, "COUNT", "%llu", (unsigned long long)s->n);
        put_range(t, s);
        table_end_row(t);
    }
}

/* "Point 0, trial 0, worker/0: 134 lines, 120 of them read; 120.1 samples/s, by the pace of its
 * lines 119.5: Agrees." */
static void describe(const struct read_log *log, struct buf *out)
{
    const struct log_reading *r = &log->reading;
    buf_printf(out, "Point %u, trial %u, %s/%u: %llu lines, %llu of them read",
               log->id.attempt.point, log->id.attempt.trial, role_to_string(log->id.role),
               log->id.index, (unsigned long long)r->n_lines, (unsigned long long)r->n_read);
    if (!isnan(r->rate)) {
        buf_printf(out, "; %.6g %s/s", r->rate, r->unit == NULL ? "units" : r->unit);
    }
    if (!isnan(r->pace)) {
        buf_printf(out, ", by the pace of its lines %.6g", r->pace);
    }
    buf_printf(out, ": %s", log_verdict_names[r->verdict]);
    if (r->why != NULL) {
        buf_printf(out, " (%s)", r->why);
    }
    buf_puts(out, ".");
}

static void put_row(struct sheet *s, const struct result *r, const struct read_log *log,
                    const struct log_span *span)
{
    const struct log_reading *reading = &log->reading;
    sheet_word(s, "run", r->def->name);
    sheet_count(s, "point", log->id.attempt.point);
    sheet_count(s, "trial", log->id.attempt.trial);
    sheet_word(s, "role", role_to_string(log->id.role));
    sheet_count(s, "index", log->id.index);
    sheet_count(s, "first", span->first);
    sheet_count(s, "last", span->last);
    sheet_word(s, "taken_for", log_use_names[span->use]);
    sheet_count(s, "lines", span->n);
    sheet_number(s, "first_value", span->begin);
    sheet_number(s, "last_value", span->end);
    sheet_number(s, "least_value", span->least);
    sheet_number(s, "most_value", span->most);
    sheet_word(s, "unit", reading->unit);
    sheet_number(s, "rate", reading->rate);
    sheet_number(s, "pace", reading->pace);
    sheet_word(s, "verdict", log_verdict_names[reading->verdict]);
    sheet_word(s, "why", reading->why);
    sheet_end_row(s);
}

/* Replicas with a reading, in the order of points, trials and replicas. Owned. */
struct read_logs {
    VEC(struct read_log) list;
};

static void read_point(const struct point_result *p, size_t most, struct read_logs *ret)
{
    point_open(p);
    point_each_trial (t, p) {
        trial_each_replica (rep, t) {
            struct read_log log;
            if (ret->list.len < most && take(rep, &log)) {
                *vec_push(&ret->list) = log;
            }
        }
    }
}

static void put_logs(struct sheet *s, const struct read_logs *logs)
{
    if (logs->list.len == 0) {
        sheet_line(s, &sheet_paragraph,
                   "No log was read by a rule: the replicas write records, or none has ended.");
        return;
    }
    struct table *t = table_new();
    vec_each (const struct read_log, log, &logs->list) {
        add_rows(t, log);
    }
    sheet_table(s, NULL, t, 3); /* each part with point, trial and replica */
    sheet_block(s, NULL);
    vec_each (const struct read_log, log, &logs->list) {
        struct buf text = BUF_INIT;
        describe(log, &text);
        sheet_put_line(s, NULL, &text);
    }
    sheet_block(s, NULL);
    sheet_line(s, NULL, "%s", method);
}

static void free_all(struct read_logs *logs)
{
    vec_each (struct read_log, log, &logs->list) {
        log_reading_done(&log->reading);
    }
    vec_done(&logs->list);
}

/* ---- on a page ---- */

#define PAGE_LOGS 20 /* of a point */

void sheet_lines_of_points(struct sheet *s, const struct layout *l)
{
    result_each_swept (p, l->result) {
        if (layout_shows_lines(l, p->point)) {
            _cleanup_(buf_done) struct buf heading = BUF_INIT;
            _cleanup_(freep) char *anchor = xasprintf(LAYOUT_LINES, p->point->index);
            struct read_logs logs = {0};
            read_point(p, PAGE_LOGS, &logs);
            buf_puts(&heading, "Lines of the logs of ");
            layout_describe_place(l, p->point->index, &heading);
            sheet_open(s, SHEET_LINKED, anchor);
            sheet_heading(s, buf_cstr(&heading));
            put_logs(s, &logs);
            if (logs.list.len == PAGE_LOGS) {
                sheet_line(s, NULL, "These are the first %d; results --by line has all.",
                           PAGE_LOGS);
            }
            sheet_close(s);
            free_all(&logs);
        }
    }
}

void sheet_lines(struct sheet *s, const struct result *r)
{
    struct read_logs logs = {0};
    result_each_point (p, r) {
        read_point(p, SIZE_MAX, &logs);
    }
    if (s->form == SHEET_CSV) {
        put_row(s, r, &(struct read_log){0}, &(struct log_span){0});
        sheet_drop_rows(s);
        vec_each (const struct read_log, log, &logs.list) {
            vec_each (const struct log_span, span, &log->reading.spans) {
                put_row(s, r, log, span);
            }
        }
    } else {
        sheet_put_run(s, r, NULL);
        put_logs(s, &logs);
    }
    free_all(&logs);
}
