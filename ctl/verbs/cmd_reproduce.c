/* benchctl reproduce FILE: runs what an archive has once more, and compares. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"
#include "base/texts.h"
#include "base/whole_file.h"
#include "config.h"
#include "core/environment.h"
#include "core/json_field.h"
#include "ctl/cli/this_machine.h"
#include "ctl/import/import.h"
#include "ctl/runs/history.h"
#include "ctl/runs/show.h"
#include "ctl/verbs/verbs.h"
#include "host/host.h"

#define TEXT_SIZE 200
#define UNKNOWN "not known"
#define FILE_MAX_BYTES ((size_t)256 << 20)

/* ---- what differs ---- */

/* "differs  kernel: 6.1.0-34 -> 6.1.0-37". `here` is NULL in a cluster: its machines are
 * known once they have reported. Returns true if the fact differs or is unknown. */
static bool put_fact(struct buf *out, const char *what, const char *recorded, const char *here)
{
    char a[TEXT_SIZE], b[TEXT_SIZE]; /* environments may be anybody's */
    text_put(a, sizeof(a), "%s", recorded);
    text_put(b, sizeof(b), "%s",
             here == NULL ? "known when the replicas of the cluster have reported" : here);
    const bool is_known = !str_eq(a, UNKNOWN) && !str_eq(b, UNKNOWN);
    if (is_known && str_eq(a, b)) {
        buf_printf(out, "same     %s: %s\n", what, a);
        return false;
    }
    buf_printf(out, "%s  %s: %s -> %s\n",
               here == NULL ? "later  "
               : is_known   ? "differs"
                            : "unknown",
               what, a, b);
    return true;
}

/* A name for people, and a key of environments. */
static const char *const facts[][2] = {{"source", "source"},
                                       {"compiler", "compiler"},
                                       {"cpu model", "cpu_model"},
                                       {"kernel", "kernel"}};
/* What the replicas said of each, every text once. */
struct recorded {
    struct texts of[COUNT_OF(facts)];
    json_t *files; /* of programs: digests by the names in their commands; owned */
};

static bool runs_here(const struct cli *cli)
{
    return cli->is_local || cli->store != NULL;
}

static int read_facts(const struct loaded_run *run, struct recorded *ret, struct err *err)
{
    struct run_walk walk = loaded_run_walk(run);
    const struct attempt_row *row;
    int r;
    while ((r = run_walk_next(&walk, &row, err)) > 0) {
        vec_each (const struct replica_row, replica, &row->replicas) {
            for (size_t i = 0; i < COUNT_OF(facts); i++) {
                const char *text = environment_text(replica->environment.facts, facts[i][1]);
                if (text != NULL && !vec_any(&ret->of[i].list, it, str_eq(*it, text))) {
                    *vec_push(&ret->of[i].list) = xstrdup(text);
                }
            }
            (void)json_object_update(ret->files,
                                     json_object_get(replica->environment.facts, "program_files"));
        }
    }
    return r;
}

/* What this machine and its benchworker would say; owned. */
static json_t *environment_here(const char *worker)
{
    _cleanup_(buf_done) struct buf version = BUF_INIT;
    json_t *here = host_environment("");
    (void)host_worker_version(worker, &version); /* what it does not say is not known */
    char *rest = (char *)buf_cstr(&version);
    for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
        char *value = line + strcspn(line, " \t:"); /* "compiler  gcc 12.2" */
        const size_t n_blanks = strspn(value, " \t:");
        if (n_blanks > 0) {
            *value = '\0';
            JSON_ADD(here, {line, json_string(value + n_blanks)});
        }
    }
    return here;
}

/* Appends a line per fact, and returns how many differ or are unknown. `worker` is the path of
 * benchworker, or NULL in a cluster. */
static size_t put_facts(const struct archive *a, const struct loaded_run *run,
                        const struct recorded *said, const char *worker, struct buf *out)
{
    json_auto_t *here = worker == NULL ? NULL : environment_here(worker);
    size_t n = put_fact(out, "benchctl", a->head.program, "benchctl " BENCHD_VERSION);
    for (size_t i = 0; i < COUNT_OF(facts); i++) {
        _cleanup_(buf_done) struct buf recorded = BUF_INIT; /* "a and b" */
        vec_each (char *const, text, &said->of[i].list) {
            buf_printf(&recorded, "%s%s", recorded.len == 0 ? "" : " and ", *text);
        }
        const char *own = json_string_value(json_object_get(here, facts[i][1]));
        n += put_fact(out, facts[i][0], recorded.len == 0 ? UNKNOWN : buf_cstr(&recorded),
                      here != NULL && own == NULL ? UNKNOWN : own);
    }
    if (here != NULL) {
        _cleanup_(freep) char *recorded =
            run->row.cpus == 0 ? xstrdup(UNKNOWN) : xasprintf("%lld", (long long)run->row.cpus);
        _cleanup_(freep) char *own = xasprintf("%lld", (long long)host_cpus());
        n += put_fact(out, "CPUs", recorded, own);
    }
    return n;
}

/* A program that PATH finds is no file of its author. */
static bool is_found_by_path(const struct loaded_run *run, const char *name)
{
    return strchr(name, '/') == NULL &&
           vec_any(&run->def->spec->systems, s,
                   str_eq(name, json_string_value(
                                    json_array_get(json_object_get(s->launch, "command"), 0))
                                    ?: ""));
}

/* The archive's files, and where they are written; `folder` NULL: they are not, and what is here
 * runs. */
struct carried {
    struct program_file *files; /* owned */
    size_t n;
    const char *folder;
};

static char *path_in(const struct carried *c, const char *name)
{
    return c->folder == NULL || name[0] == '/' ? xstrdup(name)
                                               : xasprintf("%s/%s", c->folder, name);
}

/* The same of the files that the run used. `recorded` may be NULL: the definition names the file.
 * Returns 1 if it differs or is missing, else 0; *ret_is_missing: it is. */
static size_t put_file(const struct carried *c, const char *name, const char *recorded,
                       struct buf *out, bool *ret_is_missing)
{
    _cleanup_(buf_done) struct buf content = BUF_INIT;
    _cleanup_(freep) char *path = path_in(c, name);
    const struct program_file *own = array_find(c->files, c->n, f, str_eq(f->name, name));
    char digest[65] = "", archived[65] = "", text[TEXT_SIZE]; /* archives may be anybody's */
    struct stat st;
    if (own != NULL) {
        host_digest_text(buf_cstr(&own->content), own->content.len, archived);
        recorded = recorded == NULL ? archived : recorded;
    }
    if (stat(path, &st) < 0) {
        text_put(text, sizeof(text), "%s", name);
        if (own != NULL && c->folder != NULL) {
            buf_printf(out, "writes   file %s: %zu bytes%s\n", text, own->content.len,
                       own->is_executable ? ", executable" : "");
            return 0;
        }
        buf_printf(out, "missing  file: %s%s\n", text,
                   own == NULL ? "" : ", which the archive has (--files DIR)");
        *ret_is_missing = true;
        return 1;
    }
    const int r = S_ISREG(st.st_mode) ? file_read(path, FILE_MAX_BYTES, &content, NULL)
                                      : -EINVAL; /* a terminal would be waited for */
    host_digest_text(buf_cstr(&content), content.len, digest);
    digest[strnlen(recorded ?: "", 64)] = '\0';
    _cleanup_(freep) char *what = xasprintf("file %s", name);
    return put_fact(out, what, recorded ?: UNKNOWN, r < 0 ? UNKNOWN : digest);
}

static size_t put_files(const struct loaded_run *run, const json_t *seen, const struct carried *c,
                        struct buf *out, bool *ret_is_missing)
{
    size_t n = 0;
    const char *name;
    json_t *recorded;
    json_object_foreach ((json_t *)seen, name, recorded) {
        n += is_found_by_path(run, name)
                 ? 0
                 : put_file(c, name, json_string_value(recorded), out, ret_is_missing);
    }
    const json_t *list =
        json_object_get(json_object_get(run->def->spec->definition, "spec"), "files");
    for (size_t i = 0; i < json_array_size(list); i++) {
        name = json_string_value(json_array_get(list, i));
        n += json_object_get(seen, name) != NULL ? 0 : put_file(c, name, NULL, out, ret_is_missing);
    }
    return n;
}

/* What is started: all of it, so that no long word hides another. */
static void put_commands(const struct loaded_run *run, struct buf *out)
{
    vec_each (const struct system, s, &run->def->spec->systems) {
        _cleanup_(freep) char *text = json_dumps(s->launch, JSON_COMPACT | JSON_ENSURE_ASCII);
        buf_printf(out, "runs     %s: %s\n", s->name, text ?: "as its profile says");
    }
}

static int write_file(const struct program_file *file, char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        const int r = mkdir(path, 0777) < 0 && errno != EEXIST ? -errno : 0;
        *slash = '/';
        if (r < 0) {
            return r;
        }
    }
    const int r = file_replace(path, &file->content);
    return r < 0 || !file->is_executable || chmod(path, 0755) == 0 ? r : -errno;
}

/* All or none: where one is there already, nothing is written. */
static enum exit_code write_files(const struct carried *c)
{
    struct stat st;
    for (size_t i = 0; i < c->n; i++) {
        _cleanup_(freep) char *path = path_in(c, c->files[i].name);
        if (lstat(path, &st) == 0) {
            return cli_error(EXIT_USAGE, "choose a folder that does not have it",
                             "file %s exists, and none is replaced", path);
        }
    }
    for (size_t i = 0; i < c->n; i++) {
        _cleanup_(freep) char *path = path_in(c, c->files[i].name);
        const int r = write_file(&c->files[i], path);
        if (r < 0) {
            return cli_error(EXIT_LOCAL_RESOURCE, NULL, "cannot write %s: %s", path, strerror(-r));
        }
    }
    return EXIT_OK;
}

static enum exit_code describe(const struct cli *cli, const struct archive *a,
                               const struct loaded_run *run, const struct carried *carried)
{
    _cleanup_(freep) char *worker = NULL;
    struct err err = {0};
    const bool is_here = runs_here(cli);
    if (is_here && host_find_worker(&worker, &err) < 0) {
        return cli_error(EXIT_LOCAL_RESOURCE, "set BENCHWORKER to its path", "%s", err.msg);
    }
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    char date[CLOCK_RFC3339_SIZE];
    clock_format_rfc3339(run->row.created_unix_ms, date);
    buf_printf(&out, "run/%s of %s, sha256:%s\n", run->row.name, date, a->head.digest);
    struct recorded said = {.files = json_object()};
    bool is_missing = false;
    const int r = read_facts(run, &said, &err);
    size_t n = r < 0 ? 0 : put_facts(a, run, &said, worker, &out);
    if (r >= 0 && is_here) {
        n += put_files(run, said.files, carried, &out, &is_missing);
        put_commands(run, &out);
    }
    for (size_t i = 0; i < COUNT_OF(facts); i++) {
        texts_done(&said.of[i]);
    }
    json_decref(said.files);
    if (r < 0) {
        return show_unread(run, &err);
    }
    buf_printf(&out, "%s\n",
               !is_here ? ""
               : n == 0 ? "Everything that is checked before a run is the same here.\n"
                        : "Figures may differ for these reasons alone.\n");
    const enum exit_code code = cli_print(&out);
    return code == EXIT_OK && is_missing
               ? cli_error(EXIT_NOT_FOUND,
                           "put them where the commands name them; --files DIR writes those that "
                           "the archive has",
                           "files that the run used are missing here")
               : code;
}

/* ---- the run ---- */

/* For a change of this program's folder: the folders of $BENCHCTL_PATH become absolute. After them
 * come ./benchmarks of the new folder and ./benchmarks of this one. */
static void keep_places(void)
{
    _cleanup_(freep) char *places = xasprintf("%s:benchmarks", getenv("BENCHCTL_PATH") ?: "");
    _cleanup_(buf_done) struct buf full = BUF_INIT;
    char *rest = places;
    for (const char *place; (place = strsep(&rest, ":")) != NULL;) {
        _cleanup_(freep) char *path = realpath(place, NULL);
        const bool is_named = path != NULL && strchr(path, ':') == NULL;
        buf_puts(&full, rest == NULL ? "benchmarks:" : "");
        buf_printf(&full, "%s:", is_named ? path : place);
    }
    (void)setenv("BENCHCTL_PATH", buf_cstr(&full), 1); /* fails without memory only */
}

/* Programs find their files where they start; the store, benchworker and definitions stay where
 * they were. */
static enum exit_code enter(const char *folder, struct cli *sub, char **ret_store)
{
    char store[PATH_MAX];
    const char *path = sub->store == NULL ? NULL : strchr(sub->store, ':');
    if (path != NULL && path[1] != '/' && getcwd(store, sizeof(store)) != NULL) {
        sub->store = *ret_store =
            xasprintf("%.*s%s/%s", (int)(path + 1 - sub->store), sub->store, store, path + 1);
    }
    _cleanup_(freep) char *full = realpath(getenv("BENCHWORKER") ?: "", NULL);
    if (full != NULL) {
        (void)setenv("BENCHWORKER", full, 1); /* fails without memory only */
    }
    keep_places();
    return chdir(folder) == 0
               ? EXIT_OK
               : cli_error(EXIT_LOCAL_RESOURCE, NULL, "%s: %s", folder, strerror(errno));
}

/* As `benchctl run FILE`, which prints the tables. */
static enum exit_code repeat(const struct cli *cli, const struct loaded_run *run, const char *into,
                             struct backend **ret, struct cli *sub, char **ret_store,
                             char **ret_name)
{
    const char *folder = getenv("TMPDIR");
    _cleanup_(freep) char *path =
        xasprintf("%s/benchctl-XXXXXX.json", folder != NULL && folder[0] == '/' ? folder : "/tmp");
    _cleanup_(freep) char *text = json_dumps(run->def->spec->definition, JSON_INDENT(1));
    const int fd = mkstemps(path, (int)strlen(".json"));
    const int r =
        fd < 0 ? -errno : file_replace(path, &(struct buf){.data = text, .len = strlen(text)});
    if (fd >= 0) {
        (void)close(fd); /* nothing was written */
    }
    if (r < 0) {
        return cli_error(EXIT_LOCAL_RESOURCE, "set TMPDIR to a folder with room",
                         "cannot write %s: %s", path, strerror(-r));
    }
    const char *words[] = {path};
    *sub = *cli;
    sub->args.words = words;
    sub->args.n_words = 1;
    enum exit_code code = into == NULL ? EXIT_OK : enter(into, sub, ret_store);
    code = code == EXIT_OK ? backend_open(sub, ret) : code;
    code = code == EXIT_OK ? (*ret)->ops->run(*ret, ret_name) : code;
    sub->args.words = cli->args.words;
    (void)unlink(path); /* the folder for temporary files is emptied anyway */
    return code;
}

/* `two[0]` is the archive's, `two[1]` is filled. */
static enum exit_code run_again(const struct cli *cli, const char *into,
                                struct loaded_run two[static 2])
{
    const struct compare_params params = {.threshold_ratio = COMPARE_THRESHOLD_RATIO};
    struct comparison *comparison = NULL;
    struct cli sub;
    _cleanup_(backend_freep) struct backend *b = NULL;
    _cleanup_(freep) char *name = NULL, *store = NULL;
    const enum exit_code ran = repeat(cli, &two[0], into, &b, &sub, &store, &name);
    enum exit_code code = ran;
    if (name != NULL && (ran == EXIT_OK || ran == EXIT_RUN_FAILED || ran == EXIT_THRESHOLD)) {
        code = b->ops->load_run(b, name, &two[1]);
        code = code == EXIT_OK ? loaded_run_check(cli, &two[1]) : code;
        code = code == EXIT_OK ? history_compare(b, two, params, &comparison) : code;
        code = code == EXIT_OK ? show_comparison(cli, comparison) : code;
        comparison_free(comparison);
        code = ran == EXIT_OK ? code : ran;
    }
    return code;
}

static enum exit_code run(struct cli *cli)
{
    _cleanup_(archive_done) struct archive a = {0};
    struct loaded_run two[2] = {0};
    struct carried carried = {.folder = args_get(&cli->args, "files", NULL)};
    struct err err = {0};
    if (carried.folder != NULL && !runs_here(cli)) {
        return cli_error(EXIT_USAGE, "add --local, or remove --files",
                         "pods take their programs from images, not from --files");
    }
    enum exit_code code = archive_open(cli->args.words[0], &a);
    if (code == EXIT_OK &&
        (loaded_run_read(a.store, &a.row, &two[0], &err) < 0 ||
         a.store->ops->list_files(a.store, two[0].row.uid, &carried.files, &carried.n, &err) < 0)) {
        code = cli_error(EXIT_LOCAL_RESOURCE, NULL, "%s", err.msg);
    }
    code = code == EXIT_OK ? describe(cli, &a, &two[0], &carried) : code;
    if (code == EXIT_OK && !args_has(&cli->args, "dry-run")) {
        code = carried.folder == NULL ? EXIT_OK : write_files(&carried);
        code = code == EXIT_OK ? run_again(cli, carried.folder, two) : code;
    }
    loaded_run_done(&two[0]); /* it reads from the archive's store */
    loaded_run_done(&two[1]);
    free_each(carried.files, carried.n, program_file_done);
    return code;
}

static const struct arg_opt opts[] = {
    {"dry-run", 0, NULL, "Print what differs here, and run nothing"},
    {"files", 0, "DIR", "Write the archive's files into DIR and run them there"},
    {"timeout", 0, "DURATION", "Cancel the run after this time, such as 10m (exit 8)"},
    {"progress", 0, "HOW", "Show progress as auto, live, plain or none"},
};

const struct verb verb_reproduce = {
    .name = "reproduce",
    .args = "FILE [option...]",
    .summary = "Run an archived run again, and compare the two",
    .examples = "  benchctl reproduce vgg16.benchd.db --local --dry-run\n"
                "  benchctl reproduce vgg16.benchd.db --local\n"
                "  benchctl reproduce theirs.benchd.db --local --files again --dry-run\n"
                "  benchctl reproduce vgg16.benchd.db -n bench\n",
    .details = "FILE is checked as by benchctl import. First it prints what differs here:\n"
               "benchctl and, on this machine, the worker's source and compiler, the CPUs, the\n"
               "kernel, and the files that commands name, which must exist; then the commands.\n"
               "The definition is run again, as by benchctl run, on this machine (--local) or in\n"
               "a cluster, and compared with the archived run, as by benchctl compare.\n"
               "\n"
               "--files DIR writes the files that the archive has into DIR, replaces none, and\n"
               "starts the commands there. Read them first: they are somebody else's programs.\n"
               "\n"
               "Exit codes: those of run and compare; 3 no such file, 16 the archive is damaged,\n"
               "or not what it says: then nothing runs.",
    VERB_OPTS(opts),
    .min_words = 1,
    .max_words = 1,
    .run = run,
};
