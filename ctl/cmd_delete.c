/* benchctl delete RUN... and benchctl cancel RUN...: the two ends that a person gives a run. */
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
    .summary = "Delete runs with their results and logs; asks nothing",
    .examples = "  benchctl delete vgg16-pserver-sweep-7k3fq\n"
                "  benchctl delete 7k3fq 5hd2p --store sqlite:results.db\n",
    .details = "In a cluster the run's object goes, its pods with it, and benchd removes what it\n"
               "has stored of it.",
    .min_words = 1,
    .max_words = (size_t)-1,
    .run = run_delete,
};

const struct verb verb_cancel = {
    .name = "cancel",
    .args = "RUN...",
    .summary = "End runs in a cluster; what was measured stays",
    .examples = "  benchctl cancel vgg16-pserver-sweep-7k3fq\n"
                "  benchctl cancel 7k3fq 5hd2p -n bench\n",
    .details = "A cancellation cannot be taken back. A local run is cancelled by Ctrl-C.",
    .min_words = 1,
    .max_words = (size_t)-1,
    .run = run_cancel,
};
