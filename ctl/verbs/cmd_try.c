/* benchctl try FILE: does this definition give figures? */
#include "base/str.h"
#include "ctl/definition/definition.h"
#include "ctl/local/local.h"
#include "ctl/verbs/verbs.h"

static enum exit_code run(struct cli *cli)
{
    enum exit_code code = definition_named(cli);
    if (code == EXIT_OK && (cli->store != NULL || cli->namespace != NULL || cli->context != NULL ||
                            cli->kubeconfig != NULL)) {
        code = cli_error(EXIT_USAGE,
                         "remove these options; docs/own-script.md says what to do in a cluster",
                         "try runs on this machine and stores nothing: it takes no --store, "
                         "--namespace, --context or --kubeconfig");
    }
    const char *file = args_get(&cli->args, "file", NULL);
    if (code == EXIT_OK && args_has(&cli->args, "write") &&
        (file == NULL ? !definition_is_file(cli->args.words[0]) : str_eq(file, "-"))) {
        code = cli_error(EXIT_USAGE, "write the definition into a file, and name that",
                         "--write needs a file");
    }
    int64_t took_ns;
    return code == EXIT_OK
               ? local_try(cli, args_has(&cli->args, "write") ? TRY_WRITE : TRY_SHOW, &took_ns)
               : code;
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
    .examples = "  benchctl try my-sweep.yaml --systems ddp\n"
                "  benchctl try train.yaml --write\n"
                "  benchctl init -- torchrun train.py | benchctl try -f -\n",
    .details = "Starts the smallest point of each system once on this machine, and ends it when\n"
               "it has printed a few steps; then the smallest one with several workers. Prints\n"
               "the throughput with the rule that found it, what the lines were taken for and\n"
               "whether their pace agrees; or else the last lines of the output and a log rule\n"
               "that reads them. --write puts the rule into the file, with its scope and\n"
               "warm-up, and leaves all else in the file as it is. Nothing is stored.\n"
               "\n"
               "Exit codes: 0 each system has a figure, 1 one has none, 2 invalid definition, or\n"
               "a scope that you must choose, 3 no such file, 8 --timeout without a figure, 9 a\n"
               "program is missing, 130 interrupted.",
    VERB_OPTS(opts),
    .max_words = 1,
    .instead = "benchctl init -- COMMAND > my.yaml, for a command",
    .run = run,
};
