/* benchctl attach RUN: look on while a run of the cluster goes on; ends in its tables. */
#include "ctl/backend.h"
#include "ctl/show.h"
#include "ctl/verbs.h"

static enum exit_code run(struct cli *cli)
{
    struct backend *b = NULL;
    enum exit_code code = backend_open(cli, &b);
    if (code == EXIT_OK) {
        code = b->ops->attach(b, cli->args.words[0]);
    }
    backend_free(b);
    return code;
}

static const struct arg_opt opts[] = {
    {"timeout", 0, "DURATION", "Cancel the run after this time, for instance 10m (exit 8)"},
    {"progress", 0, "HOW", "auto, live, plain, none or json"},
};

const struct verb verb_attach = {
    .name = "attach",
    .args = "RUN [option...]",
    .summary = "Look on while a run in a cluster goes on, and print its tables",
    .examples = "  benchctl attach 7k3fq\n"
                "  benchctl attach vgg16-pserver-sweep-7k3fq -n bench --progress plain\n",
    .details = "Ctrl-C leaves the run alone. Exit codes are those of run.",
    .opts = opts,
    .n_opts = sizeof(opts) / sizeof(opts[0]),
    .formats = SHOW_FORMATS,
    .min_words = 1,
    .max_words = 1,
    .run = run,
};
