/* benchctl delete RUN... and cancel RUN...: the ways in which a person ends a run. */
#include "base/mem.h"
#include "ctl/verbs/verbs.h"

typedef enum exit_code (*end_fn)(struct backend *b, const char *what, char **ret_name);

static enum exit_code end_one(struct backend *b, end_fn end, const char *word, const char *what)
{
    _cleanup_(freep) char *name = NULL;
    enum exit_code code = end(b, what, &name);
    if (code != EXIT_OK || b->cli->is_quiet) {
        return code;
    }
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    buf_printf(&out, "run/%s %s\n", name, word);
    return cli_print(&out);
}

/* All of them are tried; the first failure is the program's. */
static enum exit_code end_all(struct backend *b, end_fn end, const char *word)
{
    enum exit_code code = EXIT_OK;
    for (size_t i = 0; i < b->cli->args.n_words; i++) {
        enum exit_code one = end_one(b, end, word, b->cli->args.words[i]);
        code = code == EXIT_OK ? one : code;
    }
    return code;
}

static enum exit_code run_delete(struct cli *cli)
{
    _cleanup_(backend_freep) struct backend *b = NULL;
    enum exit_code code = backend_open(cli, &b);
    return code == EXIT_OK ? end_all(b, b->ops->delete_run, "deleted") : code;
}

static enum exit_code run_cancel(struct cli *cli)
{
    _cleanup_(backend_freep) struct backend *b = NULL;
    enum exit_code code = backend_open(cli, &b);
    return code == EXIT_OK ? end_all(b, b->ops->cancel_run, "cancelled") : code;
}

const struct verb verb_delete = {
    .name = "delete",
    .args = "RUN...",
    .summary = "Delete runs with their results and logs, without confirmation",
    .examples = "  benchctl delete vgg16-pserver-sweep-7k3fq\n"
                "  benchctl delete 7k3fq 5hd2p --store sqlite:results.db\n",
    .details = "In a cluster this deletes the BenchmarkRun with its pods, and benchd then\n"
               "erases its stored results at once. If kubectl deletes a BenchmarkRun, benchd\n"
               "erases them 7 days later (benchd --undelete-for). The results of a run whose\n"
               "object is gone leave with benchd's limits (--keep, --keep-runs).",
    .min_words = 1,
    .max_words = (size_t)-1,
    .run = run_delete,
};

const struct verb verb_cancel = {
    .name = "cancel",
    .args = "RUN...",
    .summary = "Cancel runs in a cluster and keep what was measured",
    .examples = "  benchctl cancel vgg16-pserver-sweep-7k3fq\n"
                "  benchctl cancel 7k3fq 5hd2p -n bench\n",
    .details = "Cancelling cannot be undone. Cancel a local run with Ctrl-C in its terminal.",
    .min_words = 1,
    .max_words = (size_t)-1,
    .run = run_cancel,
};
