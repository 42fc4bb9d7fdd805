/* What templates say of a document, and what is wrong with others. The first rows are what the
 * pages of kubectl document; the others are beyond it, or where it fails. */
#include "tests/test.h"
#include "base/mem.h"
#include "doc/json_path.h"

static const char document[] =
    "{\"kind\":\"List\",\"n\":3,\"rate\":101.5,\"empty\":[],\"none\":null,\"is_done\":true,"
    "\"labels\":{\"app.kubernetes.io/name\":\"benchd\",\"a b\":\"c\"},"
    "\"items\":[{\"name\":\"a\",\"phase\":\"Succeeded\",\"trials\":{\"done\":6,\"of\":6},\"rate\":"
    "10,\"list\":[1,2,3]},"
    "{\"name\":\"b\",\"phase\":\"Failed\",\"trials\":{\"done\":2,\"of\":6},\"rate\":2.5,\"why\":"
    "\"x\",\"list\":[4,5,6]},"
    "{\"name\":\"c\",\"phase\":\"Running\",\"trials\":{\"done\":6,\"of\":6}}]}";

TEST(prints)
{
    static const struct {
        const char *template, *expected;
    } rows[] = {
        /* as kubectl documents it */
        {"{.kind}", "List"},
        {"{$.kind}", "List"},
        {"{.n} of {.rate}", "3 of 101.5"},
        {"{.is_done}", "true"},
        {"{.items[*].name}", "a b c"},
        {"{.items[*]['name','phase']}", "a b c Succeeded Failed Running"},
        {"{.items[0].trials}", "{\"done\":6,\"of\":6}"},
        {"{.items[-1].name}", "c"},
        {"{.items[-1:].name}", "c"},
        {"{.items[0:2].name}", "a b"},
        {"{.items[:1].name}", "a"},
        {"{.items[::2].name}", "a c"},
        {"{.items[0,2].name}", "a c"},
        {"{..done}", "6 2 6"},
        {"{.items[?(@.phase==\"Failed\")].name}", "b"},
        {"{.items[?(@.phase!='Failed')].name}", "a c"},
        {"{.items[?(@.trials.done<6)].name}", "b"},
        {"{.items[?(@.trials.done>=6)].name}", "a c"},
        {"{.items[?(@.why)].name}", "b"},
        {"{range .items[*]}{.name}{\"\\t\"}{.trials.done}{\"\\n\"}{end}", "a\t6\nb\t2\nc\t6\n"},
        {"{range .items[*]}{@.name},{end}", "a,b,c,"},
        {"{.labels.app\\.kubernetes\\.io/name}", "benchd"},
        {"runs: {.items[*].name}!", "runs: a b c!"},
        {"{.nothing}", ""},
        {"{.items[*].why}", "x"},
        {"{'a \\'quoted\\' text'}", "a 'quoted' text"},
        {"{.items[*].trials['of','done']}", "6 6 6 6 2 6"},
        {"a}b", "a}b"},
        /* beyond it, or where it fails */
        {".items[0].name", "a"},
        {"items[0].name", "a"},
        {"kind", "List"},
        {"{.labels['app.kubernetes.io/name']}", "benchd"},
        {"{.items[*].list[-1,0]}", "3 6 1 4"},
        {"{.items[7].name}", ""},
        {"{.items[-7].name}", ""},
        {"{.items[1:99].name}", "b c"},
        {"{.kind[0].x}", ""},
        {"{.labels.*}", "benchd c"},
        {"{.items[?(@.trials.done==@.trials.of)].name}", "a c"},
        {"{.items[?(@.rate==10.0)].name}", "a"},
        {"{.items[?(@.rate>$.n)].name}", "a"},
        {"{.items[?(@.phase>5)].name}", ""},
        {"{.items[?(@.phase!=5)].name}", "a b c"},
        {"{.items[?(@.rate!=10)].name}", "b"},    /* c has no rate: nothing to compare */
        {"{.items[?(@.name!=@.why)].name}", "b"}, /* the others have no why */
        {"{ .n }", "3"},
        {"{.none}", "null"},
        {"{.empty}", "[]"},
        {"{range .items[*]}{range .trials.*}{.}{','}{end};{end}", "6,6,;2,6,;6,6,;"},
        {"{range .items[?(@.why)]}{.name} of {$.kind}{end}", "b of List"},
        {NULL, NULL}, /* {.}: see below */
    };
    json_t *root = json_loads(document, 0, NULL);
    assert_non_null(root);
    for (size_t i = 0; rows[i].expected != NULL; i++) {
        struct json_path *path = NULL;
        struct err err = {0};
        struct buf out = BUF_INIT;
        if (json_path_parse(rows[i].template, &path, &err) < 0 ||
            json_path_print(path, root, &out, &err) < 0 ||
            strcmp(buf_cstr(&out), rows[i].expected) != 0) {
            fail_msg("%s: expected '%s', got '%s' %s", rows[i].template, rows[i].expected,
                     buf_cstr(&out), err.msg);
        }
        buf_done(&out);
        json_path_free(path);
    }
    struct json_path *path = NULL;
    struct buf out = BUF_INIT;
    _cleanup_(freep) char *whole = json_dumps(root, JSON_COMPACT);
    assert_int_equal(json_path_parse("{.}", &path, NULL), 0);
    assert_int_equal(json_path_print(path, root, &out, NULL), 0);
    assert_string_equal(buf_cstr(&out), whole);
    buf_done(&out);
    json_path_free(path);
    json_decref(root);
}

TEST(refuses)
{
    static const struct {
        const char *template, *error;
    } rows[] = {
        {"{.a", "character 4: expected '}', but the template ends"},
        {"{.a b}", "character 5: expected '}', not 'b}'"},
        {"{}", "character 2: expected a path, which begins with '.', '[', '@' or '$', not '}'"},
        {"{.a[}", "character 5: expected an index, a quoted name, '*', ':' or '?(', not '}'"},
        {"{.a[0}", "character 6: expected ']', not '}'"},
        {"{.a[0:4:0]}", "character 10: expected a step of at least 1 before this, not ']}'"},
        {"{.a[1234567890]}",
         "character 5: expected a number of at most nine digits, not '1234567890]}'"},
        {"{.a[x]}", "character 5: expected an index, a quoted name, '*', ':' or '?(', not 'x]}'"},
        {"{.a['b]}", "character 5: expected a text that ends with its quote, not ''b]}'"},
        {"{.a[?(@.b=1)]}",
         "character 10: expected an operator (== != < <= > >=) or ')', not '=1)]}'"},
        {"{.a[?(@.b==x)]}",
         "character 12: expected a path, which begins with '.', '[', '@' or '$', not 'x)]}'"},
        {"{.a.}", "character 5: expected a name, not '}'"},
        {"{..}", "character 4: expected a name, not '}'"},
        {"{range .a}{.b}", "character 15: expected {end} for a {range}, but the template ends"},
        {"{.a}{end}", "character 5: there is no {range} before this {end}, not '{end}'"},
        {"{range .a",
         "character 10: expected '}' behind the path of a range, but the template ends"},
        {"", "the template is empty"},
        {"{\"\\u0041\"}",
         "character 3: expected \\n, \\t, \\r or a sign behind the backslash, not '\\u0041\"}'"},
        {"a b", "character 3: expected '}', not 'b}'"},
        {".a[x]", "character 4: expected an index, a quoted name, '*', ':' or '?(', not 'x]}'"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct json_path *path = NULL;
        struct err err = {0};
        const int code = json_path_parse(rows[i].template, &path, &err);
        if (code != -EINVAL || strcmp(err.msg, rows[i].error) != 0) {
            fail_msg("%s: expected '%s', got %d '%s'", rows[i].template, rows[i].error, code,
                     err.msg);
        }
    }
}

/* What a template may cost. */
TEST(limits)
{
    struct json_path *path = NULL;
    struct err err = {0};
    struct buf text = BUF_INIT;
    for (int i = 0; i < 9; i++) {
        buf_puts(&text, "{range .a}");
    }
    assert_int_equal(json_path_parse(buf_cstr(&text), &path, &err), -EINVAL);
    assert_non_null(strstr(err.msg, "ranges may be nested 8 deep"));
    buf_clear(&text);
    for (int i = 0; i < JSON_PATH_MAX_TEXT + 1; i++) {
        buf_putc(&text, 'a');
    }
    assert_int_equal(json_path_parse(buf_cstr(&text), &path, &err), -E2BIG);
    buf_clear(&text);
    for (int i = 0; i < 9; i++) {
        buf_puts(&text, i == 0 ? "{.a[?(@.a" : "[?(@.a");
    }
    assert_int_equal(json_path_parse(buf_cstr(&text), &path, &err), -EINVAL);
    assert_non_null(strstr(err.msg, "conditions may be nested 8 deep"));
    buf_done(&text);

    /* Each ".." is all values below each value: they grow with the depth. */
    json_t *root = json_array(), *at = root;
    for (int i = 0; i < 300; i++) {
        json_t *next = json_array();
        (void)json_array_append_new(at, next); /* grows in memory only */
        at = next;
    }
    struct buf out = BUF_INIT;
    assert_int_equal(json_path_parse("{..*..*..*}", &path, &err), 0);
    assert_int_equal(json_path_print(path, root, &out, &err), -E2BIG);
    assert_string_equal(err.msg, "a path of the template has more than 1048576 values");
    buf_done(&out);
    json_path_free(path);
    json_decref(root);
}
