/* `benchctl import ARCHIVE`: files that `benchctl export` wrote, checked and stored as runs. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"
#include "base/whole_file.h"
#include "bucket/bucket.h"
#include "ctl/import/import.h"
#include "ctl/local/local_store.h"
#include "ctl/runs/find.h"
#include "ctl/runs/room.h"
#include "ctl/runs/show.h"

#define PREFIX "sha256:"
#define MIN_DIGITS 8

/* ---- an archive ---- */

enum exit_code archive_room(char **ret_path)
{
    struct err err = {0};
    return room_make(ret_path, &err) >= 0
               ? EXIT_OK
               : cli_error(EXIT_LOCAL_RESOURCE, "set TMPDIR to a folder with room", "%s", err.msg);
}

/* Opens a file, or what a URL leads to: then `bytes` has it. */
static int open_bytes(const char *path, struct buf *bytes, FILE **ret, struct err *err)
{
    if (!bucket_is_url(path)) {
        struct stat st;
        *ret = fopen(path, "rbe");
        return *ret == NULL ? err_set_errno(err, errno, "%s", path)
               : fstat(fileno(*ret), &st) == 0 && S_ISDIR(st.st_mode)
                   ? err_set_errno(err, EISDIR, "%s", path)
                   : 0;
    }
    const char *name = file_last_part(path);
    _cleanup_(freep) char *parent = xstrndup(path, (size_t)(name - path));
    _cleanup_(bucket_freep) struct bucket *b = NULL;
    int r = bucket_open(parent, getenv, &b, err);
    r = r < 0 ? r : bucket_get(b, name, RUN_FILE_MAX_BYTES, bytes, err);
    *ret = r < 0 ? NULL : fmemopen(bytes->data, bytes->len, "rb");
    return r < 0 || *ret != NULL ? r : err_set_errno(err, errno, "%s", path);
}

/* Unpacked, into the file `room`. */
static enum exit_code fetch(const char *path, const char *room)
{
    _cleanup_(buf_done) struct buf bytes = BUF_INIT;
    FILE *in = NULL;
    struct err err = {0};
    int r = open_bytes(path, &bytes, &in, &err);
    enum exit_code code = EXIT_OK;
    if (r < 0) {
        code = r == -E2BIG
                   ? cli_error(EXIT_ARCHIVE, NULL, "%s", err.msg)
                   : file_error(r, path, "write an archive with: benchctl export RUN", &err);
    } else if ((r = run_file_unpack(in, room, RUN_FILE_MAX_BYTES, &err)) < 0) {
        code = archive_error(r, path, &err);
    }
    if (in != NULL) {
        (void)fclose(in); /* it was only read */
    }
    return code;
}

enum exit_code archive_error(int r, const char *path, const struct err *err)
{
    char text[ERR_MSG_SIZE]; /* names in it may be anybody's */
    text_put(text, sizeof(text), "%s", err->msg);
    return r == -EPROTONOSUPPORT
               ? cli_error(EXIT_ARCHIVE, "install a newer benchctl", "%s: %s", path, text)
           : r == -EPROTO || r == -E2BIG
               ? cli_error(EXIT_ARCHIVE, "get the file once more from where it was exported",
                           "%s: %s", path, text)
               : cli_error(EXIT_LOCAL_RESOURCE, "set TMPDIR to a folder with room", "%s: %s", path,
                           text);
}

enum exit_code archive_open(const char *path, struct archive *ret)
{
    struct archive a = {0};
    _cleanup_(freep) char *room = NULL;
    struct store *theirs = NULL;
    struct err err = {0};
    int r = 0;
    enum exit_code code = archive_room(&room);
    code = code == EXIT_OK ? fetch(path, room) : code;
    code = code == EXIT_OK ? archive_room(&a.path) : code;
    if (code == EXIT_OK && ((r = run_file_open(room, &theirs, &a.head, &err)) < 0 ||
                            (r = run_file_take(theirs, a.path, &a.store, &err)) < 0 ||
                            (r = run_file_run(a.store, &a.row, &err)) < 0)) {
        code = archive_error(r, path, &err);
    }
    store_close(theirs);
    if (room != NULL) {
        (void)unlink(room); /* the folder is emptied anyway */
    }
    if (code != EXIT_OK) {
        archive_done(&a);
        return code;
    }
    *ret = a;
    return EXIT_OK;
}

void archive_done(struct archive *a)
{
    store_close(a->store);
    if (a->path != NULL) {
        (void)unlink(a->path); /* as in archive_open */
    }
    free(a->path);
    run_file_head_done(&a->head);
    run_row_done(&a->row);
    *a = (struct archive){0};
}

/* `typed` may begin with "sha256:", and be cut after 8 digits or more. */
static enum exit_code check_digest(const char *path, const char *digest, const char *typed)
{
    const char *digits = str_has_prefix(typed, PREFIX) ? typed + strlen(PREFIX) : typed;
    const size_t len = strlen(digits);
    if (len < MIN_DIGITS || len >= RUN_FILE_DIGEST_SIZE ||
        strspn(digits, "0123456789abcdef") != len) {
        return cli_error(EXIT_USAGE, "write sha256: and at least 8 of its 64 digits",
                         "'%s' is not a digest", typed);
    }
    return str_has_prefix(digest, digits)
               ? EXIT_OK
               : cli_error(EXIT_ARCHIVE, "this is another archive, or it was changed",
                           "%s: its digest is sha256:%s, not %s", path, digest, typed);
}

static enum exit_code store_run(struct store *s, const struct archive *a)
{
    struct err err = {0};
    const int r = run_file_put(a->store, a->row.name, s, &err);
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
    return cli->output[0] == '\0' || cli_output_is(cli, "text")
               ? EXIT_OK
               : cli_error(EXIT_USAGE, "remove -o", "--dry-run has no -o %s", cli->output);
}

static enum exit_code show_archive(const struct archive *a, const char *path)
{
    struct buf out = BUF_INIT;
    char program[ERR_MSG_SIZE]; /* it may be anybody's */
    text_put(program, sizeof(program), "%s", a->head.program);
    buf_printf(&out,
               PREFIX "%s  %s\nrun/%s is whole, and all of it follows from its records; written by "
                      "%s\n",
               a->head.digest, path, a->row.name, program);
    return show_text(&out);
}

/* ---- all archives of a folder ---- */

static bool is_place_of_many(const char *path)
{
    struct stat st;
    return bucket_is_url(path) ? !str_has_suffix(path, RUN_FILE_ENDING) &&
                                     !str_has_suffix(path, RUN_FILE_ENDING RUN_FILE_ZSTD)
                               : stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* A run that is stored already is no error: the import may be typed again. */
static enum exit_code import_next(const struct cli *cli, struct store *s, const char *path)
{
    _cleanup_(archive_done) struct archive a = {0};
    struct run_brief brief;
    enum exit_code code = archive_open(path, &a);
    if (code != EXIT_OK) {
        return code;
    }
    const bool is_stored = s->ops->get_brief(s, a.row.uid, &brief, NULL) >= 0;
    code = is_stored ? EXIT_OK : store_run(s, &a);
    if (code == EXIT_OK) {
        cli_note(cli, "run/%s %s", a.row.name, is_stored ? "is already stored" : "imported");
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
    r = r < 0 ? r : bucket_list(b, RUN_FILE_ENDING, &names, &err);
    r = r < 0 ? r : bucket_list(b, RUN_FILE_ENDING RUN_FILE_ZSTD, &names, &err);
    if (r < 0 || names.list.len == 0) {
        return r < 0
                   ? cli_error(r == -EINVAL ? EXIT_USAGE : EXIT_LOCAL_RESOURCE, NULL, "%s", err.msg)
                   : cli_error(EXIT_NOT_FOUND, NULL, "%s: there are no archives", url);
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

/* A pipe is read once: as an archive, unless --rules says that it is a log. False also if the file
 * cannot be read. */
static bool is_archive(const char *path)
{
    static const char zstd[] = "\x28\xb5\x2f\xfd", sqlite[] = "SQLite format 3";
    char begin[sizeof(sqlite)];
    struct stat st;
    if (stat(path, &st) == 0 && S_ISFIFO(st.st_mode)) {
        return true;
    }
    FILE *file = fopen(path, "rbe");
    const bool is_one =
        file != NULL && fread(begin, sizeof(begin), 1, file) == 1 &&
        (memcmp(begin, zstd, strlen(zstd)) == 0 || memcmp(begin, sqlite, sizeof(sqlite)) == 0);
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
            (is_archive(word) || is_place_of_many(word) || str_has_suffix(word, RUN_FILE_ENDING) ||
             str_has_suffix(word, RUN_FILE_ENDING RUN_FILE_ZSTD)));
}

enum exit_code archive_import(const struct cli *cli)
{
    const char *path = cli->args.words[0];
    const bool is_dry_run = args_has(&cli->args, "dry-run");
    if (is_place_of_many(path)) {
        return is_dry_run ? cli_error(EXIT_USAGE, "name one of its archives",
                                      "%s is a place of many archives", path)
                          : import_all(cli, path);
    }
    _cleanup_(archive_done) struct archive a = {0};
    enum exit_code code = is_dry_run ? check_dry_run(cli) : EXIT_OK;
    code = code == EXIT_OK ? archive_open(path, &a) : code;
    if (code == EXIT_OK && cli->args.n_words > 1) {
        code = check_digest(path, a.head.digest, cli->args.words[1]);
    }
    if (code != EXIT_OK || is_dry_run) {
        return code != EXIT_OK ? code : show_archive(&a, path);
    }
    _cleanup_(store_closep) struct store *s = NULL;
    code = local_store_open(cli, true, &s);
    code = code == EXIT_OK ? store_run(s, &a) : code;
    return code == EXIT_OK ? import_show(cli, a.row.name) : code;
}
