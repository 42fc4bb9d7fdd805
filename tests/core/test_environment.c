#include "tests/test.h"
#include "core/environment.h"

#include <math.h>

static const char *const keys[] = {"a", "cpu_mhz", "kernel"};

static void assert_text(const char *got, const char *expected)
{
    if (expected == NULL) {
        assert_null(got);
    } else {
        assert_non_null(got);
        assert_string_equal(got, expected);
    }
}

TEST(values_by_key)
{
    static const struct {
        const char *name, *text;
        const char *all[N_ROWS(keys)];     /* as JSON, where it is no string */
        const char *strings[N_ROWS(keys)]; /* strings alone */
        double mhz;
    } rows[] = {
        {"plain",
         "{\"a\":\"x\",\"cpu_mhz\":2800,\"kernel\":\"6.1\",\"z\":1.5}",
         {"x", "2800", "6.1"},
         {"x", NULL, "6.1"},
         2800},
        {"a real number", "{\"cpu_mhz\":2.50}", {NULL, "2.5", NULL}, {NULL}, 2.5},
        {"null", "{\"a\":null,\"kernel\":\"k\"}", {NULL, NULL, "k"}, {NULL, NULL, "k"}, NAN},
        {"nothing", "{}", {NULL}, {NULL}, NAN},
        {"a longer key", "{\"aa\":\"x\",\"kernel_x\":\"y\"}", {NULL}, {NULL}, NAN},
        {"not sorted",
         "{\"kernel\":\"6.1\",\"a\":\"x\"}",
         {"x", NULL, "6.1"},
         {"x", NULL, "6.1"},
         NAN},
        {"twice: the last", "{\"a\":\"x\",\"a\":\"y\"}", {"y"}, {"y"}, NAN},
        {"an escape", "{\"a\":\"x\\n\"}", {"x\n"}, {"x\n"}, NAN},
        {"UTF-8", "{\"a\":\"\xc3\xa9\"}", {"\xc3\xa9"}, {"\xc3\xa9"}, NAN},
        {"true", "{\"a\":true,\"kernel\":\"k\"}", {"true", NULL, "k"}, {NULL, NULL, "k"}, NAN},
        {"a list", "{\"a\":[1,2]}", {"[1,2]"}, {NULL}, NAN},
        {"white space", "{ \"a\":\"x\"}", {"x"}, {"x"}, NAN},
        {"cut", "{\"a\":\"x\"", {NULL}, {NULL}, NAN},
        {"more behind it", "{\"a\":\"x\"}}", {NULL}, {NULL}, NAN},
        {"no object", "3", {NULL}, {NULL}, NAN},
        {"empty", "", {NULL}, {NULL}, NAN},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s'\n", rows[i].name);
        json_auto_t *environment = environment_parse(rows[i].text);
        for (size_t k = 0; k < N_ROWS(keys); k++) {
            _cleanup_(freep) char *any =
                environment_value_text(json_object_get(environment, keys[k]));
            assert_text(any, rows[i].all[k]);
            assert_text(environment_text(environment, keys[k]), rows[i].strings[k]);
        }
        const double mhz = environment_number(environment, "cpu_mhz");
        assert_true(mhz == rows[i].mhz || (isnan(mhz) && isnan(rows[i].mhz)));
    }
    assert_null(environment_parse(NULL));
}
