/* benchctl gate RUN: may this run go in? The verdict of compare, of the thresholds and of the run
 * itself in one, against a base that the stored runs give, for continuous integration. */
#include "base/str.h"
#include "ctl/runs/history.h"
#include "ctl/cli/human.h"
#include "ctl/runs/show.h"
#include "ctl/verbs/verbs.h"
#include "compare/compare_axis.h"
#include "compare/gate.h"

#define GATE_MAX_RUNS 40 /* of which a base may come; a cluster sends each */

struct wanted {
    const char *axis, *base; /* NULL: not given */
    double threshold_ratio, margin_ratio;
    bool is_strict;
};

/* What the verdict is made of, owned here. */
struct gate_input {
    struct loaded_run runs[2]; /* the base, if it was named; the candidate */
    struct history history;
    struct comparison *comparison;
    struct err refusal; /* why there is no comparison; code 0: none was asked for */
};

static void input_done(struct gate_input *in)
{
    comparison_free(in->comparison);
    history_done(&in->history);
    loaded_run_done(&in->runs[0]);
    loaded_run_done(&in->runs[1]);
}

static enum exit_code take_share(const struct cli *cli, const char *option, double *ret)
{
    const char *text = args_get(&cli->args, option, NULL);
    if (text != NULL && human_parse_share(text, ret) < 0) {
        return cli_error(EXIT_USAGE, "for example 2% or 0.02", "--%s '%s' must be below 100%%",
                         option, text);
    }
    return EXIT_OK;
}

static enum exit_code take_wanted(const struct cli *cli, struct wanted *ret)
{
    *ret = (struct wanted){
        .axis = args_get(&cli->args, "axis", NULL),
        .base = args_get(&cli->args, "base", NULL),
        .threshold_ratio = COMPARE_THRESHOLD_RATIO,
        .is_strict = args_has(&cli->args, "strict"),
    };
    enum exit_code code = take_share(cli, "threshold", &ret->threshold_ratio);
    code = code == EXIT_OK ? take_share(cli, "margin", &ret->margin_ratio) : code;
    if (code != EXIT_OK) {
        return code;
    }
    if (ret->axis != NULL && (ret->base != NULL || ret->is_strict)) {
        return cli_error(
            EXIT_USAGE, "remove --axis, or the other one",
            "--axis has its base in the run itself; it cannot be used with --base or --strict");
    }
    if (args_has(&cli->args, "margin") && (ret->axis == NULL || ret->margin_ratio <= 0)) {
        return cli_error(EXIT_USAGE, "sweep both in one run and gate RUN --axis NAME --margin 2%",
                         "--margin must be above 0, and it needs --axis: the trials of two runs do "
                         "not show how much two equal runs differ");
    }
    return EXIT_OK;
}

static bool is_none(const struct wanted *w)
{
    return w->base != NULL && str_eq(w->base, "none");
}

/* --base none leaves the thresholds; without those nothing would be judged but that it ended. */
static enum exit_code check_judges(const struct wanted *w, const struct result *r)
{
    if (is_none(w) && r->def->spec->thresholds.len == 0) {
        return cli_error(EXIT_USAGE, "add thresholds to the definition, or name a base",
                         "--base none checks thresholds only, and '%s' has none",
                         r->def->spec->name);
    }
    return EXIT_OK;
}

/* Compares with the newest kind of the earlier runs that may be a base. */
static void compare_with_found(struct gate_input *in, const struct compare_params *params)
{
    const char *fix;
    const size_t n = in->history.results.len;
    _cleanup_(freep) const struct result **kind = xnew_array(const struct result *, n + 1);
    struct compare_params with = *params;
    with.n_history = gate_find_base(in->runs[1].result, in->history.results.items, n, params, kind);
    with.history = kind;
    if (with.n_history == 0) {
        (void)err_set(&in->refusal, ENOENT,
                      "no base found: a base is %d or more earlier runs of one definition, machine "
                      "and build; run the base, or name one with --base RUN",
                      GATE_MIN_RUNS);
    } else {
        (void)comparison_new(kind[with.n_history - 1], in->runs[1].result, &with, &in->comparison,
                             &fix, &in->refusal); /* a refusal is a check that did not pass */
    }
}

static enum exit_code compare(struct backend *b, const struct wanted *w, struct gate_input *in)
{
    const char *fix;
    struct compare_params params = {.threshold_ratio = w->threshold_ratio,
                                    .is_strict = w->is_strict};
    enum exit_code code = EXIT_OK;
    if (is_none(w)) {
        return EXIT_OK;
    }
    if (w->axis != NULL) {
        const struct compare_axis_params one = {.axis = w->axis,
                                                .threshold_ratio = w->threshold_ratio,
                                                .margin_ratio = w->margin_ratio};
        struct err err;
        if (comparison_new_axis(in->runs[1].result, &one, &in->comparison, &fix, &err) < 0) {
            return cli_error(EXIT_USAGE, fix, "%s", err.msg);
        }
        return EXIT_OK;
    }
    if (w->base == NULL) {
        code = history_load_before(b, in->runs[1].row.benchmark, in->runs[1].row.created_unix_ms,
                                   GATE_MAX_RUNS, &in->history);
        if (code == EXIT_OK) {
            compare_with_found(in, &params);
        }
        return code;
    }
    code = b->ops->load_figures(b, w->base, NULL, &in->runs[0]);
    code = code == EXIT_OK ? loaded_run_check(b->cli, &in->runs[0]) : code;
    code = code == EXIT_OK ? history_load(b, in->runs, &in->history) : code;
    if (code == EXIT_OK) {
        params.history = in->history.results.items;
        params.n_history = in->history.results.len;
        (void)comparison_new(in->runs[0].result, in->runs[1].result, &params, &in->comparison, &fix,
                             &in->refusal); /* as above */
    }
    return code;
}

static enum exit_code judge(const struct cli *cli, const struct gate_input *in)
{
    static const enum exit_code codes[] = {
        [GATE_RUN_FAILED] = EXIT_RUN_FAILED,
        [GATE_THRESHOLD] = EXIT_THRESHOLD,
        [GATE_SLOWER] = EXIT_REGRESSION,
        [GATE_INCONCLUSIVE] = EXIT_INCONCLUSIVE,
        [GATE_PASSED] = EXIT_OK,
    };
    _cleanup_(gate_done) struct gate g = {0};
    gate_judge(in->runs[1].result, in->comparison, in->refusal.code == 0 ? NULL : in->refusal.msg,
               &g);
    const enum exit_code code = show_sheet(cli, sheet_gate, &g);
    return code == EXIT_OK ? codes[g.verdict] : code;
}

static enum exit_code run(struct cli *cli)
{
    struct wanted w;
    _cleanup_(backend_freep) struct backend *b = NULL;
    _cleanup_(input_done) struct gate_input in = {0};
    enum exit_code code = take_wanted(cli, &w);
    code = code == EXIT_OK ? backend_open(cli, &b) : code;
    if (code == EXIT_OK) {
        code = b->ops->load_figures(b, cli->args.words[0], NULL, &in.runs[1]);
    }
    code = code == EXIT_OK ? loaded_run_check(cli, &in.runs[1]) : code;
    code = code == EXIT_OK ? check_judges(&w, in.runs[1].result) : code;
    code = code == EXIT_OK ? compare(b, &w, &in) : code;
    return code == EXIT_OK ? judge(cli, &in) : code;
}

static const struct arg_opt opts[] = {
    {"base", 0, "RUN", "Compare with this run; \"none\" checks thresholds only"},
    {"axis", 0, "NAME", "Compare the two values of NAME inside the run: a sweep name, or system"},
    {"margin", 0, "RATIO",
     "With --axis: refuse unless it is shown to be less than RATIO slower, for example 2%"},
    {"threshold", 0, "RATIO", "Ignore changes smaller than this; default: 2% or 0.02"},
    {"strict", 0, NULL, "Refuse runs with different machines, builds or workloads"},
};

const struct verb verb_gate = {
    .name = "gate",
    .args = "RUN [option...]",
    .summary = "Fail CI if a run is slower, incomplete, or cannot be judged",
    .examples = "  benchctl gate 7k3fq --axis build --margin 2%\n"
                "  benchctl gate 7k3fq -o junit > gate.xml\n"
                "  benchctl gate 7k3fq --base 5hd2p -o markdown\n"
                "  benchctl gate 7k3fq --base none\n",
    .details = "Gives one exit code for continuous integration, from the run, its thresholds and\n"
               "its comparison with a base. An unknown result does not pass.\n"
               "  0   every check passed\n"
               "  1   a trial of any point has no result\n"
               "  7   a threshold is missed, or could not be judged; or all are skipped, and\n"
               "      there is no comparison\n"
               "  6   slower than the base\n"
               "  15  it is unknown whether it is slower: no base, too few trials, a point is\n"
               "      missing\n"
               "With --axis the base is in the run itself. Without --axis and --base, the base\n"
               "is earlier runs of the benchmark in the same place: those of the newest\n"
               "definition, machine and build that was measured three times and was not refused\n"
               "itself.",
    VERB_OPTS(opts),
    .formats = "text|markdown|junit|json",
    .min_words = 1,
    .max_words = 1,
    .run = run,
};
