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

/* All replicas with a reading, in the order of points, trials and replicas. Owned. */
struct read_logs {
    VEC(struct read_log) list;
};

static void read_all(const struct result *r, struct read_logs *ret)
{
    result_each_point (p, r) {
        point_open(p);
        point_each_trial (t, p) {
            trial_each_replica (rep, t) {
                struct read_log log;
                if (take(rep, &log)) {
                    *vec_push(&ret->list) = log;
                }
            }
        }
    }
}

static void put_people(struct sheet *s, const struct result *r, const struct read_logs *logs)
{
    sheet_put_run(s, r, NULL);
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

/* A page shows so many; results --by line prints all. */
#define PAGE_LOGS 50

void sheet_lines_folded(struct sheet *s, const struct result *r)
{
    static const struct sheet_mark folded = {.is_paragraph = true, .look = SHEET_FOLDED};
    _cleanup_(buf_done) struct buf text = BUF_INIT;
    struct read_logs logs = {0};
    read_all(r, &logs);
    for (size_t i = 0; i < logs.list.len && i < PAGE_LOGS; i++) {
        const struct read_log *log = &logs.list.items[i];
        describe(log, &text);
        buf_putc(&text, '\n');
        vec_each (const struct log_span, span, &log->reading.spans) {
            buf_printf(&text, "  lines %llu to %llu: %llu of %s", (unsigned long long)span->first,
                       (unsigned long long)span->last, (unsigned long long)span->n,
                       log_use_names[span->use]);
            if (!isnan(span->least)) {
                buf_printf(&text, ", %.6g to %.6g", span->least, span->most);
            }
            buf_putc(&text, '\n');
        }
    }
    if (logs.list.len > 0) {
        sheet_line(s, &folded, "What the lines of %s were taken for",
                   logs.list.len > PAGE_LOGS ? "the first logs" : "the logs");
        sheet_details(s, buf_cstr(&text));
    }
    free_all(&logs);
}

void sheet_lines(struct sheet *s, const struct result *r)
{
    struct read_logs logs = {0};
    read_all(r, &logs);
    if (s->form == SHEET_CSV) {
        put_row(s, r, &(struct read_log){0}, &(struct log_span){0});
        sheet_drop_rows(s);
        vec_each (const struct read_log, log, &logs.list) {
            vec_each (const struct log_span, span, &log->reading.spans) {
                put_row(s, r, log, span);
            }
        }
    } else {
        put_people(s, r, &logs);
    }
    free_all(&logs);
}
