/* benchctl compare RUN_A RUN_B: did the second run become slower than the first? */
#include <string.h>

#include "base/mem.h"
#include "base/parse.h"
#include "base/str.h"
#include "ctl/backend.h"
#include "ctl/show.h"
#include "ctl/verbs.h"
#include "result/compare.h"

/* "2%" or "0.02". */
static int parse_share(const char *text, double *ret)
{
    const bool is_percent = str_has_suffix(text, "%");
    _cleanup_(freep) char *number = xstrndup(text, strlen(text) - is_percent);
    double value;
    int r = parse_f64(number, &value);
    if (r == 0 && is_percent) {
        value /= 100;
    }
    if (r == 0 && !(value >= 0 && value < 1)) {
        r = -ERANGE;
    }
    if (r == 0) {
        *ret = value;
    }
    return r;
}

static enum exit_code take_params(const struct cli *cli, struct compare_params *ret)
{
    *ret = (struct compare_params){
        .threshold_ratio = COMPARE_THRESHOLD_RATIO,
        .is_strict = args_has(&cli->args, "strict"),
    };
    const char *threshold = args_get(&cli->args, "threshold", NULL);
    if (threshold != NULL && parse_share(threshold, &ret->threshold_ratio) < 0) {
        return cli_error(EXIT_USAGE, "--threshold 2% or --threshold 0.02",
                         "--threshold '%s': expected a share from 0 up to 1, or in percent",
                         threshold);
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
    {"threshold", 0, "SHARE", "Smaller changes are none; 2% (default) or 0.02"},
    {"strict", 0, NULL, "Refuse runs whose machines, builds or workloads differ"},
};

const struct verb verb_compare = {
    .name = "compare",
    .args = "RUN_A RUN_B [option...]",
    .summary = "Say at which points a run is slower or faster than another",
    .examples = "  benchctl compare 5hd2p 7k3fq\n"
                "  benchctl compare 5hd2p 7k3fq --threshold 5% --strict\n"
                "  benchctl compare 5hd2p 7k3fq --store sqlite:results.db -o markdown\n",
    .details = "RUN_A is the base. A point counts as slower or faster where one permutation\n"
               "test over all points and Welch's t test of the point (Benjamini-Hochberg) are\n"
               "at most 0.05 and the change reaches the threshold. Exit code 6 when a point is\n"
               "slower. Simulated runs are refused, and a rehearsal beside a run that is none.",
    .opts = opts,
    .n_opts = sizeof(opts) / sizeof(opts[0]),
    .formats = SHOW_FORMATS,
    .min_words = 2,
    .max_words = 2,
    .run = run,
};
