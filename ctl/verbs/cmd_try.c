/* benchctl try FILE: does this definition give figures? */
#include "base/str.h"
#include "ctl/definition/definition.h"
#include "ctl/verbs/verbs.h"

static enum exit_code run(struct cli *cli)
{
    _cleanup_(backend_freep) struct backend *b = NULL;
    enum exit_code code = definition_named(cli);
    if (code == EXIT_OK && cli->store != NULL) {
        code = cli_error(EXIT_USAGE, "write --local", "try stores nothing, so it takes no --store");
    }
    const char *file = args_get(&cli->args, "file", NULL);
    if (code == EXIT_OK && args_has(&cli->args, "write") &&
        (file == NULL ? !definition_is_file(cli->args.words[0]) : str_eq(file, "-"))) {
        code = cli_error(EXIT_USAGE, "write the definition into a file, and name that",
                         "--write needs a file");
    }
    code = code == EXIT_OK ? backend_open(cli, &b) : code;
    return code == EXIT_OK ? b->ops->try_small(b) : code;
}

static const struct arg_opt opts[] = {
    {"file", 'f', "FILE", "Read the definition from this file (- for stdin)"},
    {"systems", 0, "NAME,..", "Try only these systems of the definition"},
    {"set", 0, "NAME=V1,V2", "Sweep these values; may be repeated"},
    {"write", 0, NULL, "Write the log rule that the trials show into the file"},
    {"timeout", 0, "DURATION", "Give up on a system after this time; default: 5m"},
};

const struct verb verb_try = {
    .name = "try",
    .args = "NAME [option...]",
    .summary = "Run small points, and show or write which lines are figures",
    .examples = "  benchctl try my-sweep.yaml --local\n"
                "  benchctl try train.yaml --local --write\n"
                "  benchctl try my-sweep.yaml -n bench --systems ddp\n"
                "  benchctl init -- torchrun train.py | benchctl try -f - --local\n",
    .details = "Starts the smallest point of each system once, in the cluster or with --local on\n"
               "this machine, and ends it when it has printed a few steps; then the smallest one\n"
               "with several workers. Prints the throughput with the rule that found it, what\n"
               "the lines were taken for and whether their pace agrees; or else the last lines\n"
               "of the output and a log rule that reads them. --write puts the rule into the\n"
               "file, with its scope and warm-up, and leaves all else in the file as it is.\n"
               "Nothing is stored: in a cluster the runs are deleted with their pods, also\n"
               "after Ctrl-C.\n"
               "\n"
               "Exit codes: 0 each system has a figure, 1 one has none, 2 invalid definition, or\n"
               "a scope that you must choose, 3 no such file, 4 not authorised, 5 no cluster or\n"
               "no benchd, 8 --timeout without a figure, 9 a program is missing, 130\n"
               "interrupted.",
    VERB_OPTS(opts),
    .max_words = 1,
    .instead = "benchctl init -- COMMAND > my.yaml, for a command",
    .run = run,
};
