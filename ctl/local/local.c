/* Runs of the local store, see backend.h. */
#include "ctl/local/local.h"

#include "base/mem.h"
#include "config.h"
#include "ctl/runs/find.h"
#include "ctl/local/local_store.h"
#include "ctl/definition/profiles.h"
#include "spec/spec_load.h"

struct local {
    struct backend backend;
    struct store *store; /* NULL until it is needed */
    bool is_reading;     /* since load_run, to the end */
};

static enum exit_code open_store(struct local *l)
{
    return l->store != NULL ? EXIT_OK : local_store_open(l->backend.cli, false, &l->store);
}

static void list_add_take(struct local *l, struct listing *list, struct run_row *row)
{
    *vec_push(&list->items) =
        (struct listed){.row = *row, .is_interrupted = local_store_is_interrupted(l->store, row)};
}

/* A store that no run has created yet has no runs; one that the user named must exist. */
static enum exit_code open_to_list(struct local *l)
{
    return l->store == NULL && local_store_is_to_come(l->backend.cli) ? EXIT_OK : open_store(l);
}

static enum exit_code list_runs(struct local *l, const struct list_wanted *wanted,
                                struct listing *ret)
{
    const size_t n_names = wanted->n_names;
    enum exit_code code = n_names == 0 ? open_to_list(l) : open_store(l);
    if (code == EXIT_OK && n_names == 0 && l->store != NULL) {
        _cleanup_(freep) struct run_row *rows = NULL;
        size_t n = 0;
        struct err err = {0};
        int r = l->store->ops->list_runs(l->store, &rows, &n, &err);
        for (size_t i = 0; r >= 0 && i < n; i++) {
            list_add_take(l, ret, &rows[i]);
        }
        return r < 0 ? cli_error(local_store_exit_code(r), NULL, "%s", err.msg) : EXIT_OK;
    }
    for (size_t i = 0; i < n_names && code == EXIT_OK; i++) {
        struct run_row row;
        code = local_store_find_run(l->backend.cli, l->store, wanted->names[i], &row);
        if (code == EXIT_OK) {
            list_add_take(l, ret, &row);
        }
    }
    return code;
}

/* A shipped definition as an object, whole without files; one that cannot be read is reported and
 * left out. */
static enum exit_code add_builtin(const struct cli *cli, const struct profiles *profiles,
                                  const char *name, bool is_needed, struct listing *list)
{
    _cleanup_(definition_file_done) struct definition_file file = {0};
    struct err err = {0};
    int r = definition_find(name, &file, &err);
    struct spec *spec = NULL;
    _cleanup_(diags_done) struct diags diags = {0};
    const struct spec_overrides as_written = {.profiles = profiles, TEMPLATES_OF(&file)};
    if (r >= 0 && (r = spec_load(file.text, file.len, &as_written, &spec, &diags)) < 0) {
        (void)err_set(&err, EINVAL,
                      "%s is not a valid definition; list its errors with: benchctl validate %s",
                      file.path, file.path);
    }
    if (r >= 0) {
        *vec_push(&list->items) = (struct listed){.row = {.name = xstrdup(spec->name)},
                                                  .object = json_incref(spec->definition)};
    } else if (!is_needed) {
        cli_note(cli, "%s", err.msg);
    }
    spec_free(spec);
    if (r >= 0 || !is_needed) {
        return EXIT_OK;
    }
    _cleanup_(freep) char *fix = r == -ENOENT ? definition_fix(name, false) : NULL;
    return cli_error(r == -ENOENT ? EXIT_NOT_FOUND : EXIT_USAGE, fix, "%s", err.msg);
}

static enum exit_code list_benchmarks(const struct cli *cli, const struct list_wanted *wanted,
                                      struct listing *ret)
{
    _cleanup_(texts_done) struct texts builtin = {0};
    const char *const *names = wanted->names;
    if (wanted->n_names == 0) {
        definition_names(&builtin);
        names = (const char *const *)builtin.list.items;
    }
    _cleanup_(profiles_done) struct profiles profiles = {0};
    enum exit_code code = profiles_open(&profiles);
    size_t n = wanted->n_names == 0 ? builtin.list.len : wanted->n_names;
    for (size_t i = 0; i < n && code == EXIT_OK; i++) {
        code = add_builtin(cli, &profiles, names[i], wanted->n_names > 0, ret);
    }
    return code;
}

static enum exit_code local_list(struct backend *b, const struct list_wanted *wanted,
                                 struct listing *ret)
{
    return wanted->is_benchmarks ? list_benchmarks(b->cli, wanted, ret)
                                 : list_runs((struct local *)b, wanted, ret);
}

static enum exit_code load_run(struct backend *b, const char *what, struct loaded_run *ret)
{
    struct local *l = (struct local *)b;
    struct err err = {0};
    const enum exit_code code = open_store(l);
    /* What prints reads the replicas once more: all that is printed is of one moment. */
    if (code == EXIT_OK && !l->is_reading) {
        const int r = l->store->ops->begin_read(l->store, &err);
        if (r < 0) {
            return cli_error(local_store_exit_code(r), NULL, "%s", err.msg);
        }
        l->is_reading = true;
    }
    return code == EXIT_OK ? local_store_load_run(b->cli, l->store, what, ret) : code;
}

static enum exit_code load_figures(struct backend *b, const char *what,
                                   const struct loaded_run *like, struct loaded_run *ret)
{
    struct local *l = (struct local *)b;
    enum exit_code code = open_store(l);
    return code == EXIT_OK ? local_store_load_figures(b->cli, l->store, what, like, ret) : code;
}

static enum exit_code get_log(struct backend *b, const struct loaded_run *run,
                              const struct replica_id *id, struct buf *out)
{
    struct store *s = ((struct local *)b)->store;
    struct err err = {0};
    _cleanup_(freep) char *text = NULL;
    size_t len = 0;
    int r = s->ops->get_log(s, run->row.uid, id, &text, &len, &err);
    if (r < 0 && r != -ENOENT) { /* without a log it printed nothing */
        return cli_error(local_store_exit_code(r), NULL, "%s", err.msg);
    }
    if (len > 0) {
        buf_append(out, text, len);
    }
    return EXIT_OK;
}

/* *ret is the caller's, where it is EXIT_OK. */
static enum exit_code find_run(struct local *l, const char *what, struct run_row *ret)
{
    const enum exit_code code = open_store(l);
    return code == EXIT_OK ? local_store_find_run(l->backend.cli, l->store, what, ret) : code;
}

static enum exit_code get_file(struct backend *b, const char *what,
                               const struct run_file_parts *parts, const char *path)
{
    struct local *l = (struct local *)b;
    _cleanup_(run_row_done) struct run_row row = {0};
    char digest[RUN_FILE_DIGEST_SIZE];
    struct err err = {0};
    const enum exit_code code = find_run(l, what, &row);
    if (code != EXIT_OK) {
        return code;
    }
    const int r =
        run_file_make(l->store, row.uid, parts, "benchctl " BENCHD_VERSION, path, digest, &err);
    return r < 0 ? cli_error(local_store_exit_code(r), NULL, "%s", err.msg) : EXIT_OK;
}

static enum exit_code delete_run(struct backend *b, const char *what, char **ret_name)
{
    struct local *l = (struct local *)b;
    _cleanup_(run_row_done) struct run_row row = {0};
    enum exit_code code = find_run(l, what, &row);
    if (code != EXIT_OK) {
        return code;
    }
    struct store *s = l->store;
    struct err err = {0};
    int r = s->ops->claim_run(s, row.uid, &err); /* no process may start running it now */
    if (r == -EBUSY) {
        code =
            cli_error(EXIT_LOCAL_RESOURCE, "stop that process first (Ctrl-C), then delete the run",
                      "run '%s': %s", row.name, err.msg);
    } else if (r < 0 || (r = s->ops->delete_run(s, row.uid, &err)) < 0) {
        code = cli_error(local_store_exit_code(r), NULL, "%s", err.msg);
    } else {
        *ret_name = xstrdup(row.name);
    }
    s->ops->release_run(s, row.uid);
    return code;
}

static enum exit_code cancel_run(struct backend *b, const char *what, char **ret_name)
{
    (void)b, (void)ret_name;
    return cli_error(EXIT_USAGE, "press Ctrl-C in the terminal where it runs",
                     "run '%s': a local run is cancelled in its own terminal", what);
}

static enum exit_code attach(struct backend *b, const char *what)
{
    _cleanup_(freep) char *fix = xasprintf("benchctl results %s %s", what, b->where);
    return cli_error(EXIT_USAGE, fix,
                     "run '%s': a local run shows its progress in its own terminal", what);
}

static void local_free(struct backend *b)
{
    struct local *l = (struct local *)b;
    store_close(l->store);
    free(l);
}

static const struct backend_ops ops = {
    .list = local_list,
    .load_run = load_run,
    .load_figures = load_figures,
    .get_log = get_log,
    .get_file = get_file,
    .delete_run = delete_run,
    .cancel_run = cancel_run,
    .run = local_run,
    .attach = attach,
    .free = local_free,
};

enum exit_code local_backend_open(const struct cli *cli, struct backend **ret)
{
    struct local *l = xnew(struct local);
    l->backend = (struct backend){
        .ops = &ops,
        .cli = cli,
        .where = local_store_options(cli),
        .place = xstrdup(cli->store == NULL ? "the local store" : cli->store),
    };
    *ret = &l->backend;
    return EXIT_OK;
}
