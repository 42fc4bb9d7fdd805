/* benchctl delete RUN... and cancel RUN...: the ways in which a person ends a run. */
#include "base/mem.h"
#include "base/parse.h"
#include "ctl/local/local.h"
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

/* Which of the store's finished runs are to go, without names. */
static enum exit_code take_policy(const struct cli *cli, struct retention_policy *ret)
{
    const char *age = args_get(&cli->args, "older-than", NULL);
    const char *runs = args_get(&cli->args, "keep-runs", NULL);
    *ret = (struct retention_policy){0};
    if (age != NULL && parse_age_ms(age, &ret->age_ms) < 0) {
        return cli_error(EXIT_USAGE, "write minutes, hours or days: --older-than 30d",
                         "--older-than '%s': expected 1 to 36500 and m, h or d", age);
    }
    if (runs != NULL && parse_i64_in(runs, 1, 1000000000, &ret->n_runs) < 0) {
        return cli_error(EXIT_USAGE, NULL,
                         "--keep-runs '%s': expected a number from 1 to 1000000000", runs);
    }
    if (cli->args.n_words > 0) {
        return cli_error(EXIT_USAGE, "remove the names, or these options",
                         "--older-than and --keep-runs choose the runs themselves");
    }
    if (!cli->is_local && cli->store == NULL) {
        return cli_error(EXIT_USAGE,
                         "add --local or --store sqlite:FILE; in a cluster start benchd with "
                         "--keep or --keep-runs",
                         "--older-than and --keep-runs are for a store on this machine");
    }
    return EXIT_OK;
}

static enum exit_code run_delete(struct cli *cli)
{
    const bool has_policy = args_has(&cli->args, "older-than") || args_has(&cli->args, "keep-runs");
    const bool is_dry = args_has(&cli->args, "dry-run");
    if (has_policy) {
        struct retention_policy policy;
        enum exit_code code = take_policy(cli, &policy);
        return code == EXIT_OK ? local_delete_old(cli, &policy, is_dry) : code;
    }
    if (is_dry) {
        return cli_error(EXIT_USAGE, "remove --dry-run",
                         "--dry-run is for --older-than and --keep-runs");
    }
    if (cli->args.n_words == 0) {
        return cli_error(EXIT_USAGE, "list the runs with: benchctl get runs",
                         "'delete' needs RUN, --older-than AGE or --keep-runs N");
    }
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

/* clang-format off */
static const struct arg_opt delete_opts[] = {
    {"older-than", 0, "AGE", "Delete the finished runs that ended longer ago than this, such as 30d, 12h or 90m"},
    {"keep-runs", 0, "N", "Delete the oldest finished runs until N are left"},
    {"dry-run", 0, NULL, "Print what these two would delete, and delete nothing"},
};
/* clang-format on */

const struct verb verb_delete = {
    .name = "delete",
    .args = "[RUN...]",
    .summary = "Delete runs with their results and logs, without confirmation",
    .examples = "  benchctl delete vgg16-pserver-sweep-7k3fq\n"
                "  benchctl delete 7k3fq 5hd2p --store sqlite:results.db\n"
                "  benchctl delete --older-than 30d --dry-run --local\n",
    .details = "In a cluster this deletes the BenchmarkRun with its pods, and benchd then\n"
               "erases its stored results at once. If kubectl deletes a BenchmarkRun, benchd\n"
               "erases them 7 days later (benchd --undelete-for). The results of a run whose\n"
               "object is gone leave with benchd's limits (--keep, --keep-runs).\n"
               "--older-than and --keep-runs are for a store on this machine (--local or\n"
               "--store); they choose among finished runs, by this machine's clock. List them\n"
               "with --dry-run first.",
    VERB_OPTS(delete_opts),
    .min_words = 0,
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
