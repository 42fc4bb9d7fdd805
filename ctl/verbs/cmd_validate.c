/* benchctl validate FILE...: reports every problem of every file at once, as written and with its
 * local block merged. */
#include <stdio.h>

#include <jansson.h>

#include "base/mem.h"
#include "ctl/definition/definition.h"
#include "ctl/definition/profiles.h"
#include "ctl/verbs/verbs.h"
#include "doc/tree.h"
#include "pod/body.h"

static void count(const struct run_def *def, struct buf *out)
{
    const struct matrix *m = &def->matrix;
    uint32_t baselines = m->n_points - m->n_swept;
    buf_printf(out, "%u point%s", m->n_swept, m->n_swept == 1 ? "" : "s");
    if (baselines > 0) {
        buf_printf(out, ", %u baseline%s", baselines, baselines == 1 ? "" : "s");
    }
    buf_puts(out, ", ");
    if (def->spec->stop.is_set) {
        buf_printf(out, "%lld to ", (long long)(m->n_points * def->spec->min_repeats));
    }
    buf_printf(out, "%u trial%s", def->n_slots, def->n_slots == 1 ? "" : "s");
}

/* Notes each system that pods cannot run, with its place. Returns how many there are. */
static size_t note_for_cluster(const struct cli *cli, const struct definition_file *file,
                               const struct run_def *def)
{
    static const struct tree_limits limits = TREE_LIMITS_DEFAULT;
    _cleanup_(diags_done) struct diags diags = {0};
    struct node *root = NULL;
    size_t n = 0;
    (void)tree_parse(file->text, file->len, &limits, &root, &diags); /* it was read before */
    for (size_t i = 0; i < def->spec->systems.len; i++) {
        struct err err;
        if (pod_check_system(def->spec, &def->spec->systems.items[i], &err) < 0) {
            _cleanup_(freep) char *path = xasprintf("spec.systems[%zu]", i);
            const struct node *at = tree_at(root, path);
            cli_note(cli, "%s:%u:%u: %s: in a cluster: %s", file->path, at->mark.line,
                     at->mark.column, path, err.msg);
            n++;
        }
    }
    tree_free(root);
    return n;
}

/* Checks it, and says so on stdout if it is valid. */
static enum exit_code validate(const struct cli *cli, const struct profiles *profiles,
                               const struct definition_file *file)
{
    _cleanup_(run_def_freep) struct run_def *def = NULL, *local = NULL;
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    enum exit_code code = definition_load(cli, file, profiles, false, &def);
    if (code != EXIT_OK) {
        return code; /* merged with the local block, every error would be reported twice */
    }
    buf_printf(&out, "%s: benchmark/%s is valid (", file->path, def->spec->name);
    count(def, &out);
    if (json_object_get(json_object_get(def->spec->definition, "spec"), "local") != NULL) {
        code = definition_load(cli, file, profiles, true, &local);
        if (code != EXIT_OK) {
            (void)fprintf(stderr,
                          "%s: these errors appear with its local block merged, as with --local\n",
                          file->path); /* the exit code says so too */
            return code;
        }
        buf_puts(&out, "; with --local: ");
        count(local, &out);
    }
    definition_note_missing(cli, def);
    const size_t n_local = cli->is_local ? 0 : note_for_cluster(cli, file, def);
    if (n_local > 0) {
        buf_printf(&out, "; %zu of %zu systems with --local only", n_local, def->spec->systems.len);
    }
    buf_puts(&out, ")\n");
    return cli_print(&out);
}

/* A word may also be the name of a shipped definition. */
static enum exit_code validate_one(const struct cli *cli, const struct profiles *profiles,
                                   const char *name, bool is_word)
{
    _cleanup_(definition_file_done) struct definition_file file = {0};
    const enum exit_code code = definition_take(name, !is_word, &file);
    return code == EXIT_OK ? validate(cli, profiles, &file) : code;
}

static enum exit_code validate_all(const struct cli *cli, const struct profiles *profiles)
{
    enum exit_code worst = EXIT_OK;
    const char *path;
    for (size_t i = 0; (path = args_get_nth(&cli->args, "file", i)) != NULL; i++) {
        const enum exit_code code = validate_one(cli, profiles, path, false);
        worst = worst == EXIT_OK ? code : worst;
    }
    for (size_t i = 0; i < cli->args.n_words; i++) {
        const enum exit_code code = validate_one(cli, profiles, cli->args.words[i], true);
        worst = worst == EXIT_OK ? code : worst;
    }
    return worst;
}

static enum exit_code run(struct cli *cli)
{
    if (cli->args.n_words == 0 && !args_has(&cli->args, "file")) {
        return cli_error(EXIT_USAGE, "benchctl validate my-sweep.yaml",
                         "'validate' needs a FILE or -f FILE");
    }
    _cleanup_(profiles_done) struct profiles profiles = {0};
    const enum exit_code code = profiles_open(&profiles);
    return code == EXIT_OK ? validate_all(cli, &profiles) : code;
}

static const struct arg_opt opts[] = {
    {"file", 'f', "FILE", "Check this file (- for stdin); may be repeated"},
};

const struct verb verb_validate = {
    .name = "validate",
    .args = "FILE... [option...]",
    .summary = "Check definitions and report every problem with its line",
    .examples = "  benchctl validate my-sweep.yaml\n"
                "  benchctl validate benchmarks/*.yaml\n",
    .details = "A definition is checked as written, and again with its local block merged, as\n"
               "with --local. A note names each system that pods cannot run, for instance one\n"
               "without an image; not with --local.\n"
               "\n"
               "Exit codes: 2 a definition is invalid, 3 a file does not exist.",
    VERB_OPTS(opts),
    .max_words = (size_t)-1,
    .run = run,
};
