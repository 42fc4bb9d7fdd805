/* benchctl validate FILE...: reports every problem of every file at once, as written and with its
 * local block merged. */
#include <stdio.h>

#include <jansson.h>

#include "base/mem.h"
#include "ctl/definition.h"
#include "ctl/profiles.h"
#include "ctl/verbs.h"
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

static bool has_local(const struct run_def *def)
{
    return json_object_get(json_object_get(def->spec->definition, "spec"), "local") != NULL;
}

/* Notes each system that pods cannot run, with its place. Returns how many there are. */
static size_t note_for_cluster(const struct cli *cli, const struct definition_file *file,
                               const struct run_def *def)
{
    static const struct tree_limits limits = TREE_LIMITS_DEFAULT;
    struct diags diags = {0};
    struct node *root = NULL;
    size_t n = 0;
    (void)tree_parse(file->text, file->len, &limits, &root, &diags); /* it was read before */
    for (size_t i = 0; i < def->spec->systems.len; i++) {
        struct err err;
        if (pod_check_system(def->spec, &def->spec->systems.items[i], &err) >= 0) {
            continue;
        }
        _cleanup_(freep) char *path = xasprintf("spec.systems[%zu]", i);
        const struct node *at = tree_at(root, path);
        cli_note(cli, "%s:%u:%u: %s: in a cluster: %s", file->path, at->mark.line, at->mark.column,
                 path, err.msg);
        n++;
    }
    tree_free(root);
    diags_done(&diags);
    return n;
}

static enum exit_code validate(const struct cli *cli, const struct profiles *profiles,
                               const struct definition_file *file)
{
    struct run_def *def = NULL, *local = NULL;
    struct definition_load_params params = {.profiles = profiles};
    enum exit_code code = definition_load(cli, file, &params, &def);
    if (code != EXIT_OK) {
        return code; /* merged with the local block, every error would be reported twice */
    }
    struct buf out = BUF_INIT;
    buf_printf(&out, "%s: benchmark/%s is valid (", file->path, def->spec->name);
    count(def, &out);
    if (has_local(def)) {
        params.is_local = true;
        code = definition_load(cli, file, &params, &local);
        if (code == EXIT_OK) {
            buf_puts(&out, "; with --local: ");
            count(local, &out);
        } else {
            (void)fprintf(stderr,
                          "%s: these errors appear with its local block merged, as with --local\n",
                          file->path); /* the exit code says so too */
        }
    }
    const size_t n_local = code == EXIT_OK && !cli->is_local ? note_for_cluster(cli, file, def) : 0;
    if (n_local > 0) {
        buf_printf(&out, "; %zu of %zu systems with --local only", n_local, def->spec->systems.len);
    }
    buf_puts(&out, ")\n");
    if (code == EXIT_OK) {
        code = cli_print(&out);
    }
    buf_done(&out);
    run_def_free(def);
    run_def_free(local);
    return code;
}

static enum exit_code validate_all(const struct cli *cli, const struct profiles *profiles)
{
    enum exit_code worst = EXIT_OK;
    for (size_t i = 0; i < cli->args.n_words; i++) {
        struct definition_file file = {0};
        struct err err = {0};
        int r = definition_find(cli->args.words[i], &file, &err);
        enum exit_code code = r >= 0
                                  ? validate(cli, profiles, &file)
                                  : cli_error(r == -ENOENT ? EXIT_NOT_FOUND : EXIT_LOCAL_RESOURCE,
                                              NULL, "%s", err.msg);
        definition_file_done(&file);
        if (worst == EXIT_OK) {
            worst = code;
        }
    }
    return worst;
}

static enum exit_code run(struct cli *cli)
{
    struct profiles profiles;
    enum exit_code code = profiles_open(&profiles);
    if (code == EXIT_OK) {
        code = validate_all(cli, &profiles);
        profiles_done(&profiles);
    }
    return code;
}

const struct verb verb_validate = {
    .name = "validate",
    .args = "FILE...",
    .summary = "Check definitions and report every problem with its line",
    .examples = "  benchctl validate my-sweep.yaml\n"
                "  benchctl validate benchmarks/*.yaml\n",
    .details = "A definition is checked as written, and again with its local block merged, as\n"
               "with --local. A note names each system that pods cannot run, for instance one\n"
               "without an image; not with --local. Exit codes: 2 a definition is invalid, 3 a\n"
               "file does not exist.",
    .min_words = 1,
    .max_words = (size_t)-1,
    .run = run,
};
