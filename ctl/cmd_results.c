/* benchctl results RUN: prints the tables of a run. */
#include "base/str.h"
#include "ctl/backend.h"
#include "ctl/reference.h"
#include "ctl/show.h"
#include "ctl/verbs.h"

typedef enum exit_code show_fn(const struct cli *cli, const struct result *result);

/* A row of what; the first is the default. */
static const struct by {
    const char *word;
    show_fn *show;
} bys[] = {{"point", show_result}, {"node", show_nodes}, {"curve", show_curves}};

static enum exit_code take_by(const struct cli *cli, show_fn **ret)
{
    const char *word = args_get(&cli->args, "by", bys[0].word);
    for (size_t i = 0; i < sizeof(bys) / sizeof(bys[0]); i++) {
        if (str_eq(word, bys[i].word)) {
            *ret = bys[i].show;
            return EXIT_OK;
        }
    }
    return cli_error(EXIT_USAGE, "write --by point, --by node or --by curve",
                     "--by '%s' is not known; tables have a row a point or a row a node, or the "
                     "models of each curve",
                     word);
}

/* --reference NAME: *ret stays NULL without it. */
static enum exit_code take_reference(const struct cli *cli, struct reference **ret)
{
    const char *name = args_get(&cli->args, "reference", NULL);
    if (name == NULL) {
        return EXIT_OK;
    }
    if (cli_output_is(cli, "csv") || cli_output_is(cli, "json")) {
        return cli_error(EXIT_USAGE, "print both: results RUN, and reference NAME",
                         "--reference has text and markdown (got -o %s)", cli->output);
    }
    return reference_open(name, ret);
}

static enum exit_code run(struct cli *cli)
{
    struct reference *reference = NULL;
    show_fn *show = NULL;
    struct backend *b = NULL;
    struct loaded_run run = {0};
    enum exit_code code = take_by(cli, &show);
    if (code == EXIT_OK) {
        code = take_reference(cli, &reference);
    }
    if (code == EXIT_OK) {
        code = backend_open(cli, &b);
    }
    if (code == EXIT_OK) {
        code = b->ops->load_run(b, cli->args.words[0], &run);
    }
    if (code == EXIT_OK) {
        code = loaded_run_check(cli, &run);
    }
    if (code == EXIT_OK) {
        code = show(cli, run.result);
    }
    if (code == EXIT_OK && reference != NULL) {
        code = reference_show_beside(cli, reference, run.result);
    }
    reference_free(reference);
    loaded_run_done(&run);
    backend_free(b);
    return code;
}

static const struct arg_opt opts[] = {
    {"by", 0, "point|node|curve",
     "Print a row for each point (the default), for each node, or the models of each curve"},
    {"reference", 0, "SET", "Print a set of published figures beside it; see: benchctl reference"},
};

const struct verb verb_results = {
    .name = "results",
    .args = "RUN [option...]",
    .summary = "Print the tables of a run",
    .examples = "  benchctl results 7k3fq\n"
                "  benchctl results vgg16-pserver-sweep-7k3fq -o csv > results.csv\n"
                "  benchctl results 7k3fq --by node\n"
                "  benchctl results 7k3fq --reference paddle-vgg16-cpu-2018\n"
                "  benchctl results 7k3fq --store sqlite:results.db -o json\n",
    .opts = opts,
    .n_opts = sizeof(opts) / sizeof(opts[0]),
    .formats = SHOW_FORMATS,
    .min_words = 1,
    .max_words = 1,
    .run = run,
};
