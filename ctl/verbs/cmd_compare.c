/* benchctl compare RUN_A RUN_B: did the second run become slower than the first?
 * benchctl compare RUN --axis NAME: of two things in one run, is the second slower?
 * benchctl gate RUN: may this run go in? The verdict of compare, of the thresholds and of the run
 * itself in one, against a base that the stored runs give, for continuous integration. */
#include <errno.h>

#include "base/str.h"
#include "compare/comparison.h"
#include "compare/gate.h"
#include "ctl/cli/human.h"
#include "ctl/runs/history.h"
#include "ctl/runs/show.h"
#include "ctl/verbs/verbs.h"
#include "result/result_build.h"

#define GATE_MAX_RUNS 40 /* the newest runs that may be the base; a cluster sends each */

/* ---- options ---- */

struct wanted {
    const char *axis, *base; /* NULL if not given */
    double threshold_ratio;
    struct compare_margin margin;
    bool is_strict;
};

static enum exit_code take_share(const struct cli *cli, const char *option, double *ret)
{
    const char *text = args_get(&cli->args, option, NULL);
    _cleanup_(freep) char *fix = xasprintf("for example --%s 2%% or --%s 0.02", option, option);
    return text == NULL || human_parse_share(text, ret) == 0
               ? EXIT_OK
               : cli_error(EXIT_USAGE, fix, "--%s '%s' must be a ratio from 0 to 1 or a percentage",
                           option, text);
}

static enum exit_code take_wanted(const struct cli *cli, struct wanted *ret)
{
    const char *margin = args_get(&cli->args, "margin", NULL);
    *ret = (struct wanted){
        .axis = args_get(&cli->args, "axis", NULL),
        .base = args_get(&cli->args, "base", NULL),
        .threshold_ratio = COMPARE_THRESHOLD_RATIO,
        .margin.is_default = margin == NULL,
        .is_strict = args_has(&cli->args, "strict"),
    };
    if (ret->axis != NULL && (ret->base != NULL || ret->is_strict)) {
        return cli_error(EXIT_USAGE, "remove --axis, or the other option",
                         "--%s cannot be used with --axis: both sides are in the run, and differ "
                         "on purpose",
                         ret->base != NULL ? "base" : "strict");
    }
    enum exit_code code = take_share(cli, "threshold", &ret->threshold_ratio);
    code = code == EXIT_OK ? take_share(cli, "margin", &ret->margin.ratio) : code;
    return code != EXIT_OK || margin == NULL || ret->margin.ratio > 0
               ? code
               : cli_error(EXIT_USAGE, "for example --margin 2% or --margin 0.02",
                           "--margin '%s' must be above 0 and below 100%%", margin);
}

/* Compares the two values of --axis inside a run. */
static int compare_sides(const struct wanted *w, const struct loaded_run *run,
                         struct comparison **ret, const char **ret_fix, struct err *err)
{
    const struct compare_axis_params params = {
        .axis = w->axis,
        .threshold_ratio = w->threshold_ratio,
        .margin = w->margin,
    };
    return comparison_new_axis(run->result, &params, ret, ret_fix, err);
}

/* ---- compare ---- */

static enum exit_code check_words(const struct cli *cli, const struct wanted *w)
{
    const size_t n = cli->args.n_words;
    if (w->axis == NULL && n == 1) {
        return cli_error(EXIT_USAGE,
                         "add RUN_B, or --axis NAME to compare two values that RUN swept",
                         "compare needs two runs, or one run and --axis");
    }
    if (w->axis != NULL && n == 2) {
        return cli_error(EXIT_USAGE, "remove one of the runs, or --axis",
                         "--axis compares two values inside one run (got two runs)");
    }
    return EXIT_OK;
}

static enum exit_code run_compare(struct cli *cli)
{
    struct wanted wanted;
    _cleanup_(backend_freep) struct backend *b = NULL;
    struct loaded_run runs[2] = {0};
    struct comparison *comparison = NULL;
    enum exit_code code = take_wanted(cli, &wanted);
    code = code == EXIT_OK ? check_words(cli, &wanted) : code;
    code = code == EXIT_OK ? backend_open(cli, &b) : code;
    for (size_t i = 0; i < cli->args.n_words && code == EXIT_OK; i++) {
        code = b->ops->load_figures(b, cli->args.words[i], NULL, &runs[i]);
        code = code == EXIT_OK ? loaded_run_check(cli, &runs[i]) : code;
    }
    if (code == EXIT_OK && wanted.axis != NULL) {
        const char *fix = NULL;
        struct err err = {0};
        code = compare_sides(&wanted, &runs[0], &comparison, &fix, &err) < 0
                   ? cli_error(EXIT_USAGE, fix, "%s", err.msg)
                   : EXIT_OK;
    } else if (code == EXIT_OK) {
        const struct compare_params params = {.threshold_ratio = wanted.threshold_ratio,
                                              .margin = wanted.margin,
                                              .is_strict = wanted.is_strict};
        code = history_compare(b, runs, params, &comparison);
    }
    for (size_t i = 0; i < cli->args.n_words && code == EXIT_OK; i++) {
        result_forget_trials(runs[i].result); /* the tables need memory, too */
    }
    code = code == EXIT_OK ? show_comparison(cli, comparison) : code;
    comparison_free(comparison);
    loaded_run_done(&runs[0]);
    loaded_run_done(&runs[1]);
    return code;
}

static const struct arg_opt compare_opts[] = {
    {"axis", 0, "NAME", "Compare the two values of NAME inside one run: a sweep name, or system"},
    {"margin", 0, "RATIO", "Show that the candidate is not slower than RATIO, for example 2%"},
    {"threshold", 0, "RATIO", "Report smaller changes as unchanged; default: 2% or 0.02"},
    {"strict", 0, NULL, "Refuse runs with different machines, builds or workloads"},
};

const struct verb verb_compare = {
    .name = "compare",
    .group = "Compare",
    .args = "RUN_A RUN_B | RUN --axis NAME [option...]",
    .summary = "Test whether a run, or one side of a run, is slower or faster",
    .examples = "  benchctl compare 5hd2p 7k3fq\n"
                "  benchctl compare 5hd2p 7k3fq --threshold 5% --strict\n"
                "  benchctl compare 5hd2p --axis build --margin 2%\n"
                "  benchctl compare 5hd2p 7k3fq --store sqlite:results.db -o markdown\n",
    .details = "RUN_A is the base. RUN_B is slower or faster if the change reaches the threshold\n"
               "and exceeds the spread of the base's level: three or more runs in the same store\n"
               "or cluster, of RUN_A's definition, machine and build, and as fast. Without\n"
               "these, compare prints what the two runs measured, and the exit code is 15 and\n"
               "never 6, because two equal runs differ by more than the trials of one run do.\n"
               "To see a change at once, measure both in one run and use --axis, or gate --ab.\n"
               "The exit code is 6 if RUN_B is slower at any point or over all, else 15 if a\n"
               "point of RUN_A has no answer (inconclusive): it has too few trials, it was not\n"
               "measured, or it is missing in RUN_B. compare refuses\n"
               "simulated runs, a rehearsal together with a run that is not one, runs that\n"
               "measured different numbers of trials at a time (run --parallel), and systems of\n"
               "one name that send numbers in different formats (exchange.wire): exit code 2.\n"
               "\n"
               "--axis compares inside one run: the points with the first value of NAME are the\n"
               "base, those with the second the candidate. Trials of one round of repeats are\n"
               "paired, which cancels what the run has in common. If nothing differs, at most 1%\n"
               "of comparisons report a loss. With --margin 2% the exit code is 0 if every point\n"
               "is shown to be less than 2% slower (95%), 6 if one is shown to be slower than\n"
               "that, else 15.",
    VERB_OPTS(compare_opts),
    .formats = SHOW_FORMATS,
    .min_words = 1,
    .max_words = 2,
    .run = run_compare,
};

/* ---- gate ---- */

/* The verdict is made of these; owned. */
struct gate_input {
    struct loaded_run runs[2]; /* the base, if it was named, and the candidate */
    struct history history;
    struct comparison *comparison;
    struct err refusal; /* why there is no comparison; its code is 0 if none was asked for */
};

static void input_done(struct gate_input *in)
{
    comparison_free(in->comparison);
    history_done(&in->history);
    loaded_run_done(&in->runs[0]);
    loaded_run_done(&in->runs[1]);
}

static bool is_none(const struct wanted *w)
{
    return w->base != NULL && str_eq(w->base, "none");
}

/* --base none leaves the thresholds; without them only the end of the run would be checked. */
static enum exit_code check_thresholds(const struct wanted *w, const struct result *r)
{
    if (is_none(w) && r->def->spec->thresholds.len == 0) {
        return cli_error(EXIT_USAGE, "add thresholds to the definition, or name a base",
                         "--base none checks thresholds only, and '%s' has none",
                         r->def->spec->name);
    }
    return EXIT_OK;
}

/* Compares with the newest level of the earlier runs that may be a base. */
static void compare_with_found(struct gate_input *in, const struct compare_params *params)
{
    const char *fix;
    const size_t n = in->history.results.len;
    _cleanup_(freep) const struct result **level = xnew_array(const struct result *, n + 1);
    struct compare_params with = *params;
    with.n_history = gate_find_base(in->runs[1].result, in->history.results.items, n, level);
    with.history = level;
    if (with.n_history == 0) {
        (void)err_set(&in->refusal, ENOENT,
                      "no base found: a base is %d or more earlier runs of one definition, machine "
                      "and build; run the base, or name one with --base RUN",
                      RUN_SPREAD_MIN_RUNS);
    } else {
        (void)comparison_new(level[with.n_history - 1], in->runs[1].result, &with, &in->comparison,
                             &fix, &in->refusal); /* a refusal is a check that did not pass */
    }
}

static enum exit_code compare_with_base(struct backend *b, const struct wanted *w,
                                        struct gate_input *in)
{
    const char *fix = NULL;
    struct compare_params params = {
        .threshold_ratio = w->threshold_ratio, .margin = w->margin, .is_strict = w->is_strict};
    enum exit_code code = EXIT_OK;
    if (is_none(w)) {
        return EXIT_OK;
    }
    if (w->axis != NULL) {
        /* A run without a figure of one side has failed, and the gate says so. */
        const int r = compare_sides(w, &in->runs[1], &in->comparison, &fix, &in->refusal);
        return r < 0 && r != -ENODATA ? cli_error(EXIT_USAGE, fix, "%s", in->refusal.msg) : EXIT_OK;
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

static enum exit_code conclude(const struct cli *cli, const struct gate_input *in)
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

/* A run; or two commands, both sides in the run that measures them here. */
static enum exit_code check_gate_words(const struct cli *cli, const struct wanted *w)
{
    const bool is_ab = args_has(&cli->args, "ab");
    if (cli->args.n_words != (is_ab ? 2 : 1)) {
        return cli_error(EXIT_USAGE, "gate RUN, or gate --ab \"python3 a.py\" \"python3 b.py\"",
                         is_ab ? "--ab needs two commands, each in quotes (got %zu)"
                               : "gate takes one run (got %zu words)",
                         cli->args.n_words);
    }
    if (is_ab && (w->axis != NULL || w->base != NULL || w->is_strict)) {
        return cli_error(EXIT_USAGE, "remove --axis, --base and --strict",
                         "--ab makes the run and its base");
    }
    return EXIT_OK;
}

static enum exit_code run_gate(struct cli *cli)
{
    struct wanted w;
    _cleanup_(backend_freep) struct backend *b = NULL;
    _cleanup_(input_done) struct gate_input in = {0};
    enum exit_code code = take_wanted(cli, &w);
    _cleanup_(freep) char *measured = NULL;
    code = code == EXIT_OK ? check_gate_words(cli, &w) : code;
    if (code == EXIT_OK && args_has(&cli->args, "ab")) {
        cli->is_local = cli->store == NULL;
        code = gate_measure_ab(cli, &measured);
        w.axis = "system";
    }
    w.margin.ratio = w.margin.is_default ? GATE_MARGIN_RATIO : w.margin.ratio;
    code = code == EXIT_OK ? backend_open(cli, &b) : code;
    if (code == EXIT_OK) {
        const char *name = measured == NULL ? cli->args.words[0] : measured;
        code = b->ops->load_figures(b, name, NULL, &in.runs[1]);
    }
    code = code == EXIT_OK ? loaded_run_check(cli, &in.runs[1]) : code;
    code = code == EXIT_OK ? check_thresholds(&w, in.runs[1].result) : code;
    code = code == EXIT_OK ? compare_with_base(b, &w, &in) : code;
    return code == EXIT_OK ? conclude(cli, &in) : code;
}

static const struct arg_opt gate_opts[] = {
    {"ab", 0, NULL, "Run two commands here, interleaved in one run, and compare these"},
    {"repeats", 0, "N",
     "With --ab: trials of each command; default: 5 to 100, as a minute has room for",
     "definition.repeats.min"},
    {"warmup", 0, "N", "With --ab: steps per trial before the measured ones; default: 2"},
    {"name", 0, "TEXT", "With --ab: name of the benchmark; default: ab"},
    {"timeout", 0, "DURATION", "With --ab: longest wait for the figures of a command; default: 5m"},
    {"base", 0, "RUN", "Compare with this run; \"none\" checks thresholds only"},
    {"axis", 0, "NAME", "Compare the two values of NAME inside the run: a sweep name, or system"},
    {"margin", 0, "RATIO", "Refuse unless it is shown to be less than RATIO slower; default: 5%"},
    {"threshold", 0, "RATIO", "Ignore changes smaller than this; default: 2% or 0.02"},
    {"strict", 0, NULL, "Refuse runs with different machines, builds or workloads"},
};

const struct verb verb_gate = {
    .name = "gate",
    .args = "RUN | --ab BASE CANDIDATE [option...]",
    .summary = "Fail CI if a run is slower, incomplete, or cannot be judged",
    .examples = "  benchctl gate --ab \"python3 base/train.py\" \"python3 head/train.py\"\n"
                "  benchctl gate 7k3fq --axis build --margin 2%\n"
                "  benchctl gate 7k3fq -o junit > gate.xml\n"
                "  benchctl gate 7k3fq --base 5hd2p -o markdown\n"
                "  benchctl gate 7k3fq --base none\n",
    .details = "Gives one exit code for continuous integration, from the run, its thresholds and\n"
               "its comparison with a base. What is not shown does not pass.\n"
               "  0   every check passed; each point is shown less than 5% slower (95%), or\n"
               "      less than --margin\n"
               "  1   a trial of any point has no result\n"
               "  7   a threshold is missed, or could not be judged; or all are skipped, and\n"
               "      there is no comparison\n"
               "  6   shown to be slower than the base; of a given --margin, by more than that\n"
               "  8   a command of --ab printed no figure within --timeout; no verdict\n"
               "  15  neither is shown: no base, too few trials, a machine that is too noisy\n"
               "      (then it prints what this machine can show), a point that is missing\n"
               "--ab is the way that works from the first night: it finds the figures in the\n"
               "outputs as benchctl try --write does, runs both commands N times in turn, which\n"
               "takes 2 N + 2 times as long as one of them at most, stores the run and compares\n"
               "both. A command that fails or has no figure ends the run at once: exit code 1.\n"
               "With --axis the base is in the run itself. Without --axis and --base, the base\n"
               "is the newest level of earlier runs of the benchmark in the same place: three\n"
               "or more of one definition, machine and build, as fast as each other, and not\n"
               "slower than the level before.",
    VERB_OPTS(gate_opts),
    .formats = "text|markdown|junit|json",
    .min_words = 1,
    .max_words = 2,
    .run = run_gate,
};
