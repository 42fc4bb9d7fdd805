/* benchctl validate FILE...: reports every problem of every file at once, as written and with its
 * local block merged. */
#include <stdio.h>

#include <jansson.h>

#include "base/mem.h"
#include "core/json_field.h"
#include "ctl/definition/definition.h"
#include "ctl/definition/profiles.h"
#include "ctl/verbs/verbs.h"
#include "doc/tree.h"
#include "pod/body.h"
#include "report/json_text.h"

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

/* What came out of one file, for -o json; NULL elsewhere, where texts are printed as they come. */
struct findings {
    struct diags problems;
    json_t *notes; /* array */
};

/* Notes each system that pods cannot run, with its place. Returns how many there are. */
static size_t note_for_cluster(const struct cli *cli, const struct definition_file *file,
                               const struct run_def *def, struct findings *f)
{
    static const struct tree_limits limits = TREE_LIMITS_DEFAULT;
    _cleanup_(diags_done) struct diags diags = {0};
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
        if (f != NULL) { /* grows in memory only */
            (void)json_array_append_new(f->notes, json_pack("{s:i, s:i, s:s, s:o}", "line",
                                                            (int)at->mark.line, "column",
                                                            (int)at->mark.column, "path", path,
                                                            "message", json_text_or_null(err.msg)));
        } else {
            cli_note(cli, "%s:%u:%u: %s: in a cluster: %s", file->path, at->mark.line,
                     at->mark.column, path, err.msg);
        }
        n++;
    }
    tree_free(root);
    return n;
}

/* Checks it, and says so in `out` if it is valid. */
static enum exit_code validate(const struct cli *cli, const struct profiles *profiles,
                               const struct definition_file *file, struct findings *f,
                               struct buf *out)
{
    _cleanup_(run_def_freep) struct run_def *def = NULL, *local = NULL;
    struct definition_load_params params = {.profiles = profiles,
                                            .problems = f == NULL ? NULL : &f->problems};
    enum exit_code code = definition_load(cli, file, &params, &def);
    if (code != EXIT_OK) {
        return code; /* merged with the local block, every error would be reported twice */
    }
    buf_printf(out, "%s: benchmark/%s is valid (", file->path, def->spec->name);
    count(def, out);
    if (json_object_get(json_object_get(def->spec->definition, "spec"), "local") != NULL) {
        params.is_local = true;
        code = definition_load(cli, file, &params, &local);
        if (code == EXIT_OK) {
            buf_puts(out, "; with --local: ");
            count(local, out);
        } else if (f == NULL) {
            (void)fprintf(stderr,
                          "%s: these errors appear with its local block merged, as with --local\n",
                          file->path); /* the exit code says so too */
        }
    }
    if (code == EXIT_OK && f == NULL) {
        definition_note_missing(cli, def);
    }
    const size_t n_local =
        code == EXIT_OK && !cli->is_local ? note_for_cluster(cli, file, def, f) : 0;
    if (n_local > 0) {
        buf_printf(out, "; %zu of %zu systems with --local only", n_local, def->spec->systems.len);
    }
    buf_puts(out, ")\n");
    return code;
}

static json_t *problem_to_json(const struct diag *d)
{
    return json_pack("{s:i, s:i, s:o, s:o, s:o, s:o}", "line", (int)d->mark.line, "column",
                     (int)d->mark.column, "origin", json_text_or_null(d->origin), "path",
                     json_text_or_null(d->path), "message", json_text_or_null(d->message), "fix",
                     json_text_or_null(d->fix));
}

static int by_place(const void *a, const void *b)
{
    const struct diag *x = a, *y = b;
    const int order = (x->mark.line > y->mark.line) - (x->mark.line < y->mark.line);
    return order != 0 ? order
                      : (x->mark.column > y->mark.column) - (x->mark.column < y->mark.column);
}

/* Takes the notes. */
static json_t *file_to_json(const char *name, enum exit_code code, struct findings *f)
{
    array_sort(f->problems.list.items, f->problems.list.len, sizeof(f->problems.list.items[0]),
               by_place);
    json_t *problems =
        JSON_ARRAY_OF(vec_each (const struct diag, d, &f->problems.list), problem_to_json(d));
    return json_pack("{s:o, s:b, s:o, s:o}", "file", json_text_or_null(name), "valid",
                     code == EXIT_OK, "problems", problems, "notes", f->notes);
}

/* Prints the text of one definition, or adds its document to `files`. A word may also be the name
 * of a shipped definition. */
static enum exit_code validate_one(const struct cli *cli, const struct profiles *profiles,
                                   const char *name, bool is_word, json_t *files)
{
    _cleanup_(definition_file_done) struct definition_file file = {0};
    struct findings f = {.notes = files == NULL ? NULL : json_array()};
    struct err err = {0};
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    enum exit_code code;
    const int r = is_word ? definition_find(name, &file, &err) : definition_read(name, &file, &err);
    if (r >= 0) {
        code = validate(cli, profiles, &file, files == NULL ? NULL : &f, &out);
        code = code == EXIT_OK && files == NULL ? cli_print(&out) : code;
    } else {
        _cleanup_(freep) char *fix = r == -ENOENT ? definition_fix(name, !is_word) : NULL;
        code = r == -ENOENT ? EXIT_NOT_FOUND : EXIT_LOCAL_RESOURCE;
        if (files == NULL) {
            (void)cli_error(code, fix, "%s", err.msg);
        } else {
            diags_add(&f.problems, (struct mark){0}, "", fix, "%s", err.msg);
        }
    }
    if (files != NULL) { /* grows in memory only */
        (void)json_array_append_new(files, file_to_json(r >= 0 ? file.path : name, code, &f));
    }
    diags_done(&f.problems);
    return code;
}

static enum exit_code validate_all(const struct cli *cli, const struct profiles *profiles)
{
    enum exit_code worst = EXIT_OK;
    json_t *files = cli_output_is(cli, "json") ? json_array() : NULL;
    const char *path;
    for (size_t i = 0; (path = args_get_nth(&cli->args, "file", i)) != NULL; i++) {
        const enum exit_code code = validate_one(cli, profiles, path, false, files);
        worst = worst == EXIT_OK ? code : worst;
    }
    for (size_t i = 0; i < cli->args.n_words; i++) {
        const enum exit_code code = validate_one(cli, profiles, cli->args.words[i], true, files);
        worst = worst == EXIT_OK ? code : worst;
    }
    if (files != NULL) {
        _cleanup_(buf_done) struct buf out = BUF_INIT;
        json_text_put(document_list("ValidationList", files), &out);
        const enum exit_code code = cli_print(&out);
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
                "  benchctl validate benchmarks/*.yaml\n"
                "  benchctl validate my-sweep.yaml -o json\n",
    .details = "A definition is checked as written, and again with its local block merged, as\n"
               "with --local. A note names each system that pods cannot run, for instance one\n"
               "without an image; not with --local. -o json has an item for each file: valid,\n"
               "problems (line, column, path, message, fix; line 0 if it has no line) and notes.\n"
               "\n"
               "Exit codes: 2 a definition is invalid, 3 a file does not exist.",
    VERB_OPTS(opts),
    .formats = "text|json",
    .max_words = (size_t)-1,
    .run = run,
};
