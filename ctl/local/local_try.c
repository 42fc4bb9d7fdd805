/* benchctl try FILE: for each system of the definition, one trial of its smallest point and one of
 * the smallest point with several trainers or workers, each ended as soon as its figure is known.
 * Prints the figures and, with --write, puts the rule that the outputs show into the file. The runs
 * are in a store that is removed at the end. Edge file: makes and removes a folder. */
#include "ctl/local/local.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/whole_file.h"
#include "core/json_field.h"
#include "ctl/cli/this_machine.h"
#include "ctl/definition/definition.h"
#include "ctl/definition/profiles.h"
#include "ctl/local/drive.h"
#include "ctl/local/local_store.h"
#include "ctl/local/shell_vars.h"
#include "ctl/runs/run_opts.h"
#include "ctl/runs/show.h"
#include "ctl/try/try.h"
#include "spec/log_rule.h"

#define TRY_TIMEOUT_MS 300000
#define TRY_STEPS 3
#define WRITE_STEPS 10 /* after the warm-up */

struct local_try {
    const struct cli *cli;
    int64_t timeout_ms;
    bool writes;     /* --write */
    bool has_reader; /* the file is of a person, to whom each change of it is reported */
    struct profiles profiles;
    struct definition_file file;
    struct run_def *def;
    bool has_cut;          /* a program was ended that went on after its steps */
    int64_t took_ns;       /* by all trials; one that was ended counts as the time-out */
    char *worker, *folder; /* the folder is that of the store */
    struct store *store;
};

struct trial {
    const struct point *point; /* of the whole definition; NULL: there is no such trial */
    struct try_trial seen;
    enum drive_end end;
    struct buf failure; /* why the program failed, in lines; empty if it did not */
};

struct lesson { /* of one system */
    struct local_try *try;
    struct trial one, several;
    struct try_rule rule; /* for the file; empty: the file's own is left */
    bool is_own;          /* the file has a rule that reads figures, and that somebody wrote */
    struct buf said;      /* about scope and warm-up */
};

/* ---- the definition of a trial ---- */

/* The swept point of the system with the fewest replicas, of at least so many that lead, then with
 * the lowest index; NULL: no swept point is of this system. */
static const struct point *smallest_point(const struct run_def *def, uint32_t system,
                                          uint32_t least)
{
    const struct point *best = NULL;
    uint32_t best_n = UINT32_MAX;
    for (uint32_t i = 0; i < def->matrix.n_swept; i++) {
        const struct point *p = &def->matrix.points[i];
        const uint32_t n = array_sum(p->replicas, ROLE_COUNT, it, *it);
        if (p->system == system && p->replicas[point_leading_role(p)] >= least && n < best_n) {
            best = p;
            best_n = n;
        }
    }
    return best;
}

/* A run of that point alone: one trial of a few measured steps, tried once, by the rule that was
 * learned. NULL: the diagnostics were printed; the whole definition had none. */
static struct run_def *make_def(const struct lesson *l, const struct point *point)
{
    static const char *const left_out[] = {"thresholds", "metrics", "local"};
    const struct run_def *whole = l->try->def;
    const int64_t warmup_steps = l->try->writes ? whole->spec->warmup_steps : 0;
    json_auto_t *document = json_deep_copy(whole->spec->definition);
    json_t *spec = json_object_get(document, "spec"), *policy = json_object_get(spec, "runPolicy");
    json_t *params = params_to_json(&point->params);
    policy = policy == NULL ? json_object() : json_incref(policy);
    JSON_ADD(policy, {"backoffLimit", json_integer(0)});
    JSON_ADD(
        spec, {"sweep", json_pack("{s:[O]}", "points", params)},
        {"baseline", json_pack("{s:s, s:o}", "kind", "Point", "where", params)},
        {"repeats", json_pack("{s:i}", "min", 1)},
        {"measure", json_pack("{s:I, s:i}", "warmupSteps", warmup_steps, "steps", TRY_STEPS)},
        {"failurePolicy", json_pack("{s:s, s:i}", "onTrialFailure", "Stop", "maxFailedTrials", 0)},
        {"runPolicy", policy});
    for (size_t i = 0; i < COUNT_OF(left_out); i++) {
        (void)json_object_del(spec, left_out[i]); /* it may be missing */
    }
    if (l->rule.text.len > 0) {
        _cleanup_(buf_done) struct buf text = BUF_INIT;
        try_rule_put(&l->rule, &text);
        json_t *system = json_array_get(json_object_get(spec, "systems"), point->system);
        (void)json_object_set_new(system, "log", try_json_of(buf_cstr(&text), text.len));
    }
    const struct spec_overrides overrides = {
        .profiles = &l->try->profiles, .systems = whole->spec->systems.items[point->system].name};
    const struct run_def_params of_run = {
        .name = "try", .created_unix_ms = clock_unix_ms(), .cpus = whole->cpus};
    return definition_of_document(document, "(the smallest point)", &overrides, of_run);
}

/* ---- one trial ---- */

static void trial_done(struct trial *t)
{
    try_trial_done(&t->seen);
    buf_done(&t->failure);
}

/* "ours (1 worker)". Owned. */
static char *who(const struct trial *t)
{
    return xasprintf("%s (%u %s%s)", t->seen.def->spec->systems.items[0].name, t->seen.n,
                     try_role(&t->seen), t->seen.n == 1 ? "" : "s");
}

/* Why the program failed, and its last lines. */
static void put_failure(struct trial *t, const struct trial_result *result)
{
    const struct replica_row *failed =
        result->row == NULL ? NULL : vec_find(&result->row->replicas, it, it->failure != NULL);
    const struct try_output *o = failed == NULL ? NULL : try_output_of(&t->seen, &failed->id);
    buf_printf(&t->failure, "%s\n%s", result->error == NULL ? "it did not end" : result->error,
               result->details == NULL ? "" : result->details);
    if (result->details == NULL && o != NULL && o->text.len > 0) {
        buf_printf(&t->failure, "%s/%td, ", try_role(&t->seen), o - t->seen.list);
        log_miss_put_tail(buf_cstr(&o->text), o->text.len, &t->failure);
    }
}

/* A program that ended by itself may have failed; one that writes records has its figure in its
 * summary. */
static int take_result(struct trial *t, const struct loaded_run *run, struct err *err)
{
    struct run_walk walk = loaded_run_walk(run);
    struct point_result point;
    const int code = run_walk_point(&walk, run->result, 0, &point, err);
    if (code < 0) {
        run_walk_done(&walk);
        return code;
    }
    const struct trial_result *trial = &point.trials[0];
    if (trial->phase != TRIAL_SUCCEEDED && trial->phase != TRIAL_METRICS_UNAVAILABLE) {
        put_failure(t, trial);
    } else if (t->seen.list[0].parser == NULL && trial->phase == TRIAL_SUCCEEDED) {
        const struct replica_row *r = vec_find(&trial->row->replicas, it, replica_is_rated(it));
        t->seen.has_figure = true;
        t->seen.rate = trial->throughput;
        t->seen.unit = trial->unit;
        t->seen.n_steps = r == NULL ? 0 : r->summary->steps;
    }
    point_close(&point);
    run_walk_done(&walk);
    return 0;
}

/* No other process knows the store, so the run in it is not claimed. */
static enum exit_code run_trial(const struct lesson *l, struct trial *t)
{
    struct local_try *try = l->try;
    const int64_t begin_ns = clock_monotonic_ns();
    struct run_def *def = make_def(l, t->point);
    if (def == NULL) {
        return EXIT_USAGE;
    }
    try_trial_init(&t->seen, def, try->writes ? WRITE_STEPS : TRY_STEPS);
    _cleanup_(freep) char *name = NULL, *text = who(t);
    _cleanup_(loaded_run_done) struct loaded_run run = {0}, ended = {0};
    struct err err;
    cli_note(try->cli, "trying %s for %lld s at most; %s", text, (long long)try->timeout_ms / 1000,
             try->has_reader ? "nothing is stored" : "this trial is not stored");
    enum exit_code code = local_run_put(try->store, def, &name);
    code = code == EXIT_OK ? local_store_load_run(try->cli, try->store, name, &run) : code;
    const struct drive_params params = {
        .progress = {.mode = PROGRESS_NONE, .def = run.def},
        .store = try->store,
        .benchworker = try->worker,
        .timeout_ms = try->timeout_ms,
        .seen = &t->seen,
        .cli = try->cli,
    };
    if (code == EXIT_OK && (profiles_set_commands(&try->profiles, run.def->spec, &err) < 0 ||
                            drive(&params, &t->end, &err) < 0)) {
        code = cli_error(EXIT_LOCAL_RESOURCE, NULL, "%s", err.msg);
    }
    code = code == EXIT_OK ? local_store_load_run(try->cli, try->store, name, &ended) : code;
    if (code == EXIT_OK) {
        try_read(&t->seen);
        t->seen.is_whole = t->end == DRIVE_FINISHED;
        try->took_ns +=
            t->seen.is_whole ? clock_monotonic_ns() - begin_ns : 1000000 * try->timeout_ms;
    }
    return code == EXIT_OK && t->seen.is_whole && take_result(t, &ended, &err) < 0
               ? show_unread(&ended, &err)
               : code;
}

/* Reads the outputs again, by exactly the rule that would be in the file. */
static void read_again(const struct lesson *l, struct trial *t)
{
    const bool is_needed = l->rule.text.len > 0 && t->point != NULL && t->failure.len == 0;
    struct run_def *def = is_needed ? make_def(l, t->point) : NULL;
    if (def != NULL) {
        struct run_def *const old = t->seen.def;
        t->seen.def = def;
        try_read(&t->seen); /* forgets what it had from the old one */
        run_def_free(old);
    }
}

static enum exit_code code_of(const struct trial *t)
{
    return t->end == DRIVE_INTERRUPTED || t->end == DRIVE_STOPPED ? EXIT_INTERRUPTED
           : t->seen.has_figure && t->failure.len == 0            ? EXIT_OK
           : t->end == DRIVE_TIMEOUT                              ? EXIT_TIMEOUT
                                                                  : EXIT_RUN_FAILED;
}

/* ---- one system ---- */

static void lesson_done(struct lesson *l)
{
    trial_done(&l->one);
    trial_done(&l->several);
    buf_done(&l->rule.text);
    buf_done(&l->said);
}

/* Prints a trial. Returns its code. */
static enum exit_code show(const struct lesson *l, const struct trial *t)
{
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    _cleanup_(freep) char *text = who(t);
    buf_printf(&out, "%s: ", text);
    if (t->failure.len > 0) {
        buf_puts(&out, buf_cstr(&t->failure));
    } else {
        try_put_figure(&t->seen, &out);
    }
    if (l->try->writes && l->try->has_reader && code_of(t) != EXIT_OK) {
        buf_puts(&out, "nothing was written\n");
    }
    return cli_print(&out) == EXIT_OK ? code_of(t) : EXIT_LOCAL_RESOURCE;
}

/* Searches for a rule if the file's own reads nothing. */
static void learn_rule(struct lesson *l)
{
    const struct try_trial *seen = &l->one.seen;
    const struct log_rule *rule = seen->def->spec->systems.items[0].log;
    l->is_own = seen->has_figure && (rule == NULL || log_rule_is_unnamed(rule));
    for (uint32_t i = 0; !seen->has_figure && i < seen->n && l->rule.text.len == 0; i++) {
        const uint64_t n_lines = try_find_rule(seen, &seen->list[i], INT64_MAX, &l->rule.text);
        l->rule.is_summary = seen->is_whole && n_lines == 1;
    }
    read_again(l, &l->one);
}

/* The figure and the rule of the first trial, where the second one has none. */
static void show_first(const struct lesson *l)
{
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    (void)show(l, &l->one); /* the code is that of the second */
    if (l->rule.text.len > 0) {
        buf_puts(&out, "  log: ");
        try_rule_put(&l->rule, &out);
        buf_puts(&out, "  # of this trial alone\n");
        (void)cli_print(&out);
    }
}

/* Runs and prints a trial. With --write it learns, and a trial with a figure is printed later, when
 * the rule is complete. */
static enum exit_code try_point(struct lesson *l, struct trial *t)
{
    const bool learns = l->try->writes;
    const enum exit_code code = run_trial(l, t);
    if (code != EXIT_OK) {
        return code;
    }
    if (learns && t->failure.len == 0 && t == &l->one) {
        learn_rule(l);
    } else if (learns && t->failure.len == 0 && !l->is_own) {
        if (!try_learn_scope(&l->one.seen, &t->seen, &l->rule, &l->said)) {
            return cli_print(&l->said) == EXIT_OK ? EXIT_USAGE : EXIT_LOCAL_RESOURCE;
        }
        read_again(l, t);
    }
    if (learns && code_of(t) == EXIT_OK) {
        return EXIT_OK;
    }
    if (learns && t == &l->several) {
        show_first(l);
    }
    return show(l, t);
}

static enum exit_code write_file(const struct lesson *l, struct buf *said)
{
    _cleanup_(buf_done) struct buf text = BUF_INIT, rule = BUF_INIT;
    struct definition_file *file = &l->try->file;
    unsigned line = 0;
    try_rule_put(&l->rule, &rule);
    if (rule.len == 0) {
        buf_printf(said, "nothing to write: the figures are known without a change of %s\n",
                   l->try->has_reader ? file->path : "the definition");
    } else if (!try_put_log(file->text, file->len, l->one.seen.def->spec->systems.items[0].name,
                            buf_cstr(&rule), &text, &line)) {
        return cli_error(EXIT_USAGE, "write it into the system yourself",
                         "%s: the place of the rule was not found: log: %s", file->path,
                         buf_cstr(&rule));
    } else {
        const int r = file_replace(file->path, &text);
        if (r < 0) {
            return cli_error(EXIT_LOCAL_RESOURCE, NULL, "cannot write %s: %s", file->path,
                             strerror(-r));
        }
        if (l->try->has_reader) {
            buf_printf(said, "wrote %s:%u: ", file->path, line);
        }
        buf_printf(said, "log: %s\n", buf_cstr(&rule));
        file->len = text.len; /* the next system's rule is written into this */
        free(file->text);
        file->text = buf_take(&text);
    }
    if (l->try->has_reader) {
        buf_printf(said, "next: benchctl run %s --local\n", file->path);
    }
    return cli_print(said);
}

/* Writes the rule if it reads both outputs. */
static enum exit_code write_rule(struct lesson *l)
{
    struct trial *const trials[] = {&l->one, &l->several};
    try_learn_warmup(&l->one.seen, &l->rule, &l->said);
    for (size_t i = 0; i < COUNT_OF(trials) && trials[i]->point != NULL; i++) {
        read_again(l, trials[i]);
        const enum exit_code code = show(l, trials[i]);
        if (code != EXIT_OK) {
            return code;
        }
    }
    return write_file(l, &l->said);
}

/* Was a program ended that went on after measure.steps, so that it may have no end of its own? */
static bool was_cut(const struct trial *t)
{
    const struct spec *spec = t->end == DRIVE_ENOUGH ? t->seen.def->spec : NULL;
    return spec != NULL && array_any(t->seen.list, t->seen.n, it,
                                     (it->steps > 0 ? it->steps : (int64_t)it->n_lines) >
                                         spec->warmup_steps + spec->steps);
}

static enum exit_code try_system(struct local_try *try, uint32_t system)
{
    const struct point *large = smallest_point(try->def, system, 2);
    _cleanup_(lesson_done) struct lesson l = {.try = try,
                                              .one.point = smallest_point(try->def, system, 1)};
    if (l.one.point == NULL) {
        return EXIT_OK; /* the sweep leaves it out */
    }
    l.several.point = large != l.one.point ? large : NULL;
    enum exit_code code = try_point(&l, &l.one);
    code = code == EXIT_OK && l.several.point != NULL ? try_point(&l, &l.several) : code;
    code = code == EXIT_OK && try->writes ? write_rule(&l) : code;
    try->has_cut = try->has_cut || was_cut(&l.one) || was_cut(&l.several);
    return code;
}

/* ---- the verb ---- */

static enum exit_code make_store(struct local_try *try)
{
    const char *tmp = getenv("TMPDIR");
    _cleanup_(freep) char *folder =
        xasprintf("%s/benchctl-try-XXXXXX", tmp != NULL && tmp[0] == '/' ? tmp : "/tmp");
    if (mkdtemp(folder) == NULL) {
        return cli_error(EXIT_LOCAL_RESOURCE, "set TMPDIR to another folder",
                         "create folder '%s': %s", folder, strerror(errno));
    }
    try->folder = take_ptr(folder);
    _cleanup_(freep) char *url = xasprintf("sqlite:%s/try.db", try->folder);
    struct err err = {0};
    return store_open(url, true, &try->store, &err) < 0
               ? cli_error(EXIT_LOCAL_RESOURCE, NULL, "%s", err.msg)
               : EXIT_OK;
}

static void done(struct local_try *try)
{
    _cleanup_(texts_done) struct texts names = {0};
    store_close(try->store);
    if (try->folder != NULL) {
        file_names(try->folder, &names);
        vec_each (char *const, name, &names.list) {
            _cleanup_(freep) char *path = xasprintf("%s/%s", try->folder, *name);
            (void)unlink(path); /* "." and ".." stay */
        }
        (void)rmdir(try->folder); /* what stays is in the folder for temporary files */
    }
    run_def_free(try->def);
    definition_file_done(&try->file);
    profiles_done(&try->profiles);
    free(try->folder);
    free(try->worker);
}

static enum exit_code open_try(struct local_try *try)
{
    struct run_opts opts;
    struct err err = {0};
    enum exit_code code = run_opts_take(try->cli, &opts);
    try->timeout_ms = opts.timeout_ms > 0 ? opts.timeout_ms : TRY_TIMEOUT_MS;
    code = code == EXIT_OK ? profiles_open(&try->profiles) : code;
    if (code == EXIT_OK && host_find_worker(&try->worker, &err) < 0) {
        code = cli_error(EXIT_LOCAL_RESOURCE, "set BENCHWORKER to its path", "%s", err.msg);
    }
    code = code == EXIT_OK ? definition_open(try->cli, &try->file) : code;
    code = code == EXIT_OK ? definition_load(try->cli, &try->file, &try->profiles, true, &try->def)
                           : code;
    code = code == EXIT_OK ? profiles_check(&try->profiles, try->def->spec) : code;
    if (code == EXIT_OK) {
        shell_vars_note(try->cli, try->def->spec);
    }
    return code == EXIT_OK ? make_store(try) : code;
}

enum exit_code local_try(const struct cli *cli, enum try_use use, int64_t *ret_ns)
{
    _cleanup_(done) struct local_try try = {
        .cli = cli, .writes = use != TRY_SHOW, .has_reader = use != TRY_FOR_RUN};
    const enum exit_code opened = open_try(&try);
    enum exit_code worst = opened;
    for (uint32_t i = 0; opened == EXIT_OK && i < try.def->spec->systems.len; i++) {
        const enum exit_code code = try_system(&try, i);
        if (code == EXIT_INTERRUPTED) {
            return code;
        }
        worst = worst == EXIT_OK ? code : worst;
    }
    if (try.has_cut && !try.def->spec->ends_after_steps) {
        cli_note(cli, "try ended a program that went on after its steps; if it never ends, write "
                      "'until: Steps' below 'measure'");
    }
    if (worst == EXIT_OK && !try.writes) {
        cli_note(cli, "this estimate includes warm-up steps; `benchctl run` skips "
                      "measure.warmupSteps and the rule's `skip`");
    }
    *ret_ns = try.took_ns;
    return worst;
}
