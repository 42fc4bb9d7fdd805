/* benchctl try FILE: does this definition give figures? */
#include "ctl/definition.h"
#include "ctl/local_try.h"
#include "ctl/verbs.h"

static enum exit_code run(struct cli *cli)
{
    enum exit_code code = definition_named(cli);
    if (code == EXIT_OK && cli->store != NULL) {
        code = cli_error(EXIT_USAGE, "write --local", "try stores nothing, so it takes no --store");
    }
    if (code == EXIT_OK && !cli->is_local) {
        code =
            cli_error(EXIT_USAGE,
                      "add --local; in a cluster, benchctl run NAME --steps 3 --repeats 1 is next "
                      "to it",
                      "try works on this machine only");
    }
    return code == EXIT_OK ? local_try(cli) : code;
}

static const struct arg_opt opts[] = {
    {"file", 'f', "FILE", "Read the definition from this file (- for stdin)"},
    {"systems", 0, "NAME,..", "Try only these systems of the definition"},
    {"set", 0, "NAME=V1,V2", "Sweep these values; may be repeated"},
    {"steps", 0, "N", "Steps that are enough; default: 3"},
    {"timeout", 0, "DURATION", "Give up on a system after this time; default: 5m"},
};

const struct verb verb_try = {
    .name = "try",
    .args = "NAME [option...]",
    .summary = "Run one small point, and say which lines are figures",
    .examples = "  benchctl try my-sweep.yaml --local\n"
                "  benchctl init -- torchrun train.py | benchctl try -f - --local\n",
    .details = "Starts the smallest point of each system once, on this machine, and ends it when\n"
               "it has printed a few steps. Prints the throughput with the rule that found it;\n"
               "or else the last lines of the output and a log rule that reads them. Nothing is\n"
               "stored.\n"
               "\n"
               "Exit codes: 0 each system has a figure, 1 one has none, 2 invalid definition,\n"
               "3 no such file, 8 --timeout without a figure, 9 a program is missing, 130\n"
               "interrupted.",
    .opts = opts,
    .n_opts = sizeof(opts) / sizeof(opts[0]),
    .max_words = 1,
    .run = run,
};
