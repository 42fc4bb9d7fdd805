/* benchctl describe RUN: what it is, where it ran, what happened. */
#include "base/clock.h"
#include "ctl/runs/describe.h"
#include "ctl/runs/show.h"
#include "ctl/verbs/verbs.h"

static enum exit_code describe(const struct backend *b, const struct loaded_run *run)
{
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    struct err err = {0};
    struct describe_params params = {
        .run = run,
        .where = b->where,
        .now_unix_ms = clock_unix_ms(),
        .columns = show_list_columns(),
    };
    return describe_format(&params, &out, &err) < 0 ? show_unread(run, &err) : cli_print(&out);
}

static enum exit_code run(struct cli *cli)
{
    const char *const *words = cli->args.words;
    if (cli->args.n_words == 2 && !cli_is_run_kind(words[0])) {
        return cli_error(EXIT_USAGE, "benchctl describe RUN",
                         "'%s' cannot be described, only runs can", words[0]);
    }
    const char *what = words[cli->args.n_words - 1]; /* kubectl's "describe run X" works too */
    _cleanup_(backend_freep) struct backend *b = NULL;
    _cleanup_(loaded_run_done) struct loaded_run run = {0};
    enum exit_code code = backend_open(cli, &b);
    code = code == EXIT_OK ? b->ops->load_run(b, what, &run) : code;
    /* If benchd cannot be asked, the error comes first, then what the object says. */
    if (run.row.name != NULL) {
        enum exit_code printed = describe(b, &run);
        code = code == EXIT_OK ? printed : code;
    }
    return code;
}

const struct verb verb_describe = {
    .name = "describe",
    .args = "RUN",
    .summary = "Show what a run is, where it ran, and what failed and why",
    .examples = "  benchctl describe 7k3fq\n"
                "  benchctl describe vgg16-pserver-sweep-7k3fq --store sqlite:results.db\n",
    .details = "For programs: benchctl results RUN -o json has the figures, and the file of\n"
               "benchctl export RUN all that is stored.",
    .formats = "text",
    .min_words = 1,
    .max_words = 2,
    .run = run,
};
