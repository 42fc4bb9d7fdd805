/* benchctl get [runs|benchmarks] [NAME...]. */
#include <stdlib.h>

#include <jansson.h>

#include "base/clock.h"
#include "ctl/backend.h"
#include "ctl/benchmarks.h"
#include "ctl/human.h"
#include "ctl/verbs.h"
#include "report/table.h"
#include "store/run_list.h"

/* Milliseconds that it ran, or has run so far; -1: unknown. */
static int64_t ran_ms(const struct listed_run *l, int64_t now_unix_ms)
{
    const struct run_status *st = &l->row.status;
    if (st->started_unix_ms == 0 || l->is_interrupted || run_status_is_imported(st)) {
        return -1; /* of logs: when they were written says not how long the programs ran */
    }
    return (st->ended_unix_ms > 0 ? st->ended_unix_ms : now_unix_ms) - st->started_unix_ms;
}

static void print_row(struct table *t, const struct listed_run *l, bool is_wide,
                      int64_t now_unix_ms)
{
    const struct run_row *row = &l->row;
    char age[HUMAN_SIZE], duration[HUMAN_SIZE] = "-";
    human_duration(now_unix_ms - row->created_unix_ms, age);
    if (ran_ms(l, now_unix_ms) >= 0) {
        human_duration(ran_ms(l, now_unix_ms), duration);
    }
    table_cell(t, "%s", row->name);
    table_cell(t, "%s", row->benchmark);
    table_cell(t, "%s%s", run_phase_to_string(row->status.phase),
               l->is_interrupted                      ? " (interrupted)"
               : run_status_is_imported(&row->status) ? " (imported)"
                                                      : "");
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

static void print_table(const struct cli *cli, const struct listed_run *list, size_t n,
                        struct buf *out)
{
    static const char *const titles[] = {"NAME",      "BENCHMARK", "PHASE",  "TRIALS",
                                         "AGE",       "DURATION",  "FAILED", "CPUS",
                                         "REHEARSAL", "UID",       "REASON"};
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

static void print_json(const struct listed_run *list, size_t n, struct buf *out)
{
    json_t *items = json_array();
    for (size_t i = 0; i < n; i++) {
        json_t *item = run_item_to_json(&list[i].row, list[i].is_interrupted);
        (void)json_array_append_new(items, item); /* grows in memory only */
    }
    json_t *document = run_list_to_json(items);
    char *text = json_dumps(document, JSON_INDENT(2));
    buf_printf(out, "%s\n", text);
    free(text);
    json_decref(document);
}

static enum exit_code print(const struct backend *b, const struct run_list *list)
{
    const struct cli *cli = b->cli;
    struct buf out = BUF_INIT;
    if (cli_output_is(cli, "json")) {
        print_json(list->items.items, list->items.len, &out);
    } else if (cli_output_is(cli, "name")) {
        vec_each (const struct listed_run, l, &list->items) {
            buf_printf(&out, "benchmarkrun.benchd.io/%s\n", l->row.name);
        }
    } else if (list->items.len > 0) {
        print_table(cli, list->items.items, list->items.len, &out);
    }
    enum exit_code code = cli_print(&out);
    if (list->items.len == 0) {
        cli_note(cli, "No runs found (%s).", b->where);
    }
    buf_done(&out);
    return code;
}

static enum exit_code get_runs(struct backend *b, const char *const *names, size_t n_names)
{
    struct run_list list = {0};
    enum exit_code code = b->ops->list_runs(b, names, n_names, &list);
    if (code == EXIT_OK) {
        code = print(b, &list);
    }
    run_list_done(&list);
    return code;
}

static enum exit_code get_benchmarks(struct backend *b, const char *const *names, size_t n_names)
{
    struct benchmark_list list = {0};
    enum exit_code code = b->ops->list_benchmarks(b, names, n_names, &list);
    if (code == EXIT_OK) {
        struct buf out = BUF_INIT;
        benchmarks_format(b->cli, &list, clock_unix_ms(), &out);
        code = cli_print(&out);
        if (list.items.len == 0) {
            cli_note(b->cli, "No benchmarks found (%s).", b->where);
        }
        buf_done(&out);
    }
    benchmark_list_done(&list);
    return code;
}

static enum exit_code run(struct cli *cli)
{
    const char *const *words = cli->args.words;
    const size_t n = cli->args.n_words;
    const bool is_runs = n == 0 || cli_is_run_kind(words[0]);
    if (!is_runs && !cli_is_benchmark_kind(words[0])) {
        return cli_error(EXIT_USAGE, "list runs or benchmarks, for example: benchctl get runs",
                         "cannot list '%s'", words[0]);
    }
    struct backend *b = NULL;
    enum exit_code code = backend_open(cli, &b);
    if (code == EXIT_OK) {
        code =
            (is_runs ? get_runs : get_benchmarks)(b, n == 0 ? NULL : words + 1, n == 0 ? 0 : n - 1);
    }
    backend_free(b);
    return code;
}

const struct verb verb_get = {
    .name = "get",
    .args = "[runs|benchmarks] [NAME...]",
    .summary = "List runs (newest first) or benchmarks",
    .examples = "  benchctl get\n"
                "  benchctl get runs -n bench -o wide\n"
                "  benchctl get runs 7k3fq --store sqlite:results.db -o json\n"
                "  benchctl get benchmarks --local\n",
    .details = "Benchmarks are those in the cluster, or with --local the shipped ones. A local\n"
               "run whose process died is listed with its last phase and (interrupted); resume\n"
               "it with: benchctl run --resume RUN --local",
    .formats = "wide|json|name",
    .max_words = (size_t)-1,
    .run = run,
};
