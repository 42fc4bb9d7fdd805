/* What makes a trial invalid: on either side of each bound. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/noise.h"

static void rule(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        struct noise noise;
        const char *why; /* NULL: valid */
    } rows[] = {
        {"nothing is known", {{0, 0}, {0, 0}, 0, 0}, NULL},
        {"quiet", {{1000, 500}, {1000, 500}, 2000000000, 0}, NULL},
        {"within each bound", {{1000, 500}, {900, 300}, 2000000000, 100000000}, NULL},
        {"a slower clock",
         {{1000, 500}, {899, 500}, 0, 0},
         "clock 10% lower after the measured steps than before"},
        {"a faster clock",
         {{800, 500}, {1000, 500}, 0, 0},
         "clock 25% higher after the measured steps than before"},
        {"less memory",
         {{1000, 500}, {1000, 299}, 0, 0},
         "memory copies 40% lower after the measured steps than before"},
        {"more memory",
         {{1000, 250}, {1000, 500}, 0, 0},
         "memory copies 100% higher after the measured steps than before"},
        {"too busy after",
         {{1000, 500}, {1000, 0}, 0, 0},
         "the machine was too busy for one copy after the measured steps"},
        {"too busy before",
         {{1000, 0}, {1000, 500}, 0, 0},
         "the machine was too busy for one copy before the measured steps"},
        {"too small for a copy, both times", {{1000, 0}, {1000, 0}, 0, 0}, NULL},
        {"one probe alone", {{1000, 500}, {0, 0}, 0, 0}, NULL},
        {"steal",
         {{0, 0}, {0, 0}, 2000000000, 110000000},
         "the hypervisor took 6% of the time in which its CPUs had work"},
        {"steal of too short a time", {{0, 0}, {0, 0}, 900000000, 900000000}, NULL},
        {"the largest numbers",
         {{INT64_MAX, INT64_MAX}, {INT64_MAX, INT64_MAX}, INT64_MAX, 0},
         NULL},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char why[200] = "";
        print_message("# row '%s'\n", rows[i].name);
        assert_int_equal(noise_is_invalid(&rows[i].noise, why, sizeof(why)), rows[i].why != NULL);
        assert_string_equal(why, rows[i].why == NULL ? "" : rows[i].why);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rule),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
