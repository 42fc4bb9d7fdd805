/* benchctl run NAME: starts a run of a definition, follows it and prints its tables.
 * benchctl attach RUN: follows a run of the cluster that was started before. */
#include <string.h>

#include "ctl/definition/definition.h"
#include "ctl/runs/show.h"
#include "ctl/verbs/verbs.h"
#include "doc/tree.h"

/* Errors that need no answer from the cluster come first. */
static enum exit_code check_line(const struct cli *cli)
{
    const bool is_local = cli->is_local || cli->store != NULL;
    const char *url = args_get(&cli->args, "prometheus", NULL);
    _cleanup_(tree_freep) struct node *fields = NULL;
    const enum exit_code code = definition_fields(cli, &fields);
    if (code != EXIT_OK) {
        return code;
    }
    if (url != NULL && (!is_local || strncmp(url, "http", 4) != 0)) {
        return cli_error(EXIT_USAGE,
                         is_local ? "for example --prometheus http://127.0.0.1:9090"
                                  : "start benchd with --prometheus; benchctl does not ask",
                         "--prometheus '%s': expected a URL, in a local run", url);
    }
    if (!args_has(&cli->args, "resume")) {
        return definition_named(cli);
    }
    if (!is_local) {
        return cli_error(EXIT_USAGE,
                         "add --local; in a cluster benchd resumes runs by itself, and benchctl "
                         "attach RUN follows one",
                         "--resume is for local runs");
    }
    return EXIT_OK;
}

static enum exit_code run_run(struct cli *cli)
{
    _cleanup_(backend_freep) struct backend *b = NULL;
    enum exit_code code = check_line(cli);
    code = code == EXIT_OK ? backend_open(cli, &b) : code;
    return code == EXIT_OK ? b->ops->run(b, NULL) : code;
}

static const struct arg_opt run_opts[] = {
    DEFINITION_OPTS,
    {"queue", 0, "QUEUE",
     "LocalQueue of Kueue in which each trial waits for its place in the cluster",
     "scheduling.queueName"},
    {"priority", 0, "CLASS", "WorkloadPriorityClass in that queue", "scheduling.priorityClass"},
    {"wait", 0, "SECONDS",
     "Fail a trial that waits longer for its queue or for nodes (default: benchd's, a day)",
     "scheduling.waitSeconds"},
    {"parallel", 0, "N",
     "Measure N trials at a time, each on nodes of its own (1 to 16, default 1)",
     "parallelism.trials"},
    {"resume", 0, "RUN", "Resume a local run that was cancelled or interrupted"},
    {"timeout", 0, "DURATION", "Cancel the run after this time, such as 10m (exit 8)"},
    {"prometheus", 0, "URL",
     "Where spec.metrics are asked for in a local run, such as http://127.0.0.1:9090"},
    {"progress", 0, "HOW", "Show progress as auto, live, plain or none"},
    EXPLAIN_OPT,
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
    .details = "NAME is a file, or else a Benchmark in the cluster, or else a shipped\n"
               "definition. In a cluster, Ctrl-C detaches: the run continues, and benchctl\n"
               "attach follows it again. With --local everything runs on this machine: Ctrl-C\n"
               "stops the processes and keeps what was measured, and --resume continues from\n"
               "there.\n"
               "\n"
               "Exit codes: 0 all trials succeeded, 1 trials failed, 2 invalid definition, 3 no\n"
               "such benchmark or CRDs not installed, 4 not authorised, 5 no cluster or no\n"
               "benchd, 7 a threshold was missed or could not be judged, 8 --timeout, 9 disk or\n"
               "store, 130 interrupted.",
    VERB_OPTS(run_opts),
    .formats = SHOW_FORMATS,
    .max_words = 1,
    .instead = "benchctl init -- COMMAND > my.yaml, for a command",
    .run = run_run,
};

static enum exit_code run_attach(struct cli *cli)
{
    _cleanup_(backend_freep) struct backend *b = NULL;
    enum exit_code code = backend_open(cli, &b);
    return code == EXIT_OK ? b->ops->attach(b, cli->args.words[0]) : code;
}

static const struct arg_opt attach_opts[] = {
    EXPLAIN_OPT,
    {"timeout", 0, "DURATION", "Cancel the run after this time, such as 10m (exit 8)"},
    {"progress", 0, "HOW", "Show progress as auto, live, plain or none"},
};

const struct verb verb_attach = {
    .name = "attach",
    .args = "RUN [option...]",
    .summary = "Follow a run in a cluster and print its tables",
    .examples = "  benchctl attach 7k3fq\n"
                "  benchctl attach vgg16-pserver-sweep-7k3fq -n bench --progress plain\n",
    .details = "Ctrl-C detaches: the run continues. The exit codes are those of benchctl run.",
    VERB_OPTS(attach_opts),
    .formats = SHOW_FORMATS,
    .min_words = 1,
    .max_words = 1,
    .run = run_attach,
};
