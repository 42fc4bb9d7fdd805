/* benchctl run NAME --local: puts a run of the definition into the store, runs it to its end on
 * this machine, and prints its tables. */
#include <stdlib.h>

#include <jansson.h>

#include "base/mem.h"
#include "ctl/definition/definition.h"
#include "ctl/local/drive.h"
#include "ctl/cli/this_machine.h"
#include "ctl/local/local.h"
#include "ctl/local/local_store.h"
#include "ctl/local/shell_vars.h"
#include "ctl/definition/preview.h"
#include "ctl/definition/profiles.h"
#include "ctl/runs/run_name.h"
#include "ctl/runs/run_opts.h"
#include "ctl/runs/show.h"
#include "run/processes/links.h"

struct local_run {
    struct run_opts opts;
    char *worker; /* owned */
    struct profiles profiles;
};

/* Tries another name if a run has it already. */
enum exit_code local_run_put(struct store *s, const struct run_def *def, char **ret_name)
{
    struct err storage = {0}, *err = &storage;
    char name[RUN_NAME_SIZE], uid[RUN_UID_SIZE];
    unsigned char random[21];
    int r;
    do {
        if ((r = run_random(random, sizeof(random), err)) < 0) {
            break;
        }
        run_name_make(def->spec->name, random, name);
        run_uid_make(random + 5, uid);
        _cleanup_(freep) char *definition = run_def_text(def);
        if (definition == NULL) {
            r = err_set(err, EINVAL, "benchmark '%s': its definition is not JSON", def->spec->name);
            break;
        }
        struct run_row row = {
            .uid = uid,
            .name = name,
            .benchmark = def->spec->name,
            .definition_json = definition,
            .created_unix_ms = def->created_unix_ms,
            .cpus = def->cpus,
            .rehearsal = def->rehearsal,
            .status = {.phase = RUN_PENDING, .trials_total = def->n_slots},
        };
        r = s->ops->put_run(s, &row, err);
    } while (r == -EEXIST);
    if (r < 0) {
        return cli_error(local_store_exit_code(r), NULL, "%s", err->msg);
    }
    *ret_name = xstrdup(name);
    return EXIT_OK;
}

/* Before anything is stored or resumed: each link of the run is made once, for a moment. */
static enum exit_code check_links(const struct run_def *def)
{
    for (uint32_t i = 0; i < def->matrix.n_points; i++) {
        const struct link *link = &def->matrix.points[i].link;
        const bool is_new =
            link->bits_per_s > 0 && !array_any(def->matrix.points, i, p, link_eq(link, &p->link));
        struct err err;
        if (is_new && links_try(link, &err) < 0) {
            char text[LINK_TEXT_MAX];
            link_text(link, text);
            return cli_error(EXIT_LOCAL_RESOURCE, NULL, "link %s of point %u: %s", text, i,
                             err.msg);
        }
    }
    return EXIT_OK;
}

/* NAME to a run in the store. */
static enum exit_code create(const struct cli *cli, const struct profiles *profiles,
                             struct store **ret_store, char **ret_name)
{
    _cleanup_(run_def_freep) struct run_def *def = NULL;
    _cleanup_(buf_done) struct buf warning = BUF_INIT;
    enum exit_code code = definition_load_named(cli, profiles, true, &def);
    code = code == EXIT_OK ? profiles_check(profiles, def->spec) : code;
    code = code == EXIT_OK ? check_links(def) : code;
    code = code == EXIT_OK ? local_store_open(cli, true, ret_store) : code;
    code = code == EXIT_OK ? local_run_put(*ret_store, def, ret_name) : code;
    if (code == EXIT_OK) {
        _cleanup_(freep) char *url = local_store_url(cli);
        cli_note_prose(cli, "run/%s created in %s", *ret_name, url);
        definition_note_missing(cli, def);
        shell_vars_note(cli, def->spec);
        preview_rehearsal(def, &warning);
        if (warning.len > 0) {
            cli_note_prose(cli, "%.*s", (int)warning.len - 1, buf_cstr(&warning));
        }
    }
    return code;
}

static void note_resume(const struct cli *cli, const char *name)
{
    _cleanup_(freep) char *where = local_store_options(cli);
    cli_note(cli, "resume it with: benchctl run --resume %s %s", name, where);
}

/* Prints the tables; the exit code says how the run ended. */
static enum exit_code conclude(const struct cli *cli, struct store *s, const char *name,
                               enum drive_end end)
{
    _cleanup_(loaded_run_done) struct loaded_run run = {0};
    enum exit_code code = local_store_load_run(cli, s, name, &run);
    if (code != EXIT_OK) {
        return code;
    }
    code = show_points(cli, &run);
    if (end != DRIVE_FINISHED) {
        note_resume(cli, name);
    } else if (code == EXIT_OK) {
        _cleanup_(freep) char *where = local_store_options(cli);
        show_note_more(cli, run.def->name, where);
    }
    if (code == EXIT_OK) {
        code = end == DRIVE_FINISHED  ? show_exit_code(run.result)
               : end == DRIVE_TIMEOUT ? EXIT_TIMEOUT
                                      : EXIT_INTERRUPTED;
    }
    return code;
}

static enum exit_code drive_claimed(const struct cli *cli, struct store *s,
                                    const struct loaded_run *run, const struct local_run *how)
{
    _cleanup_(freep) char *where = local_store_options(cli);
    struct drive_params params = {
        .progress = {.mode = how->opts.mode,
                     .def = run->def,
                     .run = run,
                     .ascii = cli->ascii,
                     .color = cli->color_stderr},
        .store = s,
        .benchworker = how->worker,
        .where = where,
        .timeout_ms = how->opts.timeout_ms,
        .prometheus = args_get(&cli->args, "prometheus", NULL),
    };
    local_store_note_others(cli, s, run->row.uid);
    struct err err = {0};
    enum drive_end end = DRIVE_FINISHED;
    int r = drive(&params, &end, &err);
    if (r < 0) {
        (void)cli_error(EXIT_LOCAL_RESOURCE, NULL, "%s", err.msg);
        note_resume(cli, run->def->name);
        return EXIT_LOCAL_RESOURCE;
    }
    return conclude(cli, s, run->def->name, end);
}

/* A stored definition names its profiles only: the commands come from the files as they are now. */
static enum exit_code drive_loaded(const struct cli *cli, struct store *s,
                                   const struct loaded_run *run, const struct local_run *how)
{
    struct err err;
    if (profiles_set_commands(&how->profiles, run->def->spec, &err) < 0) {
        return cli_error(EXIT_NOT_FOUND, NULL, "run '%s': %s", run->def->name, err.msg);
    }
    enum exit_code code = profiles_check(&how->profiles, run->def->spec);
    if (code == EXIT_OK && how->opts.resume != NULL) {
        code = check_links(run->def); /* without them all trials would fail, and the run be over */
    }
    return code == EXIT_OK ? drive_claimed(cli, s, run, how) : code;
}

static enum exit_code drive_run(const struct cli *cli, struct store *s, const char *name,
                                const struct local_run *how)
{
    _cleanup_(run_row_done) struct run_row row = {0};
    enum exit_code code = local_store_find_run(cli, s, name, &row);
    if (code != EXIT_OK) {
        return code;
    }
    struct err err = {0};
    _cleanup_(loaded_run_done) struct loaded_run run = {0};
    int r = s->ops->claim_run(s, row.uid, &err);
    if (r < 0) {
        code = cli_error(EXIT_LOCAL_RESOURCE,
                         r == -EBUSY ? "wait until it ends, or stop that process" : NULL,
                         "run '%s': %s", row.name, err.msg);
    } else if ((code = local_store_load_run(cli, s, row.uid, &run)) == EXIT_OK) { /* as it is */
        const enum run_phase phase = run.row.status.phase; /* a Cancelled one can be resumed */
        code = run_phase_is_final(phase) && phase != RUN_CANCELLED
                   ? conclude(cli, s, row.uid, DRIVE_FINISHED)
                   : drive_loaded(cli, s, &run, how);
    }
    s->ops->release_run(s, row.uid);
    return code;
}

enum exit_code local_run(struct backend *b, char **ret_name)
{
    const struct cli *cli = b->cli;
    struct local_run how = {0};
    _cleanup_(store_closep) struct store *s = NULL;
    struct err err = {0};
    _cleanup_(freep) char *name = NULL;
    enum exit_code code = run_opts_take(cli, &how.opts);
    code = code == EXIT_OK ? profiles_open(&how.profiles) : code;
    if (code == EXIT_OK && host_find_worker(&how.worker, &err) < 0) {
        code = cli_error(EXIT_LOCAL_RESOURCE, "set BENCHWORKER to its path", "%s", err.msg);
    }
    if (code == EXIT_OK && how.opts.resume != NULL) {
        code = local_store_open(cli, false, &s);
        name = xstrdup(how.opts.resume);
    } else if (code == EXIT_OK) {
        code = create(cli, &how.profiles, &s, &name);
    }
    code = code == EXIT_OK ? drive_run(cli, s, name, &how) : code;
    if (ret_name != NULL && name != NULL) {
        *ret_name = take_ptr(name);
    }
    profiles_done(&how.profiles);
    free(how.worker);
    return code;
}
