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

static void put_row(struct sheet *s, const struct result *r, const struct read_log *log,
                    const struct log_span *span)
{
    const struct log_reading *reading = &log->reading;
    struct table *t = row_people(s);
    row_text(s, NULL, "run", r->def->name);
    row_count(s, "POINT", "point", log->id.attempt.point);
    row_count(s, "TRIAL", "trial", log->id.attempt.trial);
    table_text(t, "REPLICA", "%s/%u", role_to_string(log->id.role), log->id.index);
    table_number(t, "LINES", span->first == span->last ? "%llu" : "%llu-%llu",
                 (unsigned long long)span->first, (unsigned long long)span->last);
    table_text(t, "TAKEN FOR", "%s", log_use_names[span->use]);
    row_count(s, "COUNT", NULL, span->n);
    table_known(t, "VALUES", !isnan(span->least), span->least == span->most ? "%.6g" : "%.6g..%.6g",
                span->least, span->most);
    row_text(s, NULL, "role", role_to_string(log->id.role));
    row_count(s, NULL, "index", log->id.index);
    row_count(s, NULL, "first", span->first);
    row_count(s, NULL, "last", span->last);
    row_text(s, NULL, "taken_for", log_use_names[span->use]);
    row_count(s, NULL, "lines", span->n);
    row_number(s, NULL, "first_value", span->begin, 1);
    row_number(s, NULL, "last_value", span->end, 1);
    row_number(s, NULL, "least_value", span->least, 1);
    row_number(s, NULL, "most_value", span->most, 1);
    row_text(s, NULL, "unit", reading->unit);
    row_number(s, NULL, "rate", reading->rate, 1);
    row_number(s, NULL, "pace", reading->pace, 1);
    row_text(s, NULL, "verdict", log_verdict_names[reading->verdict]);
    row_text(s, NULL, "why", reading->why);
    row_end(s);
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

void read_logs_add(struct read_logs *logs, const struct point_result *p)
{
    point_each_trial (t, p) {
        trial_each_replica (rep, t) {
            struct read_log log = {.id = rep->id};
            if (rep->reading != NULL && log_reading_of_json(rep->reading, &log.reading) == 0) {
                *vec_push(&logs->list) = log;
            }
        }
    }
}

void read_logs_done(struct read_logs *logs)
{
    vec_each (struct read_log, log, &logs->list) {
        log_reading_done(&log->reading);
    }
    vec_done(&logs->list);
}

void sheet_lines(struct sheet *s, const struct read_logs *logs)
{
    sheet_put_run(s, logs->result, NULL);
    put_row(s, logs->result, &(struct read_log){0}, &(struct log_span){0});
    row_drop_all(s);
    vec_each (const struct read_log, log, &logs->list) {
        vec_each (const struct log_span, span, &log->reading.spans) {
            put_row(s, logs->result, log, span);
        }
    }
    if (!row_end_table(s, 3) && logs->list.len == 0) { /* each part with point, trial, replica */
        sheet_line(s, &sheet_paragraph,
                   "No log was read by a rule: the replicas write records, or none has ended.");
        return;
    }
    sheet_block(s, NULL);
    vec_each (const struct read_log, log, &logs->list) {
        struct buf text = BUF_INIT;
        describe(log, &text);
        sheet_put_line(s, NULL, &text);
    }
    sheet_block(s, NULL);
    sheet_line(s, NULL, "%s", method);
}
