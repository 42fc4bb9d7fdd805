/* benchctl import --mlperf: a round of MLPerf Training becomes a run for each of its series. What a
 * series is, docs/import.md says. Edge file: reads folders and the files that describe systems. */
#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/str.h"
#include "base/whole_file.h"
#include "core/json_field.h"
#include "ctl/import/import.h"
#include "ctl/runs/show.h"
#include "spec/name.h"
#include "spec/spec.h"

#define LOGS "/*/results/*/{,strong/,weak/}*/result_[0-9]*.txt" /* strong and weak: of HPC */
#define SYSTEM_BYTES_MAX ((size_t)1 << 20)

struct mlperf_entry { /* a benchmark on a system: a folder of logs; all owned */
    char *submitter, *system, *benchmark;
    json_t *environment;  /* as a run records it; null where the system does not say it */
    int64_t accelerators; /* 0 if it is unknown */
    const char *refusal;  /* why none of its logs counts; static; NULL: some may */
    VEC(struct import_trial) trials; /* one for each log, in the order of their numbers */
    char *series;                    /* equal texts are one series */
    bool is_alone;                   /* another entry of its series has the same size */
};

struct mlperf_import {
    const struct cli *cli;
    VEC(struct mlperf_entry) entries;
    struct table *table;                 /* a row a run; owned */
    json_t *runs;                        /* the same; owned */
    json_t *refused;                     /* {why: number of logs}; owned */
    size_t n_entries, n_logs, n_refused; /* in runs, that count, and that do not */
};

struct mlperf_run {
    struct import im;
    VEC(struct mlperf_entry *) entries; /* with a log that counts; borrowed; the smallest first */
    unsigned basis;                     /* what its figures follow from; 0 if it is not known yet */
};

static void entry_done(struct mlperf_entry *e)
{
    vec_done_each(&e->trials, import_trial_done);
    free(e->submitter);
    free(e->system);
    free(e->benchmark);
    free(e->series);
    json_decref(e->environment);
}

/* ---- what a system is ---- */

/* 0: it does not say a whole number. */
static int64_t count_of(const json_t *system, const char *key)
{
    const double n = mllog_number(json_object_get(system, key));
    return n >= 1 && n <= SPEC_MAX_IMPORTED && n == floor(n) ? (int64_t)n : 0;
}

static json_t *text_of(const json_t *system, const char *key)
{
    const char *text = json_string_value(json_object_get(system, key));
    return json_text_or_null(text == NULL || text[0] == '\0' ? NULL : text);
}

/* A file that is absent or no JSON says nothing. */
static void read_system(const char *path, struct mlperf_entry *e)
{
    _cleanup_(buf_done) struct buf raw = BUF_INIT, text = BUF_INIT;
    struct err err = {0};
    if (file_read(path, SYSTEM_BYTES_MAX, &raw, &err) >= 0) {
        buf_put_utf8(&text, buf_cstr(&raw), SYSTEM_BYTES_MAX);
    }
    json_auto_t *system = json_loads(buf_cstr(&text), 0, NULL);
    e->environment = JSON_OBJECT_OF({"accelerator", text_of(system, "accelerator_model_name")},
                                    {"framework", text_of(system, "framework")},
                                    {"cpu_model", text_of(system, "host_processor_model_name")});
    _cleanup_(freep) char *machine = json_dumps(e->environment, JSON_COMPACT);
    e->series = xasprintf("%s\n%s\n%s", e->benchmark, e->submitter, machine);
    JSON_ADD(e->environment, {"system", json_text_or_null(e->system)});
    const int64_t all =
        count_of(system, "number_of_nodes") * count_of(system, "accelerators_per_node");
    e->accelerators = all <= SPEC_MAX_IMPORTED ? all : 0;
    e->refusal = e->accelerators > 0 ? NULL
                 : mllog_number(json_object_get(system, "accelerators_per_node")) == 0
                     ? "the system has no accelerators"
                     : "the number of accelerators is unknown";
}

/* ---- folders ---- */

/* The n-th part of a path; owned. */
static char *part_of(const char *path, int n)
{
    for (; n > 0; n--) {
        path = strchr(path, '/') + 1;
    }
    return xstrndup(path, strcspn(path, "/"));
}

static void add_entry(const char *folder, const char *log, struct mlperf_import *im)
{
    const char *rest = log + strlen(folder) + 1;
    struct mlperf_entry *e = vec_push(&im->entries);
    *e = (struct mlperf_entry){.submitter = part_of(rest, 0),
                               .system = part_of(rest, 2), /* after "results" */
                               .benchmark = part_of(rest, 3)};
    const bool is_weak = str_eq(e->benchmark, "weak");
    if (is_weak || str_eq(e->benchmark, "strong")) {
        free(e->benchmark);
        e->benchmark = part_of(rest, 4);
    }
    _cleanup_(freep) char *about =
        xasprintf("%s/%s/systems/%s.json", folder, e->submitter, e->system);
    read_system(about, e);
    e->refusal = is_weak ? "weak: each log is of one of several trainings that share the system"
                         : e->refusal;
}

/* result_2 is before result_10. */
static int compare_paths(const void *a, const void *b)
{
    return strverscmp(*(const char *const *)a, *(const char *const *)b);
}

/* SUBMITTER/results/SYSTEM/BENCHMARK/result_N.txt and SUBMITTER/systems/SYSTEM.json. A round of HPC
 * has a folder "strong" or "weak" before the benchmark. */
static enum exit_code list_logs(struct mlperf_import *im)
{
    const char *folder = im->cli->args.words[0];
    _cleanup_(buf_done) struct buf pattern = BUF_INIT;
    for (const char *at = folder; *at != '\0'; at++) { /* a name may have what a pattern has */
        buf_printf(&pattern, "\\%c", *at);
    }
    buf_puts(&pattern, LOGS);
    glob_t found = {0};
    if (glob(buf_cstr(&pattern), GLOB_NOSORT | GLOB_BRACE, NULL, &found) != 0) {
        return cli_error(EXIT_NOT_FOUND,
                         "name the folder of a round: it has a folder for each submitter",
                         "%s: no log in %s", folder, &LOGS[1]);
    }
    qsort(found.gl_pathv, found.gl_pathc, sizeof(found.gl_pathv[0]), compare_paths);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        const char *path = found.gl_pathv[i];
        const size_t len = (size_t)(file_last_part(path) - path); /* the folder's part */
        if (i == 0 || strncmp(path, found.gl_pathv[i - 1], len) != 0) {
            add_entry(folder, path, im);
        }
        struct import_trial *trial = vec_push(&im->entries.items[im->entries.len - 1].trials);
        *trial = (struct import_trial){0};
        *vec_push(&trial->logs) = import_log_new(path);
    }
    globfree(&found);
    return EXIT_OK;
}

static bool has_name(const struct mlperf_entry *e, const char *name)
{
    return str_eq(e->submitter, name) || str_eq(e->system, name) || str_eq(e->benchmark, name);
}

/* Selects the entries that have one of the names as submitter, system or benchmark. */
static enum exit_code select_named(struct mlperf_import *im)
{
    const char *const *names = im->cli->args.words + 1;
    const size_t n_names = im->cli->args.n_words - 1;
    for (size_t i = 0; i < n_names; i++) {
        if (!vec_any(&im->entries, it, has_name(it, names[i]))) {
            return cli_error(EXIT_USAGE, NULL, "%s: no submitter, system or benchmark is '%s'",
                             im->cli->args.words[0], names[i]);
        }
    }
    size_t n_selected = 0;
    vec_each (struct mlperf_entry, e, &im->entries) {
        if (n_names == 0 || array_any(names, n_names, it, has_name(e, *it))) {
            im->entries.items[n_selected++] = *e;
        } else {
            entry_done(e);
        }
    }
    im->entries.len = n_selected;
    return EXIT_OK;
}

/* ---- series ---- */

static int compare_entries(const void *a, const void *b)
{
    const struct mlperf_entry *x = a, *y = b;
    const int by_series = strcmp(x->series, y->series);
    const int64_t by_size = x->accelerators - y->accelerators;
    return by_series != 0               ? by_series
           : x->is_alone != y->is_alone ? x->is_alone - y->is_alone
           : by_size != 0               ? (by_size > 0 ? 1 : -1)
                                        : strcmp(x->system, y->system);
}

/* The entries of a series are next to each other then, the smallest first. */
static void sort_series(struct mlperf_import *im)
{
    vec_each (struct mlperf_entry, e, &im->entries) {
        e->is_alone = vec_any(&im->entries, it,
                              it != e && it->accelerators == e->accelerators &&
                                  str_eq(it->series, e->series));
    }
    array_sort(im->entries.items, im->entries.len, sizeof(struct mlperf_entry), compare_entries);
}

/* After the last entry of the series that begins there. */
static size_t series_end(const struct mlperf_import *im, size_t begin)
{
    const struct mlperf_entry *const all = im->entries.items;
    size_t end = begin + 1;
    while (end < im->entries.len && !all[end].is_alone &&
           str_eq(all[end].series, all[begin].series)) {
        end++;
    }
    return end;
}

/* ---- logs ---- */

static void count_refusals(struct mlperf_import *im, const struct import_trial *trials, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const char *why = trials[i].refusal;
        if (why != NULL) {
            const json_int_t before = json_integer_value(json_object_get(im->refused, why));
            (void)json_object_set_new(im->refused, why, json_integer(before + 1)); /* in memory */
            im->n_refused++;
        }
    }
}

/* Returns why the log does not count, NULL if it does. */
static const char *read_log(struct mlperf_run *run, const struct mlperf_entry *e,
                            struct import_log *l)
{
    const struct log_parser_params params = {
        .rule = run->im.rule, .role = ROLE_WORKER, .trainers = e->accelerators};
    struct err err = {0};
    const int r = import_log_read(l, &params, IMPORT_LOG_BYTES, true, &err);
    const struct mllog_result *m = log_parser_mlperf(l->parser);
    const unsigned own_basis = 2 * m->basis + m->has_evaluation;
    l->environment = json_copy(e->environment);
    JSON_ADD(l->environment, {"global_batch_size",
                              m->batch > 0 ? json_integer((json_int_t)m->batch) : json_null()});
    run->im.steps = l->steps > run->im.steps ? l->steps : run->im.steps;
    if (r < 0) {
        cli_note(run->im.cli, "%s", err.msg);
        return "the file cannot be read";
    }
    if (m->refusal != NULL) {
        if (m->numbers != NULL) {
            cli_note(run->im.cli, "%s: %s: %s", l->path, m->refusal, m->numbers);
        }
        return m->refusal;
    }
    if (m->status != NULL && str_eq(m->status, "aborted")) {
        return "aborted: the run did not reach its target";
    }
    if (run->basis != 0 && run->basis != own_basis) {
        return "its figure follows from other events than those of the first logs of its series, "
               "so they are not compared";
    }
    run->basis = own_basis;
    run->im.goal = m->goal;
    run->im.flops = (struct flops){.parameters = m->parameters, .sequence = m->sequence};
    return NULL;
}

static void read_entry(struct mlperf_import *im, struct mlperf_entry *e, struct mlperf_run *run)
{
    vec_each (struct import_trial, it, &e->trials) {
        it->refusal = e->refusal == NULL ? read_log(run, e, it->logs.items[0]) : e->refusal;
    }
    if (vec_any(&e->trials, it, it->refusal == NULL)) {
        *vec_push(&run->entries) = e;
    } else {
        count_refusals(im, e->trials.items, e->trials.len);
    }
}

/* ---- a run ---- */

/* Returns NULL if the trial counts, else its refusal with the numbers; owned. */
static char *error_of(const struct import_trial *trial)
{
    const struct import_log *l = trial->logs.len > 0 ? trial->logs.items[0] : NULL;
    const char *numbers = l == NULL ? NULL : log_parser_mlperf(l->parser)->numbers;
    return trial->refusal == NULL ? NULL
           : numbers == NULL      ? xstrdup(trial->refusal)
                                  : xasprintf("%s (%s)", trial->refusal, numbers);
}

/* Each size has as many trials as the one with most. */
static void take_trials(struct mlperf_run *run)
{
    size_t most = 0;
    vec_each (struct mlperf_entry *const, e, &run->entries) {
        most = (*e)->trials.len > most ? (*e)->trials.len : most;
    }
    vec_each (struct mlperf_entry *const, e, &run->entries) {
        const struct value n = {.is_int = true, .i = (*e)->accelerators};
        for (size_t i = 0; i < most; i++) {
            struct import_trial *trial = vec_push(&run->im.trials);
            *trial = i < (*e)->trials.len
                         ? (*e)->trials.items[i]
                         : (struct import_trial){.refusal = "this copy of the round lacks the log, "
                                                            "which other sizes have"};
            trial->row.error = error_of(trial);
            params_set(&trial->params, run->im.count, &n);
        }
        (*e)->trials.len = 0; /* the run has them */
    }
}

static enum exit_code define(struct mlperf_run *run)
{
    const struct mlperf_entry *e = run->entries.items[0];
    const char *accelerator = json_string_value(json_object_get(e->environment, "accelerator"));
    _cleanup_(freep) char *both = xasprintf("%s-%s", e->benchmark, e->submitter);
    _cleanup_(freep) char *name = object_name_make(both, OBJECT_NAME_MAX, NAME_UNKNOWN);
    _cleanup_(freep) char *system =
        object_name_make(accelerator == NULL ? "" : accelerator, OBJECT_NAME_MAX, NAME_UNKNOWN);
    run->im.name = name;
    run->im.system = system;
    run->im.model = free_name_is_valid(e->benchmark) ? e->benchmark : NAME_UNKNOWN;
    return import_define(&run->im);
}

/* It is stored. */
static void show_run(struct mlperf_import *im, const struct mlperf_run *run, const char *name)
{
    const struct mlperf_entry *first = run->entries.items[0];
    const size_t n = run->im.trials.len, n_refused_before = im->n_refused;
    _cleanup_(buf_done) struct buf sizes = BUF_INIT;
    vec_each (struct mlperf_entry *const, e, &run->entries) {
        buf_printf(&sizes, "%s%" PRId64, sizes.len == 0 ? "" : " ", (*e)->accelerators);
    }
    count_refusals(im, run->im.trials.items, n);
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

/* One series at a time is in memory. */
static enum exit_code store_series(struct mlperf_import *im, size_t begin, size_t end)
{
    _cleanup_(freep) char *name = NULL;
    struct mlperf_entry *const all = im->entries.items;
    struct mlperf_run run = {.im = {.cli = im->cli,
                                    .count = "workers",
                                    .exchange = NAME_UNKNOWN,
                                    .steps = 1,
                                    .warmup_steps = -1,
                                    .has_devices = true}};
    enum exit_code code = import_load_rule(&run.im, "mllog");
    for (size_t i = begin; i < end && code == EXIT_OK; i++) {
        read_entry(im, &all[i], &run);
    }
    if (run.entries.len > 0) {
        take_trials(&run);
        code = define(&run);
        if (code == EXIT_OK) {
            import_make_rows(&run.im);
            code = import_store(&run.im, &name);
        }
    }
    if (name != NULL) {
        show_run(im, &run, name);
    }
    for (size_t i = begin; i < end; i++) {
        vec_done_each(&all[i].trials, import_trial_done); /* their parsers have the run's rule */
    }
    vec_done(&run.entries);
    import_done(&run.im);
    return code;
}

/* ---- the verb ---- */

static void sheet_round(struct sheet *s, struct mlperf_import *im)
{
    if (s->form == SHEET_JSON) {
        s->document = JSON_OBJECT_OF(
            {"runs", json_incref(im->runs)}, {"entries", json_count(im->entries.len)},
            {"entriesStored", json_count(im->n_entries)}, {"logsRead", json_count(im->n_logs)},
            {"logsRefused", json_incref(im->refused)});
        return;
    }
    sheet_table(s, NULL, take_ptr(im->table), 1);
    if (json_array_size(im->runs) > 0) {
        sheet_block(s, NULL);
    }
    sheet_line(s, NULL, "%zu of %zu entries are stored in %zu runs; %zu logs count, %zu do not%s",
               im->n_entries, im->entries.len, json_array_size(im->runs), im->n_logs, im->n_refused,
               im->n_refused == 0 ? "" : ":");
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
    enum exit_code code = check_options(im->cli);
    code = code == EXIT_OK ? list_logs(im) : code;
    code = code == EXIT_OK ? select_named(im) : code;
    if (code != EXIT_OK) {
        return code;
    }
    sort_series(im);
    for (size_t i = 0, end; i < im->entries.len && code == EXIT_OK; i = end) {
        end = series_end(im, i);
        code = store_series(im, i, end);
    }
    const enum exit_code shown =
        show_sheet(im->cli, sheet_round, im); /* what was stored before an error, too */
    if (code == EXIT_OK && json_array_size(im->runs) == 0) {
        return cli_error(EXIT_USAGE, NULL, "%s: no log counts, so nothing is stored",
                         im->cli->args.words[0]);
    }
    return code == EXIT_OK ? shown : code;
}

enum exit_code import_mlperf(const struct cli *cli)
{
    struct mlperf_import im = {
        .cli = cli, .table = table_new(), .runs = json_array(), .refused = json_object()};
    const enum exit_code code = import_round(&im);
    table_free(im.table);
    json_decref(im.runs);
    json_decref(im.refused);
    vec_done_each(&im.entries, entry_done);
    return code;
}
