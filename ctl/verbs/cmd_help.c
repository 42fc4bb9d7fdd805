/* benchctl help [VERB]. */
#include "base/mem.h"
#include "ctl/cli/cli.h"
#include "ctl/verbs/verbs.h"

static enum exit_code run(struct cli *cli)
{
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    const char *name = cli->args.n_words > 0 ? cli->args.words[0] : NULL;
    const struct verb *verb = name == NULL ? NULL : cli_find_verb(cli->verbs, cli->n_verbs, name);
    if (name == NULL) {
        usage_program(cli->program, cli->verbs, cli->n_verbs, &out);
    } else if (verb != NULL) {
        usage_verb(cli->program, verb, &out);
    }
    return out.len > 0 ? cli_print(&out)
                       : cli_error(EXIT_USAGE, "list the verbs with: benchctl help",
                                   "unknown verb '%s'", name);
}

const struct verb verb_help = {
    .name = "help",
    .args = "[VERB]",
    .summary = "Show the help of a verb",
    .examples = "  benchctl help run\n",
    .max_words = 1,
    .run = run,
};
