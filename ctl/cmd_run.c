/* benchctl run NAME --local: a definition becomes a run in the store, is driven to its end on this
 * machine, and ends in its tables. */
#include <stdlib.h>

#include <jansson.h>

#include "base/clock.h"
#include "base/mem.h"
#include "ctl/definition.h"
#include "ctl/drive.h"
#include "ctl/host.h"
#include "ctl/human.h"
#include "ctl/local_store.h"
#include "ctl/plan.h"
#include "ctl/profiles.h"
#include "ctl/progress.h"
#include "ctl/run_name.h"
#include "ctl/show.h"
#include "ctl/verbs.h"

struct run_opts {
    enum progress_mode mode;
    int64_t timeout_ms;
    const char *resume; /* NULL: a new run */
    char *worker;       /* owned */
    struct profiles profiles;
};

static enum exit_code take_opts(const struct cli *cli, struct run_opts *ret)
{
    const char *progress = args_get(&cli->args, "progress", "auto");
    if (progress_mode_choose(cli, progress, &ret->mode) < 0) {
        return cli_error(EXIT_USAGE, "--progress auto, live, plain, none or json",
                         "--progress '%s' is unknown", progress);
    }
    const char *timeout = args_get(&cli->args, "timeout", NULL);
    if (timeout != NULL && human_parse_duration(timeout, &ret->timeout_ms) < 0) {
        return cli_error(EXIT_USAGE, "--timeout 90s, 10m or 1h30m",
                         "--timeout '%s': expected a duration", timeout);
    }
    ret->resume = args_get(&cli->args, "resume", NULL);
    static const char *const of_new_runs[] = {"file", "systems", "set", "steps", "repeats"};
    size_t n = ret->resume == NULL ? 0 : sizeof(of_new_runs) / sizeof(of_new_runs[0]);
    for (size_t i = 0; i < n; i++) {
        if (cli->args.n_words > 0 || args_has(&cli->args, of_new_runs[i])) {
            return cli_error(EXIT_USAGE, "benchctl run --resume RUN --local",
                             "--resume goes on with a run as it was frozen: it takes no NAME, -f, "
                             "--systems, --set, --steps or --repeats");
        }
    }
    return EXIT_OK;
}

/* Puts the run under a fresh name; again if some other run has it already. */
static enum exit_code put_new(struct store *s, const struct run_def *def, char **ret_name,
                              struct err *err)
{
    char name[RUN_NAME_SIZE], uid[RUN_UID_SIZE];
    unsigned char random[21];
    int r;
    do {
        if ((r = run_random(random, sizeof(random), err)) < 0) {
            break;
        }
        run_name_make(def->spec->name, random, name);
        run_uid_make(random + 5, uid);
        char *definition = json_dumps(def->spec->definition, JSON_COMPACT);
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
        free(definition);
    } while (r == -EEXIST);
    if (r < 0) {
        return cli_error(local_store_exit_code(r), NULL, "%s", err->msg);
    }
    *ret_name = xstrdup(name);
    return EXIT_OK;
}

/* NAME to a run in the store. */
static enum exit_code create(const struct cli *cli, const struct profiles *profiles,
                             struct store **ret_store, char **ret_name)
{
    struct definition_file file = {0};
    struct run_def *def = NULL;
    struct buf warning = BUF_INIT;
    struct err err = {0};
    enum exit_code code = definition_open(cli, &file);
    if (code == EXIT_OK) {
        struct definition_load_params params = {
            .profiles = profiles,
            .is_local = true,
            .created_unix_ms = clock_unix_ms(),
        };
        code = definition_load(cli, &file, &params, &def);
    }
    if (code == EXIT_OK) {
        code = profiles_check(profiles, def->spec);
    }
    if (code == EXIT_OK) {
        code = local_store_open(cli, true, ret_store);
    }
    if (code == EXIT_OK) {
        code = put_new(*ret_store, def, ret_name, &err);
    }
    if (code == EXIT_OK) {
        _cleanup_(freep) char *url = local_store_url(cli);
        cli_note(cli, "run/%s created in %s", *ret_name, url);
        plan_rehearsal(def, &warning);
        if (warning.len > 0) {
            cli_note(cli, "%.*s", (int)warning.len - 1, buf_cstr(&warning));
        }
    }
    buf_done(&warning);
    run_def_free(def);
    definition_file_done(&file);
    return code;
}

static void note_resume(const struct cli *cli, const char *name)
{
    _cleanup_(freep) char *where = local_store_options(cli);
    cli_note(cli, "go on with: benchctl run --resume %s %s", name, where);
}

/* The tables, and the exit code that the way of ending gives. */
static enum exit_code conclude(const struct cli *cli, struct store *s, const char *name,
                               enum drive_end end)
{
    struct loaded_run run;
    enum exit_code code = loaded_run_init(cli, s, name, &run);
    if (code != EXIT_OK) {
        return code;
    }
    code = show_result(cli, run.result);
    if (end != DRIVE_FINISHED) {
        note_resume(cli, name);
    }
    if (code == EXIT_OK) {
        code = end == DRIVE_FINISHED  ? show_exit_code(run.result)
               : end == DRIVE_TIMEOUT ? EXIT_TIMEOUT
                                      : EXIT_INTERRUPTED;
    }
    loaded_run_done(&run);
    return code;
}

static enum exit_code drive_claimed(const struct cli *cli, struct store *s,
                                    const struct loaded_run *run, const struct run_opts *opts)
{
    struct drive_params params = {
        .def = run->def,
        .store = s,
        .benchworker = opts->worker,
        .rows = run->rows,
        .n_rows = run->n_rows,
        .mode = opts->mode,
        .ascii = cli->ascii,
        .color = cli->color_stderr,
        .timeout_ms = opts->timeout_ms,
    };
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

/* A stored definition names its profiles; what they run is told by their files now. */
static enum exit_code drive_loaded(const struct cli *cli, struct store *s,
                                   const struct loaded_run *run, const struct run_opts *opts)
{
    struct err err;
    if (spec_set_commands(run->def->spec, &opts->profiles, &err) < 0) {
        return cli_error(EXIT_NOT_FOUND, NULL, "run '%s': %s", run->def->name, err.msg);
    }
    enum exit_code code = profiles_check(&opts->profiles, run->def->spec);
    return code == EXIT_OK ? drive_claimed(cli, s, run, opts) : code;
}

/* A Cancelled run may be gone on with; any other that ended is over. */
static bool is_over(const struct run_row *row)
{
    return run_phase_is_final(row->status.phase) && row->status.phase != RUN_CANCELLED;
}

static enum exit_code drive_run(const struct cli *cli, struct store *s, const char *name,
                                const struct run_opts *opts)
{
    struct run_row row;
    enum exit_code code = local_store_find_run(cli, s, name, &row);
    if (code != EXIT_OK) {
        return code;
    }
    struct err err = {0};
    struct loaded_run run = {0};
    int r = s->ops->claim_run(s, row.uid, &err);
    if (r < 0) {
        code = cli_error(EXIT_LOCAL_RESOURCE,
                         r == -EBUSY ? "wait for its end, or end that process" : NULL,
                         "run '%s': %s", row.name, err.msg);
    } else if ((code = loaded_run_init(cli, s, row.uid, &run)) == EXIT_OK) { /* as it is */
        code = is_over(&run.row) ? conclude(cli, s, row.uid, DRIVE_FINISHED)
                                 : drive_loaded(cli, s, &run, opts);
        loaded_run_done(&run);
    }
    s->ops->release_run(s, row.uid);
    run_row_done(&row);
    return code;
}

static enum exit_code run(struct cli *cli)
{
    struct run_opts opts = {0};
    struct store *s = NULL;
    struct err err = {0};
    _cleanup_(freep) char *name = NULL;
    enum exit_code code = take_opts(cli, &opts);
    if (code == EXIT_OK) {
        code = cli_need_local(cli);
    }
    if (code == EXIT_OK) {
        code = profiles_open(&opts.profiles);
    }
    if (code == EXIT_OK && host_find_worker(&opts.worker, &err) < 0) {
        code = cli_error(EXIT_LOCAL_RESOURCE, "set BENCHWORKER to the program", "%s", err.msg);
    }
    if (code == EXIT_OK && opts.resume != NULL) {
        code = local_store_open(cli, false, &s);
        name = xstrdup(opts.resume);
    } else if (code == EXIT_OK) {
        code = create(cli, &opts.profiles, &s, &name);
    }
    if (code == EXIT_OK) {
        code = drive_run(cli, s, name, &opts);
    }
    store_close(s);
    profiles_done(&opts.profiles);
    free(opts.worker);
    return code;
}

static const struct arg_opt opts[] = {
    DEFINITION_OPTS,
    {"resume", 0, "RUN", "Go on with a run that was cancelled or interrupted"},
    {"timeout", 0, "DURATION", "Cancel the run after this time, for instance 10m (exit 8)"},
    {"progress", 0, "HOW", "auto, live, plain, none or json"},
};

const struct verb verb_run = {
    .name = "run",
    .args = "NAME --local [option...]",
    .summary = "Run a benchmark and print its tables",
    .examples = "  benchctl run vgg16-pserver-sweep --local\n"
                "  benchctl run vgg16-pserver-sweep --local --set pservers=1,2 --set trainers=1,2 "
                "--steps 8\n"
                "  benchctl run -f my-sweep.yaml --store sqlite:results.db -o json > result.json\n"
                "  benchctl run --resume 7k3fq --local\n",
    .details = "NAME is a file, or a definition that is shipped. Ctrl-C ends the run's processes\n"
               "and keeps what was measured; --resume goes on from there. Exit codes: 0 all\n"
               "trials succeeded, 1 some failed, 7 a threshold failed, 8 --timeout, 9 disk or\n"
               "store, 130 interrupted.",
    .opts = opts,
    .n_opts = sizeof(opts) / sizeof(opts[0]),
    .formats = SHOW_FORMATS,
    .max_words = 1,
    .run = run,
};
