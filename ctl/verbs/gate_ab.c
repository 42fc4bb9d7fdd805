/* benchctl gate --ab BASE CANDIDATE: measures two commands, interleaved in one run. What `try`
 * finds in their outputs is the log rule of the run's definition; a command that fails there, or
 * has no figure, fails in the run as well, so that the verdict and its reason are stored. What
 * both verbs print goes to stderr, because stdout is for the verdict. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/whole_file.h"
#include "ctl/definition/init_file.h"
#include "ctl/local/local.h"
#include "ctl/verbs/verbs.h"

#define MEASURE_NS INT64_C(60000000000)
#define REPEATS_MIN 5
#define REPEATS_MAX 100

static const char *const sides[] = {"base", "candidate"};

static void put_definition(const struct cli *cli, struct buf *out)
{
    buf_printf(out,
               "apiVersion: benchd.io/v1alpha1\nkind: Benchmark\nmetadata: {name: %s}\nspec:\n"
               "  systems:\n",
               args_get(&cli->args, "name", "ab"));
    for (size_t i = 0; i < COUNT_OF(sides); i++) {
        buf_printf(out, "  - name: %s\n    profile: none\n    command: [sh, -c, ", sides[i]);
        init_put_scalar(out, cli->args.words[i]);
        buf_puts(out, "]\n");
    }
    buf_printf(out,
               "  workload: {model: ab, exchange: {kind: AllReduce}}\n"
               "  sweep: {grid: {workers: [1]}}\n"
               "  roles: {worker: {replicas: {from: workers}}}\n"
               "  measure: {warmupSteps: %s, steps: 100}\n"
               "  repeats: {order: Interleaved}\n"
               "  failurePolicy: {onTrialFailure: Stop, maxFailedTrials: 0}\n"
               "  runPolicy: {backoffLimit: 0}\n",
               args_get(&cli->args, "warmup", "2"));
}

static enum exit_code find_rules(const struct cli *cli, const char *path, int64_t *ret_ns)
{
    struct cli of_try = *cli;
    of_try.args.words = &path;
    of_try.args.n_words = 1; /* the options of both verbs differ, but for --timeout */
    return local_try(&of_try, TRY_FOR_RUN, ret_ns);
}

/* As often as the commands fit into the time, unless the user says how often: what they measure
 * does not decide it, so the verdict's tests hold. `pair_ns`: one trial of each. */
static enum exit_code run(const struct cli *cli, const char *path, int64_t pair_ns, char **ret_name)
{
    static const struct arg_opt repeats = {.name = "repeats"};
    const int64_t fit = pair_ns > 0 ? MEASURE_NS / pair_ns : 0;
    const int64_t n = fit < REPEATS_MIN ? REPEATS_MIN : fit > REPEATS_MAX ? REPEATS_MAX : fit;
    _cleanup_(freep) char *text = xasprintf("%" PRId64, n);
    struct arg_value value = {&repeats, args_get(&cli->args, "repeats", text)};
    struct cli of_run = *cli;
    _cleanup_(backend_freep) struct backend *b = NULL;
    of_run.args = (struct args){.values = &value, .n_values = 1, .words = &path, .n_words = 1};
    of_run.output = "";
    const enum exit_code code = local_backend_open(&of_run, &b);
    return code == EXIT_OK ? local_run(b, ret_name) : code;
}

enum exit_code gate_measure_ab(const struct cli *cli, char **ret_name)
{
    const char *folder = getenv("TMPDIR");
    _cleanup_(freep) char *path =
        xasprintf("%s/benchctl-XXXXXX.yaml", folder == NULL ? "/tmp" : folder);
    _cleanup_(buf_done) struct buf text = BUF_INIT;
    put_definition(cli, &text);
    const int fd = mkstemps(path, (int)strlen(".yaml"));
    const int r = fd < 0 ? -errno : file_replace(path, &text);
    if (r < 0) {
        return cli_error(EXIT_LOCAL_RESOURCE, "set TMPDIR to a folder with room",
                         "cannot write %s: %s", path, strerror(-r));
    }
    (void)close(fd);      /* nothing was written by it */
    (void)fflush(stdout); /* nothing was printed */
    const int out = dup(STDOUT_FILENO);
    (void)dup2(STDERR_FILENO, STDOUT_FILENO); /* both exist */
    int64_t pair_ns = 0;
    enum exit_code code = find_rules(cli, path, &pair_ns);
    code = code == EXIT_OK || code == EXIT_RUN_FAILED ? run(cli, path, pair_ns, ret_name) : code;
    code = code == EXIT_RUN_FAILED ? EXIT_OK : code; /* the gate says so */
    (void)fflush(stdout);
    (void)dup2(out, STDOUT_FILENO);
    (void)close(out);
    (void)unlink(path); /* the store has the definition */
    return code;
}
