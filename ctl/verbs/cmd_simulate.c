/* benchctl simulate NAME: predicts every point of a definition without running it. */
#include <inttypes.h>
#include <pthread.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "ctl/cli/this_machine.h"
#include "ctl/definition/definition.h"
#include "ctl/definition/profiles.h"
#include "ctl/runs/reference_sets.h"
#include "ctl/verbs/simulate_args.h"
#include "ctl/verbs/verbs.h"

/* --nodes: the parameters that say how many trainers and workers there are get this value. */
static enum exit_code load_nodes(const struct cli *cli, const struct definition_file *file,
                                 struct definition_load_params *params, int64_t nodes,
                                 struct run_def **ret)
{
    char *sets[2] = {0};
    static const enum role roles[] = {ROLE_TRAINER, ROLE_WORKER};
    const char *before = NULL;
    for (size_t i = 0; i < COUNT_OF(roles); i++) {
        const char *from = (*ret)->spec->roles[roles[i]].replicas.from;
        if (from != NULL && (before == NULL || !str_eq(from, before))) {
            sets[params->n_sets++] = xasprintf("%s=%" PRId64, from, nodes);
            before = from;
        }
    }
    run_def_free(*ret);
    *ret = NULL;
    params->sets = (const char *const *)sets;
    const enum exit_code code =
        params->n_sets == 0
            ? cli_error(EXIT_USAGE, NULL,
                        "--nodes: no parameter of the definition says how many trainers or workers "
                        "there are")
            : definition_load(cli, file, params, ret);
    free(sets[0]);
    free(sets[1]);
    return code;
}

static enum exit_code load(const struct cli *cli, struct run_def **ret)
{
    _cleanup_(definition_file_done) struct definition_file file = {0};
    _cleanup_(profiles_done) struct profiles profiles = {0};
    int64_t nodes = 0;
    enum exit_code code = definition_number(cli, "nodes", SPEC_MAX_REPLICAS, &nodes);
    code = code == EXIT_OK ? profiles_open(&profiles) : code;
    code = code == EXIT_OK ? definition_open(cli, &file) : code;
    struct definition_load_params params = {
        .profiles = &profiles,
        .is_local = cli->is_local,
        .created_unix_ms = clock_unix_ms(),
    };
    code = code == EXIT_OK ? definition_load(cli, &file, &params, ret) : code;
    if (code == EXIT_OK && nodes > 0) {
        code = load_nodes(cli, &file, &params, nodes, ret);
    }
    return code;
}

/* It may take a minute, so the reason is printed on a terminal. */
static void note_size(const struct cli *cli, const struct run_def *def,
                      const struct predict_params *params)
{
    const int64_t runs = params->trace->jitter_ratio == 0 ? 1 : def->spec->repeats;
    const int64_t steps = def->spec->warmup_steps + def->spec->steps;
    if (isatty(STDERR_FILENO) == 1) {
        cli_note_prose(cli,
                       "simulating %" PRIu32 " points, for each %" PRId64 " run%s of %" PRId64
                       " steps; fewer --steps and --repeats take less time",
                       def->matrix.n_points, runs, runs == 1 ? "" : "s", steps);
    }
}

/* ---- side by side on the CPUs of this machine ---- */

struct crew {
    void (*one)(void *ctx, uint32_t i);
    void *ctx;
    uint32_t n;
    _Atomic uint32_t next;
};

static void *work(void *arg)
{
    struct crew *c = arg;
    for (uint32_t i = c->next++; i < c->n; i = c->next++) {
        c->one(c->ctx, i);
    }
    return NULL;
}

/* What a thread that does not begin would have done, the others do. */
static void side_by_side(void (*one)(void *ctx, uint32_t i), void *ctx, uint32_t n)
{
    struct crew crew = {one, ctx, n, 0};
    const int64_t most = host_cpus() < n ? host_cpus() : n;
    _cleanup_(freep) pthread_t *threads = xnew_array(pthread_t, (size_t)most);
    int64_t n_threads = 0;
    while (n_threads + 1 < most && pthread_create(&threads[n_threads], NULL, work, &crew) == 0) {
        n_threads++;
    }
    (void)work(&crew);
    while (n_threads > 0) {
        (void)pthread_join(threads[--n_threads], NULL);
    }
}

static enum exit_code run(struct cli *cli)
{
    _cleanup_(run_def_freep) struct run_def *def = NULL;
    _cleanup_(simulate_inputs_done) struct simulate_inputs in = {0};
    struct prediction *p = NULL;
    struct reference *reference = NULL;
    struct err err = {0};
    enum exit_code code = reference_take(cli, "leave --reference out", &reference);
    code = code == EXIT_OK ? load(cli, &def) : code;
    code = code == EXIT_OK ? simulate_inputs_read(cli, def, &in) : code;
    if (code == EXIT_OK) {
        note_size(cli, def, &in.params);
        in.params.each = side_by_side;
        const int r = prediction_new(def, &in.params, &p, &err);
        code = r < 0 ? cli_error(EXIT_USAGE, r == -E2BIG ? "simulate fewer replicas" : NULL, "%s",
                                 err.msg)
                     : simulate_show(cli, p, &in, reference);
    }
    reference_free(reference);
    prediction_free(p);
    return code;
}

static const struct arg_opt opts[] = {
    DEFINITION_OPTS,
    SIMULATE_OPTS,
    {"reference", 0, "SET",
     "Print a set of published figures next to it; see: benchctl results --reference list"},
};

const struct verb verb_simulate = {
    .name = "simulate",
    .args = "NAME [option...]",
    .summary = "Predict the points of a run without running it",
    .examples = "  benchctl simulate vgg16-pserver-sweep --link 10gbit --layers layers.yaml \\\n"
                "      --steps 20 --repeats 3\n"
                "  benchctl simulate sweep --nodes 9 --link 1gbit --layers l.yaml --trace x7k2p\n"
                "  benchctl simulate vgg16-allreduce-sweep --nodes 9 --link 1gbit --layers l.yaml\n"
                "  benchctl simulate vgg16-systems --systems benchworker --set trainers=60 \\\n"
                "      --link 1gbit --steps 5 --repeats 1 --reference paddle-vgg16-cpu-2018\n"
                "  benchctl simulate -f my-sweep.yaml --local --layers l.yaml -o json\n",
    .details = "Simulates trainers and parameter servers, or workers that form a ring, with\n"
               "recorded times and with the code that plans benchworker's exchange. Every figure\n"
               "is marked as predicted; compare and gate take measured runs only.\n"
               "docs/prediction.md says what is simulated. A long sweep takes a minute: fewer\n"
               "--steps and --repeats take less time. --trace RUN is a run of the cluster, or\n"
               "with --local or --store a run of this machine.\n"
               "\n"
               "Record the times of the layers first, unless the definition has or names a\n"
               "trace:\n"
               "  benchworker bench --batch 64 -o trace >layers.yaml",
    VERB_OPTS(opts),
    .formats = "text|markdown|json",
    .max_words = 1,
    .run = run,
};
