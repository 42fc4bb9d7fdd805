/* Text for a field of fixed size: cut between characters. Foreign text: without control characters,
 * and as a terminal may show it. */
#include "tests/test.h"
#include "base/buf.h"
#include "base/str.h"

TEST(fits_its_field)
{
    static const struct {
        const char *text;
        size_t size;
        const char *expected;
    } rows[] = {
        {"abc", 4, "abc"},
        {"abcd", 4, "abc"},
        {"caf\xc3\xa9", 6, "caf\xc3\xa9"},
        {"caf\xc3\xa9", 5, "caf"}, /* never half a character */
        {"\xe2\x82\xac\xe2\x82\xac", 6, "\xe2\x82\xac"},
        {"\xe2\x82\xac\xe2\x82\xac", 4, "\xe2\x82\xac"},
        {"\xf0\x9f\x98\x80", 4, ""},
        {"two\nlines\t\x1b[31m\x7f", 20, "two lines  [31m "},
        {"\xc2\x9b"
         "2Jx\x9b"
         "2J\xc2\xa0",
         20, " 2Jx 2J\xc2\xa0"}, /* CSI of one character */
        {"", 1, ""},
        {"x", 1, ""},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char got[32];
        memset(got, '#', sizeof(got));
        text_put(got, rows[i].size, "%s", rows[i].text);
        assert_string_equal(got, rows[i].expected);
        for (size_t k = rows[i].size; k < sizeof(got); k++) {
            assert_int_equal(got[k], '#'); /* nothing behind the field is touched */
        }
    }
}

TEST(without_control_characters)
{
    static const struct {
        const char *text, *kept, *expected;
    } rows[] = {
        {"", "", ""},
        {"a\nb\tc", "", "a?b?c"},
        {"a\nb\tc", "\n", "a\nb?c"},
        {"\x1b]0;title\a\x7f\x01", "\n", "?]0;title???"},
        {"\xc2\x80|\xc2\x9f|\xc2\xa0", "", "?|?|\xc2\xa0"}, /* C1 ends at 0x9f */
        {"\x80|\x9f|\xa0", "", "?|?|\xa0"},                 /* single bytes of C1 */
        {"\xe2\x9b\x84 \xf0\x9f\x98\x80", "",
         "\xe2\x9b\x84 \xf0\x9f\x98\x80"}, /* inside of a character */
        {"\xe2\x9b", "", "\xe2?"},         /* half of one */
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        _cleanup_(freep) char *copy = text_without_control(rows[i].text, rows[i].kept, '?');
        assert_string_equal(copy, rows[i].expected);
        char got[40];
        memcpy(got, rows[i].text, strlen(rows[i].text) + 1);
        assert_int_equal(text_replace_control(got, rows[i].kept, '?'), strlen(rows[i].expected));
        assert_string_equal(got, rows[i].expected);
    }
}

TEST(capitals_of_ascii)
{
    _cleanup_(freep) char *capitals = text_capitals("az_AZ 09 caf\xc3\xa9");
    assert_string_equal(capitals, "AZ_AZ 09 CAF\xc3\xa9");
}

TEST(as_a_terminal_may_have_it)
{
#define ROW(text, expected)                                                                        \
    {                                                                                              \
        text, sizeof(text) - 1, expected                                                           \
    }
    static const struct {
        const char *text;
        size_t len;
        const char *expected;
    } rows[] = {
        ROW("", ""),
        ROW("a\tb\r\nc\n", "a\tb\r\nc\n"),
        ROW("\x1b[1;38:5:9mred\x1b[m", "\x1b[1;38:5:9mred\x1b[m"),
        ROW("\x1b[2J\x1b[1A\x1b[31", "?[2J?[1A?[31"), /* the last would end in what follows */
        ROW("\x1b]0;title\a\x1bPq\x1b\\", "?]0;title??Pq?\\"),
        ROW("\xc2\x9b"
            "2J\x9b"
            "2J \xc3\xa9 \xe9",
            "?2J?2J \xc3\xa9 \xe9"),
        ROW("a\0b\x7f\b", "a?b??"),
    };
#undef ROW
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        _cleanup_(buf_done) struct buf got = BUF_INIT;
        text_put_shown(&got, rows[i].text, rows[i].len);
        assert_string_equal(buf_cstr(&got), rows[i].expected);
        assert_int_equal(got.len, strlen(rows[i].expected));
    }
}
