/* benchctl run NAME in a cluster: checks a definition with the options, creates a BenchmarkRun that
 * carries what came of it, follows it and prints its tables. See cluster_internal.h. */
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "ctl/cluster/cluster_internal.h"
#include "ctl/definition/definition.h"
#include "ctl/runs/object.h"
#include "ctl/definition/profiles.h"
#include "ctl/runs/run_name.h"
#include "ctl/runs/show.h"
#include "kube/json.h"
#include "pod/body.h"
#include "spec/spec_load.h"

/* What the command line names to be run. */
struct source {
    struct definition_file file; /* its text; a Benchmark of the cluster as JSON */
    bool is_of_cluster;          /* its profiles are merged already */
    struct profiles profiles;
    struct run_def *def; /* merged with the options and checked */
};

static void source_done(struct source *s)
{
    definition_file_done(&s->file);
    profiles_done(&s->profiles);
    run_def_free(s->def);
}

/* The cluster's Benchmark, if it exists. */
static enum exit_code find_in_cluster(struct cluster *c, const char *name, struct source *s)
{
    struct kube_request req;
    _cleanup_(cluster_answer_done) struct cluster_answer a = {0};
    struct err err = {0};
    json_auto_t *object = NULL;
    kube_request_get(&kube_benchmarks, c->ns, name, &req);
    int r = cluster_call(c, c->client, &req, &a);
    if (r == -ENOENT && a.is_status) {
        r = 0;
    } else if (r < 0) {
        err = a.err;
    } else if ((r = kube_json_load(buf_cstr(&a.body), a.body.len, &object, &err)) >= 0) {
        json_auto_t *plain = object_plain_benchmark(object);
        s->file.path = xasprintf("benchmark/%s", name);
        s->file.text = json_dumps(plain, JSON_INDENT(2));
        s->file.len = strlen(s->file.text);
        s->is_of_cluster = true;
    }
    return r < 0 ? cluster_error(r, &err) : EXIT_OK;
}

static enum exit_code find_source(struct cluster *c, struct source *s)
{
    const struct cli *cli = c->backend.cli;
    const char *name = cli->args.n_words > 0 ? cli->args.words[0] : NULL;
    enum exit_code code = EXIT_OK;
    if (name != NULL && !args_has(&cli->args, "file") && !definition_is_file(name)) {
        code = find_in_cluster(c, name, s);
    }
    if (code == EXIT_OK && !s->is_of_cluster) {
        code = definition_open(cli, &s->file);
        code = code == EXIT_OK ? profiles_open(&s->profiles) : code;
    }
    return code;
}

/* "run with --systems a,b, or with --local"; NULL: pods can run none. Owned. */
static char *systems_for_pods(const struct spec *spec)
{
    _cleanup_(buf_done) struct buf names = BUF_INIT;
    struct err err;
    vec_each (const struct system, system, &spec->systems) {
        if (pod_check_system(spec, system, &err) == 0) {
            buf_printf(&names, "%s%s", names.len == 0 ? "" : ",", system->name);
        }
    }
    return names.len == 0 ? NULL
                          : xasprintf("run with --systems %s, or with --local", buf_cstr(&names));
}

/* Checks everything before anything is created; errors have their place in the text. */
static enum exit_code check_source(struct cluster *c, struct source *s)
{
    const struct profiles *profiles = s->is_of_cluster ? NULL : &s->profiles;
    enum exit_code code = definition_load(c->backend.cli, &s->file, profiles, false, &s->def);
    if (code == EXIT_OK) {
        definition_note_missing(c->backend.cli, s->def);
    }
    struct err err;
    int r = code == EXIT_OK ? pod_check_systems(s->def->spec, &err) : 0;
    if (r < 0) {
        _cleanup_(freep) char *others = r == -ENOENT ? NULL : systems_for_pods(s->def->spec);
        const char *fix = r == -ENOENT
                              ? "add a PodTemplateSpec as in the shipped definitions, or run "
                                "with --local, which needs none"
                          : others == NULL ? "run with --local"
                                           : others;
        code = cli_error(EXIT_USAGE, fix, "%s: %s", s->file.path, err.msg);
    }
    return code;
}

/* Returns 1 if the existing object is ours, created by a request whose answer was
 * lost, and 0 if it is not. */
static int is_ours(struct cluster *c, const char *name, const char *request, struct err *err)
{
    json_auto_t *object = NULL;
    const int r = cluster_get_object(c, &kube_benchmark_runs, name, &object, err);
    const bool is = r >= 0 && object_is_of_request(object, request);
    return r >= 0 || r == -ENOENT ? is : r;
}

/* It is not known whether the run was created, and creating another could give two. */
static enum exit_code fail_unknown(const struct cluster *c, const char *name, int r,
                                   const struct err *err)
{
    _cleanup_(freep) char *fix =
        xasprintf("check whether it exists: benchctl get runs %s", c->backend.where);
    return cli_error(cluster_exit_code(r), fix,
                     "run/%s may have been created, but the answer was lost: %s", name, err->msg);
}

/* What the options say, and the definition that was made with them. */
static json_t *make_spec(const struct cli *cli, const struct run_def *def)
{
    _cleanup_(tree_freep) struct node *fields = NULL;
    (void)definition_fields(cli, &fields); /* they were read before, without an error */
    json_t *spec = tree_to_json(tree_get(fields, "spec"));
    json_t *definition = json_deep_copy(json_object_get(def->spec->definition, "spec"));
    pod_set_registry(definition, args_get(&cli->args, "image-prefix", NULL));
    (void)json_object_set_new(spec, "definition", definition);
    return spec;
}

/* Creates a BenchmarkRun under a new name, and tries another one if a run has it already. *ret_name
 * (owned) is also written if the run may exist although the answer was lost. */
static enum exit_code create_run(struct cluster *c, const struct source *s, char **ret_name)
{
    json_auto_t *spec = make_spec(c->backend.cli, s->def);
    unsigned char random[21];
    char name[RUN_NAME_SIZE], request[RUN_UID_SIZE];
    const char *benchmark = s->def->spec->name;
    struct err err = {0};
    int r, ours = 0;
    do {
        if ((r = run_random(random, sizeof(random), &err)) < 0) {
            break;
        }
        run_name_make(benchmark, random, name);
        run_uid_make(random + 5, request);
        json_auto_t *object = object_make_run(name, benchmark, request, spec), *answer = NULL;
        struct kube_request req;
        kube_request_create(&kube_benchmark_runs, c->ns, object, KUBE_WRITE, &req);
        r = cluster_get(c, &req, &answer, &err);
    } while (r == -EEXIST && (ours = is_ours(c, name, request, &err)) == 0);
    if (ours < 0 || r == -EIO || r == -ETIMEDOUT || r == -ECONNRESET) {
        *ret_name = xstrdup(name);
        return fail_unknown(c, name, ours < 0 ? ours : r, &err);
    }
    if (r < 0 && r != -EEXIST) {
        return cluster_error(r, &err);
    }
    *ret_name = xstrdup(name);
    cli_note_prose(c->backend.cli, "run/%s created in namespace '%s'", name, c->ns);
    return EXIT_OK;
}

/* How to get what this command could not show. Owned. */
static char *later(const struct cluster *c, const char *name)
{
    return xasprintf(
        "when benchd answers again: benchctl results %s %s for the tables, benchctl describe "
        "%s %s for the trials",
        name, c->backend.where, name, c->backend.where);
}

static enum exit_code show_tables(struct cluster *c, const char *name, enum watch_state end,
                                  const struct run_status *status)
{
    _cleanup_(loaded_run_done) struct loaded_run run = {0};
    struct err err = {0};
    const int r = cluster_load_file(c, name, status, &run, &err);
    if (r < 0 && r != CLUSTER_NOT_ACCEPTED) {
        enum exit_code code = cluster_exit_code(r);
        _cleanup_(freep) char *fix = later(c, name);
        return cli_error(end == WATCH_TIMED_OUT ? EXIT_TIMEOUT : code, fix,
                         "run/%s has ended (%s), but its results cannot be read: %s", name,
                         run_phase_to_string(status->phase), err.msg);
    }
    enum exit_code code;
    if (run.result == NULL) {
        _cleanup_(freep) char *fix = xasprintf("see benchctl describe %s", name);
        code = cli_error(EXIT_USAGE, fix, "run/%s was not accepted: %s", name,
                         status->message[0] == '\0' ? "no reason given" : status->message);
    } else if ((code = show_points(c->backend.cli, &run)) == EXIT_OK) {
        show_note_more(c->backend.cli, run.def->name, c->backend.where);
        code = status->phase == RUN_CANCELLED ? EXIT_RUN_FAILED : show_exit_code(run.result);
    }
    return code == EXIT_OK || code == EXIT_RUN_FAILED || code == EXIT_THRESHOLD
               ? (end == WATCH_TIMED_OUT ? EXIT_TIMEOUT : code)
               : code;
}

static enum exit_code note_detached(const struct cluster *c, const char *name,
                                    const struct run_status *status)
{
    const struct cli *cli = c->backend.cli;
    const char *where = c->backend.where;
    if (run_phase_is_final(status->phase)) {
        cli_note(cli,
                 "detached from run/%s, which has ended (%s); print its tables with: benchctl "
                 "results %s %s",
                 name, run_phase_to_string(status->phase), name, where);
    } else {
        cli_note(
            cli,
            "detached from run/%s, which continues; follow it with: benchctl attach %s %s; cancel "
            "it with: benchctl cancel %s %s",
            name, name, where, name, where);
    }
    return EXIT_INTERRUPTED;
}

static enum exit_code fail_unreported(const struct cluster *c, const char *name,
                                      const struct run_status *status, const struct err *err)
{
    _cleanup_(freep) char *fix = later(c, name);
    return cli_error(
        cluster_exit_code(-err->code), fix,
        "run/%s has ended (%s), but benchd did not report its tables and its last trials: %s", name,
        run_phase_to_string(status->phase), err->code == 0 ? "no answer in time" : err->msg);
}

static enum exit_code watch(struct cluster *c, const char *name, const char *uid,
                            const struct run_opts *opts)
{
    const struct cli *cli = c->backend.cli;
    struct run_status status;
    struct err err;
    const enum watch_state end = cluster_watch(c, name, uid, opts, &status, &err);
    switch (end) {
    case WATCH_DETACHED:
        return note_detached(c, name, &status);
    case WATCH_UNREPORTED:
        return fail_unreported(c, name, &status, &err);
    case WATCH_DELETED:
        return cli_error(EXIT_NOT_FOUND, NULL, "run/%s was deleted", name);
    case WATCH_FORBIDDEN:
        return cluster_error(-err.code, &err);
    default:
        break;
    }
    if (end == WATCH_COMPLETE && status.phase == RUN_CANCELLED) {
        cli_note(cli, "run/%s was cancelled", name);
    }
    return show_tables(c, name, end, &status);
}

static enum exit_code watch_object(struct cluster *c, const char *what, const struct run_opts *opts)
{
    json_auto_t *object = NULL;
    enum exit_code code = cluster_find_object(c, what, &object);
    return code == EXIT_OK ? watch(c, kube_json_metadata(object, "name"),
                                   kube_json_metadata(object, "uid"), opts)
                           : code;
}

enum exit_code cluster_run(struct backend *b, char **ret_name)
{
    struct cluster *c = (struct cluster *)b;
    struct run_opts opts;
    _cleanup_(source_done) struct source source = {0};
    _cleanup_(freep) char *name = NULL;
    enum exit_code code = run_opts_take(b->cli, &opts);
    code = code == EXIT_OK ? find_source(c, &source) : code;
    code = code == EXIT_OK ? check_source(c, &source) : code;
    code = code == EXIT_OK ? cluster_find_benchd(c) : code;
    if (code == EXIT_OK) {
        cluster_note_room(c, source.def);
        code = create_run(c, &source, &name);
        opts.is_ours = true;
    }
    code = code == EXIT_OK ? watch_object(c, name, &opts) : code;
    if (ret_name != NULL && name != NULL) {
        *ret_name = take_ptr(name);
    }
    return code;
}

enum exit_code cluster_attach(struct backend *b, const char *what)
{
    struct cluster *c = (struct cluster *)b;
    struct run_opts opts;
    enum exit_code code = run_opts_take(b->cli, &opts);
    code = code == EXIT_OK ? cluster_find_benchd(c) : code;
    return code == EXIT_OK ? watch_object(c, what, &opts) : code;
}
