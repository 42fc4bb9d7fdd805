/* benchctl attach RUN: follows a run of the cluster and prints its tables. */
#include "ctl/runs/show.h"
#include "ctl/verbs/verbs.h"

static enum exit_code run(struct cli *cli)
{
    _cleanup_(backend_freep) struct backend *b = NULL;
    enum exit_code code = backend_open(cli, &b);
    return code == EXIT_OK ? b->ops->attach(b, cli->args.words[0]) : code;
}

static const struct arg_opt opts[] = {
    EXPLAIN_OPT,
    {"timeout", 0, "DURATION", "Cancel the run after this time, such as 10m (exit 8)"},
    {"progress", 0, "HOW", "Show progress as auto, live, plain, json or none"},
};

const struct verb verb_attach = {
    .name = "attach",
    .args = "RUN [option...]",
    .summary = "Follow a run in a cluster and print its tables",
    .examples = "  benchctl attach 7k3fq\n"
                "  benchctl attach vgg16-pserver-sweep-7k3fq -n bench --progress plain\n",
    .details = "Ctrl-C detaches: the run continues. The exit codes are those of benchctl run.",
    VERB_OPTS(opts),
    .formats = SHOW_FORMATS,
    .min_words = 1,
    .max_words = 1,
    .run = run,
};
