/* See import.h. */
#include "ctl/import/import.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <jansson.h>

#include "base/mem.h"
#include "base/str.h"
#include "bucket/bucket.h"
#include "core/json_field.h"
#include "ctl/import/archive_file.h"
#include "ctl/local/local_store.h"
#include "ctl/runs/show.h"
#include "load/archive_run.h"
#include "report/json_text.h"

static enum exit_code put_failed(int r, const struct err *err)
{
    return r == -EEXIST
               ? cli_error(EXIT_USAGE,
                           "delete that run first, or choose another file with --store sqlite:FILE",
                           "%s", err->msg)
               : cli_error(local_store_exit_code(r), NULL, "%s", err->msg);
}

static enum exit_code store_run(const struct cli *cli, const struct archive *a,
                                const struct loaded_run *run)
{
    _cleanup_(store_closep) struct store *s = NULL;
    struct err err = {0};
    enum exit_code code = local_store_open(cli, true, &s);
    if (code != EXIT_OK) {
        return code;
    }
    const int r = archive_store_put(s, a, run, &err);
    return r < 0 ? put_failed(r, &err) : EXIT_OK;
}

/* ---- --dry-run ---- */

static enum exit_code check_dry_run(const struct cli *cli)
{
    if (cli->args.n_words > 2 || args_has(&cli->args, "rules")) {
        return cli_error(EXIT_USAGE, "benchctl import ARCHIVE [DIGEST] --dry-run",
                         "--dry-run checks one archive, and no logs");
    }
    if (cli_output_is(cli, "csv") || cli_output_is(cli, "markdown")) {
        return cli_error(EXIT_USAGE, "use -o text or -o json", "--dry-run has no -o %s",
                         cli->output);
    }
    return EXIT_OK;
}

static enum exit_code check_digest(const char *path, const char *digest, const char *typed)
{
    if (!archive_is_digest(typed)) {
        return cli_error(EXIT_USAGE, "write sha256: and at least 8 of its 64 digits",
                         "'%s' is not a digest", typed);
    }
    return archive_digest_matches(digest, typed)
               ? EXIT_OK
               : cli_error(EXIT_ARCHIVE, "this is another archive, or it was changed",
                           "%s: its digest is sha256:%s, not %s", path, digest, typed);
}

static void put_json(const struct archive *a, const char *path, struct buf *out)
{
    json_t *members =
        JSON_ARRAY_OF(vec_each (const struct archive_member, m, &a->members),
                      json_pack("{s:s, s:I}", "name", m->name, "bytes", (json_int_t)m->data.len));
    _cleanup_(freep) char *digest = xasprintf("sha256:%s", a->digest);
    json_text_put(json_pack("{s:s, s:s, s:o, s:s, s:o, s:o, s:o}", "apiVersion",
                            "benchd.io/v1alpha1", "kind", "VerifiedArchive", "file",
                            json_text_or_null(path), "digest", digest, "run",
                            json_text_or_null(a->run), "program", json_text_or_null(a->program),
                            "members", members),
                  out);
}

static enum exit_code show_archive(const struct cli *cli, const struct archive *a, const char *path)
{
    struct buf out = BUF_INIT;
    if (cli_output_is(cli, "json")) {
        put_json(a, path, &out);
    } else {
        buf_printf(&out,
                   "sha256:%s  %s\nrun/%s: %zu members are as they were written by %s; the tables "
                   "follow from the records\n",
                   a->digest, path, a->run, a->members.len, a->program);
    }
    return show_text(&out);
}

/* ---- all archives of a folder ---- */

static bool is_place_of_many(const char *path)
{
    struct stat st;
    return bucket_is_url(path) ? !str_has_suffix(path, ARCHIVE_ENDING)
                               : stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* A run that is stored already is no error: the import may be typed again. */
static enum exit_code import_next(const struct cli *cli, struct store *s, const char *path)
{
    _cleanup_(archive_done) struct archive a = {0};
    _cleanup_(loaded_run_done) struct loaded_run run = {0};
    struct err err = {0};
    struct run_brief brief;
    const enum exit_code code = archive_file_open(path, &a, &run);
    if (code != EXIT_OK) {
        return code;
    }
    if (s->ops->get_brief(s, run.row.uid, &brief, NULL) >= 0) {
        cli_note(cli, "run/%s is already stored", run.row.name);
        return EXIT_OK;
    }
    const int r = archive_store_put(s, &a, &run, &err);
    if (r < 0) {
        return put_failed(r, &err);
    }
    cli_note(cli, "run/%s imported", run.row.name);
    return EXIT_OK;
}

/* One that cannot be imported does not stop the others; the first error is the exit code. */
static enum exit_code import_all(const struct cli *cli, const char *url)
{
    _cleanup_(bucket_freep) struct bucket *b = NULL;
    _cleanup_(store_closep) struct store *s = NULL;
    _cleanup_(texts_done) struct texts names = {0};
    struct err err = {0};
    if (cli->args.n_words > 1 || cli->output[0] != '\0') {
        return cli_error(EXIT_USAGE, "name one of its archives", "%s is a place of many archives",
                         url);
    }
    int r = bucket_open(url, getenv, &b, &err);
    r = r < 0 ? r : bucket_list(b, ARCHIVE_ENDING, &names, &err);
    if (r < 0 || names.list.len == 0) {
        return cli_error(r == -EINVAL ? EXIT_USAGE
                         : r < 0      ? EXIT_LOCAL_RESOURCE
                                      : EXIT_NOT_FOUND,
                         NULL, "%s", r < 0 ? err.msg : "there are no archives");
    }
    qsort(names.list.items, names.list.len, sizeof(char *), texts_compare);
    enum exit_code all = local_store_open(cli, true, &s);
    for (size_t i = 0; i < names.list.len && s != NULL; i++) {
        _cleanup_(freep) char *path = xasprintf("%s/%s", url, names.list.items[i]);
        const enum exit_code code = import_next(cli, s, path);
        all = all == EXIT_OK ? code : all;
    }
    return all;
}

/* ---- the verb ---- */

bool archive_import_is_meant(const struct cli *cli)
{
    const char *word = cli->args.words[0];
    return args_has(&cli->args, "dry-run") || bucket_is_url(word) ||
           (cli->args.n_words <= 2 && !args_has(&cli->args, "rules") &&
            (archive_file_looks_like_one(word) || is_place_of_many(word)));
}

enum exit_code archive_import(const struct cli *cli)
{
    const char *path = cli->args.words[0];
    if (!args_has(&cli->args, "dry-run") && is_place_of_many(path)) {
        return import_all(cli, path);
    }
    const bool is_dry_run = args_has(&cli->args, "dry-run");
    _cleanup_(archive_done) struct archive a = {0};
    _cleanup_(loaded_run_done) struct loaded_run run = {0};
    enum exit_code code = is_dry_run ? check_dry_run(cli) : EXIT_OK;
    code = code == EXIT_OK ? archive_file_open(path, &a, &run) : code;
    if (code == EXIT_OK && cli->args.n_words > 1) {
        code = check_digest(path, a.digest, cli->args.words[1]);
    }
    if (code == EXIT_OK) {
        code = is_dry_run ? show_archive(cli, &a, path) : store_run(cli, &a, &run);
    }
    if (code == EXIT_OK && !is_dry_run) {
        _cleanup_(freep) char *url = local_store_url(cli);
        cli_note(cli, "run/%s imported into %s", run.row.name, url);
        code = show_sheet(cli, sheet_points, run.result);
    }
    return code;
}
