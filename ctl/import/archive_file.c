/* See archive_file.h. */
#include "ctl/import/archive_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "base/whole_file.h"
#include "bucket/bucket.h"
#include "load/archive_run.h"
#include "ctl/runs/find.h"

#define PREFIX "sha256:"
#define MIN_DIGITS 8

bool archive_file_looks_like_one(const char *path)
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

enum exit_code archive_file_open(const char *path, struct archive *ret, struct loaded_run *ret_run)
{
    struct buf file = BUF_INIT;
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
    buf_done(&file);
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

static const char *digits_of(const char *typed)
{
    return str_has_prefix(typed, PREFIX) ? typed + strlen(PREFIX) : typed;
}

bool archive_is_digest(const char *typed)
{
    const char *digits = digits_of(typed);
    const size_t len = strlen(digits);
    return len >= MIN_DIGITS && len < ARCHIVE_SHA256_SIZE &&
           strspn(digits, "0123456789abcdef") == len;
}

bool archive_digest_matches(const char *digest, const char *typed)
{
    return archive_is_digest(typed) && str_has_prefix(digest, digits_of(typed));
}
