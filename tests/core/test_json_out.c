/* JSON without trees (core/json_out.h): the bytes of jansson. */
#include "tests/test.h"
#include "core/json_out.h"

#include <math.h>

#include "base/mem.h"

/* What json_dumps writes of the same value in an object and in a list of it. */
static void check(json_t *value_take, struct json_value value)
{
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    struct json_out w = {.out = &out};
    json_out_open(&w, NULL, '{');
    JSON_PUT(&w, {"left out", out_if(false, value)}, {"one", value}, {"two", value});
    json_out_open(&w, "list", '[');
    json_out_open(&w, NULL, '{');
    JSON_PUT(&w, {"three", value});
    json_out_close(&w, '}');
    json_out_open(&w, NULL, '[');
    json_out_close(&w, ']');
    json_out_tree(&w, NULL, json_pack("{s:[O,{}], s:[]}", "a", value_take, "b"));
    json_out_tree(&w, NULL, NULL);
    json_out_close(&w, ']');
    json_out_all(&w, json_pack("{s:O, s:{}}", "four", value_take, "five"));
    json_out_close(&w, '}');
    json_auto_t *want = json_pack("{s:O, s:O, s:[{s:O}, [], {s:[O,{}], s:[]}], s:O, s:{}}", "one",
                                  value_take, "two", value_take, "list", "three", value_take, "a",
                                  value_take, "b", "four", value_take, "five");
    _cleanup_(freep) char *text = json_dumps(want, JSON_INDENT(2));
    assert_string_equal(buf_cstr(&out), text);
    json_auto_t *tree = json_value_tree(value);
    assert_true(json_equal(tree, value_take));
    json_decref(value_take);
}

TEST(the_bytes_of_jansson)
{
    static const double numbers[] = {0,      -0.0,    1,      -2.5,        0.1,
                                     1e5,    1e15,    1e16,   1e17,        1e-4,
                                     1e-5,   1e22,    1e100,  -3e-100,     1e-7,
                                     5e-324, 1.0 / 3, 100.25, 123456789.0, 1.7976931348623157e308};
    static const int64_t wholes[] = {0, -1, 42, INT64_MAX, INT64_MIN};
    static const char *const texts[] = {"",
                                        "a/b",
                                        "\"q\" \\",
                                        "\b\f\n\r\t",
                                        "\x01\x1f\x7f",
                                        "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x9a\x80",
                                        "  two\n  lines"};
    for (size_t i = 0; i < N_ROWS(numbers); i++) {
        check(json_real(numbers[i]), out_number(numbers[i]));
    }
    for (size_t i = 0; i < N_ROWS(wholes); i++) {
        check(json_integer(wholes[i]), out_whole(wholes[i]));
    }
    for (size_t i = 0; i < N_ROWS(texts); i++) {
        check(json_string(texts[i]), out_text(texts[i]));
    }
    check(json_null(), out_text(NULL));
    check(json_null(), out_number(NAN));
    check(json_null(), out_number(-INFINITY));
    check(json_null(), out_known(false, out_whole(1)));
    check(json_string("no ? UTF-8 ?"), out_text("no \xff UTF-8 \xc3"));
    check(json_pack("{s:i, s:{s:n}, s:{}}", "a", 1, "b", "c", "d"),
          OUT_OBJECT({"a", out_whole(1)}, {"b", OUT_OBJECT({"c", out_text(NULL)})},
                     {"left out", out_if(false, out_whole(2))},
                     {"d", out_object((const struct json_out_member[]){{.key = NULL}})}));
}
