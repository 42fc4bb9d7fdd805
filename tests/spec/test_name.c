/* Which names are valid. */
#include "tests/test.h"
#include "spec/name.h"

TEST(rules)
{
    static const struct {
        const char *text;
        bool is_object, is_sweep;
    } rows[] = {
        {"a", true, true},
        {"a-b", true, false},
        {"a_b", false, true},
        {"a1", true, true},
        {"1a", false, false},
        {"", false, false},
        {"-a", false, false},
        {"a-", false, false},
        {"A", false, false},
        {"a.b", false, false},
        {"abcdefghijklmnopqrstuvwxyz01234", true, true},   /* 31 */
        {"abcdefghijklmnopqrstuvwxyz012345", true, false}, /* 32 */
        {"abcdefghijklmnopqrstuvwxyz0123456", false, false},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (object_name_is_valid(rows[i].text) != rows[i].is_object ||
            sweep_name_is_valid(rows[i].text) != rows[i].is_sweep) {
            fail_msg("'%s': expected %d %d, got %d %d", rows[i].text, rows[i].is_object,
                     rows[i].is_sweep, object_name_is_valid(rows[i].text),
                     sweep_name_is_valid(rows[i].text));
        }
    }
}
