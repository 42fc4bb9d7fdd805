/* Each class has exactly the characters that are listed here, whatever the sign of char. */
#include "tests/test.h"

#include <limits.h>

#include "base/str.h"

#define SMALL "abcdefghijklmnopqrstuvwxyz"
#define CAPITAL "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"
#define PUNCTUATION "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"

static bool is_in(const char *members, int c)
{
    return c > 0 && c < 0x80 && strchr(members, c) != NULL;
}

TEST(classes)
{
    for (int c = -128; c < 256; c++) {
        print_message("# character %d\n", c);
        assert_int_equal(ascii_is_digit(c), is_in(DIGITS, c));
        assert_int_equal(ascii_is_letter(c), is_in(SMALL CAPITAL, c));
        assert_int_equal(ascii_is_alnum(c), is_in(DIGITS SMALL CAPITAL, c));
        assert_int_equal(ascii_is_print(c), is_in(DIGITS SMALL CAPITAL PUNCTUATION " ", c));
        assert_int_equal(ascii_is_control(c),
                         c >= 0 && c < 0x80 && !is_in(DIGITS SMALL CAPITAL PUNCTUATION " ", c));
    }
}

TEST(cases)
{
    for (int c = CHAR_MIN; c <= CHAR_MAX; c++) {
        const char *small = is_in(SMALL, c) ? strchr(SMALL, c) : NULL;
        const char *capital = is_in(CAPITAL, c) ? strchr(CAPITAL, c) : NULL;
        assert_int_equal(ascii_upper((char)c), small != NULL ? CAPITAL[small - SMALL] : c);
        assert_int_equal(ascii_lower((char)c), capital != NULL ? SMALL[capital - CAPITAL] : c);
    }
}
