/* Puts a run of old logs into the store, whole or not at all. */
#include <errno.h>
#include <inttypes.h>

#include "base/clock.h"
#include "base/str.h"
#include "core/record.h"
#include "ctl/import/import.h"
#include "ctl/local/local.h"
#include "ctl/local/local_store.h"
#include "ctl/runs/show.h"

/* ---- rows ---- */

static int64_t date_of_file(const struct import_log *l)
{
    return l->file.modified_unix_ms != 0 ? l->file.modified_unix_ms : clock_unix_ms();
}

static void add_replica(struct import_log *l, struct attempt_row *row)
{
    const bool has_date = l->first_ns > 0;
    const int64_t first = has_date ? l->first_ns / 1000000 : date_of_file(l);
    const int64_t last = has_date ? l->last_ns / 1000000 : first;
    json_t *versions = log_parser_reading(l->parser)->versions;
    l->environment = l->environment == NULL && versions != NULL ? json_object() : l->environment;
    (void)json_object_set(l->environment, "versions", versions); /* NULL: none */
    size_t len;
    (void)capture_text(&l->capture, &len); /* only its length */
    *vec_push(&row->replicas) = (struct replica_row){
        .id = l->id,
        .summary = row->outcome == ATTEMPT_SUCCEEDED ? summary_copy(l->summary) : NULL,
        .environment = environment_of(l->environment, NULL, NULL),
        .reading = log_reading_to_json(log_parser_reading(l->parser)),
        .log_bytes = len};
    row->started_unix_ms =
        row->started_unix_ms == 0 || first < row->started_unix_ms ? first : row->started_unix_ms;
    row->ended_unix_ms = last > row->ended_unix_ms ? last : row->ended_unix_ms;
}

void import_make_rows(struct import *im)
{
    const struct attempt_row *first = &im->trials.items[0].row;
    vec_each (struct import_trial, it, &im->trials) {
        it->row.outcome = it->row.error == NULL ? ATTEMPT_SUCCEEDED : ATTEMPT_FAILED;
        vec_each (struct import_log *, l, &it->logs) {
            add_replica(*l, &it->row);
        }
        if (it->logs.len == 0) {
            it->row.started_unix_ms = it->row.ended_unix_ms = first->started_unix_ms;
        }
    }
    im->def->created_unix_ms = first->started_unix_ms;
    vec_each (const struct import_trial, it, &im->trials) {
        const int64_t started = it->row.started_unix_ms;
        im->def->created_unix_ms =
            started < im->def->created_unix_ms ? started : im->def->created_unix_ms;
    }
}

/* ---- the store ---- */

static struct run_status status_of(const struct import *im)
{
    struct run_status status = {.trials_done = im->def->n_slots,
                                .trials_total = im->def->n_slots,
                                .started_unix_ms = im->def->created_unix_ms};
    size_t n_logs = 0;
    bool has_dates = true;
    vec_each (const struct import_trial, it, &im->trials) {
        const int64_t ended = it->row.ended_unix_ms;
        n_logs += it->logs.len;
        has_dates = has_dates && vec_all(&it->logs, l, (*l)->first_ns > 0);
        status.trials_failed += it->row.error != NULL;
        status.ended_unix_ms = ended > status.ended_unix_ms ? ended : status.ended_unix_ms;
    }
    status.phase = status.trials_failed > 0 ? RUN_PARTIALLY_FAILED : RUN_SUCCEEDED;
    text_put(status.reason, sizeof(status.reason), RUN_REASON_IMPORTED);
    text_put(status.message, sizeof(status.message),
             "read from %zu log%s by the rule %s, not measured by benchd; %s", n_logs,
             n_logs == 1 ? "" : "s", im->rule->name,
             has_dates ? "dated by the logs" : "dated by the files' modification");
    return status;
}

/* "trainer/0 of point 1, trial 0: run.log, 1234 bytes, dated by its modification" */
static int add_note(struct store *s, const char *uid, const struct import_log *l, struct err *err)
{
    _cleanup_(buf_done) struct buf note = BUF_INIT;
    buf_printf(&note, "%s/%u of point %u, trial %u: ", role_to_string(l->id.role), l->id.index,
               l->id.attempt.point, l->id.attempt.trial);
    buf_put_utf8(&note, str_eq(l->path, IMPORT_STDIN) ? "standard input" : l->path, 200);
    buf_printf(&note, ", %" PRIu64 " bytes, dated by %s", l->file.bytes,
               l->first_ns > 0                 ? "its lines"
               : l->file.modified_unix_ms != 0 ? "its modification"
                                               : "this import");
    const struct event_row event = {.unix_ms = clock_unix_ms(),
                                    .reason = (char *)RUN_REASON_IMPORTED,
                                    .note = (char *)buf_cstr(&note)};
    return s->ops->add_event(s, uid, &event, err);
}

static int put_trial(struct store *s, const struct import *im, const char *uid,
                     const struct import_trial *trial, struct err *err)
{
    const struct trial_terms terms = run_def_terms(im->def, trial->row.id.point);
    VEC(struct replica_log) logs = {0};
    vec_each (struct import_log *const, l, &trial->logs) {
        size_t len;
        const char *text = capture_text(&(*l)->capture, &len);
        if (len > 0) {
            *vec_push(&logs) = (struct replica_log){(*l)->id, text, len};
        }
    }
    int r = s->ops->save_attempt(s, uid, &trial->row, &terms, logs.items, logs.len, NULL, err);
    vec_done(&logs);
    vec_each (struct import_log *const, l, &trial->logs) {
        r = r < 0 ? r : add_note(s, uid, *l, err);
    }
    return r;
}

static int put_all(struct store *s, const struct import *im, const char *name, struct err *err)
{
    _cleanup_(run_row_done) struct run_row row = {0};
    const struct run_status status = status_of(im);
    int r = s->ops->get_run(s, name, &row, err);
    vec_each (const struct import_trial, it, &im->trials) {
        r = r < 0 ? r : put_trial(s, im, row.uid, it, err);
    }
    return r < 0 ? r : s->ops->put_status(s, row.uid, &status, err);
}

enum exit_code import_store(const struct import *im, char **ret_name)
{
    _cleanup_(store_closep) struct store *s = NULL;
    _cleanup_(freep) char *name = NULL;
    struct err err = {0};
    enum exit_code code = local_store_open(im->cli, true, &s);
    if (code != EXIT_OK) {
        return code;
    }
    int r = s->ops->begin_write(s, &err);
    if (r >= 0) {
        code = local_run_put(s, im->def, &name); /* prints its error */
        r = code == EXIT_OK ? put_all(s, im, name, &err) : -ECANCELED;
        r = s->ops->end_write(s, r, &err);
    }
    if (r >= 0) {
        *ret_name = take_ptr(name);
    }
    return r >= 0 || code != EXIT_OK ? code
                                     : cli_error(local_store_exit_code(r), NULL, "%s", err.msg);
}

enum exit_code import_show(const struct cli *cli, const char *name)
{
    _cleanup_(store_closep) struct store *s = NULL;
    _cleanup_(freep) char *url = local_store_url(cli);
    struct loaded_run run;
    cli_note(cli, "run/%s imported into %s", name, url);
    enum exit_code code = local_store_open(cli, false, &s);
    if (code == EXIT_OK && (code = local_store_load_run(cli, s, name, &run)) == EXIT_OK) {
        code = show_points(cli, &run);
        loaded_run_done(&run);
    }
    return code;
}
