/* benchctl results RUN: the tables of a run. */
#include "base/mem.h"
#include "ctl/backend.h"
#include "ctl/show.h"
#include "ctl/verbs.h"

static enum exit_code show(const struct cli *cli, const struct loaded_run *run)
{
    const struct run_status *st = &run->row.status;
    if (run->result == NULL) {
        _cleanup_(freep) char *fix = xasprintf("benchctl describe %s tells more", run->row.name);
        return cli_error(st->phase == RUN_FAILED ? EXIT_RUN_FAILED : EXIT_NOT_FOUND, fix,
                         "run/%s has no results: %s%s%s", run->row.name,
                         run_phase_to_string(st->phase), st->message[0] == '\0' ? "" : ": ",
                         st->message);
    }
    if (!run_phase_is_final(st->phase)) {
        cli_note(cli, "run/%s is not finished: %u of %u trials", run->row.name, st->trials_done,
                 run->def->n_slots);
    }
    return show_result(cli, run->result);
}

static enum exit_code run(struct cli *cli)
{
    struct backend *b = NULL;
    struct loaded_run run = {0};
    enum exit_code code = backend_open(cli, &b);
    if (code == EXIT_OK) {
        code = b->ops->load_run(b, cli->args.words[0], &run);
    }
    if (code == EXIT_OK) {
        code = show(cli, &run);
    }
    loaded_run_done(&run);
    backend_free(b);
    return code;
}

const struct verb verb_results = {
    .name = "results",
    .args = "RUN",
    .summary = "Print the tables of a run",
    .examples = "  benchctl results 7k3fq\n"
                "  benchctl results vgg16-pserver-sweep-7k3fq -o csv > results.csv\n"
                "  benchctl results 7k3fq --store sqlite:results.db -o json\n",
    .formats = SHOW_FORMATS,
    .min_words = 1,
    .max_words = 1,
    .run = run,
};
