/* benchctl get runs [NAME...]: the runs in the store. */
#include <stdlib.h>

#include <jansson.h>

#include "base/clock.h"
#include "base/mem.h"
#include "ctl/human.h"
#include "ctl/local_store.h"
#include "ctl/verbs.h"
#include "report/report.h"

struct listed {
    const struct run_row *row;
    bool is_interrupted;
};

/* Milliseconds that it ran, or has run so far; -1: unknown. */
static int64_t ran_ms(const struct listed *l, int64_t now_unix_ms)
{
    const struct run_status *st = &l->row->status;
    if (st->started_unix_ms == 0 || l->is_interrupted) {
        return -1;
    }
    return (st->ended_unix_ms > 0 ? st->ended_unix_ms : now_unix_ms) - st->started_unix_ms;
}

static void print_row(struct table *t, const struct listed *l, bool is_wide, int64_t now_unix_ms)
{
    const struct run_row *row = l->row;
    char age[HUMAN_SIZE], duration[HUMAN_SIZE] = "-";
    human_duration(now_unix_ms - row->created_unix_ms, age);
    if (ran_ms(l, now_unix_ms) >= 0) {
        human_duration(ran_ms(l, now_unix_ms), duration);
    }
    table_cell(t, "%s", row->name);
    table_cell(t, "%s", row->benchmark);
    table_cell(t, "%s%s", run_phase_to_string(row->status.phase),
               l->is_interrupted ? " (interrupted)" : "");
    table_cell(t, "%u/%u", row->status.trials_done, row->status.trials_total);
    table_cell(t, "%s", age);
    table_cell(t, "%s", duration);
    if (is_wide) {
        table_cell(t, "%u", row->status.trials_failed);
        table_cell(t, "%lld", (long long)row->cpus);
        table_cell(t, "%s", row->rehearsal ? "yes" : "no");
        table_cell(t, "%s", row->uid);
        table_cell(t, "%s", row->status.reason[0] == '\0' ? "-" : row->status.reason);
    }
}

static void print_table(const struct cli *cli, const struct listed *list, size_t n, struct buf *out)
{
    static const char *const titles[] = {"NAME", "BENCHMARK", "PHASE", "TRIALS", "AGE", "DURATION",
                                         "FAILED", "CPUS", "REHEARSAL", "UID", "REASON"};
    bool is_wide = cli_output_is(cli, "wide");
    struct table *t = table_new();
    for (size_t i = 0; i < (is_wide ? 11 : 6); i++) {
        table_column(t, titles[i], TABLE_LEFT);
    }
    int64_t now = clock_unix_ms();
    for (size_t i = 0; i < n; i++) {
        print_row(t, &list[i], is_wide, now);
    }
    table_format(t, !cli->no_headers, out);
    table_free(t);
}

static json_t *time_or_null(int64_t unix_ms)
{
    char text[CLOCK_RFC3339_SIZE];
    clock_format_rfc3339(unix_ms, text);
    return unix_ms == 0 ? json_null() : json_string(text);
}

static json_t *row_to_json(const struct listed *l)
{
    const struct run_row *row = l->row;
    const struct run_status *st = &row->status;
    return json_pack("{s:s, s:s, s:s, s:s, s:b, s:s, s:s, s:i, s:i, s:i, s:I, s:b, s:b, s:o, s:o, "
                     "s:o}",
                     "name", row->name, "uid", row->uid, "benchmark", row->benchmark, "phase",
                     run_phase_to_string(st->phase), "interrupted", l->is_interrupted, "reason",
                     st->reason, "message", st->message, "trialsDone", (int)st->trials_done,
                     "trialsFailed", (int)st->trials_failed, "trialsTotal", (int)st->trials_total,
                     "cpus", (json_int_t)row->cpus, "rehearsal", row->rehearsal, "simulated",
                     row->simulated, "created", time_or_null(row->created_unix_ms), "started",
                     time_or_null(st->started_unix_ms), "ended", time_or_null(st->ended_unix_ms));
}

static void print_json(const struct listed *list, size_t n, struct buf *out)
{
    json_t *items = json_array();
    for (size_t i = 0; i < n; i++) {
        (void)json_array_append_new(items, row_to_json(&list[i])); /* grows in memory only */
    }
    json_t *document = json_pack("{s:s, s:s, s:o}", "apiVersion", "benchd.io/v1alpha1", "kind",
                                 "BenchmarkRunList", "items", items);
    char *text = json_dumps(document, JSON_INDENT(2));
    buf_printf(out, "%s\n", text);
    free(text);
    json_decref(document);
}

static enum exit_code print(const struct cli *cli, struct store *s, const struct run_row *rows,
                            size_t n)
{
    struct listed *list = xnew_array(struct listed, n + 1);
    struct buf out = BUF_INIT;
    for (size_t i = 0; i < n; i++) {
        list[i] = (struct listed){&rows[i], local_store_is_interrupted(s, &rows[i])};
    }
    if (cli_output_is(cli, "json")) {
        print_json(list, n, &out);
    } else if (cli_output_is(cli, "name")) {
        for (size_t i = 0; i < n; i++) {
            buf_printf(&out, "benchmarkrun.benchd.io/%s\n", rows[i].name);
        }
    } else if (n > 0) {
        print_table(cli, list, n, &out);
    }
    enum exit_code code = cli_print(&out);
    if (n == 0) {
        cli_note(cli, "No runs found.");
    }
    buf_done(&out);
    free(list);
    return code;
}

/* The runs that were named, or all of them. */
static enum exit_code collect(const struct cli *cli, struct store *s, struct run_row **ret,
                              size_t *ret_n)
{
    size_t n_words = cli->args.n_words - 1;
    if (n_words == 0) {
        struct err err = {0};
        int r = s->ops->list_runs(s, ret, ret_n, &err);
        return r < 0 ? cli_error(local_store_exit_code(r), NULL, "%s", err.msg) : EXIT_OK;
    }
    *ret = xnew_array(struct run_row, n_words);
    enum exit_code code = EXIT_OK;
    for (size_t i = 0; i < n_words && code == EXIT_OK; i++) {
        code = local_store_find_run(cli, s, cli->args.words[i + 1], &(*ret)[*ret_n]);
        *ret_n += code == EXIT_OK;
    }
    return code;
}

static enum exit_code run(struct cli *cli)
{
    if (!cli_is_run_kind(cli->args.words[0])) {
        return cli_error(EXIT_USAGE, "benchctl get runs", "there is no list of '%s'",
                         cli->args.words[0]);
    }
    enum exit_code code = cli_need_local(cli);
    struct store *s = NULL;
    if (code == EXIT_OK) {
        code = local_store_open(cli, false, &s);
    }
    if (code != EXIT_OK) {
        return code;
    }
    struct run_row *rows = NULL;
    size_t n = 0;
    code = collect(cli, s, &rows, &n);
    if (code == EXIT_OK) {
        code = print(cli, s, rows, n);
    }
    for (size_t i = 0; i < n; i++) {
        run_row_done(&rows[i]);
    }
    free(rows);
    store_close(s);
    return code;
}

const struct verb verb_get = {
    .name = "get",
    .args = "runs [RUN...]",
    .summary = "List runs, the newest first",
    .examples = "  benchctl get runs --local\n"
                "  benchctl get runs --local -o wide\n"
                "  benchctl get runs 7k3fq --store sqlite:results.db -o json\n",
    .details = "A run whose process died shows its last phase and (interrupted); go on with it by\n"
               "benchctl run --resume RUN --local.",
    .formats = "wide|json|name",
    .min_words = 1,
    .max_words = (size_t)-1,
    .run = run,
};
