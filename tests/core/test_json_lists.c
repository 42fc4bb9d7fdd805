/* Documents with long lists: the text is that of the whole, and what is read of it, with limits far
 * below the length of the text. */
#include "tests/test.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "core/json_field.h"

static json_t *item(int i)
{
    return json_pack("{s:i, s:s, s:[i, []], s:{}}", "i", i, "text", "a\n \"items\": [", "deep", i,
                     "none");
}

static json_t *document(int n)
{
    return json_pack("{s:s, s:o, s:[s]}", "kind", "Test", "items",
                     JSON_ARRAY_OF(for (int i = 0; i < n; i++), item(i)), "events", "end");
}

static void put(int n, unsigned indent, struct buf *out)
{
    struct json_lists w;
    json_lists_begin(&w, document(0), indent, out);
    json_lists_open(&w, "items");
    for (int i = 0; i < n; i++) {
        json_lists_add(&w, item(i));
    }
    json_lists_end(&w);
}

TEST(text_is_that_of_the_whole)
{
    for (unsigned indent = 1; indent <= 2; indent++) {
        for (int n = 0; n < 3; n++) {
            _cleanup_(buf_done) struct buf text = BUF_INIT, list = BUF_INIT;
            json_auto_t *whole = document(n);
            _cleanup_(freep) char *expected = json_dumps(whole, JSON_INDENT(indent));
            put(n, indent, &text);
            buf_puts(&list, expected);
            buf_putc(&list, '\n');
            assert_string_equal(buf_cstr(&text), buf_cstr(&list));
        }
        _cleanup_(buf_done) struct buf text = BUF_INIT;
        struct json_lists w;
        json_lists_begin(&w, NULL, indent, &text);
        json_lists_add(&w, json_integer(7));
        json_lists_add(&w, json_array());
        json_lists_end(&w);
        assert_string_equal(buf_cstr(&text),
                            indent == 1 ? "[\n 7,\n []\n]\n" : "[\n  7,\n  []\n]\n");
    }
}

static int count(void *ctx, const json_t *each, struct err *err)
{
    int *n = ctx;
    json_auto_t *expected = item(*n);
    return json_equal(each, expected) ? ((*n)++, 0) : err_set(err, EBADMSG, "another item");
}

static int accept(void *ctx, const json_t *each, struct err *err)
{
    (void)ctx, (void)each, (void)err;
    return 0;
}

#define MAX_BYTES 120 /* of an item; the text has more */

/* Fills *ret_n with the calls, and *ret_left with the items that are in what is left. */
static int read_back(const char *text, size_t max_bytes, int *ret_n, size_t *ret_left,
                     struct err *err)
{
    const struct buf all = {.data = (char *)(uintptr_t)text, .len = strlen(text)};
    json_auto_t *rest = NULL;
    *ret_n = 0;
    const int r = json_lists_read(&all, "items", max_bytes, count, ret_n, &rest, err);
    *ret_left = json_array_size(json_object_get(rest, "items"));
    return r;
}

TEST(items_are_read_one_by_one)
{
    struct err err = {0};
    int n_read;
    size_t left;
    for (int n = 0; n < 20; n++) {
        _cleanup_(buf_done) struct buf text = BUF_INIT;
        put(n, 1, &text);
        assert_int_equal(read_back(buf_cstr(&text), MAX_BYTES, &n_read, &left, &err), 0);
        assert_int_equal(n_read, n);
        assert_int_equal(left, 0);
    }
    json_auto_t *whole = document(3);
    _cleanup_(freep) char *compact = json_dumps(whole, JSON_COMPACT);
    assert_int_equal(read_back(compact, SIZE_MAX, &n_read, &left, &err), 0);
    assert_int_equal(n_read, 0);
    assert_int_equal(left, 3);
    assert_int_equal(read_back(compact, MAX_BYTES, &n_read, &left, &err), -E2BIG);
}

TEST(what_is_refused)
{
    static const struct {
        const char *text;
        int code;
        const char *error;
    } rows[] = {
        {"{\n \"items\": [\n  {\"long\": \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"}\n ]\n}", E2BIG,
         "items[0]: more than 40 bytes are in one piece"},
        {"{\n \"items\": [],\n \"long\": \"aaaaaaaaaaaaaaaa\"}", E2BIG, "more than 40 bytes"},
        {"{\n \"items\": [\n  7\n ]}", EPROTO, "items[0]: line 2: '[' or '{' expected"},
        {"{\n \"items\": [{},\n ]}", EPROTO, "items[1]: line 2: "},
        {"{\n \"items\": [,{}]}", EPROTO, "items[0]: line 1: "},
        {"{\n \"items\": [{},,{}]}", EPROTO, "items[1]: line 1: "},
        {"{\n \"items\": [{} {}]}", EPROTO, "items: a comma is missing"},
        {"{\n \"items\": [", EPROTO, "items[0]: line 1: "},
        {"{\n \"items\": []", EPROTO, "line 2: "},
        {"{\n \"items\": [],\"items\":[]}", EPROTO, "duplicate"},
        {"{\n \"items\": []} {}", EPROTO, "end of file expected"},
        {"{\"a\":{\n \"items\": []},\"items\":[3]}", EPROTO, "items: a comma is missing"},
        {"{", EPROTO, "line 1: "},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct err err = {0};
        json_auto_t *rest = NULL;
        const struct buf all = {.data = (char *)(uintptr_t)rows[i].text,
                                .len = strlen(rows[i].text)};
        const int r = json_lists_read(&all, "items", 40, accept, NULL, &rest, &err);
        if (r != -rows[i].code || strstr(err.msg, rows[i].error) == NULL) {
            fail_msg("row %zu: %d, %s", i, r, err.msg);
        }
    }
}
