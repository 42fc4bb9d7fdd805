#include "tests/test.h"
#include "core/environment.h"

#include <math.h>

#include "base/mem.h"

static const char *const keys[] = {"a", "cpu_mhz", "kernel"};

struct said {
    char *texts[N_ROWS(keys)];
};

static void take(void *ctx, size_t key, const char *text, size_t len)
{
    struct said *said = ctx;
    assert_null(said->texts[key]);
    said->texts[key] = xstrndup(text, len);
}

static void said_done(struct said *said)
{
    for (size_t i = 0; i < N_ROWS(keys); i++) {
        free(said->texts[i]);
    }
}

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
        struct said said = {0};
        environment_each_text(rows[i].text, keys, N_ROWS(keys), true, take, &said);
        struct said strings;
        environment_texts(rows[i].text, keys, N_ROWS(keys), strings.texts);
        for (size_t k = 0; k < N_ROWS(keys); k++) {
            assert_text(said.texts[k], rows[i].all[k]);
            assert_text(strings.texts[k], rows[i].strings[k]);
        }
        said_done(&said);
        said_done(&strings);
        const double mhz = environment_number(rows[i].text, "cpu_mhz");
        assert_true(mhz == rows[i].mhz || (isnan(mhz) && isnan(rows[i].mhz)));
    }
    struct said none = {0};
    environment_each_text(NULL, keys, N_ROWS(keys), true, take, &none);
    environment_texts(NULL, keys, N_ROWS(keys), none.texts);
    assert_null(none.texts[0]);
    assert_true(isnan(environment_number(NULL, "a")));
}
