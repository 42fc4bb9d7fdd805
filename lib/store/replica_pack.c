/* The replicas of an attempt as the bytes that the store keeps, compressed, in one row: most of
 * them repeat each other (keys, environments), so that one row of all is a small part of a row
 * each. See sqlite_store.h. Pure.
 *
 * Numbers are little-endian. A text is its length plus 1 as u32 and its bytes; 0: none (NULL).
 *   u8  2, the version of this format
 *   u32 n
 *   n x index u32, exit code i32, signal i32, log bytes u64
 *   n x role (text); n x failure; n x summary; n x environment; n x reading
 *       (version 1 has no readings)
 * in the order of their role's name, then of their index. */
#include "store/sqlite_store.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"

#define VERSION 2
#define FIXED_BYTES (4 + 4 + 4 + 8)
#define TEXTS 5 /* role, failure, summary, environment, reading; the last since version 2 */

static_assert(offsetof(struct replica_row, id) == 0, "rows_compare reads it there");

static void put_text(struct buf *out, const char *text)
{
    const size_t len = text == NULL ? 0 : strlen(text);
    number_write(out, text == NULL ? 0 : len + 1, 4);
    buf_append(out, text, len);
}

static const char *text_of(const struct replica_row *rep, int i)
{
    const char *texts[TEXTS] = {role_to_string(rep->id.role), rep->failure, rep->summary_json,
                                rep->environment_json, rep->reading_json};
    return texts[i];
}

int replica_pack(const struct attempt_row *row, struct buf *out, struct err *err)
{
    const size_t n = row->replicas.len;
    _cleanup_(freep) const struct replica_row **sorted = xnew_array(const struct replica_row *, n);
    for (size_t i = 0; i < n; i++) {
        sorted[i] = &row->replicas.items[i];
    }
    qsort(sorted, n, sizeof(sorted[0]), rows_compare);
    for (size_t i = 1; i < n; i++) {
        if (rows_compare(&sorted[i - 1], &sorted[i]) == 0) {
            return err_set(err, ENOTRECOVERABLE, "%s/%u is there twice",
                           role_to_string(sorted[i]->id.role), sorted[i]->id.index);
        }
    }
    number_write(out, VERSION, 1);
    number_write(out, n, 4);
    for (size_t i = 0; i < n; i++) {
        number_write(out, sorted[i]->id.index, 4);
        number_write(out, (uint32_t)sorted[i]->exit_code, 4);
        number_write(out, (uint32_t)sorted[i]->signal, 4);
        number_write(out, sorted[i]->log_bytes, 8);
    }
    for (int text = 0; text < TEXTS; text++) {
        for (size_t i = 0; i < n; i++) {
            put_text(out, text_of(sorted[i], text));
        }
    }
    return 0;
}

struct reader {
    const unsigned char *at, *end;
};

static bool get_number(struct reader *r, size_t n_bytes, uint64_t *ret)
{
    if ((size_t)(r->end - r->at) < n_bytes) {
        return false;
    }
    *ret = number_read(r->at, n_bytes);
    r->at += n_bytes;
    return true;
}

/* Owned; NULL: none. A text with a NUL in it is damaged: it would be cut. */
static bool get_text(struct reader *r, char **ret)
{
    uint64_t code;
    if (!get_number(r, 4, &code) || (code > 0 && (size_t)(r->end - r->at) < code - 1)) {
        return false;
    }
    *ret = NULL;
    if (code > 0) {
        const size_t len = (size_t)code - 1;
        if (len > 0 && memchr(r->at, '\0', len) != NULL) {
            return false;
        }
        *ret = xstrndup((const char *)r->at, len);
        utf8_mend(*ret); /* what programs printed; as all documents have it */
        r->at += len;
    }
    return true;
}

static bool get_fixed(struct reader *r, struct replica_row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t index, exit_code, signal;
        if (!get_number(r, 4, &index) || !get_number(r, 4, &exit_code) ||
            !get_number(r, 4, &signal) || !get_number(r, 8, &rows[i].log_bytes)) {
            return false;
        }
        rows[i].id.index = (uint32_t)index;
        rows[i].exit_code = (int)(int32_t)(uint32_t)exit_code;
        rows[i].signal = (int)(int32_t)(uint32_t)signal;
    }
    return true;
}

static bool get_role(struct reader *r, enum role *ret)
{
    _cleanup_(freep) char *text = NULL;
    const int role = get_text(r, &text) && text != NULL ? role_from_string(text) : -1;
    if (role < 0) {
        return false;
    }
    *ret = (enum role)role;
    return true;
}

static bool get_texts(struct reader *r, struct replica_row *rows, size_t n, int texts)
{
    for (int text = 1; text < texts; text++) {
        for (size_t i = 0; i < n; i++) {
            struct replica_row *row = &rows[i];
            char **to[TEXTS] = {NULL, &row->failure, &row->summary_json, &row->environment_json,
                                &row->reading_json};
            if (!get_text(r, to[text])) {
                return false;
            }
        }
    }
    return r->at == r->end;
}

static const char *get_all(struct reader *r, struct replica_row *rows, size_t n, int texts)
{
    if (!get_fixed(r, rows, n)) {
        return "replicas of an attempt are cut short";
    }
    for (size_t i = 0; i < n; i++) {
        if (!get_role(r, &rows[i].id.role)) {
            return "unknown role of a replica";
        }
    }
    return get_texts(r, rows, n, texts) ? NULL : "texts of an attempt's replicas";
}

int replica_unpack(const void *data, size_t len, struct attempt_row *row, struct err *err)
{
    struct reader r = {data, (const unsigned char *)data + len};
    uint64_t version = 0, n = 0;
    if (!get_number(&r, 1, &version) || version < 1 || version > VERSION ||
        !get_number(&r, 4, &n) || n > (size_t)(r.end - r.at) / FIXED_BYTES) {
        return err_set(err, EBADMSG, "the number of an attempt's replicas");
    }
    struct attempt_row got = {0};
    for (size_t i = 0; i < n; i++) {
        *vec_push(&got.replicas) = (struct replica_row){.id.attempt = row->id};
    }
    const char *fault =
        get_all(&r, got.replicas.items, (size_t)n, version == 1 ? TEXTS - 1 : TEXTS);
    if (fault != NULL) {
        attempt_row_done(&got);
        return err_set(err, EBADMSG, "%s", fault);
    }
    vec_reserve(&row->replicas, n);
    for (size_t i = 0; i < n; i++) {
        *vec_push(&row->replicas) = got.replicas.items[i];
    }
    vec_done(&got.replicas);
    return 0;
}
