/* benchctl gate --ab BASE CANDIDATE: measures two commands, interleaved in one run. What `try`
 * finds in their outputs is the log rule of the run's definition; what both verbs print goes to
 * stderr, because stdout is for the verdict. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/whole_file.h"
#include "ctl/definition/init_file.h"
#include "ctl/verbs/verbs.h"

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
               "  repeats: {min: %s, order: Interleaved}\n",
               args_get(&cli->args, "warmup", "2"), args_get(&cli->args, "repeats", "5"));
}

/* Another verb on this definition, with the place of the runs. */
static enum exit_code call(const struct cli *cli, const char *verb, const char *path,
                           const char *option)
{
    const char *line[8] = {"benchctl", verb, path};
    int n = 3;
    if (option != NULL) {
        line[n++] = option;
    } else if (cli->store != NULL) {
        line[n++] = "--store";
        line[n++] = cli->store;
    } else {
        line[n++] = "--local";
    }
    if (cli->is_quiet) {
        line[n++] = "--quiet";
    }
    return cli_main(cli->verbs, cli->n_verbs, n, (char **)line); /* reorders, and writes nothing */
}

enum exit_code gate_measure_ab(const struct cli *cli)
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
    enum exit_code code = call(cli, "try", path, "--write");
    if (code == EXIT_OK) {
        code = call(cli, "run", path, NULL);
        code = code == EXIT_RUN_FAILED ? EXIT_OK : code; /* the gate says so */
    }
    (void)fflush(stdout);
    (void)dup2(out, STDOUT_FILENO);
    (void)close(out);
    (void)unlink(path); /* the store has the definition */
    return code;
}
