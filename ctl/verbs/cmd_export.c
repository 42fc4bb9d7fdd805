/* benchctl export RUN: one file with everything that is stored of a run. */
#include <errno.h>
#include <string.h>

#include "load/archive_run.h"
#include "base/whole_file.h"
#include "ctl/verbs/verbs.h"

/* A run that goes on would be another one a moment later. */
static enum exit_code check_over(const struct cli *cli, const struct loaded_run *run)
{
    enum exit_code code = loaded_run_check(cli, run);
    if (code != EXIT_OK || run_phase_is_final(run->row.status.phase)) {
        return code;
    }
    return cli_error(EXIT_USAGE,
                     run->is_interrupted ? "finish it with: benchctl run --resume RUN"
                                         : "wait until it has ended",
                     "run/%s has not ended (%s); only a finished run can be exported",
                     run->row.name, run_phase_to_string(run->row.status.phase));
}

static enum exit_code add_logs(struct backend *b, const struct loaded_run *run,
                               const struct replica_ids *with_log, struct archive *a)
{
    enum exit_code code = EXIT_OK;
    struct err err = {0};
    size_t n_lost = 0;
    for (size_t i = 0; i < with_log->list.len && code == EXIT_OK; i++) {
        const struct replica_id *id = &with_log->list.items[i];
        _cleanup_(buf_done) struct buf text = BUF_INIT;
        code = b->ops->get_log(b, run, id, &text);
        n_lost += text.len == 0;
        if (code == EXIT_OK && archive_run_add_log(a, id, &text, &err) < 0) {
            code = cli_error(EXIT_LOCAL_RESOURCE, NULL, "%s", err.msg);
        }
    }
    if (code == EXIT_OK && n_lost > 0) {
        cli_note(b->cli, "the logs of %zu replicas are not stored, so the archive lacks them",
                 n_lost);
    }
    return code;
}

static enum exit_code write_file(const char *path, struct archive *a)
{
    _cleanup_(buf_done) struct buf line = BUF_INIT;
    struct file_parts file;
    struct err err = {0};
    file_parts_begin(&file, path);
    struct buf out = {.take = file_part_put, .ctx = &file};
    const int r = archive_write(a, &out, &err);
    buf_spill_all(&out);
    buf_done(&out);
    file.r = file.r < 0 ? file.r : r;
    const int written = file_parts_end(&file);
    if (r < 0) {
        return cli_error(EXIT_LOCAL_RESOURCE,
                         r == -E2BIG ? "leave the logs out with --no-logs" : NULL, "run/%s: %s",
                         a->run, err.msg);
    }
    if (written < 0) {
        return cli_error(EXIT_LOCAL_RESOURCE, "name another file with --file",
                         "cannot write %s: %s", path, strerror(-written));
    }
    buf_printf(&line, "sha256:%s  %s\n", a->digest, path);
    return cli_print(&line);
}

static enum exit_code run(struct cli *cli)
{
    _cleanup_(backend_freep) struct backend *b = NULL;
    _cleanup_(loaded_run_done) struct loaded_run run = {0};
    _cleanup_(archive_done) struct archive a = {0};
    struct replica_ids with_log = {0};
    struct err err = {0};
    enum exit_code code = backend_open(cli, &b);
    code = code == EXIT_OK ? b->ops->load_run(b, cli->args.words[0], &run) : code;
    code = code == EXIT_OK ? check_over(cli, &run) : code;
    _cleanup_(freep) char *usual = xasprintf("%s" ARCHIVE_ENDING, run.row.name);
    const char *path = args_get(&cli->args, "file", usual);
    if (code == EXIT_OK && archive_run_new(&run, path, &a, &with_log, &err) < 0) {
        code = cli_error(EXIT_LOCAL_RESOURCE, NULL, "%s", err.msg);
    }
    if (code == EXIT_OK && !args_has(&cli->args, "no-logs")) {
        code = add_logs(b, &run, &with_log, &a);
    }
    vec_done(&with_log.list);
    loaded_run_done(&run); /* compression needs memory, too */
    return code == EXIT_OK ? write_file(path, &a) : code;
}

static const struct arg_opt opts[] = {
    {"file", 'f', "FILE", "Write this file; default: RUN" ARCHIVE_ENDING},
    {"no-logs", 0, NULL, "Leave out the output of the replicas"},
};

const struct verb verb_export = {
    .name = "export",
    .group = "Share",
    .args = "RUN [option...]",
    .summary = "Write a run and all its stored data into a file",
    .examples = "  benchctl export 7k3fq --local\n"
                "  benchctl export 7k3fq -n bench -f vgg16.benchd.tar.zst\n"
                "  tar --zstd -tf vgg16.benchd.tar.zst\n",
    .details = "The file has the definition, the environments, all records, the logs and the\n"
               "tables, each with its SHA-256. The digest that is printed covers all of them:\n"
               "the same run gives the same file. import and reproduce read it.",
    VERB_OPTS(opts),
    .min_words = 1,
    .max_words = 1,
    .run = run,
};
