#include "tests/test.h"
#include "core/environment.h"

#include <math.h>

#include <jansson.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/splitmix.h"

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
        bool is_plain;
        const char *all[N_ROWS(keys)];     /* as JSON, where it is no string */
        const char *strings[N_ROWS(keys)]; /* strings alone */
        double mhz;
    } rows[] = {
        {"plain",
         "{\"a\":\"x\",\"cpu_mhz\":2800,\"kernel\":\"6.1\",\"z\":1.5}",
         true,
         {"x", "2800", "6.1"},
         {"x", NULL, "6.1"},
         2800},
        {"a real number", "{\"cpu_mhz\":2.50}", true, {NULL, "2.5", NULL}, {NULL}, 2.5},
        {"null", "{\"a\":null,\"kernel\":\"k\"}", true, {NULL, NULL, "k"}, {NULL, NULL, "k"}, NAN},
        {"nothing", "{}", true, {NULL}, {NULL}, NAN},
        {"a longer key", "{\"aa\":\"x\",\"kernel_x\":\"y\"}", true, {NULL}, {NULL}, NAN},
        {"not sorted",
         "{\"kernel\":\"6.1\",\"a\":\"x\"}",
         false,
         {"x", NULL, "6.1"},
         {"x", NULL, "6.1"},
         NAN},
        {"twice: the last", "{\"a\":\"x\",\"a\":\"y\"}", false, {"y"}, {"y"}, NAN},
        {"an escape", "{\"a\":\"x\\n\"}", false, {"x\n"}, {"x\n"}, NAN},
        {"UTF-8", "{\"a\":\"\xc3\xa9\"}", false, {"\xc3\xa9"}, {"\xc3\xa9"}, NAN},
        {"true",
         "{\"a\":true,\"kernel\":\"k\"}",
         false,
         {"true", NULL, "k"},
         {NULL, NULL, "k"},
         NAN},
        {"a list", "{\"a\":[1,2]}", false, {"[1,2]"}, {NULL}, NAN},
        {"white space", "{ \"a\":\"x\"}", false, {"x"}, {"x"}, NAN},
        {"cut", "{\"a\":\"x\"", false, {NULL}, {NULL}, NAN},
        {"more behind it", "{\"a\":\"x\"}}", false, {NULL}, {NULL}, NAN},
        {"no object", "3", false, {NULL}, {NULL}, NAN},
        {"empty", "", false, {NULL}, {NULL}, NAN},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s'\n", rows[i].name);
        struct environment_value values[N_ROWS(keys)];
        assert_int_equal(environment_scan(rows[i].text, keys, N_ROWS(keys), values),
                         rows[i].is_plain);
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

/* Any damage: what is scanned is what a tree says. */
TEST(a_scan_says_what_the_tree_says)
{
    static const char text[] =
        "{\"a\":\"x y\",\"b\":null,\"cpu_mhz\":2801.5,\"kernel\":\"6.1.0-34\",\"n\":12}";
    static const char alphabet[] = "{}[]\":,.-+eE019 \\\nnul\x01\xc3"
                                   "ak";
    uint64_t random = 7;
    size_t n_scanned = 0;
    for (size_t i = 0; i < 50000; i++) {
        char edited[sizeof(text)];
        memcpy(edited, text, sizeof(text));
        for (uint32_t k = splitmix_below(&random, 3); k > 0; k--) {
            edited[splitmix_below(&random, sizeof(text) - 1)] =
                alphabet[splitmix_below(&random, sizeof(alphabet) - 1)];
        }
        struct environment_value values[N_ROWS(keys)];
        if (!environment_scan(edited, keys, N_ROWS(keys), values)) {
            continue;
        }
        n_scanned++;
        json_t *o = json_loads(edited, JSON_REJECT_DUPLICATES, NULL);
        if (o == NULL) {
            fail_msg("scanned: %s", edited);
        }
        for (size_t k = 0; k < N_ROWS(keys); k++) {
            const json_t *v = json_object_get(o, keys[k]);
            const struct json_span *span = &values[k].span;
            switch (values[k].kind) {
            case ENVIRONMENT_NONE:
                assert_true(v == NULL || json_is_null(v));
                break;
            case ENVIRONMENT_TEXT:
                assert_true(json_is_string(v) && json_span_is(span, json_string_value(v)));
                break;
            case ENVIRONMENT_WHOLE:
            case ENVIRONMENT_REAL:
                assert_true(json_is_integer(v) == (values[k].kind == ENVIRONMENT_WHOLE));
                assert_true(json_number_value(v) == strtod(span->text, NULL));
                break;
            }
        }
        json_decref(o);
    }
    assert_true(n_scanned > 15000);
}
