#include "tests/test.h"
#include "base/buf.h"
#include "base/vec.h"

#include <errno.h>

TEST(grows_and_stays_terminated)
{
    _cleanup_(buf_done) struct buf b = BUF_INIT;
    assert_string_equal(buf_cstr(&b), "");
    for (int i = 0; i < 1000; i++) {
        buf_printf(&b, "%d,", i);
        assert_int_equal(b.data[b.len], '\0');
    }
    assert_memory_equal(b.data, "0,1,2,3,", 8);
    assert_int_equal(b.len, 10 * 2 + 90 * 3 + 900 * 4);
    buf_clear(&b);
    assert_string_equal(buf_cstr(&b), "");
}

TEST(limit_is_exact_and_keeps_content)
{
    _cleanup_(buf_done) struct buf b;
    buf_init(&b, 8);
    assert_int_equal(buf_try_append(&b, "12345678", 8), 0);
    assert_int_equal(buf_try_append(&b, "9", 1), -E2BIG);
    assert_string_equal(buf_cstr(&b), "12345678");
    assert_int_equal(buf_try_append(&b, "x", SIZE_MAX), -E2BIG);
    buf_clear(&b);
    assert_int_equal(buf_try_append(&b, "abc", 3), 0);
    assert_string_equal(buf_cstr(&b), "abc");
}

TEST(take_hands_over)
{
    struct buf b = BUF_INIT;
    _cleanup_(freep) char *empty = buf_take(&b);
    assert_string_equal(empty, "");
    buf_puts(&b, "a");
    buf_putc(&b, 'b');
    _cleanup_(freep) char *s = buf_take(&b);
    assert_string_equal(s, "ab");
    assert_null(b.data);
}

TEST(foreign_text_becomes_utf8)
{
    static const struct {
        const char *text;
        size_t max;
        const char *expected;
    } rows[] = {
        {"caf\xc3\xa9", 100, "caf\xc3\xa9"},
        {"caf\xc3\xa9", 5, "caf\xc3\xa9"},
        {"caf\xc3\xa9", 4, "caf"}, /* never half a character */
        {"caf\xe9", 100, "caf?"},
        {"\xe2\x9c", 100, "??"},
        {"\xff\xff\xff", 2, "??"},
        {"\xe0\x80\xaf", 100, "???"},      /* '/' in three bytes */
        {"\xf0\x80\x80\xaf", 100, "????"}, /* ... in four */
        {"\xed\xa0\x80", 100, "???"},      /* half of a surrogate pair */
        {"\xf4\x90\x80\x80", 100, "????"}, /* beyond U+10FFFF */
        {"\xf4\x8f\xbf\xbf", 100, "\xf4\x8f\xbf\xbf"},
        {"\xee\x80\x80", 100, "\xee\x80\x80"},
        {"x", 0, ""},
        {"", 9, ""},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        _cleanup_(buf_done) struct buf b = BUF_INIT;
        buf_put_utf8(&b, rows[i].text, rows[i].max);
        assert_string_equal(buf_cstr(&b), rows[i].expected);
    }
}

TEST(bytes_that_are_not_plain_are_escaped)
{
    static const struct {
        const char *text, *plain, *expected;
    } rows[] = {
        {"a/b c", "abc", "a%2Fb%20c"},
        {"caf\xc3\xa9%", BUF_ALNUM, "caf%C3%A9%25"},
        {"AZaz09-\n", BUF_ALNUM, "AZaz09%2D%0A"},
        {"ab", "", "%61%62"},
        {"", BUF_ALNUM, ""},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(buf_done) struct buf b = BUF_INIT;
        buf_put_percent(&b, rows[i].text, rows[i].plain);
        assert_string_equal(buf_cstr(&b), rows[i].expected);
    }
}

static void count(int **item)
{
    ++**item;
}

TEST(each_item_of_an_array_is_done_once)
{
    int n_done[3] = {0};
    _cleanup_(freep) int **items = xnew_array(int *, N_ROWS(n_done));
    for (size_t i = 0; i < N_ROWS(n_done); i++) {
        items[i] = &n_done[i];
    }
    free_each(items, N_ROWS(n_done), count);
    assert_null(items);
    for (size_t i = 0; i < N_ROWS(n_done); i++) {
        assert_int_equal(n_done[i], 1);
    }
}

TEST(vec_keeps_order)
{
    VEC(int) v = {0};
    for (int i = 0; i < 100; i++) {
        *vec_push(&v) = i;
    }
    int sum = 0;
    vec_each (int, it, &v) {
        sum += *it;
    }
    assert_int_equal(sum, 4950);
    assert_int_equal(v.len, 100);
    vec_done(&v);
    assert_null(v.items);
}
