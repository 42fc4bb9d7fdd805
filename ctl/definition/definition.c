/* See definition.h. */
#include "ctl/definition/definition.h"

#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "ctl/cli/this_machine.h"
#include "ctl/definition/profiles.h"
#include "ctl/runs/run_name.h"
#include "doc/tree.h"
#include "logparse/rule.h"
#include "result/threshold.h"
#include "spec/schemas.h"

#define PLACEHOLDER_UID "00000000-0000-4000-8000-000000000000"

/* A script or a program, where a definition of it is needed. */
static bool is_program(const char *name)
{
    static const char *const endings[] = {".py", ".sh", ".jl", ".pl"};
    static const char *const others[] = {".yaml", ".yml", ".json"};
    struct stat st;
    return array_any(endings, COUNT_OF(endings), it, str_has_suffix(name, *it)) ||
           (stat(name, &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & S_IXUSR) != 0 &&
            !array_any(others, COUNT_OF(others), it, str_has_suffix(name, *it)));
}

enum exit_code definition_named(const struct cli *cli)
{
    const char *file = args_get(&cli->args, "file", NULL);
    if ((file == NULL) == (cli->args.n_words == 0)) {
        return cli_error(EXIT_USAGE,
                         file != NULL ? "remove one of the two"
                                      : "list the names with: benchctl get benchmarks --local",
                         "'%s' needs a NAME or -f FILE%s", cli->verb->name,
                         file == NULL ? "" : ", not both");
    }
    const char *name = file != NULL ? file : cli->args.words[0];
    if (is_program(name)) {
        _cleanup_(freep) char *fix = xasprintf("benchctl init -- %s > my.yaml", name);
        return cli_error(EXIT_USAGE, fix, "'%s' is a program, and '%s' needs a definition of it",
                         name, cli->verb->name);
    }
    return EXIT_OK;
}

enum exit_code definition_open(const struct cli *cli, struct definition_file *ret)
{
    const char *file = args_get(&cli->args, "file", NULL);
    enum exit_code code = definition_named(cli);
    return code != EXIT_OK
               ? code
               : definition_take(file != NULL ? file : cli->args.words[0], file != NULL, ret);
}

/* "a.b.c" in a tree of maps. */
static void put_field(struct node *map, const char *path, struct node *value_take)
{
    _cleanup_(freep) char *copy = xstrdup(path);
    char *rest = copy, *key = strsep(&rest, ".");
    for (; rest != NULL; key = strsep(&rest, ".")) {
        map = tree_enter(map, key);
    }
    tree_set_take(map, key, value_take);
}

static enum exit_code take_field(const struct cli *cli, const struct arg_opt *opt, struct node *run)
{
    const struct node *schema = schema_run_field(opt->field);
    const char *text = args_get(&cli->args, opt->name, NULL);
    if (text == NULL) {
        return EXIT_OK;
    }
    if ((cli->is_local || cli->store != NULL) && !str_has_prefix(opt->field, "definition.")) {
        return cli_error(EXIT_USAGE, "remove it, or run in a cluster",
                         "--%s is for runs in a cluster", opt->name);
    }
    struct node *value = tree_new(NODE_STRING);
    value->origin = xasprintf("--%s %s", opt->name, text);
    value->s = xstrdup(text);
    enum exit_code code = EXIT_OK;
    if (str_eq(tree_get_text(schema, "type"), "integer")) {
        free(value->s);
        value->kind = NODE_INT;
        code = cli_take_number(cli, opt->name, tree_get(schema, "minimum")->i,
                               tree_get(schema, "maximum")->i, &value->i);
    }
    put_field(run, opt->field, value);
    return code;
}

enum exit_code definition_fields(const struct cli *cli, struct node **ret)
{
    _cleanup_(tree_freep) struct node *root = tree_new(NODE_MAP);
    struct node *run = tree_enter(root, "spec");
    enum exit_code code = EXIT_OK;
    for (size_t i = 0; code == EXIT_OK && i < cli->verb->n_opts; i++) {
        const struct arg_opt *opt = &cli->verb->opts[i];
        code = opt->field == NULL ? EXIT_OK : take_field(cli, opt, run);
    }
    _cleanup_(diags_done) struct diags diags = {0};
    run_options_check_form(root, "spec", &diags);
    if (code == EXIT_OK && diags.list.len > 0) {
        code = cli_print_diags(&diags, NULL, NULL);
    }
    *ret = code == EXIT_OK ? take_ptr(root) : NULL;
    return code;
}

void definition_note_missing(const struct cli *cli, const struct run_def *def)
{
    _cleanup_(buf_done) struct buf unbased = BUF_INIT;
    matrix_describe_unbased(&def->matrix, &unbased);
    if (unbased.len > 0) {
        cli_note_prose(cli, "note: %s", buf_cstr(&unbased));
    }
    for (size_t i = 0; i < def->spec->thresholds.len; i++) {
        const struct threshold *t = &def->spec->thresholds.items[i];
        if (!matrix_has(&def->matrix, &t->where)) {
            _cleanup_(buf_done) struct buf text = BUF_INIT;
            threshold_format(t, &text);
            buf_puts(&text, " where ");
            params_format(&t->where, ", ", &text);
            cli_note_prose(cli, "note: threshold %zu (%s) is skipped: this run has no such point",
                           i, buf_cstr(&text));
        }
    }
}

static int freeze(struct spec *spec_take, bool is_local, struct run_def **ret, struct diags *diags)
{
    char name[RUN_NAME_SIZE];
    run_name_make(spec_take->name, (const unsigned char[5]){0}, name);
    memset(name + strlen(name) - 5, 'x', 5); /* a real run gets its own five characters */
    struct run_def_params p = {
        .name = name,
        .uid = PLACEHOLDER_UID,
        .created_unix_ms = clock_unix_ms(),
        .cpus = is_local ? host_cpus() : 0,
    };
    return run_def_new(spec_take, &p, ret, diags);
}

/* --image. What is not a map or a list of maps is an error of the check that follows. */
static enum exit_code set_images(const struct cli *cli, const struct node *root)
{
    const struct node *systems = tree_path(root, "spec", "systems", NULL);
    const char *text;
    for (size_t i = 0; (text = args_get_nth(&cli->args, "image", i)) != NULL; i++) {
        const char *equals = strchr(text, '=');
        const size_t len = equals == NULL ? 0 : (size_t)(equals - text);
        bool is_found = false;
        for (size_t k = 0; systems != NULL && k < systems->n_children; k++) {
            struct node *s = systems->children[k];
            const char *name = s->kind == NODE_MAP ? tree_get_text(s, "name") : NULL;
            if (name != NULL && (len == 0 || (strlen(name) == len && str_has_prefix(text, name)))) {
                struct node *image = tree_new(NODE_STRING);
                image->origin = xasprintf("--image %s", text);
                image->s = xstrdup(text + (equals == NULL ? 0 : len + 1));
                tree_set_take(s, "image", image);
                is_found = true;
            }
        }
        if (!is_found) {
            return cli_error(EXIT_USAGE, "write a name of spec.systems before the '='",
                             "--image %s: the definition has no such system", text);
        }
    }
    return EXIT_OK;
}

enum exit_code definition_load(const struct cli *cli, const struct definition_file *file,
                               const struct profiles *profiles, bool is_local, struct run_def **ret)
{
    struct spec_overrides overrides = {.local = is_local,
                                       .default_repeats = is_local ? REPEATS_DEFAULT_LOCAL : 0,
                                       .systems = args_get(&cli->args, "systems", NULL),
                                       .profiles = profiles,
                                       TEMPLATES_OF(file)};
    _cleanup_(tree_freep) struct node *fields = NULL;
    const enum exit_code code = definition_fields(cli, &fields);
    if (code != EXIT_OK) {
        return code;
    }
    overrides.fields = tree_path(fields, "spec", "definition", NULL);
    VEC(const char *) sets = {0};
    const char *set;
    for (size_t i = 0; (set = args_get_nth(&cli->args, "set", i)) != NULL; i++) {
        *vec_push(&sets) = set;
    }
    overrides.sets = sets.items;
    overrides.n_sets = sets.len;
    overrides.is_as_written = !is_local && overrides.n_sets == 0;
    _cleanup_(diags_done) struct diags diags = {0};
    struct spec *spec = NULL;
    struct node *root = NULL;
    int r = tree_parse(file->text, file->len, &TREE_LIMITS_DEFAULT, &root, &diags);
    if (r >= 0 && set_images(cli, root) != EXIT_OK) {
        tree_free(root);
        vec_done(&sets);
        return EXIT_USAGE;
    }
    r = r < 0 ? r : spec_load_tree(root, &overrides, &spec, &diags);
    r = r < 0 ? r : freeze(spec, is_local, ret, &diags);
    vec_done(&sets);
    if (r < 0) {
        (void)cli_print_diags(&diags, file->path, file->text);
    }
    return r < 0 ? EXIT_USAGE : EXIT_OK;
}

enum exit_code definition_load_named(const struct cli *cli, const struct profiles *profiles,
                                     bool is_local, struct run_def **ret)
{
    _cleanup_(definition_file_done) struct definition_file file = {0};
    enum exit_code code = definition_open(cli, &file);
    return code == EXIT_OK ? definition_load(cli, &file, profiles, is_local, ret) : code;
}

struct run_def *definition_of_document(const json_t *document, const char *what,
                                       const struct spec_overrides *overrides,
                                       struct run_def_params params)
{
    _cleanup_(freep) char *text = json_dumps(document, JSON_COMPACT);
    _cleanup_(diags_done) struct diags diags = {0};
    struct run_def *def = NULL;
    params.uid = PLACEHOLDER_UID;
    if (text == NULL || run_def_load(text, overrides, &params, &def, &diags) < 0) {
        (void)cli_print_diags(&diags, what, text); /* NULL says so too */
    }
    return def;
}
