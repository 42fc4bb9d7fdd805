/* benchctl delete RUN...: a run and everything that is stored of it. */
#include "ctl/local_store.h"
#include "ctl/verbs.h"

static enum exit_code delete_one(const struct cli *cli, struct store *s, const char *what)
{
    struct run_row row;
    enum exit_code code = local_store_find_run(cli, s, what, &row);
    if (code != EXIT_OK) {
        return code;
    }
    struct err err = {0};
    int r = s->ops->claim_run(s, row.uid, &err); /* nobody may begin to drive it now */
    if (r == -EBUSY) {
        code = cli_error(EXIT_LOCAL_RESOURCE, "end that process first (Ctrl-C), then delete",
                         "run '%s': %s", row.name, err.msg);
    } else if (r < 0 || (r = s->ops->delete_run(s, row.uid, &err)) < 0) {
        code = cli_error(local_store_exit_code(r), NULL, "%s", err.msg);
    } else {
        struct buf out = BUF_INIT;
        buf_printf(&out, "run/%s deleted\n", row.name);
        code = cli->is_quiet ? EXIT_OK : cli_print(&out);
        buf_done(&out);
    }
    s->ops->release_run(s, row.uid);
    run_row_done(&row);
    return code;
}

static enum exit_code run(struct cli *cli)
{
    struct store *s = NULL;
    enum exit_code code = cli_need_local(cli);
    if (code == EXIT_OK) {
        code = local_store_open(cli, false, &s);
    }
    if (code != EXIT_OK) {
        return code;
    }
    for (size_t i = 0; i < cli->args.n_words; i++) {
        enum exit_code one = delete_one(cli, s, cli->args.words[i]);
        code = code == EXIT_OK ? one : code;
    }
    store_close(s);
    return code;
}

const struct verb verb_delete = {
    .name = "delete",
    .args = "RUN...",
    .summary = "Delete runs with their results and logs; asks nothing",
    .examples = "  benchctl delete vgg16-pserver-sweep-7k3fq --local\n"
                "  benchctl delete 7k3fq 5hd2p --store sqlite:results.db\n",
    .min_words = 1,
    .max_words = (size_t)-1,
    .run = run,
};
