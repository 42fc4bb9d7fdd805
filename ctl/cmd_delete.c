/* benchctl delete RUN..., undelete RUN... and cancel RUN...: the ways in which a person ends a run, and
 * takes that back. */
#include <stdlib.h>

#include "base/mem.h"
#include "ctl/backend.h"
#include "ctl/verbs.h"

typedef enum exit_code (*end_fn)(struct backend *b, const char *what, char **ret_name);

static enum exit_code end_one(struct backend *b, end_fn end, const char *word, const char *what)
{
    _cleanup_(freep) char *name = NULL;
    enum exit_code code = end(b, what, &name);
    if (code != EXIT_OK || b->cli->is_quiet) {
        return code;
    }
    struct buf out = BUF_INIT;
    buf_printf(&out, "run/%s %s\n", name, word);
    code = cli_print(&out);
    buf_done(&out);
    return code;
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
    struct backend *b = NULL;
    enum exit_code code = backend_open(cli, &b);
    if (code == EXIT_OK) {
        code = end_all(b, b->ops->delete_run, "deleted");
    }
    backend_free(b);
    return code;
}

static enum exit_code run_undelete(struct cli *cli)
{
    struct backend *b = NULL;
    enum exit_code code = backend_open(cli, &b);
    if (code == EXIT_OK) {
        code = end_all(b, b->ops->undelete_run, "undeleted");
    }
    backend_free(b);
    return code;
}

static enum exit_code run_cancel(struct cli *cli)
{
    struct backend *b = NULL;
    enum exit_code code = backend_open(cli, &b);
    if (code == EXIT_OK) {
        code = end_all(b, b->ops->cancel_run, "cancelled");
    }
    backend_free(b);
    return code;
}

const struct verb verb_delete = {
    .name = "delete",
    .args = "RUN...",
    .summary = "Delete runs with their results and logs, without confirmation",
    .examples = "  benchctl delete vgg16-pserver-sweep-7k3fq\n"
                "  benchctl delete 7k3fq 5hd2p --store sqlite:results.db\n",
    .details = "In a cluster this deletes the BenchmarkRun with its pods, and benchd then\n"
               "erases what it has stored about the run, at once. What kubectl deletes is\n"
               "erased 7 days later (benchd --undelete-for). For a run whose object is gone,\n"
               "use --store where benchd's store is.",
    .min_words = 1,
    .max_words = (size_t)-1,
    .run = run_delete,
};

const struct verb verb_undelete = {
    .name = "undelete",
    .args = "RUN...",
    .summary = "Keep the results of runs whose objects were deleted",
    .examples = "  benchctl undelete vgg16-pserver-sweep-7k3fq --store sqlite:results.db\n"
                "  kubectl exec -n benchd deploy/benchd -- benchctl undelete 7k3fq \\\n"
                "    --store sqlite:/var/lib/benchd/results.db\n",
    .details = "benchd erases the results of a run 7 days after it has found its object\n"
               "deleted (benchd --undelete-for). Until then this takes the deletion back. The\n"
               "object does not return; the results stay, as after its time to live. Use it\n"
               "where benchd's store is; benchd may be running.",
    .min_words = 1,
    .max_words = (size_t)-1,
    .run = run_undelete,
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
