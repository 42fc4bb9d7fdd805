/* benchctl import --mlperf: a round of MLPerf Training becomes a run for each of its series. */
#include <errno.h>
#include <inttypes.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/vec_walk.h"
#include "core/json_field.h"
#include "core/record.h"
#include "ctl/definition/definition.h"
#include "ctl/import/import.h"
#include "ctl/import/import_def.h"
#include "ctl/import/import_series.h"
#include "ctl/import/import_store.h"
#include "ctl/runs/show.h"
#include "logparse/shipped_rules.h"
#include "result/figure_json.h"
#include "spec/name.h"

#define RULE "mllog"
#define NAME_UNKNOWN "unknown"

struct mlperf_import {
    const struct cli *cli;
    struct log_rule *rule; /* owned */
    struct mlperf_round round;
    struct table *table;                 /* a row a run; owned */
    json_t *runs;                        /* the same; owned */
    json_t *refused;                     /* {why: number of logs}; owned */
    size_t n_entries, n_logs, n_refused; /* in runs, that count, and that do not */
};

struct mlperf_run {
    VEC(struct mlperf_entry *) entries; /* with a log that counts; borrowed; the smallest first */
    unsigned basis;                     /* what its figures follow from; 0: not known yet */
    struct goal goal;
    struct flops flops;
    struct import_trials trials;
    struct import_slot *slots; /* by trial, owned */
    struct run_def *def;       /* owned */
    struct import_rows rows;
};

/* ---- logs ---- */

static void count_refusal(struct mlperf_import *im, const char *why)
{
    const json_int_t n = json_integer_value(json_object_get(im->refused, why)) + 1;
    (void)json_object_set_new(im->refused, why, json_integer(n)); /* grows in memory only */
    im->n_refused++;
}

static void read_log(const struct mlperf_import *im, const struct mlperf_entry *e,
                     struct mlperf_run *run, struct mlperf_log *l)
{
    const struct log_parser_params params = {
        .rule = im->rule, .role = ROLE_WORKER, .trainers = e->accelerators};
    const struct replica_id id = {.role = ROLE_WORKER};
    const char *fix = NULL;
    struct err err = {0};
    l->log = import_log_new(&params, &id, IMPORT_LOG_BYTES);
    const int r = import_log_read(l->log, l->path, &fix, &err);
    import_log_end(l->log, true);
    const struct mllog_result *m = log_parser_mlperf(l->log->parser);
    const unsigned own_basis = 2 * m->basis + m->has_evaluation;
    if (r < 0) {
        cli_note(im->cli, "%s", err.msg);
        l->refusal = "the file cannot be read";
    } else if (m->refusal != NULL) {
        l->refusal = m->refusal;
    } else if (m->status != NULL && str_eq(m->status, "aborted")) {
        l->refusal = "aborted: the run did not reach its target";
    } else if (run->basis != 0 && run->basis != own_basis) {
        l->refusal = "its figure follows from other events than those of the first logs of its "
                     "series, so they are not compared";
    } else {
        run->basis = own_basis;
        run->goal = m->goal;
        run->flops = (struct flops){.parameters = m->parameters, .sequence = m->sequence};
    }
}

static void read_entry(struct mlperf_import *im, struct mlperf_entry *e, struct mlperf_run *run)
{
    bool counts = false;
    vec_each (struct mlperf_log, it, &e->logs) {
        if (e->accelerators > 0) {
            read_log(im, e, run, it);
        } else {
            it->refusal = "the number of accelerators is unknown";
        }
        counts |= it->refusal == NULL;
    }
    if (counts) {
        *vec_push(&run->entries) = e;
        return;
    }
    vec_each (const struct mlperf_log, it, &e->logs) {
        count_refusal(im, it->refusal);
    }
}

/* ---- a run ---- */

/* Each size has as many trials as the one with most. Returns the most steps that a log has. */
static int64_t take_trials(struct mlperf_run *run)
{
    size_t most = 0;
    int64_t steps = 1;
    vec_each (struct mlperf_entry *const, e, &run->entries) {
        most = (*e)->logs.len > most ? (*e)->logs.len : most;
    }
    vec_each (struct mlperf_entry *const, e, &run->entries) {
        while ((*e)->logs.len < most) {
            *vec_push(&(*e)->logs) = (struct mlperf_log){
                .refusal = "this copy of the round lacks the log, which other sizes have"};
        }
        const struct value n = {.is_int = true, .i = (*e)->accelerators};
        vec_each (const struct mlperf_log, log, &(*e)->logs) {
            struct import_trial *trial = vec_push(&run->trials.list);
            *trial = (struct import_trial){0};
            params_set(&trial->params, run->trials.count, &n);
            steps = log->log != NULL && log->log->steps > steps ? log->log->steps : steps;
        }
    }
    return steps;
}

static struct run_def *make_def(const struct mlperf_run *run, int64_t steps)
{
    const struct mlperf_entry *e = run->entries.items[0];
    const char *accelerator = json_string_value(json_object_get(e->environment, "accelerator"));
    _cleanup_(freep) char *both = xasprintf("%s-%s", e->benchmark, e->submitter);
    _cleanup_(freep) char *name = object_name_make(both, OBJECT_NAME_MAX, NAME_UNKNOWN);
    _cleanup_(freep) char *system =
        object_name_make(accelerator == NULL ? "" : accelerator, OBJECT_NAME_MAX, NAME_UNKNOWN);
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
        .goal = run->goal,
        .flops = run->flops,
        .has_devices = true,
    };
    json_auto_t *document = import_definition(&options, &run->trials);
    const struct run_def_params params = {.name = "import"};
    return definition_of_document(document, "(the definition of a series)", NULL, params);
}

static void add_row(struct mlperf_run *run, const struct mlperf_entry *e, struct mlperf_log *log)
{
    const struct import_slot *slot = &run->slots[run->rows.list.len];
    struct import_row *row = vec_push(&run->rows.list);
    *row = (struct import_row){
        .row = {.id = {slot->point, slot->trial, 0},
                .outcome = log->refusal == NULL ? ATTEMPT_SUCCEEDED : ATTEMPT_FAILED,
                .error = log->refusal == NULL ? NULL : xstrdup(log->refusal)}};
    if (log->log == NULL) { /* as the first, which was read: its entry has one that counts */
        row->row.started_unix_ms = row->row.ended_unix_ms =
            run->rows.list.items[0].row.started_unix_ms;
        return;
    }
    const double batch = log_parser_mlperf(log->log->parser)->batch;
    json_auto_t *environment = json_copy(e->environment);
    JSON_ADD(environment,
             {"global_batch_size", batch > 0 ? json_integer((json_int_t)batch) : json_null()});
    log->log->id.attempt = row->row.id;
    import_rows_add(&run->rows, row, log->log);
    row->row.replicas.items[0].environment_json = record_environment_canonical(environment);
}

/* It is stored. */
static void show_run(struct mlperf_import *im, const struct mlperf_run *run, const char *name)
{
    const struct mlperf_entry *first = run->entries.items[0];
    const size_t n = run->rows.list.len, n_refused_before = im->n_refused;
    _cleanup_(buf_done) struct buf sizes = BUF_INIT;
    vec_each (struct mlperf_entry *const, e, &run->entries) {
        buf_printf(&sizes, "%s%" PRId64, sizes.len == 0 ? "" : " ", (*e)->accelerators);
    }
    vec_each (const struct import_row, it, &run->rows.list) {
        if (it->row.error != NULL) {
            count_refusal(im, it->row.error);
        }
    }
    const size_t n_refused = im->n_refused - n_refused_before;
    im->n_entries += run->entries.len;
    im->n_logs += n - n_refused;
    table_text(im->table, "RUN", "%s", name);
    table_text(im->table, "BENCHMARK", "%s", first->benchmark);
    table_text(im->table, "SUBMITTER", "%s", first->submitter);
    table_text(im->table, "SIZES", "%s", buf_cstr(&sizes));
    table_number(im->table, "TRIALS", "%zu/%zu", n - n_refused, n);
    table_number(im->table, "REFUSED", "%zu", n_refused);
    table_end_row(im->table);
    (void)json_array_append_new(im->runs, /* grows in memory only */
                                JSON_OBJECT_OF({"run", json_text_or_null(name)},
                                               {"benchmark", json_text_or_null(first->benchmark)},
                                               {"submitter", json_text_or_null(first->submitter)},
                                               {"sizes", json_text_or_null(buf_cstr(&sizes))},
                                               {"trials", json_count(n)},
                                               {"refused", json_count(n_refused)}));
}

static enum exit_code store_run(struct mlperf_import *im, struct mlperf_run *run)
{
    _cleanup_(freep) char *name = NULL;
    const int64_t steps = take_trials(run);
    run->def = make_def(run, steps);
    enum exit_code code =
        run->def == NULL ? EXIT_USAGE : import_assign(run->def, &run->trials, &run->slots);
    if (code != EXIT_OK) {
        return code;
    }
    vec_each (struct mlperf_entry *const, e, &run->entries) {
        vec_each (struct mlperf_log, log, &(*e)->logs) {
            add_row(run, *e, log);
        }
    }
    run->def->created_unix_ms = import_rows_date(&run->rows);
    code = import_store_put(im->cli, run->def, &run->rows, RULE, &name);
    if (code == EXIT_OK) {
        show_run(im, run, name);
    }
    return code;
}

/* One series at a time is in memory. */
static enum exit_code store_series(struct mlperf_import *im, size_t begin, size_t end)
{
    struct mlperf_entry *const all = im->round.entries.items;
    struct mlperf_run run = {.trials.count = "workers"};
    for (size_t i = begin; i < end; i++) {
        read_entry(im, &all[i], &run);
    }
    const enum exit_code code = run.entries.len == 0 ? EXIT_OK : store_run(im, &run);
    import_rows_done(&run.rows);
    import_trials_done(&run.trials);
    run_def_free(run.def);
    free(run.slots);
    vec_done(&run.entries);
    for (size_t i = begin; i < end; i++) {
        mlperf_entry_forget(&all[i]);
    }
    return code;
}

/* ---- the verb ---- */

static void sheet_round(struct sheet *s, struct mlperf_import *im)
{
    if (s->form == SHEET_JSON) {
        s->document = JSON_OBJECT_OF(
            {"runs", json_incref(im->runs)}, {"entries", json_count(im->round.entries.len)},
            {"entriesStored", json_count(im->n_entries)}, {"logsRead", json_count(im->n_logs)},
            {"logsRefused", json_incref(im->refused)});
        return;
    }
    sheet_table(s, NULL, take_ptr(im->table), 1);
    if (json_array_size(im->runs) > 0) {
        sheet_block(s, NULL);
    }
    sheet_line(s, NULL, "%zu of %zu entries are stored in %zu runs; %zu logs count, %zu do not%s",
               im->n_entries, im->round.entries.len, json_array_size(im->runs), im->n_logs,
               im->n_refused, im->n_refused == 0 ? "" : ":");
    const char *why;
    json_t *number;
    json_object_foreach (im->refused, why, number) {
        const size_t n = (size_t)json_integer_value(number);
        sheet_line(s, NULL, "%zu log%s: %s", n, plural(n), why);
    }
}

/* The logs say all that the other options do. */
static enum exit_code check_options(const struct cli *cli)
{
    for (size_t i = 0; i < cli->verb->n_opts; i++) {
        const char *name = cli->verb->opts[i].name;
        if (!str_eq(name, "mlperf") && args_has(&cli->args, name)) {
            return cli_error(EXIT_USAGE, "remove one of the two", "--%s is not for --mlperf", name);
        }
    }
    return cli_output_is(cli, "csv")
               ? cli_error(EXIT_USAGE, "use -o json", "-o csv is not for --mlperf")
               : EXIT_OK;
}

static enum exit_code import_round(struct mlperf_import *im)
{
    const struct args *args = &im->cli->args;
    const char *folder = args->words[0];
    struct err err = {0};
    const int r = mlperf_round_read(folder, args->words + 1, args->n_words - 1, &im->round, &err);
    if (r == -ENOENT) {
        return cli_error(EXIT_NOT_FOUND,
                         "name the folder of a round: it has a folder for each submitter", "%s: %s",
                         folder, err.msg);
    }
    if (r < 0) {
        return cli_error(EXIT_USAGE, NULL, "%s: %s", folder, err.msg);
    }
    enum exit_code code = EXIT_OK;
    for (size_t i = 0, end; i < im->round.entries.len && code == EXIT_OK; i = end) {
        end = mlperf_series_end(&im->round, i);
        code = store_series(im, i, end);
    }
    const enum exit_code shown =
        show_sheet(im->cli, sheet_round, im); /* what was stored before an error, too */
    if (code == EXIT_OK && json_array_size(im->runs) == 0) {
        return cli_error(EXIT_USAGE, NULL, "%s: no log counts, so nothing is stored", folder);
    }
    return code == EXIT_OK ? shown : code;
}

enum exit_code import_mlperf(const struct cli *cli)
{
    struct mlperf_import im = {.cli = cli,
                               .rule = log_shipped_load(RULE),
                               .table = table_new(),
                               .runs = json_array(),
                               .refused = json_object()};
    enum exit_code code = check_options(cli);
    code = code == EXIT_OK ? import_round(&im) : code;
    table_free(im.table);
    json_decref(im.runs);
    json_decref(im.refused);
    mlperf_round_done(&im.round);
    log_rule_free(im.rule);
    return code;
}
