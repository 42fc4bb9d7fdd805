/* benchctl compare RUN_A RUN_B: did the second run become slower than the first?
 * benchctl compare RUN --axis NAME: of two things in one run, is the second slower? */
#include "ctl/runs/history.h"
#include "ctl/cli/human.h"
#include "ctl/runs/show.h"
#include "ctl/verbs/verbs.h"
#include "compare/compare_axis.h"
#include "result/result_build.h"

struct wanted {
    const char *axis; /* NULL: two runs */
    double threshold_ratio, margin_ratio;
    bool is_strict;
};

static enum exit_code take_share(const struct cli *cli, const char *option, const char *example,
                                 double *ret)
{
    const char *text = args_get(&cli->args, option, NULL);
    if (text != NULL && human_parse_share(text, ret) < 0) {
        return cli_error(EXIT_USAGE, example,
                         "--%s '%s' must be a ratio from 0 to 1 or a percentage", option, text);
    }
    return EXIT_OK;
}

static enum exit_code take_margin(const struct cli *cli, struct wanted *w)
{
    const char *text = args_get(&cli->args, "margin", NULL);
    if (text == NULL) {
        return EXIT_OK;
    }
    if (w->axis == NULL) {
        return cli_error(EXIT_USAGE, "sweep both in one run and compare RUN --axis NAME",
                         "--margin needs --axis: the trials of two runs do not show how much two "
                         "equal runs differ");
    }
    enum exit_code code =
        take_share(cli, "margin", "for example --margin 2% or --margin 0.02", &w->margin_ratio);
    if (code == EXIT_OK && w->margin_ratio <= 0) {
        code = cli_error(EXIT_USAGE, "for example --margin 2% or --margin 0.02",
                         "--margin '%s' must be above 0 and below 100%%", text);
    }
    return code;
}

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
    if (w->axis != NULL && w->is_strict) {
        return cli_error(EXIT_USAGE, "remove --strict; what differs is listed under the table",
                         "--strict cannot be used with --axis: the two sides differ on purpose");
    }
    return EXIT_OK;
}

static enum exit_code take_wanted(const struct cli *cli, struct wanted *ret)
{
    *ret = (struct wanted){
        .axis = args_get(&cli->args, "axis", NULL),
        .threshold_ratio = COMPARE_THRESHOLD_RATIO,
        .is_strict = args_has(&cli->args, "strict"),
    };
    enum exit_code code = check_words(cli, ret);
    if (code == EXIT_OK) {
        code = take_share(cli, "threshold", "for example --threshold 2% or --threshold 0.02",
                          &ret->threshold_ratio);
    }
    return code == EXIT_OK ? take_margin(cli, ret) : code;
}

static enum exit_code compare_sides(const struct wanted *w, const struct loaded_run *run,
                                    struct comparison **ret)
{
    const char *fix = NULL;
    struct err err = {0};
    const struct compare_axis_params params = {
        .axis = w->axis,
        .threshold_ratio = w->threshold_ratio,
        .margin_ratio = w->margin_ratio,
    };
    return comparison_new_axis(run->result, &params, ret, &fix, &err) < 0
               ? cli_error(EXIT_USAGE, fix, "%s", err.msg)
               : EXIT_OK;
}

static enum exit_code run(struct cli *cli)
{
    struct wanted wanted;
    _cleanup_(backend_freep) struct backend *b = NULL;
    struct loaded_run runs[2] = {0};
    struct comparison *comparison = NULL;
    enum exit_code code = take_wanted(cli, &wanted);
    code = code == EXIT_OK ? backend_open(cli, &b) : code;
    for (size_t i = 0; i < cli->args.n_words && code == EXIT_OK; i++) {
        code = b->ops->load_figures(b, cli->args.words[i], NULL, &runs[i]);
        code = code == EXIT_OK ? loaded_run_check(cli, &runs[i]) : code;
    }
    if (code == EXIT_OK && wanted.axis != NULL) {
        code = compare_sides(&wanted, &runs[0], &comparison);
    } else if (code == EXIT_OK) {
        const struct compare_params params = {.threshold_ratio = wanted.threshold_ratio,
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

static const struct arg_opt opts[] = {
    {"axis", 0, "NAME", "Compare the two values of NAME inside one run: a sweep name, or system"},
    {"margin", 0, "RATIO",
     "With --axis: show that the second is not slower than RATIO, for example 2%"},
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
    .details = "RUN_A is the base. RUN_B is slower or faster at a point if the change reaches\n"
               "the threshold, two tests of the trials show it (a permutation test over all\n"
               "points and Welch's t test of the point), and it exceeds the usual spread of\n"
               "runs: that of three or more runs of RUN_A's definition, machine and build in the\n"
               "same store or cluster. Without these a change is inconclusive, because two equal\n"
               "runs differ by more than the trials of one run do.\n"
               "The exit code is 6 if RUN_B is slower at any point, else 15 if a point of RUN_A\n"
               "has no answer (inconclusive): it has too few trials, it was not measured, it is\n"
               "missing in RUN_B, or only one of the tests shows a change. compare refuses\n"
               "simulated runs, a rehearsal together with a run that is not one, runs that\n"
               "measured different numbers of trials at a time (run --parallel), and systems of\n"
               "one name that send numbers in different formats (exchange.wire): exit code 2.\n"
               "\n"
               "--axis compares inside one run: the points with the first value of NAME are the\n"
               "base, those with the second the candidate. Trials of one round of repeats are\n"
               "paired, which cancels what the run has in common. If nothing differs, at most 1%\n"
               "of comparisons report a change. With --margin 2% the exit code is 0 if every\n"
               "point is shown to be less than 2% slower (95%), 6 if one is shown to be slower\n"
               "than that, else 15.",
    VERB_OPTS(opts),
    .formats = SHOW_FORMATS,
    .min_words = 1,
    .max_words = 2,
    .run = run,
};
