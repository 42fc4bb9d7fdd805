/* benchctl results RUN: prints the tables of a run. */
#include "ctl/backend.h"
#include "ctl/show.h"
#include "ctl/verbs.h"

static enum exit_code run(struct cli *cli)
{
    struct backend *b = NULL;
    struct loaded_run run = {0};
    enum exit_code code = backend_open(cli, &b);
    if (code == EXIT_OK) {
        code = b->ops->load_run(b, cli->args.words[0], &run);
    }
    if (code == EXIT_OK) {
        code = loaded_run_check(cli, &run);
    }
    if (code == EXIT_OK) {
        code = show_result(cli, run.result);
    }
    loaded_run_done(&run);
    backend_free(b);
    return code;
}

const struct verb verb_results = {
    .name = "results",
    .args = "RUN",
    .summary = "Print the tables of a run",
    .examples = "  benchctl results 7k3fq\n"
                "  benchctl results vgg16-pserver-sweep-7k3fq -o csv > results.csv\n"
                "  benchctl results 7k3fq --store sqlite:results.db -o json\n",
    .formats = SHOW_FORMATS,
    .min_words = 1,
    .max_words = 1,
    .run = run,
};
