/* benchctl compare RUN_A RUN_B: did the second run become slower than the first? */
#include "ctl/backend.h"
#include "ctl/human.h"
#include "ctl/show.h"
#include "ctl/verbs.h"
#include "result/compare.h"

static enum exit_code take_params(const struct cli *cli, struct compare_params *ret)
{
    *ret = (struct compare_params){
        .threshold_ratio = COMPARE_THRESHOLD_RATIO,
        .is_strict = args_has(&cli->args, "strict"),
    };
    const char *threshold = args_get(&cli->args, "threshold", NULL);
    if (threshold != NULL && human_parse_share(threshold, &ret->threshold_ratio) < 0) {
        return cli_error(EXIT_USAGE, "for example --threshold 2% or --threshold 0.02",
                         "--threshold '%s' must be a ratio from 0 to 1 or a percentage", threshold);
    }
    return EXIT_OK;
}

static enum exit_code compare(const struct cli *cli, const struct compare_params *params,
                              const struct loaded_run *base, const struct loaded_run *candidate)
{
    struct comparison *comparison = NULL;
    const char *fix = NULL;
    struct err err = {0};
    if (comparison_new(base->result, candidate->result, params, &comparison, &fix, &err) < 0) {
        return cli_error(EXIT_USAGE, fix, "%s", err.msg);
    }
    enum exit_code code = show_comparison(cli, comparison);
    if (code == EXIT_OK && comparison->change == CHANGE_SLOWER) {
        code = EXIT_REGRESSION;
    } else if (code == EXIT_OK && comparison->change == CHANGE_INCONCLUSIVE) {
        code = EXIT_INCONCLUSIVE;
    }
    comparison_free(comparison);
    return code;
}

static enum exit_code run(struct cli *cli)
{
    struct compare_params params;
    struct backend *b = NULL;
    struct loaded_run runs[2] = {0};
    enum exit_code code = take_params(cli, &params);
    if (code == EXIT_OK) {
        code = backend_open(cli, &b);
    }
    for (size_t i = 0; i < 2 && code == EXIT_OK; i++) {
        code = b->ops->load_run(b, cli->args.words[i], &runs[i]);
        if (code == EXIT_OK) {
            code = loaded_run_check(cli, &runs[i]);
        }
    }
    if (code == EXIT_OK) {
        code = compare(cli, &params, &runs[0], &runs[1]);
    }
    loaded_run_done(&runs[0]);
    loaded_run_done(&runs[1]);
    backend_free(b);
    return code;
}

static const struct arg_opt opts[] = {
    {"threshold", 0, "RATIO", "Report smaller changes as unchanged; default: 2% or 0.02"},
    {"strict", 0, NULL, "Refuse runs with different machines, builds or workloads"},
};

const struct verb verb_compare = {
    .name = "compare",
    .args = "RUN_A RUN_B [option...]",
    .summary = "Test whether a run is significantly slower or faster",
    .examples = "  benchctl compare 5hd2p 7k3fq\n"
                "  benchctl compare 5hd2p 7k3fq --threshold 5% --strict\n"
                "  benchctl compare 5hd2p 7k3fq --store sqlite:results.db -o markdown\n",
    .details = "RUN_A is the base. RUN_B is slower or faster at a point if the change reaches\n"
               "the threshold and two tests give p <= 0.05: a permutation test over all points\n"
               "and Welch's t test of the point (with the correction of Benjamini-Hochberg).\n"
               "The exit code is 6 if RUN_B is slower at any point, else 15 if a point of RUN_A\n"
               "has no answer (inconclusive): it has too few trials, it was not measured, it is\n"
               "missing in RUN_B, or only one of the tests shows a change. Simulated runs are\n"
               "refused, and so is a rehearsal beside a run that is not one.",
    .opts = opts,
    .n_opts = sizeof(opts) / sizeof(opts[0]),
    .formats = SHOW_FORMATS,
    .min_words = 2,
    .max_words = 2,
    .run = run,
};
