/* benchctl help [VERB]. */
#include "base/mem.h"
#include "base/str.h"
#include "ctl/cli/usage.h"
#include "ctl/verbs/verbs.h"

static enum exit_code run(struct cli *cli)
{
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    if (cli->args.n_words == 0) {
        usage_program(cli->program, cli->verbs, cli->n_verbs, &out);
    }
    for (size_t i = 0; i < cli->n_verbs && cli->args.n_words > 0; i++) {
        if (str_eq(cli->verbs[i]->name, cli->args.words[0])) {
            usage_verb(cli->program, cli->verbs[i], &out);
        }
    }
    return out.len > 0 ? cli_print(&out)
                       : cli_error(EXIT_USAGE, "list the verbs with: benchctl help",
                                   "unknown verb '%s'", cli->args.words[0]);
}

const struct verb verb_help = {
    .name = "help",
    .args = "[VERB]",
    .summary = "Show the help of a verb",
    .examples = "  benchctl help run\n",
    .max_words = 1,
    .run = run,
};
