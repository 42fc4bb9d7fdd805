/* benchctl run NAME: a definition becomes a run, is shown while it runs, and ends in its tables. */
#include "ctl/backend.h"
#include "ctl/definition.h"
#include "ctl/show.h"
#include "ctl/verbs.h"

/* What can be said without a look at the cluster is said before it. */
static enum exit_code check_line(const struct cli *cli)
{
    if (!args_has(&cli->args, "resume")) {
        return definition_named(cli);
    }
    if (!cli->is_local && cli->store == NULL) {
        return cli_error(EXIT_USAGE,
                         "add --local; in a cluster benchd goes on by itself, and benchctl attach "
                         "RUN looks on",
                         "--resume is for local runs");
    }
    return EXIT_OK;
}

static enum exit_code run(struct cli *cli)
{
    struct backend *b = NULL;
    enum exit_code code = check_line(cli);
    if (code == EXIT_OK) {
        code = backend_open(cli, &b);
    }
    if (code == EXIT_OK) {
        code = b->ops->run(b);
    }
    backend_free(b);
    return code;
}

static const struct arg_opt opts[] = {
    DEFINITION_OPTS,
    {"resume", 0, "RUN", "Go on with a local run that was cancelled or interrupted"},
    {"timeout", 0, "DURATION", "Cancel the run after this time, for instance 10m (exit 8)"},
    {"progress", 0, "HOW", "auto, live, plain, none or json"},
};

const struct verb verb_run = {
    .name = "run",
    .args = "NAME [option...]",
    .summary = "Run a benchmark and print its tables",
    .examples = "  benchctl run vgg16-pserver-sweep\n"
                "  benchctl run vgg16-pserver-sweep --set pservers=1,2 --set cpu=400m --steps 8\n"
                "  benchctl run vgg16-pserver-sweep --local\n"
                "  benchctl run -f my-sweep.yaml --store sqlite:results.db -o json > result.json\n"
                "  benchctl run --resume 7k3fq --local\n",
    .details = "NAME is a file; else a Benchmark of the cluster; else a definition that is\n"
               "shipped, which the cluster then gets. In a cluster Ctrl-C leaves the run alone\n"
               "and says how to attach again. With --local everything runs on this machine:\n"
               "Ctrl-C ends the processes and keeps what was measured; --resume goes on from\n"
               "there. Exit codes: 0 all trials succeeded, 1 some failed, 2 definition, 3 no\n"
               "such benchmark or kinds not installed, 4 not authorised, 5 no cluster or no\n"
               "benchd, 7 a threshold failed, 8 --timeout, 9 disk or store, 130 interrupted.",
    .opts = opts,
    .n_opts = sizeof(opts) / sizeof(opts[0]),
    .formats = SHOW_FORMATS,
    .max_words = 1,
    .run = run,
};
