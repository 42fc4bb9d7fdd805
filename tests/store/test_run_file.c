/* How a run's file travels. tests/ctl/test_archive.py and fuzz_runfile.c test what is in it, and
 * what is refused. */
#include "store_fixture.h"

#include "base/whole_file.h"
#include "store/run_file.h"

#define TEXT_BYTES 300000

/* "SQLite format 3", then bytes that do not repeat. */
static void make_text(struct buf *out)
{
    uint32_t state = 1;
    buf_append(out, "SQLite format 3", 16);
    while (out->len < TEXT_BYTES) {
        state = state * 1664525 + 1013904223;
        buf_putc(out, (char)(state >> 24));
    }
}

static int unpack(const struct fixture *f, const struct buf *data, size_t max_bytes,
                  struct buf *ret, struct err *err)
{
    FILE *in = fmemopen(data->data, data->len, "rb");
    const int r = run_file_unpack(in, f->path, max_bytes, err);
    (void)fclose(in);
    assert_int_equal(file_read(f->path, SIZE_MAX, ret, NULL), 0);
    return r;
}

TEST(what_is_packed_is_unpacked)
{
    _cleanup_(fixture_done) struct fixture f = fixture_make();
    _cleanup_(buf_done) struct buf text = BUF_INIT, packed = BUF_INIT, again = BUF_INIT;
    make_text(&text);
    assert_int_equal(file_replace(f.path, &text), 0);
    assert_int_equal(run_file_send(f.path, true, &packed, NULL), 0);
    assert_int_equal(unpack(&f, &packed, TEXT_BYTES, &again, NULL), 0);
    assert_int_equal(again.len, text.len);
    assert_memory_equal(again.data, text.data, text.len);
    buf_done(&again);
    assert_int_equal(unpack(&f, &text, TEXT_BYTES, &again, NULL), 0); /* it need not be packed */
    assert_memory_equal(again.data, text.data, text.len);
}

TEST(what_is_refused)
{
    _cleanup_(fixture_done) struct fixture f = fixture_make();
    _cleanup_(buf_done) struct buf text = BUF_INIT, packed = BUF_INIT;
    make_text(&text);
    assert_int_equal(file_replace(f.path, &text), 0);
    assert_int_equal(run_file_send(f.path, true, &packed, NULL), 0);
    const struct {
        const char *what;
        size_t cut, change, max_bytes; /* change: a byte, from 1 */
        bool has_more;
        int code;
    } rows[] = {
        {"it is cut off", 5, 0, TEXT_BYTES, false, -EPROTO},
        {"it has bytes behind its end", 0, 0, TEXT_BYTES, true, -EPROTO},
        {"it cannot be unpacked: ", 0, 200000, TEXT_BYTES, false, -EPROTO},
        {"it has more bytes, unpacked, than are read", 0, 0, TEXT_BYTES - 1, false, -E2BIG},
        {"it is no run that was exported", 0, 1, TEXT_BYTES, false, -EPROTO},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(buf_done) struct buf bytes = BUF_INIT, got = BUF_INIT;
        struct err err = {0};
        buf_append(&bytes, packed.data, packed.len - rows[i].cut);
        if (rows[i].has_more) {
            buf_putc(&bytes, 'x');
        }
        if (rows[i].change > 0) {
            bytes.data[rows[i].change - 1] = (char)~bytes.data[rows[i].change - 1];
        }
        const int r = unpack(&f, &bytes, rows[i].max_bytes, &got, &err);
        if (r != rows[i].code || strstr(err.msg, rows[i].what) == NULL) {
            fail_msg("row %zu: %d, '%s'", i, r, err.msg);
        }
    }
}

/* What killed processes left goes; what others have stays. */
TEST(rooms_are_swept)
{
    _cleanup_(fixture_done) struct fixture f = fixture_make();
    _cleanup_(freep) char *room = NULL;
    assert_int_equal(file_replace(f.path, &BUF_INIT), 0);
    assert_int_equal(run_file_room(f.path, &room, NULL), 0);
    assert_int_equal(access(room, F_OK), 0);
    _cleanup_(freep) char *other = xasprintf("%s-copy.run-tmp-abcdef", f.path);
    assert_int_equal(file_replace(other, &BUF_INIT), 0);
    run_file_sweep(f.path);
    assert_int_equal(unlink(other), 0);
    assert_int_equal(access(room, F_OK), -1);
    assert_int_equal(access(f.path, F_OK), 0);
}

/* Its digest would not be that of its rows any more. */
TEST(it_is_a_store_that_is_only_read)
{
    _cleanup_(fixture_done) struct fixture f;
    struct store *s = open_with_run(&f), *file = NULL;
    _cleanup_(freep) char *path = NULL;
    char digest[RUN_FILE_DIGEST_SIZE];
    assert_int_equal(run_file_room(f.path, &path, NULL), 0);
    assert_int_equal(run_file_make(s, UID, &RUN_FILE_ALL, "test", path, digest, NULL), 0);
    _cleanup_(freep) char *url = xasprintf("sqlite:%s", path);
    assert_int_equal(store_open(url, false, &file, NULL), 0);
    _cleanup_(run_row_done) struct run_row run = make_run("uid-2", "another", 1), got = {0};
    assert_int_equal(file->ops->get_run(file, RUN_NAME, &got, NULL), 0);
    struct err err = {0};
    assert_int_equal(file->ops->put_run(file, &run, &err), -EROFS);
    assert_has(err.msg, "': an exported run is only read; choose another file with --store");
    assert_int_equal(run_file_put(file, "again", file, &err), -EROFS);
    assert_int_equal(file->ops->delete_run(file, UID, &err), -EROFS);
    assert_int_equal(save(file, UID, 0, 0, 0, "", 0, &err), -EROFS);
    store_close(file);
    store_close(s);
    assert_int_equal(unlink(path), 0);
}
