/* Files that commands of a run named (docs/export.md), which may come from elsewhere. */
#include "store/sqlite_store.h"

#include <errno.h>

#include <openssl/sha.h>

#include "base/mem.h"

int files_put(struct store *base, const char *uid, const struct program_file *file, struct err *err)
{
    struct sqlite_store *s = sqlite_store_of(base);
    unsigned char sha[SHA256_DIGEST_LENGTH];
    const struct buf *content = &file->content;
    if (!program_file_may_travel(file->name)) {
        return err_set(err, EPROTO, "a file has a name that no file of a run has");
    }
    (void)SHA256((const unsigned char *)buf_cstr(content), content->len, sha); /* never fails */
    return sql_change_run(
        s, uid, err,
        "INSERT INTO program_file SELECT ?1, ?2, lower(hex(?3)), ?4, ?5 WHERE length(?5) + "
        "(SELECT total(length(content)) FROM program_file WHERE run_uid = ?1) <= ?6",
        "ssbibi", uid, file->name, (const void *)sha, sizeof(sha), (int64_t)file->is_executable,
        (const void *)buf_cstr(content), content->len, (int64_t)PROGRAM_FILES_MAX_BYTES);
}

int files_list(struct store *base, const char *uid, struct program_file **ret, size_t *ret_n,
               struct err *err)
{
    struct sqlite_store *s = sqlite_store_of(base);
    _cleanup_(sql_finalizep) sqlite3_stmt *q = NULL;
    VEC(struct program_file) rows = {0};
    size_t n_bytes = 0;
    int r = sql_prepare(s, &q, err,
                        "SELECT name, executable, content FROM program_file WHERE run_uid = ? "
                        "ORDER BY name",
                        "s", uid);
    while (r >= 0 && (r = sql_step(s, q, err)) > 0) {
        struct program_file *row = vec_push(&rows);
        const size_t len = (size_t)sqlite3_column_bytes(q, 2);
        *row = (struct program_file){0};
        r = sql_read(s, q, 0, err, "tf", &row->name, &row->is_executable);
        n_bytes += len;
        if (r >= 0 && n_bytes > PROGRAM_FILES_MAX_BYTES) {
            r = err_set(err, EPROTO, "a run has more than %zu bytes of files",
                        PROGRAM_FILES_MAX_BYTES);
        } else if (r >= 0) {
            buf_append(&row->content, sqlite3_column_blob(q, 2), len);
        }
    }
    return sql_hand_over(r, &rows, program_file_done, ret, ret_n);
}
