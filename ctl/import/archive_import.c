/* `benchctl import ARCHIVE`: files that `benchctl export` wrote, checked and stored as runs. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/str.h"
#include "base/text.h"
#include "base/whole_file.h"
#include "bucket/bucket.h"
#include "core/json_field.h"
#include "ctl/import/import.h"
#include "ctl/local/local_store.h"
#include "ctl/runs/find.h"
#include "ctl/runs/show.h"
#include "load/archive_run.h"
#include "report/json_text.h"

#define PREFIX "sha256:"
#define MIN_DIGITS 8

/* ---- an archive ---- */

/* A file, or what a URL leads to. */
static int read_bytes(const char *path, struct buf *ret, struct err *err)
{
    if (!bucket_is_url(path)) {
        return file_read(path, ARCHIVE_MAX_BYTES, ret, err);
    }
    const char *name = file_last_part(path);
    _cleanup_(freep) char *parent = xstrndup(path, (size_t)(name - path));
    _cleanup_(bucket_freep) struct bucket *b = NULL;
    const int r = bucket_open(parent, getenv, &b, err);
    return r < 0 ? r : bucket_get(b, name, ARCHIVE_MAX_BYTES, ret, err);
}

enum exit_code archive_open(const char *path, struct archive *ret, struct loaded_run *ret_run)
{
    _cleanup_(buf_done) struct buf file = BUF_INIT;
    struct archive a = {0};
    struct loaded_run run = {0};
    struct err err = {0};
    int r = read_bytes(path, &file, &err);
    if (r < 0) {
        _cleanup_(freep) char *fix =
            file_fix(r, path, "write an archive with: benchctl export RUN");
        return cli_error(r == -ENOENT   ? EXIT_NOT_FOUND
                         : r == -EINVAL ? EXIT_USAGE
                         : r == -E2BIG  ? EXIT_ARCHIVE
                                        : EXIT_LOCAL_RESOURCE,
                         fix, "%s", err.msg);
    }
    r = archive_read(file.data, file.len, ARCHIVE_MAX_BYTES, &a, &err);
    buf_done(&file); /* the checks need memory, too */
    r = r < 0 ? r : archive_run_load(&a, &run, &err);
    r = r < 0 ? r : archive_run_check(&a, &run, &err);
    if (r < 0) {
        char text[ERR_MSG_SIZE]; /* names in it may be anybody's */
        text_put(text, sizeof(text), "%s", err.msg);
        loaded_run_done(&run);
        archive_done(&a);
        return cli_error(EXIT_ARCHIVE,
                         r == -EPROTONOSUPPORT
                             ? "install a newer benchctl"
                             : "get the file once more from where it was exported",
                         "%s: %s", path, text);
    }
    *ret = a;
    *ret_run = run;
    return EXIT_OK;
}

/* `typed` may begin with "sha256:", and be cut after 8 digits or more. */
static enum exit_code check_digest(const char *path, const char *digest, const char *typed)
{
    const char *digits = str_has_prefix(typed, PREFIX) ? typed + strlen(PREFIX) : typed;
    const size_t len = strlen(digits);
    if (len < MIN_DIGITS || len >= ARCHIVE_SHA256_SIZE ||
        strspn(digits, "0123456789abcdef") != len) {
        return cli_error(EXIT_USAGE, "write sha256: and at least 8 of its 64 digits",
                         "'%s' is not a digest", typed);
    }
    return str_has_prefix(digest, digits)
               ? EXIT_OK
               : cli_error(EXIT_ARCHIVE, "this is another archive, or it was changed",
                           "%s: its digest is sha256:%s, not %s", path, digest, typed);
}

static enum exit_code store_run(struct store *s, const struct archive *a,
                                const struct loaded_run *run)
{
    struct err err = {0};
    const int r = archive_store_put(s, a, run, &err);
    return r >= 0 ? EXIT_OK
           : r == -EEXIST
               ? cli_error(EXIT_USAGE,
                           "delete that run first, or choose another file with --store sqlite:FILE",
                           "%s", err.msg)
               : cli_error(local_store_exit_code(r), NULL, "%s", err.msg);
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

static enum exit_code show_archive(const struct cli *cli, const struct archive *a, const char *path)
{
    struct buf out = BUF_INIT;
    _cleanup_(freep) char *digest = xasprintf(PREFIX "%s", a->digest);
    if (cli_output_is(cli, "json")) {
        json_t *members = JSON_ARRAY_OF(
            vec_each (const struct archive_member, m, &a->members),
            json_pack("{s:s, s:I}", "name", m->name, "bytes", (json_int_t)m->data.len));
        json_text_put(
            JSON_OBJECT_OF({"apiVersion", json_string("benchd.io/v1alpha1")},
                           {"kind", json_string("VerifiedArchive")},
                           {"file", json_text_or_null(path)}, {"digest", json_string(digest)},
                           {"run", json_text_or_null(a->run)},
                           {"program", json_text_or_null(a->program)}, {"members", members}),
            &out);
    } else {
        buf_printf(&out,
                   "%s  %s\nrun/%s: %zu members are as they were written by %s; the tables "
                   "follow from the records\n",
                   digest, path, a->run, a->members.len, a->program);
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
    struct run_brief brief;
    enum exit_code code = archive_open(path, &a, &run);
    if (code != EXIT_OK) {
        return code;
    }
    const bool is_stored = s->ops->get_brief(s, run.row.uid, &brief, NULL) >= 0;
    code = is_stored ? EXIT_OK : store_run(s, &a, &run);
    if (code == EXIT_OK) {
        cli_note(cli, "run/%s %s", run.row.name, is_stored ? "is already stored" : "imported");
    }
    return code;
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

/* False also if the file cannot be read. */
static bool is_zstd(const char *path)
{
    static const char magic[] = "\x28\xb5\x2f\xfd";
    char begin[sizeof(magic) - 1];
    FILE *file = fopen(path, "rbe");
    const bool is_one = file != NULL && fread(begin, sizeof(begin), 1, file) == 1 &&
                        memcmp(begin, magic, sizeof(begin)) == 0;
    if (file != NULL) {
        (void)fclose(file); /* it was only read */
    }
    return is_one;
}

bool archive_import_is_meant(const struct cli *cli)
{
    const char *word = cli->args.words[0];
    return args_has(&cli->args, "dry-run") || bucket_is_url(word) ||
           (cli->args.n_words <= 2 && !args_has(&cli->args, "rules") &&
            (is_zstd(word) || is_place_of_many(word)));
}

enum exit_code archive_import(const struct cli *cli)
{
    const char *path = cli->args.words[0];
    const bool is_dry_run = args_has(&cli->args, "dry-run");
    if (!is_dry_run && is_place_of_many(path)) {
        return import_all(cli, path);
    }
    _cleanup_(archive_done) struct archive a = {0};
    _cleanup_(loaded_run_done) struct loaded_run run = {0};
    enum exit_code code = is_dry_run ? check_dry_run(cli) : EXIT_OK;
    code = code == EXIT_OK ? archive_open(path, &a, &run) : code;
    if (code == EXIT_OK && cli->args.n_words > 1) {
        code = check_digest(path, a.digest, cli->args.words[1]);
    }
    if (code != EXIT_OK || is_dry_run) {
        return code != EXIT_OK ? code : show_archive(cli, &a, path);
    }
    _cleanup_(store_closep) struct store *s = NULL;
    code = local_store_open(cli, true, &s);
    code = code == EXIT_OK ? store_run(s, &a, &run) : code;
    return code == EXIT_OK ? import_show(cli, run.row.name) : code;
}
