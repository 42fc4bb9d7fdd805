/* benchctl report RUN [RUN_B]: writes a page with tables and charts, to be
 * looked at and passed on. */
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/parse.h"
#include "base/str.h"
#include "config.h"
#include "base/whole_file.h"
#include "ctl/runs/history.h"
#include "ctl/runs/reference_sets.h"
#include "ctl/runs/show.h"
#include "ctl/verbs/verbs.h"
#include "report/charts.h"
#include "report/sheets.h"

extern char **environ;

struct loaded_runs {
    struct loaded_run runs[2];
    size_t n;
    struct comparison *comparison; /* of two; NULL: one run */
    struct reference *reference;   /* --reference; NULL: without */
};

static void loaded_runs_done(struct loaded_runs *l)
{
    reference_free(l->reference);
    comparison_free(l->comparison);
    loaded_run_done(&l->runs[0]);
    loaded_run_done(&l->runs[1]);
}

static enum exit_code load(const struct cli *cli, struct backend *b, struct loaded_runs *ret)
{
    enum exit_code code = EXIT_OK;
    for (ret->n = 0; ret->n < cli->args.n_words && code == EXIT_OK; ret->n++) {
        struct loaded_run *run = &ret->runs[ret->n];
        code = b->ops->load_run(b, cli->args.words[ret->n], run);
        code = code == EXIT_OK ? loaded_run_check(cli, run) : code;
    }
    if (code != EXIT_OK || ret->n < 2) {
        return code;
    }
    const struct compare_params params = {.threshold_ratio = COMPARE_THRESHOLD_RATIO};
    return history_compare(b, ret->runs, params, &ret->comparison);
}

/* The desktop's program for pages; it goes on without us. */
static enum exit_code open_page(const char *path)
{
    char *argv[] = {"xdg-open", (char *)path, NULL};
    pid_t pid;
    const int r = posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ);
    if (r != 0) {
        return cli_error(EXIT_LOCAL_RESOURCE, "open it in a browser, or install xdg-utils",
                         "%s was written, but xdg-open cannot be started: %s", path, strerror(r));
    }
    return EXIT_OK;
}

static enum exit_code write_page(const struct cli *cli, const struct loaded_run *run,
                                 const struct buf *page)
{
    _cleanup_(freep) char *own = xasprintf("%s.html", run->row.name);
    const char *path = args_get(&cli->args, "file", own);
    const int r = file_replace(path, page);
    if (r < 0) {
        return cli_error(EXIT_LOCAL_RESOURCE,
                         "name another file with --file, or print the page with -o html",
                         "cannot write %s: %s", path, strerror(-r));
    }
    _cleanup_(buf_done) struct buf line = BUF_INIT;
    buf_printf(&line, "%s\n", path);
    enum exit_code code = cli_print(&line);
    return code == EXIT_OK && args_has(&cli->args, "open") ? open_page(path) : code;
}

static enum exit_code show_page(const struct cli *cli, const struct loaded_runs *l)
{
    char created[CLOCK_RFC3339_SIZE];
    clock_format_rfc3339(l->runs[0].result->def->created_unix_ms, created);
    const struct reference_beside beside = {
        .reference = l->reference,
        .asked = args_get(&cli->args, "reference", ""),
        .result = l->runs[0].result,
        .year = reference_year_of(l->runs[0].result),
    };
    const struct run_page page = {
        .result = l->runs[0].result,
        .comparison = l->comparison,
        .beside = l->reference == NULL ? NULL : &beside,
        .created = created,
        .program = "benchctl " BENCHD_VERSION,
    };
    const bool is_named = args_has(&cli->args, "file") || args_has(&cli->args, "open");
    const bool is_printed = cli_output_is(cli, "html") || (!is_named && !isatty(STDOUT_FILENO));
    _cleanup_(buf_done) struct buf out = is_printed ? cli_stream() : BUF_INIT;
    struct sheet sheet;
    sheet_init(&sheet, SHEET_HTML, NULL);
    sheet_page(&sheet, &page);
    sheet_write(&sheet, &out);
    return is_printed ? cli_print(&out) : write_page(cli, &l->runs[0], &out);
}

static enum sheet_chart_answer draw(const struct result *result, const char *chart, struct buf *out)
{
    struct sheet sheet;
    sheet_init(&sheet, SHEET_SVG, NULL);
    const enum sheet_chart_answer answer = sheet_chart(&sheet, result, chart);
    sheet_write(&sheet, out);
    return answer;
}

/* That the run has; of a run without any the first name. */
static const char *first_chart(const struct result *result)
{
    size_t i = 0;
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    while (charts_name(i) != NULL && draw(result, charts_name(i), &out) != SHEET_CHART_MADE) {
        i++;
        buf_clear(&out);
    }
    return charts_name(i) != NULL ? charts_name(i) : charts_name(0);
}

/* A number and a unit that SVG has: "85mm". */
static bool is_length(const char *text)
{
    static const char *const units[] = {"mm", "cm", "in", "pt", "px", NULL};
    const size_t len = strspn(text, "0123456789.");
    _cleanup_(freep) char *number = xstrndup(text, len);
    double value;
    return parse_f64(number, &value) == 0 && value > 0 && str_is_one_of(text + len, units);
}

/* The drawing, `width` (NULL: 330 px) wide: its height follows. */
static enum exit_code print_chart(const char *svg, const char *width)
{
    static const char open[] = "<svg ";
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    if (width != NULL) {
        buf_printf(&out, "%swidth=\"%s\" ", open, width);
        svg += strlen(open);
    }
    buf_puts(&out, svg);
    return cli_print(&out);
}

static enum exit_code show_chart(const struct cli *cli, const struct result *result)
{
    const char *named = args_get(&cli->args, "chart", NULL);
    const char *chart = named != NULL ? named : first_chart(result);
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    const enum sheet_chart_answer answer = draw(result, chart, &out);
    if (answer == SHEET_CHART_MADE) {
        return print_chart(buf_cstr(&out), args_get(&cli->args, "width", NULL));
    }
    _cleanup_(buf_done) struct buf names = BUF_INIT;
    buf_puts(&names, "one of:");
    for (size_t i = 0; charts_name(i) != NULL; i++) {
        buf_printf(&names, " %s", charts_name(i));
    }
    return cli_error(EXIT_USAGE, buf_cstr(&names),
                     answer == SHEET_CHART_EMPTY ? "the run has nothing to show as the chart '%s'"
                                                 : "there is no chart '%s'",
                     chart);
}

/* An option that would do nothing is a mistake of the user's. */
static enum exit_code check_options(const struct cli *cli)
{
    const bool is_svg = cli_output_is(cli, "svg"), is_file = cli->output[0] == '\0';
    if (args_has(&cli->args, "chart") && !is_svg) {
        return cli_error(EXIT_USAGE, "add -o svg", "--chart needs -o svg");
    }
    if (args_has(&cli->args, "width") &&
        (!is_svg || !is_length(args_get(&cli->args, "width", "")))) {
        return cli_error(EXIT_USAGE, "for example: -o svg --width 85mm",
                         "--width needs -o svg, and a length in mm, cm, in, pt or px");
    }
    if (!is_file && (args_has(&cli->args, "file") || args_has(&cli->args, "open"))) {
        return cli_error(EXIT_USAGE, "remove -o",
                         "-o prints to stdout, so it cannot be used with --file or --open");
    }
    if (is_svg && args_has(&cli->args, "reference")) {
        return cli_error(EXIT_USAGE, "remove -o svg", "a chart cannot show --reference");
    }
    if (is_svg && cli->args.n_words == 2) {
        return cli_error(EXIT_USAGE, "name one run", "a chart shows one run (got two)");
    }
    return EXIT_OK;
}

static enum exit_code run(struct cli *cli)
{
    _cleanup_(backend_freep) struct backend *b = NULL;
    _cleanup_(loaded_runs_done) struct loaded_runs loaded = {0};
    enum exit_code code = check_options(cli);
    if (code == EXIT_OK && args_has(&cli->args, "reference")) {
        code = reference_open(args_get(&cli->args, "reference", ""), &loaded.reference);
    }
    code = code == EXIT_OK ? backend_open(cli, &b) : code;
    code = code == EXIT_OK ? load(cli, b, &loaded) : code;
    code = code == EXIT_OK ? show_set_price(cli, loaded.runs[0].result) : code;
    if (code == EXIT_OK) {
        code = cli_output_is(cli, "svg") ? show_chart(cli, loaded.runs[0].result)
                                         : show_page(cli, &loaded);
    }
    return code;
}

static const struct arg_opt opts[] = {
    {"file", 0, "FILE", "Write the page to FILE; default: the run's name and .html"},
    {"open", 0, NULL, "Open the page in the browser"},
    {"reference", 0, "SET", "Add a set of published figures; a wrong name lists them"},
    {"price", 0, "AMOUNT/UNIT",
     "Add what a trial costs until it reaches its accuracy or loss: 0.05/cpu-hour, "
     "0.2/pod-hour, 3/gpu-hour"},
    {"chart", 0, "CHART",
     "With -o svg: a figure of results --cells, throughput or efficiency with -by-pservers, "
     "accuracy-over-time, loss-over-time, points, trials or phases; default: the first of the page "
     "that the run has"},
    {"width", 0, "LENGTH", "With -o svg: how wide the chart is, such as 85mm or 3.4in"},
};

const struct verb verb_report = {
    .name = "report",
    .args = "RUN [RUN_B] [option...]",
    .summary = "Write a page with the charts and tables of a run",
    .examples = "  benchctl report 7k3fq --open\n"
                "  benchctl report 5hd2p 7k3fq --file comparison.html\n"
                "  benchctl report 7k3fq -o svg --chart efficiency > efficiency.svg\n"
                "  benchctl report 7k3fq -o svg --width 85mm | rsvg-convert -f pdf > fig.pdf\n",
    .details = "The page is one file of HTML: what the run says in words, charts, tables,\n"
               "warnings, environment, and how to run it again. It loads nothing and is whole\n"
               "without its script, so it can be mailed or kept. With RUN_B it begins with the\n"
               "comparison of RUN_B with RUN, as `compare RUN RUN_B` makes it, and shows RUN.\n"
               "With --reference it shows published figures next to the run's.\n"
               "A file of the same name is replaced. Without --file and --open the page goes to\n"
               "stdout where that is no terminal: benchctl report RUN > page.html.",
    VERB_OPTS(opts),
    .formats = "html|svg",
    .min_words = 1,
    .max_words = 2,
    .run = run,
};
