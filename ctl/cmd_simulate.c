/* benchctl simulate NAME: predicts every point of a definition without running it. */
#include "base/clock.h"
#include "base/mem.h"
#include "base/parse.h"
#include "ctl/definition.h"
#include "ctl/profiles.h"
#include "ctl/simulate_args.h"
#include "ctl/verbs.h"

static enum exit_code load(const struct cli *cli, struct run_def **ret)
{
    struct definition_file file = {0};
    struct profiles profiles;
    int64_t nodes = 0;
    enum exit_code code = definition_number(cli, "nodes", SPEC_MAX_REPLICAS, &nodes);
    if (code == EXIT_OK) {
        code = profiles_open(&profiles);
    }
    if (code != EXIT_OK) {
        return code;
    }
    code = definition_open(cli, &file);
    if (code == EXIT_OK) {
        _cleanup_(freep) char *set =
            nodes == 0 ? NULL : xasprintf("trainers=%lld", (long long)nodes);
        const struct definition_load_params params = {
            .profiles = &profiles,
            .is_local = cli->is_local,
            .created_unix_ms = clock_unix_ms(),
            .set = set,
        };
        code = definition_load(cli, &file, &params, ret);
    }
    definition_file_done(&file);
    profiles_done(&profiles);
    return code;
}

static enum exit_code run(struct cli *cli)
{
    struct run_def *def = NULL;
    struct simulate_inputs in = {0};
    struct prediction *p = NULL;
    struct err err = {0};
    enum exit_code code = load(cli, &def);
    if (code == EXIT_OK) {
        code = simulate_inputs_read(cli, def, &in);
    }
    if (code == EXIT_OK) {
        const int r = prediction_new(def, &in.params, &p, &err);
        code = r < 0 ? cli_error(EXIT_USAGE,
                                 r == -E2BIG ? "simulate fewer replicas, or fewer --steps" : NULL,
                                 "%s", err.msg)
                     : simulate_show(cli, p, &in);
    }
    prediction_free(p);
    simulate_inputs_done(&in);
    run_def_free(def);
    return code;
}

static const struct arg_opt opts[] = {DEFINITION_OPTS, SIMULATE_OPTS};

const struct verb verb_simulate = {
    .name = "simulate",
    .args = "NAME [option...]",
    .summary = "Predict the points of a run without running it",
    .examples = "  benchctl simulate vgg16-trainer-sweep --link 10gbit --layers layers.yaml\n"
                "  benchctl simulate sweep --nodes 9 --link 1gbit --layers l.yaml --trace x7k2p\n"
                "  benchctl simulate -f my-sweep.yaml --local --layers l.yaml -o json\n",
    .details = "Simulates trainers and parameter servers with recorded times, and with the code\n"
               "that plans benchworker's exchange. Every figure is marked as predicted; compare\n"
               "and gate take runs alone. What it knows and what not: docs/prediction.md.\n\n"
               "Record the times of the layers first, unless the definition has a trace:\n"
               "  benchworker bench --batch 64 -o trace >layers.yaml",
    .opts = opts,
    .n_opts = sizeof(opts) / sizeof(opts[0]),
    .formats = "text|markdown|json",
    .max_words = 1,
    .run = run,
};
