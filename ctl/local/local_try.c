/* benchctl try FILE: for each system of the definition, one trial of its smallest point in
 * a store that is removed at the end, ended as soon as a figure is known. Edge file: makes and
 * removes a folder. */
#include "ctl/local/local.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "ctl/definition/definition.h"
#include "ctl/local/drive.h"
#include "base/whole_file.h"
#include "ctl/cli/this_machine.h"
#include "ctl/local/local_store.h"
#include "ctl/local/shell_vars.h"
#include "ctl/definition/profiles.h"
#include "ctl/try/try_common.h"

struct local_try {
    const struct cli *cli;
    struct try_options options;
    struct profiles profiles;
    struct run_def *def; /* owned */
    char *worker;        /* owned */
    char *folder;        /* of the store; owned; NULL: none yet */
    struct store *store;
};

/* ---- a store for now ---- */

static enum exit_code make_store(struct local_try *t)
{
    const char *tmp = getenv("TMPDIR");
    t->folder = xasprintf("%s/benchctl-try-XXXXXX", tmp != NULL && tmp[0] == '/' ? tmp : "/tmp");
    if (mkdtemp(t->folder) == NULL) {
        const enum exit_code code = cli_error(EXIT_LOCAL_RESOURCE, "set TMPDIR to another folder",
                                              "create folder '%s': %s", t->folder, strerror(errno));
        free(t->folder);
        t->folder = NULL;
        return code;
    }
    _cleanup_(freep) char *url = xasprintf("sqlite:%s/try.db", t->folder);
    struct err err = {0};
    return store_open(url, true, &t->store, &err) < 0
               ? cli_error(EXIT_LOCAL_RESOURCE, NULL, "%s", err.msg)
               : EXIT_OK;
}

static void remove_store(struct local_try *t)
{
    store_close(t->store);
    if (t->folder == NULL) {
        return;
    }
    _cleanup_(texts_done) struct texts names = {0};
    file_names(t->folder, &names);
    vec_each (char *const, name, &names.list) {
        _cleanup_(freep) char *path = xasprintf("%s/%s", t->folder, *name);
        (void)unlink(path); /* "." and ".." stay */
    }
    (void)rmdir(t->folder); /* what stays is in the folder for temporary files */
    free(t->folder);
}

/* ---- what came of it ---- */

struct stored {
    struct store *store;
    const char *uid;
};

static bool get_log(void *ctx, const struct replica_id *id, struct buf *out)
{
    const struct stored *stored = ctx;
    _cleanup_(freep) char *text = NULL;
    size_t len = 0;
    const bool has =
        stored->store->ops->get_log(stored->store, stored->uid, id, &text, &len, NULL) >= 0;
    if (has) {
        buf_append(out, text, len);
    }
    return has;
}

static enum try_end end_of(enum drive_end end)
{
    return end == DRIVE_FINISHED                              ? TRY_ENDED
           : end == DRIVE_INTERRUPTED || end == DRIVE_STOPPED ? TRY_INTERRUPTED
           : end == DRIVE_TIMEOUT                             ? TRY_TIMED_OUT
                                                              : TRY_ENOUGH;
}

static enum exit_code conclude(const struct local_try *t, const char *name, struct try_trial *trial)
{
    _cleanup_(loaded_run_done) struct loaded_run run = {0};
    enum exit_code code = local_store_load_run(t->cli, t->store, name, &run);
    if (code != EXIT_OK) {
        return code;
    }
    struct stored stored = {t->store, run.row.uid};
    if (trial->end == TRY_ENDED) {
        try_take_result(trial, run.result, get_log, &stored);
    } else {
        trial->has_figure = try_seen_format(&trial->seen, &trial->out);
    }
    return EXIT_OK;
}

/* ---- one trial ---- */

static enum exit_code drive_small(const struct local_try *t, const struct run_def *def,
                                  struct try_trial *trial)
{
    const struct drive_params params = {
        .progress = {.mode = PROGRESS_NONE, .def = def},
        .store = t->store,
        .benchworker = t->worker,
        .timeout_ms = t->options.timeout_ms,
        .seen = &trial->seen,
        .cli = t->cli,
    };
    struct err err = {0};
    enum drive_end end = DRIVE_FINISHED;
    if (drive(&params, &end, &err) < 0) {
        return cli_error(EXIT_LOCAL_RESOURCE, NULL, "%s", err.msg);
    }
    trial->end = end_of(end);
    return conclude(t, def->name, trial);
}

static enum exit_code run_trial(void *ctx, struct try_trial *trial)
{
    const struct local_try *t = ctx;
    _cleanup_(freep) char *name = NULL;
    _cleanup_(loaded_run_done) struct loaded_run run = {0};
    struct err err;
    enum exit_code code = local_run_put(t->store, trial->small, &name);
    if (code == EXIT_OK) {
        code = local_store_load_run(t->cli, t->store, name, &run); /* as it is stored */
    }
    if (code == EXIT_OK && profiles_set_commands(&t->profiles, run.def->spec, &err) < 0) {
        code = cli_error(EXIT_NOT_FOUND, NULL, "%s", err.msg);
    }
    if (code == EXIT_OK && t->store->ops->claim_run(t->store, run.row.uid, &err) < 0) {
        code = cli_error(EXIT_LOCAL_RESOURCE, NULL, "%s", err.msg);
    }
    if (code == EXIT_OK) {
        code = drive_small(t, run.def, trial);
        t->store->ops->release_run(t->store, run.row.uid);
    }
    return code;
}

/* ---- the verb ---- */

static enum exit_code load(struct local_try *t)
{
    const struct definition_load_params params = {
        .profiles = &t->profiles, .is_local = true, .created_unix_ms = clock_unix_ms()};
    const enum exit_code code = definition_load_named(t->cli, &params, &t->def);
    return code == EXIT_OK ? profiles_check(&t->profiles, t->def->spec) : code;
}

enum exit_code local_try(const struct cli *cli)
{
    struct local_try t = {.cli = cli};
    struct err err = {0};
    enum exit_code code = try_options_take(cli, &t.options);
    code = code == EXIT_OK ? profiles_open(&t.profiles) : code;
    if (code == EXIT_OK && host_find_worker(&t.worker, &err) < 0) {
        code = cli_error(EXIT_LOCAL_RESOURCE, "set BENCHWORKER to its path", "%s", err.msg);
    }
    code = code == EXIT_OK ? load(&t) : code;
    if (code == EXIT_OK) {
        shell_vars_note(cli, t.def->spec);
    }
    code = code == EXIT_OK ? make_store(&t) : code;
    const struct try_params params = {.cli = cli,
                                      .def = t.def,
                                      .profiles = &t.profiles,
                                      .options = &t.options,
                                      .run = run_trial,
                                      .ctx = &t};
    code = code == EXIT_OK ? try_each_system(&params) : code;
    remove_store(&t);
    run_def_free(t.def);
    profiles_done(&t.profiles);
    free(t.worker);
    return code;
}
