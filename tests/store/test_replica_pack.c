/* The replicas of an attempt as bytes: what went in comes out, and damaged bytes are an error. */
#include <errno.h>

#include "tests/test.h"
#include "store/sqlite_store.h"

static void add(struct attempt_row *row, enum role role, uint32_t index, int exit_code, int signal,
                const char *texts[3], uint64_t log_bytes)
{
    *vec_push(&row->replicas) = (struct replica_row){
        .id = {row->id, role, index},
        .exit_code = exit_code,
        .signal = signal,
        .failure = texts[0] == NULL ? NULL : xstrdup(texts[0]),
        .summary_json = texts[1] == NULL ? NULL : xstrdup(texts[1]),
        .environment_json = texts[2] == NULL ? NULL : xstrdup(texts[2]),
        .log_bytes = log_bytes,
    };
}

/* Out of order, with all extremes. */
static struct attempt_row make(void)
{
    struct attempt_row row = {.id = {3, 2, 1}};
    add(&row, ROLE_TRAINER, 10, 0, 0, (const char *[]){NULL, "{\"a\":1}", "{}"}, UINT64_MAX);
    add(&row, ROLE_WORKER, 0, 255, 0, (const char *[]){NULL, NULL, NULL}, 0);
    add(&row, ROLE_TRAINER, 9, -1, 9, (const char *[]){"killed by signal 9", "", NULL}, 1);
    add(&row, ROLE_PSERVER, UINT32_MAX, -1, 0, (const char *[]){"\xc3\xa9\xff", NULL, "x"}, 77);
    return row;
}

static void assert_text(const char *got, const char *expected)
{
    if (got == NULL || expected == NULL) {
        assert_ptr_equal(got, expected);
    } else {
        assert_string_equal(got, expected);
    }
}

TEST(what_goes_in_comes_out_in_order)
{
    _cleanup_(attempt_row_done) struct attempt_row row = make();
    struct buf bytes = BUF_INIT;
    assert_int_equal(replica_pack(&row, &bytes, NULL), 0);
    struct attempt_row got = {.id = {3, 2, 1}};
    assert_int_equal(replica_unpack(bytes.data, bytes.len, &got, NULL), 0);
    static const size_t order[] = {3, 2, 0, 1}; /* pserver, trainer 9, trainer 10, worker */
    assert_int_equal(got.replicas.len, 4);
    for (size_t i = 0; i < 4; i++) {
        const struct replica_row *a = &got.replicas.items[i], *b = &row.replicas.items[order[i]];
        assert_true(replica_id_eq(&a->id, &b->id));
        assert_int_equal(a->exit_code, b->exit_code);
        assert_int_equal(a->signal, b->signal);
        assert_int_equal(a->log_bytes, b->log_bytes);
        assert_text(a->failure, i == 0 ? "\xc3\xa9?" : b->failure); /* what is no UTF-8 */
        assert_text(a->summary_json, b->summary_json);
        assert_text(a->environment_json, b->environment_json);
    }
    attempt_row_done(&got);
    buf_done(&bytes);
    assert_int_equal(replica_pack(&got, &bytes, NULL), 0); /* none */
    assert_int_equal(replica_unpack(bytes.data, bytes.len, &got, NULL), 0);
    assert_int_equal(got.replicas.len, 0);
    buf_done(&bytes);
}

/* Cut at any byte, with a byte too many, and with any byte changed: an error
 * or rows, and no more. */
TEST(damaged_bytes_are_an_error)
{
    _cleanup_(attempt_row_done) struct attempt_row row = make();
    _cleanup_(buf_done) struct buf bytes = BUF_INIT;
    assert_int_equal(replica_pack(&row, &bytes, NULL), 0);
    struct attempt_row got = {.id = {3, 2, 1}};
    for (size_t len = 0; len < bytes.len; len++) {
        _cleanup_(freep) char *copy = xmalloc(len + 1); /* of the exact size, for the sanitizer */
        memcpy(copy, bytes.data, len);
        _cleanup_(freep) char *exact = xmalloc(len == 0 ? 1 : len);
        memcpy(exact, copy, len);
        assert_int_equal(replica_unpack(exact, len, &got, NULL), -EBADMSG);
        assert_int_equal(got.replicas.len, 0);
    }
    for (size_t i = 0; i < bytes.len; i++) {
        for (int bit = 0; bit < 8; bit++) {
            bytes.data[i] = (char)(bytes.data[i] ^ (1 << bit));
            if (replica_unpack(bytes.data, bytes.len, &got, NULL) < 0) {
                assert_int_equal(got.replicas.len, 0);
            }
            attempt_row_done(&got);
            bytes.data[i] = (char)(bytes.data[i] ^ (1 << bit));
        }
    }
    buf_putc(&bytes, 'x');
    struct err err;
    assert_int_equal(replica_unpack(bytes.data, bytes.len, &got, &err), -EBADMSG);
    char *role = memmem(bytes.data, bytes.len, "pserver", 7);
    assert_non_null(role);
    role[0] = 'P';
    assert_int_equal(replica_unpack(bytes.data, bytes.len, &got, &err), -EBADMSG);
    assert_non_null(strstr(err.msg, "unknown role"));
}

TEST(a_replica_is_there_once)
{
    _cleanup_(attempt_row_done) struct attempt_row row = make();
    add(&row, ROLE_TRAINER, 9, 0, 0, (const char *[]){NULL, NULL, NULL}, 0);
    _cleanup_(buf_done) struct buf bytes = BUF_INIT;
    struct err err;
    assert_int_equal(replica_pack(&row, &bytes, &err), -ENOTRECOVERABLE);
    assert_string_equal(err.msg, "trainer/9 is there twice");
}
