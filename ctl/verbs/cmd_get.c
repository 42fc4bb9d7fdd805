/* benchctl get [runs|benchmarks] [NAME...], or as `-o name` prints them: get KIND/NAME... */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/texts.h"
#include "ctl/definition/benchmarks.h"
#include "ctl/runs/runs.h"
#include "ctl/runs/show.h"
#include "ctl/verbs/verbs.h"

#define GROUP ".benchd.io" /* of kinds, as kubectl may write it */

struct get {
    bool is_runs;
    VEC(const char *) names; /* without their kinds; borrowed */
    struct list_wanted wanted;
    const struct list_order *order; /* of the kind */
    int column;                     /* -1: as they are listed */
};

static enum exit_code take_order(const struct cli *cli, struct get *g)
{
    const char *word = args_get(&cli->args, "sort-by", NULL);
    g->column = word == NULL ? -1 : order_column_find(word, g->order->columns);
    if (word == NULL || g->column >= 0) {
        return EXIT_OK;
    }
    _cleanup_(buf_done) struct buf fix = BUF_INIT;
    for (size_t i = 0; g->order->columns[i] != NULL; i++) {
        buf_printf(&fix, "%s%s", i == 0 ? "write one of " : ", ", g->order->columns[i]);
    }
    return cli_error(EXIT_USAGE, buf_cstr(&fix), "--sort-by '%s' is not a column", word);
}

/* "run", "benchmarkruns.benchd.io": the first `len` bytes of a word. False: no
 * kind that is listed. */
static bool read_kind(const char *word, size_t len, bool *ret_is_runs)
{
    _cleanup_(freep) char *kind = xstrndup(word, len);
    if (str_has_suffix(kind, GROUP)) {
        kind[strlen(kind) - strlen(GROUP)] = '\0';
    }
    *ret_is_runs = cli_is_run_kind(kind);
    return *ret_is_runs || cli_is_benchmark_kind(kind);
}

/* "KIND NAME..." or "KIND/NAME...". */
static enum exit_code take_words(const struct cli *cli, struct get *g)
{
    const char *const *words = cli->args.words;
    g->is_runs = true;
    const bool has_slash = cli->args.n_words > 0 && strchr(words[0], '/') != NULL;
    for (size_t i = 0; i < cli->args.n_words; i++) {
        const char *slash = has_slash ? strchr(words[i], '/') : NULL;
        bool is_runs = g->is_runs;
        if (has_slash && slash == NULL) {
            return cli_error(EXIT_USAGE, "write each as KIND/NAME, or KIND once before all names",
                             "'%s' has no kind, but '%s' has", words[i], words[0]);
        }
        if ((i == 0 || has_slash) &&
            !read_kind(words[i], slash == NULL ? strlen(words[i]) : (size_t)(slash - words[i]),
                       &is_runs)) {
            return cli_error(EXIT_USAGE, "list runs or benchmarks, for example: benchctl get runs",
                             "cannot list '%s'", words[i]);
        }
        if (i > 0 && is_runs != g->is_runs) {
            return cli_error(EXIT_USAGE, "list one kind at a time",
                             "'%s' and '%s' are of different kinds", words[0], words[i]);
        }
        g->is_runs = is_runs;
        if (i > 0 || has_slash) {
            *vec_push(&g->names) = has_slash ? slash + 1 : words[i];
        }
    }
    return EXIT_OK;
}

static enum exit_code take(const struct cli *cli, struct get *ret)
{
    const enum exit_code code = take_words(cli, ret);
    if (code != EXIT_OK) {
        return code;
    }
    const bool is_runs = ret->is_runs;
    ret->wanted = (struct list_wanted){
        .names = ret->names.items,
        .n_names = ret->names.len,
        .selector = args_get(&cli->args, "selector", NULL),
        .is_all_namespaces = args_has(&cli->args, "all-namespaces"),
    };
    ret->order = is_runs ? &runs_order : &benchmarks_order;
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
        order_rows(g->order, g->column, clock_unix_ms(), ret->items.items, ret->items.len,
                   sizeof(ret->items.items[0]));
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
    _cleanup_(run_list_done) struct run_list list = {0};
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    enum exit_code code = list_runs(b, g, &list);
    if (code == EXIT_OK) {
        const struct runs_format how = format_of(g);
        runs_format(b->cli, &list, &how, &out);
        code = cli_show(b->cli, &out);
        note_empty(b, g, list.items.len);
    }
    return code;
}

static enum exit_code get_benchmarks(struct backend *b, const struct get *g)
{
    _cleanup_(benchmark_list_done) struct benchmark_list list = {0};
    enum exit_code code = b->ops->list_benchmarks(b, &g->wanted, &list);
    if (code == EXIT_OK) {
        _cleanup_(buf_done) struct buf out = BUF_INIT;
        if (g->column >= 0) {
            order_rows(g->order, g->column, 0, list.items.items, list.items.len,
                       sizeof(list.items.items[0]));
        }
        const struct runs_format how = format_of(g);
        benchmarks_format(b->cli, &list, &how, &out);
        code = cli_show(b->cli, &out);
        note_empty(b, g, list.items.len);
    }
    return code;
}

/* ---- --watch ---- */

#define WATCH_LOCAL_S 1
#define WATCH_CLUSTER_S 2

struct watching {
    struct backend *b;
    const struct get *get;
    struct texts texts; /* what runs_state_text said of each run that was shown last; sorted */
    bool is_shown;      /* the header was printed */
};

static void keep_texts(struct texts *ret, const struct run_list *list)
{
    texts_done(ret);
    vec_each (const struct listed_run, l, &list->items) {
        *vec_push(&ret->list) = runs_state_text(l);
    }
    if (ret->list.len > 0) {
        qsort(ret->list.items, ret->list.len, sizeof(ret->list.items[0]), texts_compare);
    }
}

static bool has_changed(const struct texts *before, const struct listed_run *l)
{
    _cleanup_(freep) char *now = runs_state_text(l);
    const void *same = NULL;
    if (before->list.len > 0) {
        same = bsearch(&now, before->list.items, before->list.len, sizeof(before->list.items[0]),
                       texts_compare);
    }
    return same == NULL;
}

/* Prints the runs of the list that were not shown as they are now. */
static enum exit_code show_changes(struct watching *w, const struct run_list *list)
{
    struct run_list changed = {0}; /* borrows its rows */
    vec_each (const struct listed_run, l, &list->items) {
        if (has_changed(&w->texts, l)) {
            *vec_push(&changed.items) = *l;
        }
    }
    struct cli cli = *w->b->cli;
    cli.no_headers = cli.no_headers || w->is_shown;
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    if (changed.items.len > 0) {
        const struct runs_format how = format_of(w->get);
        runs_format(&cli, &changed, &how, &out);
        w->is_shown = true;
    }
    const enum exit_code code = cli_show(&cli, &out);
    vec_done(&changed.items);
    return code;
}

static enum exit_code look_again(struct watching *w)
{
    _cleanup_(run_list_done) struct run_list list = {0};
    enum exit_code code = list_runs(w->b, w->get, &list);
    if (code == EXIT_OK) {
        code = show_changes(w, &list);
        keep_texts(&w->texts, &list);
    }
    return code;
}

/* The next look is a period after this one has ended: a slow server is asked less often. A signal
 * that arrives during a look ends the wait after it. */
static enum exit_code watch_runs(struct backend *b, const struct get *g)
{
    const bool is_here = b->cli->is_local || b->cli->store != NULL;
    const struct timespec period = {.tv_sec = is_here ? WATCH_LOCAL_S : WATCH_CLUSTER_S};
    struct watching w = {.b = b, .get = g};
    enum exit_code code = EXIT_OK;
    sigset_t ends;
    (void)sigemptyset(&ends); /* these fail for wrong numbers only */
    (void)sigaddset(&ends, SIGINT);
    (void)sigaddset(&ends, SIGTERM);
    (void)sigprocmask(SIG_BLOCK, &ends, NULL);
    while (code == EXIT_OK && (code = look_again(&w)) == EXIT_OK) {
        code = sigtimedwait(&ends, NULL, &period) > 0 ? EXIT_INTERRUPTED : EXIT_OK;
    }
    texts_done(&w.texts);
    return code;
}

static enum exit_code run(struct cli *cli)
{
    struct get get = {0};
    _cleanup_(backend_freep) struct backend *b = NULL;
    enum exit_code code = take(cli, &get);
    code = code == EXIT_OK ? backend_open(cli, &b) : code;
    if (code == EXIT_OK && args_has(&cli->args, "watch")) {
        code = watch_runs(b, &get);
    } else if (code == EXIT_OK) {
        code = get.is_runs ? get_runs(b, &get) : get_benchmarks(b, &get);
    }
    vec_done(&get.names);
    return code;
}

static const struct arg_opt opts[] = {
    {"watch", 'w', NULL, "Then print each run again when it changes, until Ctrl-C"},
    {"all-namespaces", 'A', NULL, "List those of all namespaces of the cluster"},
    {"selector", 'l', "LABELS", "List only those with these labels, for example team=a,tier!=b"},
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
                "  benchctl get $(benchctl get runs -o name) -o wide\n"
                "  benchctl get benchmarks --local\n",
    .details = "Benchmarks are those in the cluster, or with --local the shipped ones. A local\n"
               "run whose process died is listed with its last phase and (interrupted); resume\n"
               "it with: benchctl run --resume RUN --local\n"
               "\n"
               "--watch checks a local store every second and a cluster every 2 s, and prints\n"
               "runs that are new or whose phase or trials changed; -o json prints them as a\n"
               "list. --sort-by sorts in ascending order, and also takes kubectl's\n"
               ".metadata.name and .metadata.creationTimestamp.",
    VERB_OPTS(opts),
    .formats = "wide|json|name",
    .max_words = (size_t)-1,
    .run = run,
};
