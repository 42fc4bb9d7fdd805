/* benchctl get [runs|benchmarks] [NAME...]. */
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "ctl/backend.h"
#include "ctl/benchmarks.h"
#include "ctl/list_order.h"
#include "ctl/list_watch.h"
#include "ctl/runs.h"
#include "ctl/show.h"
#include "ctl/verbs.h"

struct get {
    struct list_wanted wanted;
    const char *const *columns; /* what the kind can be sorted by */
    int column;                 /* -1: as they are listed */
};

static enum exit_code take_order(const struct cli *cli, struct get *g)
{
    const char *word = args_get(&cli->args, "sort-by", NULL);
    g->column = word == NULL ? -1 : order_column_find(word, g->columns);
    if (word == NULL || g->column >= 0) {
        return EXIT_OK;
    }
    struct buf fix = BUF_INIT;
    for (size_t i = 0; g->columns[i] != NULL; i++) {
        buf_printf(&fix, "%s%s", i == 0 ? "write one of " : ", ", g->columns[i]);
    }
    const enum exit_code code =
        cli_error(EXIT_USAGE, buf_cstr(&fix), "--sort-by '%s' is not a column", word);
    buf_done(&fix);
    return code;
}

static enum exit_code take(const struct cli *cli, bool is_runs, struct get *ret)
{
    const bool has_kind = cli->args.n_words > 0;
    *ret = (struct get){
        .wanted = {.names = has_kind ? cli->args.words + 1 : NULL,
                   .n_names = has_kind ? cli->args.n_words - 1 : 0,
                   .selector = args_get(&cli->args, "selector", NULL),
                   .is_all_namespaces = args_has(&cli->args, "all-namespaces")},
        .columns = is_runs ? runs_columns : benchmarks_columns,
    };
    const bool is_here = cli->is_local || cli->store != NULL;
    if (ret->wanted.is_all_namespaces && is_here) {
        return cli_error(EXIT_USAGE, "remove --all-namespaces, or --local and --store",
                         "--all-namespaces is for a cluster: a store has no namespaces");
    }
    if (ret->wanted.n_names > 0 &&
        (ret->wanted.is_all_namespaces || ret->wanted.selector != NULL)) {
        return cli_error(EXIT_USAGE, "remove the names, or these options",
                         "--all-namespaces and --selector choose the objects themselves");
    }
    if (!is_runs && args_has(&cli->args, "watch")) {
        return cli_error(EXIT_USAGE, "benchctl get runs --watch", "--watch follows runs only");
    }
    return take_order(cli, ret);
}

static enum exit_code list_runs(struct backend *b, const struct get *g, struct run_list *ret)
{
    const enum exit_code code = b->ops->list_runs(b, &g->wanted, ret);
    if (code == EXIT_OK && g->column >= 0) {
        runs_sort(ret, g->column, clock_unix_ms());
    }
    return code;
}

static void note_empty(const struct backend *b, const struct get *g, size_t n)
{
    if (n == 0 && g->wanted.is_all_namespaces) {
        cli_note(b->cli, "No resources found");
    } else if (n == 0) {
        cli_note(b->cli, "No resources found in %s.", b->place);
    }
}

static struct runs_format format_of(const struct get *g)
{
    return (struct runs_format){.with_ns = g->wanted.is_all_namespaces,
                                .columns = show_list_columns(),
                                .now_unix_ms = clock_unix_ms()};
}

static enum exit_code get_runs(struct backend *b, const struct get *g)
{
    struct run_list list = {0};
    struct buf out = BUF_INIT;
    enum exit_code code = list_runs(b, g, &list);
    if (code == EXIT_OK) {
        const struct runs_format how = format_of(g);
        runs_format(b->cli, &list, &how, &out);
        code = cli_show(b->cli, &out);
        note_empty(b, g, list.items.len);
    }
    buf_done(&out);
    run_list_done(&list);
    return code;
}

static enum exit_code get_benchmarks(struct backend *b, const struct get *g)
{
    struct benchmark_list list = {0};
    enum exit_code code = b->ops->list_benchmarks(b, &g->wanted, &list);
    if (code == EXIT_OK) {
        struct buf out = BUF_INIT;
        if (g->column >= 0) {
            benchmarks_sort(&list, g->column);
        }
        const struct runs_format how = format_of(g);
        benchmarks_format(b->cli, &list, &how, &out);
        code = cli_show(b->cli, &out);
        note_empty(b, g, list.items.len);
        buf_done(&out);
    }
    benchmark_list_done(&list);
    return code;
}

/* ---- --watch ---- */

#define WATCH_LOCAL_MS 1000
#define WATCH_CLUSTER_MS 2000

struct watching {
    struct backend *b;
    const struct get *get;
    struct run_list list; /* as it was shown last */
    bool is_shown;        /* the header was printed */
};

static bool has_changed(const struct run_list *before, const struct listed_run *l)
{
    _cleanup_(freep) char *now = runs_state_text(l);
    vec_each (const struct listed_run, other, &before->items) {
        _cleanup_(freep) char *then = runs_state_text(other);
        if (str_eq(now, then)) {
            return false;
        }
    }
    return true;
}

/* Prints the runs of the list that were not shown as they are now. */
static enum exit_code show_changes(struct watching *w, const struct run_list *list)
{
    struct run_list changed = {0}; /* borrows its rows */
    vec_each (const struct listed_run, l, &list->items) {
        if (has_changed(&w->list, l)) {
            *vec_push(&changed.items) = *l;
        }
    }
    struct cli cli = *w->b->cli;
    cli.no_headers = cli.no_headers || w->is_shown;
    struct buf out = BUF_INIT;
    if (changed.items.len > 0) {
        const struct runs_format how = format_of(w->get);
        runs_format(&cli, &changed, &how, &out);
        w->is_shown = true;
    }
    const enum exit_code code = cli_show(&cli, &out);
    buf_done(&out);
    vec_done(&changed.items);
    return code;
}

static enum exit_code look_again(void *ctx)
{
    struct watching *w = ctx;
    struct run_list list = {0};
    enum exit_code code = list_runs(w->b, w->get, &list);
    if (code == EXIT_OK) {
        code = show_changes(w, &list);
    }
    run_list_done(&w->list);
    w->list = list;
    return code;
}

static enum exit_code watch_runs(struct backend *b, const struct get *g)
{
    struct watching w = {.b = b, .get = g};
    const bool is_here = b->cli->is_local || b->cli->store != NULL;
    const enum exit_code code =
        list_watch(look_again, &w, is_here ? WATCH_LOCAL_MS : WATCH_CLUSTER_MS);
    run_list_done(&w.list);
    return code;
}

static enum exit_code run(struct cli *cli)
{
    const char *const *words = cli->args.words;
    const bool is_runs = cli->args.n_words == 0 || cli_is_run_kind(words[0]);
    if (!is_runs && !cli_is_benchmark_kind(words[0])) {
        return cli_error(EXIT_USAGE, "list runs or benchmarks, for example: benchctl get runs",
                         "cannot list '%s'", words[0]);
    }
    struct get get;
    struct backend *b = NULL;
    enum exit_code code = take(cli, is_runs, &get);
    if (code == EXIT_OK) {
        code = backend_open(cli, &b);
    }
    if (code == EXIT_OK && args_has(&cli->args, "watch")) {
        code = watch_runs(b, &get);
    } else if (code == EXIT_OK) {
        code = is_runs ? get_runs(b, &get) : get_benchmarks(b, &get);
    }
    backend_free(b);
    return code;
}

static const struct arg_opt opts[] = {
    {"watch", 'w', NULL, "Then print each run again when it changes, until Ctrl-C"},
    {"all-namespaces", 'A', NULL, "List those of all namespaces of the cluster"},
    {"selector", 'l', "LABELS", "List those with these labels alone, for example team=a,tier!=b"},
    {"sort-by", 0, "COLUMN",
     "Sort by name, namespace, benchmark, phase, trials, failed, created, age or duration"},
};

const struct verb verb_get = {
    .name = "get",
    .args = "[runs|benchmarks] [NAME...] [option...]",
    .summary = "List runs (newest first) or benchmarks",
    .examples = "  benchctl get\n"
                "  benchctl get runs -n bench -o wide\n"
                "  benchctl get runs 7k3fq --store sqlite:results.db -o json\n"
                "  benchctl get runs --sort-by duration --watch\n"
                "  benchctl get runs -A -l team=vision\n"
                "  benchctl get benchmarks --local\n",
    .details = "Benchmarks are those in the cluster, or with --local the shipped ones. A local\n"
               "run whose process died is listed with its last phase and (interrupted); resume\n"
               "it with: benchctl run --resume RUN --local\n"
               "\n"
               "--watch looks every second for a local store and every 2 s in a cluster, and\n"
               "prints what is new or has another phase or other trials; with -o json a list of\n"
               "those. --sort-by sorts in ascending order, and takes kubectl's .metadata.name\n"
               "and .metadata.creationTimestamp, too.",
    .opts = opts,
    .n_opts = sizeof(opts) / sizeof(opts[0]),
    .formats = "wide|json|name",
    .max_words = (size_t)-1,
    .run = run,
};
