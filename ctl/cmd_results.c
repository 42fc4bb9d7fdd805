/* benchctl results RUN: the tables of a run. */
#include "ctl/local_store.h"
#include "ctl/show.h"
#include "ctl/verbs.h"

static enum exit_code run(struct cli *cli)
{
    struct store *s = NULL;
    struct loaded_run run;
    enum exit_code code = loaded_run_open(cli, cli->args.words[0], &s, &run);
    if (code != EXIT_OK) {
        return code;
    }
    if (!run_phase_is_final(run.row.status.phase)) {
        cli_note(cli, "run/%s is not finished: %u of %u trials", run.row.name,
                 run.row.status.trials_done, run.def->n_slots);
    }
    code = show_result(cli, run.result);
    loaded_run_done(&run);
    store_close(s);
    return code;
}

const struct verb verb_results = {
    .name = "results",
    .args = "RUN",
    .summary = "Print the tables of a run",
    .examples = "  benchctl results 7k3fq --local\n"
                "  benchctl results vgg16-pserver-sweep-7k3fq --local -o csv > results.csv\n"
                "  benchctl results 7k3fq --store sqlite:results.db -o json\n",
    .formats = SHOW_FORMATS,
    .min_words = 1,
    .max_words = 1,
    .run = run,
};
