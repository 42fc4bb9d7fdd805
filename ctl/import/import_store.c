/* See import_store.h. */
#include "ctl/import/import_store.h"

#include <inttypes.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "ctl/import/import_args.h"
#include "ctl/local/local.h"
#include "ctl/local/local_store.h"

void import_rows_done(struct import_rows *rows)
{
    vec_each (struct import_row, it, &rows->list) {
        attempt_row_done(&it->row);
        vec_done(&it->logs);
        vec_free(&it->notes);
    }
    vec_done(&rows->list);
}

/* "trainer/0 of point 1, trial 0: run.log, 1234 bytes, dated by its modification" */
static char *note_of(const struct import_log *l)
{
    struct buf note = BUF_INIT;
    buf_printf(&note, "%s/%u of point %u, trial %u: ", role_to_string(l->id.role), l->id.index,
               l->id.attempt.point, l->id.attempt.trial);
    buf_put_utf8(&note, str_eq(l->path, IMPORT_STDIN) ? "standard input" : l->path, 200);
    buf_printf(&note, ", %" PRIu64 " bytes, dated by %s", l->file.bytes,
               l->first_ns > 0                 ? "its lines"
               : l->file.modified_unix_ms != 0 ? "its modification"
                                               : "this import");
    return buf_take(&note);
}

/* The dates of a log: its own, or when its file was written last. */
static void take_dates(struct import_rows *rows, const struct import_log *l,
                       struct attempt_row *row)
{
    int64_t first = l->first_ns / 1000000, last = l->last_ns / 1000000;
    if (first == 0) {
        first = last = l->file.modified_unix_ms != 0 ? l->file.modified_unix_ms : clock_unix_ms();
        rows->is_dated_by_files = true;
    }
    row->started_unix_ms =
        row->started_unix_ms == 0 || first < row->started_unix_ms ? first : row->started_unix_ms;
    row->ended_unix_ms = last > row->ended_unix_ms ? last : row->ended_unix_ms;
}

void import_rows_add(struct import_rows *rows, struct import_row *row, struct import_log *l)
{
    size_t len;
    char *summary = row->row.outcome == ATTEMPT_SUCCEEDED ? take_ptr(l->summary_line) : NULL;
    const char *text = capture_text(&l->capture, &len);
    json_auto_t *reading = log_reading_to_json(log_parser_reading(l->parser));
    *vec_push(&row->row.replicas) =
        (struct replica_row){.id = l->id,
                             .summary_json = summary,
                             .log_bytes = len,
                             .reading_json = json_dumps(reading, JSON_COMPACT)};
    if (len > 0) {
        *vec_push(&row->logs) = (struct replica_log){l->id, text, len};
    }
    *vec_push(&row->notes) = note_of(l);
    take_dates(rows, l, &row->row);
}

void import_rows_set_environment(struct import_rows *rows, const struct replica_id *id,
                                 const json_t *environment)
{
    vec_each (struct import_row, row, &rows->list) {
        vec_each (struct replica_row, it, &row->row.replicas) {
            if (attempt_id_compare(&it->id.attempt, &id->attempt) == 0 && it->id.role == id->role &&
                it->id.index == id->index) {
                it->environment_json = record_environment_canonical(environment);
            }
        }
    }
}

int64_t import_rows_date(const struct import_rows *rows)
{
    int64_t first = rows->list.items[0].row.started_unix_ms;
    vec_each (const struct import_row, it, &rows->list) {
        first = it->row.started_unix_ms < first ? it->row.started_unix_ms : first;
    }
    return first;
}

/* Where the program is killed before the end, this is what stays: it says what to do. */
static struct run_status unfinished(uint32_t n_trials)
{
    struct run_status status = {.phase = RUN_CANCELLED, .trials_total = n_trials};
    text_put(status.reason, sizeof(status.reason), "ImportInterrupted");
    text_put(status.message, sizeof(status.message),
             "benchctl was killed while it imported; delete this run and import again");
    return status;
}

static struct run_status finished(const struct run_def *def, const struct import_rows *rows,
                                  const char *rule)
{
    struct run_status status = {.trials_done = def->n_slots,
                                .trials_total = def->n_slots,
                                .started_unix_ms = import_rows_date(rows)};
    size_t n_logs = 0;
    vec_each (const struct import_row, it, &rows->list) {
        const int64_t ended = it->row.ended_unix_ms;
        n_logs += it->notes.len;
        status.trials_failed += it->row.outcome != ATTEMPT_SUCCEEDED;
        status.ended_unix_ms = ended > status.ended_unix_ms ? ended : status.ended_unix_ms;
    }
    status.phase = status.trials_failed > 0 ? RUN_PARTIALLY_FAILED : RUN_SUCCEEDED;
    text_put(status.reason, sizeof(status.reason), RUN_REASON_IMPORTED);
    text_put(status.message, sizeof(status.message),
             "read from %zu log%s by the rule %s, not measured by benchd; %s", n_logs,
             n_logs == 1 ? "" : "s", rule,
             rows->is_dated_by_files ? "dated by the files' modification" : "dated by the logs");
    return status;
}

static int put_rows(struct store *s, const struct run_def *def, const char *uid,
                    const struct import_rows *rows, struct err *err)
{
    const int64_t now = clock_unix_ms();
    int r = 0;
    vec_each (const struct import_row, it, &rows->list) {
        const struct trial_terms terms = run_def_terms(def, it->row.id.point);
        r = r < 0 ? r
                  : s->ops->save_attempt(s, uid, &it->row, &terms, it->logs.items, it->logs.len,
                                         NULL, err);
        vec_each (char *const, note, &it->notes) {
            const struct event_row event = {
                .unix_ms = now, .reason = (char *)RUN_REASON_IMPORTED, .note = *note};
            r = r < 0 ? r : s->ops->add_event(s, uid, &event, err);
        }
    }
    return r;
}

static int put_all(struct store *s, const char *name, const struct run_def *def,
                   const struct import_rows *rows, const char *rule, struct err *err)
{
    _cleanup_(run_row_done) struct run_row row = {0};
    int r = s->ops->get_run(s, name, &row, err);
    if (r < 0) {
        return r;
    }
    const struct run_status begin = unfinished(def->n_slots), end = finished(def, rows, rule);
    if ((r = s->ops->put_status(s, row.uid, &begin, err)) >= 0 &&
        (r = put_rows(s, def, row.uid, rows, err)) >= 0) {
        r = s->ops->put_status(s, row.uid, &end, err);
    }
    if (r < 0) {
        (void)s->ops->delete_run(s, row.uid, NULL); /* what was wrong is in err */
    }
    return r;
}

enum exit_code import_store_put(const struct cli *cli, const struct run_def *def,
                                const struct import_rows *rows, const char *rule, char **ret_name)
{
    _cleanup_(store_closep) struct store *s = NULL;
    _cleanup_(freep) char *name = NULL;
    struct err err = {0};
    enum exit_code code = local_store_open(cli, true, &s);
    code = code == EXIT_OK ? local_run_put(s, def, &name) : code;
    if (code == EXIT_OK) {
        const int r = put_all(s, name, def, rows, rule, &err);
        code = r < 0 ? cli_error(local_store_exit_code(r), NULL, "%s", err.msg) : EXIT_OK;
    }
    if (code == EXIT_OK) {
        *ret_name = take_ptr(name);
    }
    return code;
}
