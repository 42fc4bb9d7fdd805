/* benchctl export RUN: one file with everything that is stored of a run. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"
#include "base/whole_file.h"
#include "ctl/import/import.h"
#include "ctl/local/local_store.h"
#include "ctl/verbs/verbs.h"

/* A run that goes on would be another one a moment later. */
static enum exit_code check_over(const struct run_row *row)
{
    return run_phase_is_final(row->status.phase)
               ? EXIT_OK
               : cli_error(EXIT_USAGE,
                           "wait until it has ended, or finish it with: benchctl run --resume RUN",
                           "run/%s has not ended (%s); only a finished run can be exported",
                           row->name, run_phase_to_string(row->status.phase));
}

/* Reads the whole file back, as an import would. */
static enum exit_code check(const struct cli *cli, const char *path, bool has_logs,
                            struct run_file_head *head, struct run_row *row)
{
    struct store *file = NULL;
    struct err err = {0};
    size_t n_lost = 0;
    int r = run_file_open(path, &file, head, &err);
    r = r < 0 ? r : run_file_run(file, row, &err);
    enum exit_code code = r < 0 ? EXIT_LOCAL_RESOURCE : check_over(row);
    r = r < 0 || code != EXIT_OK ? r : run_file_read(file, &n_lost, &err);
    store_close(file);
    if (r < 0) {
        return cli_error(EXIT_LOCAL_RESOURCE,
                         r == -ENOSPC ? "set TMPDIR to a folder with room" : NULL,
                         "what is stored of the run: %s", err.msg);
    }
    if (code == EXIT_OK && has_logs && n_lost > 0) {
        cli_note(cli, "the logs of %zu replicas are not stored, so the file lacks them", n_lost);
    }
    return code;
}

/* Then nothing else may follow the file there. */
static bool is_stdout(const char *path)
{
    struct stat a, b;
    return stat(path, &a) == 0 && fstat(STDOUT_FILENO, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

/* Is the path the store that the run is read from, maybe by a link? */
static bool is_store(const struct cli *cli, const char *path)
{
    _cleanup_(freep) char *url = local_store_url(cli);
    struct stat a, b;
    return (cli->is_local || cli->store != NULL) && url != NULL && str_has_prefix(url, "sqlite:") &&
           stat(url + strlen("sqlite:"), &a) == 0 && stat(path, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

static enum exit_code write_file(const struct cli *cli, const char *from, const char *path)
{
    struct file_parts file;
    struct err err = {0};
    if (is_store(cli, path)) {
        return cli_error(EXIT_USAGE, "name another file with --file",
                         "%s is the store that has the run", path);
    }
    file_parts_begin(&file, path);
    struct buf out = {.take = file_part_put, .ctx = &file};
    const int r = run_file_send(from, str_has_suffix(path, RUN_FILE_ZSTD), &out, &err);
    buf_spill_all(&out);
    buf_done(&out);
    file.r = file.r < 0 ? file.r : r;
    const int written = file_parts_end(&file);
    if (err.code != 0) {
        return cli_error(EXIT_LOCAL_RESOURCE, NULL, "%s", err.msg);
    }
    return written >= 0 ? EXIT_OK
                        : cli_error(EXIT_LOCAL_RESOURCE, "name another file with --file",
                                    "cannot write %s: %s", path, strerror(-written));
}

static enum exit_code export_by(const struct cli *cli, struct backend *b, const char *room)
{
    _cleanup_(run_file_head_done) struct run_file_head head = {0};
    _cleanup_(run_row_done) struct run_row row = {0};
    _cleanup_(buf_done) struct buf line = BUF_INIT;
    struct run_file_parts parts = RUN_FILE_ALL;
    parts.without_logs = args_has(&cli->args, "no-logs");
    enum exit_code code = b->ops->get_file(b, cli->args.words[0], &parts, room);
    code = code == EXIT_OK ? check(cli, room, !parts.without_logs, &head, &row) : code;
    _cleanup_(freep) char *usual = xasprintf("%s" RUN_FILE_ENDING, row.name);
    const char *path = args_get(&cli->args, "file", usual);
    code = code == EXIT_OK ? write_file(cli, room, path) : code;
    buf_printf(&line, "sha256:%s  %s\n", head.digest, path);
    return code != EXIT_OK || is_stdout(path) ? code : cli_print(&line);
}

static enum exit_code run(struct cli *cli)
{
    _cleanup_(backend_freep) struct backend *b = NULL;
    _cleanup_(freep) char *room = NULL;
    enum exit_code code = backend_open(cli, &b);
    code = code == EXIT_OK ? archive_room(&room) : code;
    code = code == EXIT_OK ? export_by(cli, b, room) : code;
    if (room != NULL) {
        (void)unlink(room); /* the folder is emptied anyway */
    }
    return code;
}

static const struct arg_opt opts[] = {
    {"file", 'f', "FILE", "Write this file; default: RUN" RUN_FILE_ENDING},
    {"no-logs", 0, NULL, "Leave out the output of the replicas"},
};

const struct verb verb_export = {
    .name = "export",
    .group = "Share",
    .args = "RUN [option...]",
    .summary = "Write a run and all its stored data into a file",
    .examples = "  benchctl export 7k3fq --local\n"
                "  benchctl export 7k3fq -n bench -f vgg16.benchd.db.zst\n"
                "  sqlite3 vgg16.benchd.db 'select node, avg(step_ns) from replica group by 1'\n",
    .details = "The file is an SQLite database with the tables of docs/store.md, of this run\n"
               "alone: sqlite3, pandas and `benchctl results --store sqlite:FILE` read it. A\n"
               "name that ends with .zst compresses it. The digest that is printed covers all\n"
               "rows: the same run gives the same digest. import and reproduce read the file.",
    VERB_OPTS(opts),
    .min_words = 1,
    .max_words = 1,
    .run = run,
};
