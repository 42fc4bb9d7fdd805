/* benchctl import --mlperf: a round of MLPerf Training becomes a run for each of its series. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "base/vec_walk.h"
#include "core/json_field.h"
#include "core/record.h"
#include "ctl/definition/definition.h"
#include "ctl/import/import.h"
#include "ctl/import/import_def.h"
#include "ctl/import/import_file.h"
#include "ctl/import/import_series.h"
#include "ctl/import/import_store.h"
#include "ctl/runs/show.h"
#include "logparse/shipped_rules.h"
#include "report/json_text.h"
#include "report/table.h"
#include "result/figure_json.h"
#include "spec/name.h"

#define RULE "mllog"
#define NAME_UNKNOWN "unknown"
#define OBJECT_NAME_MAX 32
#define LOG_BYTES_MAX ((size_t)64 << 20) /* kept of a log, as of the output of a process */

struct mlperf_log {
    const char *path;       /* NULL: the round has it not; borrowed */
    struct import_log *log; /* owned; NULL of none */
    struct import_file file;
    struct import_end end;
    char *refusal; /* why it does not count; owned; NULL: it does */
    int basis;     /* equal numbers may be compared */
};

/* An entry whose logs were read. */
struct mlperf_size {
    const struct mlperf_entry *entry;
    VEC(struct mlperf_log) logs;
    int basis; /* of most of its logs; -1: none counts */
};

struct mlperf_import {
    const struct cli *cli;
    struct log_rule *rule; /* owned */
    struct mlperf_round round;
    VEC(struct mlperf_size) sizes; /* of one series, or of several that differ in basis */
    struct table *table;           /* a row a run; owned */
    json_t *runs;                  /* the same; owned */
    VEC(struct mlperf_reason {
        char *text; /* owned */
        size_t n;
    })
    reasons;
    size_t n_entries, n_logs; /* that are in runs; of these, that count */
};

/* ---- logs ---- */

static void count_refusal(struct mlperf_import *im, const char *why, size_t n)
{
    struct mlperf_reason *reason = vec_find(&im->reasons, it, str_eq(it->text, why));
    if (reason == NULL) {
        reason = vec_push(&im->reasons);
        *reason = (struct mlperf_reason){.text = xstrdup(why)};
    }
    reason->n += n;
}

static void feed(void *ctx, const char *data, size_t len)
{
    import_log_feed(ctx, data, len);
}

/* "123 events of MLPerf: no positions" is counted by what is the same in other logs. Owned. */
static char *reason_of(const struct import_end *end)
{
    const char *at = strstr(buf_cstr(&end->why), "MLPerf: ");
    at = at == NULL ? NULL : at + strlen("MLPerf: ");
    return at == NULL ? xstrdup("the log has no MLPerf events") : xstrndup(at, strcspn(at, "\n"));
}

static void read_log(const struct mlperf_import *im, const struct mlperf_entry *e, const char *path,
                     struct mlperf_log *ret)
{
    const struct log_parser_params params = {
        .rule = im->rule, .role = ROLE_WORKER, .trainers = e->accelerators};
    const struct replica_id id = {.role = ROLE_WORKER};
    *ret = (struct mlperf_log){.path = path, .log = import_log_new(&params, &id, LOG_BYTES_MAX)};
    const char *fix = NULL;
    struct err err = {0};
    const int r = import_file_read(path, feed, ret->log, &ret->file, &fix, &err);
    import_log_end(ret->log, true, &ret->end);
    const struct mllog_result *m = &ret->end.mlperf;
    if (r < 0) {
        ret->refusal = xstrdup(err.msg);
    } else if (ret->end.summary_line == NULL) {
        ret->refusal = reason_of(&ret->end);
    } else if (m->status != NULL && str_eq(m->status, "aborted")) {
        ret->refusal = xstrdup("aborted: the run did not reach its target");
    }
    ret->basis = 2 * (int)m->basis + isnan(m->evaluation_s);
}

static size_t count_basis(const struct mlperf_size *size, int basis)
{
    return vec_sum(&size->logs, it, (size_t)(it->refusal == NULL && it->basis == basis));
}

static void read_entry(struct mlperf_import *im, const struct mlperf_entry *e)
{
    struct mlperf_size *size = vec_push(&im->sizes);
    *size = (struct mlperf_size){.entry = e, .basis = -1};
    vec_each (char *const, path, &e->logs.list) {
        read_log(im, e, *path, vec_push(&size->logs));
    }
    for (int basis = 0; basis < 2 * MLLOG_BASIS_COUNT; basis++) {
        const size_t most = size->basis < 0 ? 0 : count_basis(size, size->basis);
        size->basis = count_basis(size, basis) > most ? basis : size->basis;
    }
    vec_each (struct mlperf_log, it, &size->logs) {
        if (it->refusal == NULL && it->basis != size->basis) {
            it->refusal = xstrdup("its figure follows from other events than those of the other "
                                  "logs of its entry, so they are not compared");
        }
        if (it->refusal != NULL && size->basis < 0) { /* else when its run is stored */
            count_refusal(im, it->refusal, 1);
        }
    }
}

static void log_done(struct mlperf_log *log)
{
    import_log_free(log->log);
    import_end_done(&log->end);
    free(log->refusal);
}

static void forget_sizes(struct mlperf_import *im)
{
    vec_each (struct mlperf_size, size, &im->sizes) {
        vec_done_each(&size->logs, log_done);
    }
    vec_done(&im->sizes);
}

/* ---- the definition ---- */

/* "NVIDIA H100-SXM5-80GB" as "nvidia-h100-sxm5-80gb": the name of an object. */
static void make_name(const char *text, char ret[static OBJECT_NAME_MAX + 1])
{
    size_t len = 0;
    for (const char *at = text; *at != '\0' && len < OBJECT_NAME_MAX; at++) {
        const char c = *at >= 'A' && *at <= 'Z' ? (char)(*at - 'A' + 'a') : *at;
        const bool is_letter = c >= 'a' && c <= 'z', is_digit = c >= '0' && c <= '9';
        if (is_letter || (len > 0 && (is_digit || ret[len - 1] != '-'))) {
            ret[len++] = is_letter || is_digit ? c : '-';
        }
    }
    while (len > 0 && ret[len - 1] == '-') {
        len--;
    }
    ret[len] = '\0';
    if (len == 0) {
        text_put(ret, OBJECT_NAME_MAX + 1, NAME_UNKNOWN);
    }
}

static struct run_def *make_def(const struct mlperf_entry *e, const struct import_trials *trials,
                                int64_t steps, int64_t created_unix_ms)
{
    char name[OBJECT_NAME_MAX + 1], system[OBJECT_NAME_MAX + 1];
    _cleanup_(freep) char *both = xasprintf("%s-%s", e->benchmark, e->submitter);
    make_name(both, name);
    make_name(e->accelerator == NULL ? NAME_UNKNOWN : e->accelerator, system);
    json_auto_t *rule = json_string(RULE);
    const struct import_options options = {
        .name = name,
        .system = system,
        .model = free_name_is_valid(e->benchmark) ? e->benchmark : NAME_UNKNOWN,
        .dataset = NAME_UNKNOWN,
        .exchange = NAME_UNKNOWN,
        .rule = rule,
        .warmup_steps = -1,
        .steps = steps,
    };
    json_auto_t *document = import_definition(&options, trials);
    const struct run_def_params params = {.name = "import", .created_unix_ms = created_unix_ms};
    return definition_of_document(document, "(the definition of a series)", NULL, params);
}

/* ---- a series ---- */

struct mlperf_series {
    VEC(struct mlperf_size *) sizes; /* borrowed */
    struct import_trials trials;
    struct import_slot *slots; /* by trial, owned */
    struct run_def *def;       /* owned */
    struct import_rows rows;
    int64_t steps;
};

/* Those of one basis, each with as many logs as the one with most. */
static void take_sizes(struct mlperf_import *im, int basis, struct mlperf_series *series)
{
    size_t most = 0;
    vec_each (struct mlperf_size, it, &im->sizes) {
        if (it->basis == basis) {
            *vec_push(&series->sizes) = it;
            most = it->logs.len > most ? it->logs.len : most;
        }
    }
    series->trials.count = "workers";
    series->steps = 1;
    vec_each (struct mlperf_size *const, size, &series->sizes) {
        while ((*size)->logs.len < most) {
            *vec_push(&(*size)->logs) = (struct mlperf_log){
                .refusal = xstrdup("this copy of the round lacks the log, which other sizes have")};
        }
        const struct value n = {.is_int = true, .i = (*size)->entry->accelerators};
        vec_each (const struct mlperf_log, log, &(*size)->logs) {
            struct import_trial *trial = vec_push(&series->trials.list);
            *trial = (struct import_trial){0};
            params_set(&trial->params, series->trials.count, &n);
            series->steps = log->end.steps > series->steps ? log->end.steps : series->steps;
        }
    }
}

static char *environment_of(const struct mlperf_entry *e, const struct mllog_result *m)
{
    json_auto_t *o = JSON_OBJECT_OF(
        {"accelerator", json_text_or_null(e->accelerator)},
        {"cpu_model", json_text_or_null(e->cpu)}, {"framework", json_text_or_null(e->framework)},
        {"system", json_text_or_null(e->system)},
        {"global_batch_size", m->batch > 0 ? json_integer((json_int_t)m->batch) : json_null()});
    return record_environment_canonical(o);
}

static void add_row(struct mlperf_series *series, const struct mlperf_entry *e,
                    struct mlperf_log *log)
{
    const struct import_slot *slot = &series->slots[series->rows.list.len];
    const int64_t before =
        series->rows.list.len == 0 ? 0 : import_rows_date(&series->rows); /* of one without a log */
    struct import_row *row = vec_push(&series->rows.list);
    *row = (struct import_row){
        .row = {.id = {slot->point, slot->trial, 0},
                .outcome = log->refusal == NULL ? ATTEMPT_SUCCEEDED : ATTEMPT_FAILED,
                .error = log->refusal == NULL ? NULL : xstrdup(log->refusal)}};
    if (log->log == NULL) {
        row->row.started_unix_ms = row->row.ended_unix_ms = before;
        return;
    }
    log->log->id.attempt = row->row.id;
    char *summary = log->refusal == NULL ? take_ptr(log->end.summary_line) : NULL;
    import_rows_add(&series->rows, row, log->log, log->path, &log->file, summary);
    row->row.replicas.items[0].environment_json = environment_of(e, &log->end.mlperf);
}

/* What the run says that only all its points together show; and a figure that it does not take. */
static void check_result(const struct mlperf_series *series, char **ret_note)
{
    struct result *result = import_rows_result(&series->rows, series->def);
    vec_each (struct import_row, it, &series->rows.list) {
        struct attempt_row *row = &it->row;
        const struct trial_result *t = &result->points[row->id.point].trials[row->id.trial];
        if (row->outcome == ATTEMPT_SUCCEEDED && t->phase != TRIAL_SUCCEEDED) {
            row->outcome = ATTEMPT_FAILED;
            row->error = xstrdup(t->error == NULL ? "it gives no throughput" : t->error);
        }
    }
    vec_each (const struct warning, it, &result->warnings) {
        if (it->code == WARNING_MIXED_BATCHES) {
            *ret_note = xstrdup(it->message);
        }
    }
    result_free(result);
}

static void add_run(struct mlperf_import *im, const struct mlperf_series *series, const char *name)
{
    const struct mlperf_entry *e = series->sizes.items[0]->entry;
    const size_t n_trials = series->rows.list.len;
    _cleanup_(buf_done) struct buf sizes = BUF_INIT;
    vec_each (struct mlperf_size *const, it, &series->sizes) {
        buf_printf(&sizes, "%s%" PRId64, sizes.len == 0 ? "" : " ", (*it)->entry->accelerators);
    }
    size_t n_refused = 0;
    vec_each (const struct import_row, it, &series->rows.list) {
        if (it->row.outcome != ATTEMPT_SUCCEEDED) {
            n_refused++;
            count_refusal(im, it->row.error, 1);
        }
    }
    im->n_entries += series->sizes.len;
    im->n_logs += n_trials - n_refused;
    table_text(im->table, "RUN", "%s", name);
    table_text(im->table, "BENCHMARK", "%s", e->benchmark);
    table_text(im->table, "SUBMITTER", "%s", e->submitter);
    table_text(im->table, "SIZES", "%s", buf_cstr(&sizes));
    table_number(im->table, "TRIALS", "%zu/%zu", n_trials - n_refused, n_trials);
    table_number(im->table, "REFUSED", "%zu", n_refused);
    table_end_row(im->table);
    (void)json_array_append_new(im->runs, /* grows in memory only */
                                JSON_OBJECT_OF({"run", json_text_or_null(name)},
                                               {"benchmark", json_text_or_null(e->benchmark)},
                                               {"submitter", json_text_or_null(e->submitter)},
                                               {"sizes", json_text_or_null(buf_cstr(&sizes))},
                                               {"trials", json_count(n_trials)},
                                               {"refused", json_count(n_refused)}));
}

static enum exit_code put_series(struct mlperf_import *im, struct mlperf_series *series)
{
    const struct mlperf_entry *first = series->sizes.items[0]->entry;
    _cleanup_(freep) char *fix = NULL, *name = NULL, *note = NULL;
    struct err err = {0};
    series->def = make_def(first, &series->trials, series->steps, 0);
    if (series->def == NULL) {
        return EXIT_USAGE; /* it was printed */
    }
    if (import_assign(series->def, &series->trials, &series->slots, &fix, &err) < 0) {
        return cli_error(EXIT_USAGE, fix, "%s", err.msg);
    }
    vec_each (struct mlperf_size *const, size, &series->sizes) {
        vec_each (struct mlperf_log, log, &(*size)->logs) {
            add_row(series, (*size)->entry, log);
        }
    }
    series->def->created_unix_ms = import_rows_date(&series->rows);
    check_result(series, &note);
    const enum exit_code code = import_store_put(im->cli, series->def, &series->rows, RULE, &name);
    if (code == EXIT_OK) {
        if (note != NULL) {
            cli_note(im->cli, "run/%s: %s", name, note);
        }
        add_run(im, series, name);
    }
    return code;
}

static enum exit_code store_basis(struct mlperf_import *im, int basis)
{
    struct mlperf_series series = {0};
    take_sizes(im, basis, &series);
    const enum exit_code code = series.sizes.len == 0 ? EXIT_OK : put_series(im, &series);
    import_rows_done(&series.rows);
    import_trials_done(&series.trials);
    run_def_free(series.def);
    free(series.slots);
    vec_done(&series.sizes);
    return code;
}

/* One series at a time is in memory. */
static enum exit_code store_all(struct mlperf_import *im)
{
    const struct mlperf_entry *const all = im->round.entries.items;
    enum exit_code code = EXIT_OK;
    for (size_t i = 0, end; i < im->round.entries.len && code == EXIT_OK; i = end) {
        for (end = i; end < im->round.entries.len && str_eq(all[end].series, all[i].series);
             end++) {
            if (all[end].accelerators == 0) {
                count_refusal(im, "the number of accelerators is unknown", all[end].logs.list.len);
            } else {
                read_entry(im, &all[end]);
            }
        }
        for (int basis = 0; basis < 2 * MLLOG_BASIS_COUNT && code == EXIT_OK; basis++) {
            code = store_basis(im, basis);
        }
        forget_sizes(im);
    }
    return code;
}

/* ---- what it prints ---- */

static enum exit_code show(const struct mlperf_import *im)
{
    const size_t n_refused = vec_sum(&im->reasons, it, it->n);
    struct buf out = BUF_INIT;
    if (cli_output_is(im->cli, "json")) {
        json_t *refused = json_object();
        vec_each (const struct mlperf_reason, it, &im->reasons) {
            json_object_set_new(refused, it->text, json_count(it->n));
        }
        json_text_put(JSON_OBJECT_OF({"runs", json_incref(im->runs)},
                                     {"entries", json_count(im->round.entries.len)},
                                     {"entriesStored", json_count(im->n_entries)},
                                     {"logsRead", json_count(im->n_logs)},
                                     {"logsRefused", refused}),
                      &out);
        return show_text(im->cli, &out);
    }
    if (json_array_size(im->runs) > 0) {
        table_format_list(im->table, 1, !im->cli->no_headers, show_list_columns(), &out);
        buf_putc(&out, '\n');
    }
    buf_printf(&out, "%zu of %zu entries are stored in %zu runs; %zu logs count, %zu do not%s\n",
               im->n_entries, im->round.entries.len, json_array_size(im->runs), im->n_logs,
               n_refused, n_refused == 0 ? "" : ":");
    vec_each (const struct mlperf_reason, it, &im->reasons) {
        buf_printf(&out, "%6zu  %s\n", it->n, it->text);
    }
    return show_text(im->cli, &out);
}

/* ---- the verb ---- */

/* The logs say all that the other options do. */
static enum exit_code check_options(const struct cli *cli)
{
    for (size_t i = 0; i < cli->verb->n_opts; i++) {
        const char *name = cli->verb->opts[i].name;
        if (!str_eq(name, "mlperf") && args_has(&cli->args, name)) {
            return cli_error(EXIT_USAGE, "remove one of the two", "--%s is not for --mlperf", name);
        }
    }
    if (cli_output_is(cli, "csv") || cli_output_is(cli, "markdown")) {
        return cli_error(EXIT_USAGE, "use -o json", "-o %s is not for --mlperf", cli->output);
    }
    return EXIT_OK;
}

static enum exit_code take_round(struct mlperf_import *im, const char *folder)
{
    const struct args *args = &im->cli->args;
    _cleanup_(freep) char *fix = NULL;
    struct err err = {0};
    if (mlperf_round_read(folder, &im->round, &err) < 0) {
        return cli_error(EXIT_USAGE, "name a folder of mlcommons/training_results_vX.Y", "%s",
                         err.msg);
    }
    if (mlperf_round_keep(&im->round, args->words, args->n_words, &fix, &err) < 0) {
        return cli_error(EXIT_USAGE, fix, "%s: %s", folder, err.msg);
    }
    mlperf_round_split(&im->round);
    return EXIT_OK;
}

enum exit_code import_mlperf(const struct cli *cli, const char *folder)
{
    struct mlperf_import im = {
        .cli = cli, .rule = log_shipped_load(RULE), .table = table_new(), .runs = json_array()};
    enum exit_code code = check_options(cli);
    code = code == EXIT_OK ? take_round(&im, folder) : code;
    if (code == EXIT_OK) {
        code = store_all(&im);
        const enum exit_code shown = show(&im); /* what was stored before an error, too */
        code = code == EXIT_OK ? shown : code;
    }
    if (code == EXIT_OK && json_array_size(im.runs) == 0) {
        code = cli_error(EXIT_USAGE, NULL, "%s: no log counts, so nothing is stored", folder);
    }
    vec_each (struct mlperf_reason, it, &im.reasons) {
        free(it->text);
    }
    vec_done(&im.reasons);
    table_free(im.table);
    json_decref(im.runs);
    mlperf_round_done(&im.round);
    log_rule_free(im.rule);
    return code;
}
