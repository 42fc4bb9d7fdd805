/* benchctl results RUN: prints the tables of a run. benchctl results --reference SET: prints
 * published figures alone. */
#include "base/str.h"
#include "ctl/runs/reference_sets.h"
#include "ctl/runs/show.h"
#include "ctl/verbs/verbs.h"
#include "result/catalogue.h"

/* A row of what; the first is the default. */
static const struct by {
    const char *word;
    void (*build)(struct sheet *s, const struct result *r); /* NULL: sheet_lines */
} bys[] = {{"point", sheet_points}, {"node", sheet_nodes},   {"replica", sheet_replicas},
           {"curve", sheet_curves}, {"phase", sheet_phases}, {"line", NULL}};

static enum exit_code take_by(const struct cli *cli, const struct by **ret)
{
    const char *word = args_get(&cli->args, "by", bys[0].word);
    *ret = array_find(bys, COUNT_OF(bys), it, str_eq(word, it->word));
    if (*ret != NULL) {
        return EXIT_OK;
    }
    return cli_error(EXIT_USAGE, "write --by point, node, replica, curve, phase or line",
                     "--by '%s' is not known; tables have a row a point, a node or a replica, the "
                     "model of each curve, where the time goes, or how each log was read",
                     word);
}

/* --rows, --columns, --cells, --ratio, --price: any of them asks for a table over axes. */
struct wanted_pivot {
    bool is_wanted;
    struct pivot_params params;
};

static enum exit_code take_figure(const struct cli *cli, const struct figure_kind **ret)
{
    const bool has_price = args_has(&cli->args, "price");
    const char *word = args_get(&cli->args, "cells", has_price ? "cost" : "throughput");
    *ret = figure_find(word);
    if (*ret != NULL) {
        return EXIT_OK;
    }
    _cleanup_(buf_done) struct buf names = BUF_INIT;
    figure_each_kind (k) {
        buf_printf(&names, "%s%s", k == figure_kinds ? "write one of " : ", ", k->name);
    }
    return cli_error(EXIT_USAGE, buf_cstr(&names), "--cells '%s' is not known", word);
}

static bool wants_pivot(const struct cli *cli)
{
    static const char *const options[] = {"rows", "columns", "cells", "ratio"};
    return array_any(options, COUNT_OF(options), it, args_has(&cli->args, *it)) ||
           (args_has(&cli->args, "price") && !args_has(&cli->args, "reference"));
}

static enum exit_code take_pivot(const struct cli *cli, struct wanted_pivot *ret)
{
    ret->is_wanted = wants_pivot(cli);
    if (!ret->is_wanted) {
        return EXIT_OK;
    }
    if (args_has(&cli->args, "by") || args_has(&cli->args, "reference")) {
        return cli_error(EXIT_USAGE, "ask for one of them at a time",
                         "--rows, --columns, --cells and --ratio make a table of their own, as "
                         "--price does, without --by and --reference");
    }
    if (cli_output_is(cli, "json")) {
        return cli_error(EXIT_USAGE, "write -o csv; without these options -o json has all figures",
                         "a table over axes has no -o json");
    }
    const char *price = args_get(&cli->args, "price", NULL);
    if (price != NULL && pivot_price_parse(price, &ret->params.price) < 0) {
        return cli_error(EXIT_USAGE, PIVOT_PRICE_FIX,
                         "--price '%s' is not an amount a CPU hour, a pod hour or a GPU hour",
                         price);
    }
    ret->params.rows = args_get(&cli->args, "rows", NULL);
    ret->params.columns = args_get(&cli->args, "columns", NULL);
    ret->params.ratio = args_get(&cli->args, "ratio", NULL);
    enum exit_code code = take_figure(cli, &ret->params.figure);
    if (code == EXIT_OK && price != NULL && !ret->params.figure->is_cost) {
        code = cli_error(EXIT_USAGE,
                         "remove --price, or write --cells cost or --cells time-to-accuracy-cost",
                         "--price needs --cells cost or --cells time-to-accuracy-cost (got --cells "
                         "%s)",
                         ret->params.figure->name);
    }
    return code;
}

static enum exit_code show_pivot(const struct cli *cli, const struct pivot_params *params,
                                 const struct result *result)
{
    struct pivot *p = NULL;
    const char *fix = NULL;
    struct err err = {0};
    if (pivot_new(result, params, &p, &fix, &err) < 0) {
        return cli_error(EXIT_USAGE, fix, "%s", err.msg);
    }
    const enum exit_code code = show_sheet(cli, sheet_pivot, p);
    pivot_free(p);
    return code;
}

static enum exit_code print_without_run(const struct cli *cli)
{
    const char *set = args_get(&cli->args, "reference", NULL);
    if (set == NULL) {
        return cli_error(EXIT_USAGE, "list the runs with: benchctl get runs",
                         "'results' needs an argument: RUN, or --reference SET");
    }
    if (wants_pivot(cli) || args_has(&cli->args, "by") || args_has(&cli->args, "price") ||
        cli_output_is(cli, "csv")) {
        return cli_error(EXIT_USAGE, cli_output_is(cli, "csv") ? "write -o json" : "add RUN",
                         "without RUN, --reference prints the set as text, markdown or json");
    }
    return reference_print(cli, set);
}

static int read_lines(const struct loaded_run *run, struct read_logs *ret, struct err *err)
{
    struct run_walk walk = loaded_run_walk(run);
    int r = 0;
    for (uint32_t i = 0; i < run->def->matrix.n_points && r >= 0; i++) {
        struct point_result p;
        if ((r = run_walk_point(&walk, run->result, i, &p, err)) >= 0) {
            read_logs_add(ret, &p);
            point_close(&p);
        }
    }
    run_walk_done(&walk);
    return r;
}

/* `reference`: published figures to be shown next to it; NULL: none. */
static enum exit_code show(const struct cli *cli, const struct by *by,
                           const struct reference *reference, const struct loaded_run *run)
{
    const struct result *result = run->result;
    if (cli_output_is(cli, "json")) {
        return show_points(cli, run); /* one document has all rows */
    }
    struct read_logs logs = {.result = result};
    struct err err = {0};
    if (by->build == NULL && read_lines(run, &logs, &err) < 0) {
        read_logs_done(&logs);
        return show_unread(run, &err);
    }
    struct sheet sheet;
    show_begin(cli, &sheet);
    if (by->build == NULL) {
        sheet_lines(&sheet, &logs);
    } else {
        by->build(&sheet, result);
    }
    read_logs_done(&logs);
    if (reference != NULL) {
        sheet_beside(&sheet, &(struct reference_beside){
                                 .reference = reference,
                                 .asked = args_get(&cli->args, "reference", ""),
                                 .result = result,
                                 .year = reference_year_of(result),
                             });
    }
    return show_end(&sheet);
}

static enum exit_code run(struct cli *cli)
{
    if (cli->args.n_words == 0) {
        return print_without_run(cli);
    }
    struct wanted_pivot wanted = {0};
    struct reference *reference = NULL;
    const struct by *by = NULL;
    _cleanup_(backend_freep) struct backend *b = NULL;
    _cleanup_(loaded_run_done) struct loaded_run run = {0};
    enum exit_code code = take_by(cli, &by);
    code = code == EXIT_OK ? reference_take(cli, "print the set alone: leave RUN out", &reference)
                           : code;
    code = code == EXIT_OK ? take_pivot(cli, &wanted) : code;
    code = code == EXIT_OK ? backend_open(cli, &b) : code;
    if (code == EXIT_OK) {
        code = b->ops->load_run(b, cli->args.words[0], &run);
    }
    code = code == EXIT_OK ? loaded_run_check(cli, &run) : code;
    code = code == EXIT_OK && reference != NULL ? show_set_price(cli, run.result) : code;
    if (code == EXIT_OK) {
        code = wanted.is_wanted ? show_pivot(cli, &wanted.params, run.result)
                                : show(cli, by, reference, &run);
    }
    reference_free(reference);
    return code;
}

static const struct arg_opt opts[] = {
    EXPLAIN_OPT,
    {"by", 0, "point|node|replica|curve|phase|line",
     "Print a row for each point (the default), node or replica, the model of each curve, "
     "where the time goes, or what the lines of each log were taken for"},
    {"rows", 0, "AXIS,...",
     "Print a table of one figure, with these axes (swept names, system) as rows"},
    {"columns", 0, "AXIS,...", "Axes that become columns; the others become rows"},
    {"cells", 0, "FIGURE",
     "throughput (the default), speedup, efficiency, cost, time-to-accuracy or another that "
     "docs/figures.md lists; a wrong one prints all"},
    {"ratio", 0, "AXIS=A/B", "Divide each cell at A by the one at B, for example system=a/b"},
    {"price", 0, "AMOUNT/UNIT",
     "Print what a million samples cost, or a trial with --cells time-to-accuracy-cost or "
     "--reference: 0.05/cpu-hour, 0.2/pod-hour, 3/gpu-hour"},
    {"reference", 0, "SET",
     "Print a set of published figures next to it, or alone without RUN; a wrong name lists them"},
};

const struct verb verb_results = {
    .name = "results",
    .args = "[RUN] [option...]",
    .summary = "Print the tables of a run, or figures that others published",
    .examples = "  benchctl results 7k3fq\n"
                "  benchctl results vgg16-pserver-sweep-7k3fq -o csv > results.csv\n"
                "  benchctl results 7k3fq --by node\n"
                "  benchctl results 7k3fq --by phase\n"
                "  benchctl results 7k3fq --by line\n"
                "  benchctl results 7k3fq --cells efficiency --rows trainers --columns system\n"
                "  benchctl results 7k3fq --ratio system=fluid/tensorflow -o wide\n"
                "  benchctl results 7k3fq --reference paddle-vgg16-cpu-2018\n"
                "  benchctl results --reference ./my-figures.yaml -o markdown\n"
                "  benchctl results 7k3fq --store sqlite:results.db -o json\n",
    .details = "--reference prints a shipped set, or a file of the same form. Speedups,\n"
               "efficiencies, price indices and costs are recomputed from the published\n"
               "figures. A '*' marks a cell where the source prints another number; the errata\n"
               "below the table give the reason. '~' marks what was read off a chart.",
    VERB_OPTS(opts),
    .formats = "text|wide|markdown|csv|json",
    .max_words = 1,
    .run = run,
};
