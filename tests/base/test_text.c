/* Text for a field of fixed size: cut between characters, without control characters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"

static void fits_its_field(void **state)
{
    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(fits_its_field)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
