/* See local_store.h. Edge file: reads the environment for the store's default place. */
#include "ctl/local/local_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"

/* NULL: not set. The XDG standard says that a relative path counts as not set. */
static const char *get_folder(const char *variable)
{
    const char *value = getenv(variable);
    return value != NULL && value[0] == '/' ? value : NULL;
}

char *local_store_url(const struct cli *cli)
{
    if (cli->store != NULL) {
        return xstrdup(cli->store);
    }
    const char *data = get_folder("XDG_DATA_HOME");
    if (data != NULL) {
        return xasprintf("sqlite:%s/benchd/results.db", data);
    }
    const char *home = get_folder("HOME");
    return home == NULL ? NULL : xasprintf("sqlite:%s/.local/share/benchd/results.db", home);
}

char *local_store_options(const struct cli *cli)
{
    return cli->store == NULL ? xstrdup("--local") : xasprintf("--store %s", cli->store);
}

enum exit_code local_store_exit_code(int r)
{
    return r == -ENOENT ? EXIT_NOT_FOUND : r == -EINVAL ? EXIT_USAGE : EXIT_LOCAL_RESOURCE;
}

static enum exit_code cannot_create(int r, const struct err *err)
{
    const bool is_place =
        r == -ENOTDIR || r == -EACCES || r == -EPERM || r == -EROFS || r == -ENOENT;
    return cli_error(r == -ENOENT ? EXIT_LOCAL_RESOURCE : local_store_exit_code(r),
                     is_place ? "choose another file with --store sqlite:FILE" : NULL, "%s",
                     err->msg);
}

/* A file's name alone is the usual mistake. */
static enum exit_code check_option(const struct cli *cli)
{
    const char *store = cli->store;
    if (store == NULL || (str_has_prefix(store, "sqlite:") && store[strlen("sqlite:")] != '\0')) {
        return EXIT_OK;
    }
    const bool is_file = store[0] != '\0' && strchr(store, ':') == NULL;
    _cleanup_(freep) char *fix = xasprintf("write --store sqlite:%s", is_file ? store : "FILE");
    return cli_error(EXIT_USAGE, fix, "store '%s': not a store", store);
}

enum exit_code local_store_open(const struct cli *cli, bool create, struct store **ret)
{
    const enum exit_code wrong = check_option(cli);
    if (wrong != EXIT_OK) {
        return wrong;
    }
    _cleanup_(freep) char *url = local_store_url(cli);
    if (url == NULL) {
        return cli_error(EXIT_LOCAL_RESOURCE, "choose a file with --store sqlite:FILE",
                         "no place for the local store: neither XDG_DATA_HOME nor HOME is an "
                         "absolute path");
    }
    struct err err = {0};
    const bool is_usual = cli->store == NULL;
    int r = create && is_usual ? store_make_folder(url, &err) : 0;
    r = r < 0 ? r : store_open(url, create, ret, &err);
    if (r == -ENXIO && !is_usual) {
        return cli_error(EXIT_USAGE,
                         "create that directory, or choose another file with --store sqlite:FILE",
                         "%s", err.msg);
    }
    if ((r == -ENOENT || r == -ENXIO) && !create) {
        _cleanup_(freep) char *options = local_store_options(cli);
        _cleanup_(freep) char *fix =
            xasprintf("the first run creates it: benchctl run NAME %s", options);
        return cli_error(EXIT_NOT_FOUND, fix, "%s", err.msg);
    }
    return r < 0 ? cannot_create(r, &err) : EXIT_OK;
}

bool local_store_is_to_come(const struct cli *cli)
{
    _cleanup_(freep) char *url = cli->store == NULL ? local_store_url(cli) : NULL;
    return url != NULL && access(url + strlen("sqlite:"), F_OK) < 0 && errno == ENOENT;
}

/* The one run whose name ends with "-what", the newest one for "latest", or an error that
 * suggests a near name. */
static enum exit_code find_in_list(const struct cli *cli, struct store *s, const char *what,
                                   const struct err *not_found, struct run_row *ret)
{
    _cleanup_(freep) struct run_row *rows = NULL;
    size_t n = 0;
    struct err err = {0};
    int r = s->ops->list_runs(s, &rows, &n, &err);
    if (r < 0) {
        return cli_error(local_store_exit_code(r), NULL, "%s", err.msg);
    }
    _cleanup_(freep) const char **names = xnew_array(const char *, n + 1);
    for (size_t i = 0; i < n; i++) {
        names[i] = rows[i].name;
    }
    _cleanup_(freep) char *where = local_store_options(cli);
    enum exit_code code;
    const int newest = n == 0 ? -1 : 0; /* they are sorted by age */
    const int found = run_word_find(
        cli, what, &(struct run_names){names, n, newest, not_found->msg, where}, &code);
    if (found >= 0 && (r = s->ops->get_run(s, rows[found].uid, ret, &err)) < 0) {
        code = cli_error(local_store_exit_code(r), NULL, "%s", err.msg);
    }
    free_each(rows, n, run_row_done);
    return code;
}

enum exit_code local_store_find_run(const struct cli *cli, struct store *s, const char *what,
                                    struct run_row *ret)
{
    what = run_word_name(what);
    struct err err = {0};
    int r = s->ops->get_run(s, what, ret, &err);
    if (r == -ENOENT) {
        return find_in_list(cli, s, what, &err, ret);
    }
    return r < 0 ? cli_error(local_store_exit_code(r), NULL, "%s", err.msg) : EXIT_OK;
}

enum exit_code local_store_load_run(const struct cli *cli, struct store *s, const char *what,
                                    struct loaded_run *ret)
{
    struct run_row row = {0};
    enum exit_code code = local_store_find_run(cli, s, what, &row);
    if (code != EXIT_OK) {
        return code;
    }
    struct err err = {0};
    if (loaded_run_read(s, &row, ret, &err) < 0) {
        return cli_error(EXIT_LOCAL_RESOURCE, NULL, "%s", err.msg);
    }
    ret->is_interrupted = local_store_is_interrupted(s, &ret->row);
    return EXIT_OK;
}

enum exit_code local_store_load_figures(const struct cli *cli, struct store *s, const char *what,
                                        const struct loaded_run *like, struct loaded_run *ret)
{
    struct loaded_run run = {0};
    struct run_result loaded = {0};
    enum exit_code code = local_store_find_run(cli, s, what, &run.row);
    if (code != EXIT_OK) {
        return code;
    }
    struct err err = {0};
    const bool borrows = like != NULL && run.row.cpus == like->row.cpus &&
                         str_eq(run.row.definition_json, like->row.definition_json);
    int r = borrows ? 0 : store_load_run_def(&run.row, &run.def, &err);
    r = r < 0 ? r
              : run_result_load(s, &run.row, borrows ? like->def : run.def, FIGURES_OF_POINTS,
                                &loaded, &err);
    if (r < 0) {
        loaded_run_done(&run);
        return cli_error(EXIT_LOCAL_RESOURCE, NULL, "%s", err.msg);
    }
    run.result = loaded.result;
    run.rows = loaded.rows;
    run.n_rows = loaded.n_rows;
    run.is_interrupted = local_store_is_interrupted(s, &run.row);
    *ret = run;
    return EXIT_OK;
}

void local_store_note_others(const struct cli *cli, struct store *s, const char *uid)
{
    _cleanup_(freep) struct run_row *rows = NULL;
    size_t n = 0;
    struct err err;
    if (s->ops->list_runs(s, &rows, &n, &err) < 0) {
        return; /* the run itself will fail for the same reason and report it */
    }
    for (size_t i = 0; i < n; i++) {
        if (!run_phase_is_final(rows[i].status.phase) && !str_eq(rows[i].uid, uid) &&
            s->ops->probe_run(s, rows[i].uid, &err) == -EBUSY) {
            cli_note(cli,
                     "run/%s is also running: the two slow each other down\n  unless taskset gives "
                     "each its own CPUs",
                     rows[i].name);
        }
        run_row_done(&rows[i]);
    }
}

bool local_store_is_interrupted(struct store *s, const struct run_row *row)
{
    return !run_phase_is_final(row->status.phase) && s->ops->probe_run(s, row->uid, NULL) != -EBUSY;
}
