/* What templates say of a document, and what is wrong with others. */
#include "tests/test.h"
#include "doc/json_path.h"

static const char document[] =
    "{\"kind\":\"List\",\"n\":3,\"rate\":101.5,\"empty\":[],\"none\":null,\"is_done\":true,"
    "\"items\":[{\"name\":\"a\",\"trials\":{\"done\":6,\"of\":6},\"list\":[1,2,3]},"
    "{\"name\":\"b\",\"trials\":{\"done\":2,\"of\":6},\"why\":\"x\",\"list\":[4,5,6]}]}";

static void assert_prints(const char *template, const char *expected)
{
    _cleanup_(json_decrefp) json_t *root = json_loads(document, 0, NULL);
    struct err err = {0};
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    if (json_path_check(template, &err) < 0) {
        fail_msg("%s: %s", template, err.msg);
    }
    json_path_print(template, root, &out);
    if (strcmp(buf_cstr(&out), expected) != 0) {
        fail_msg("%s: expected '%s', got '%s'", template, expected, buf_cstr(&out));
    }
}

TEST(prints)
{
    static const struct {
        const char *template, *expected;
    } rows[] = {
        {"{.kind}", "List"},
        {"{$.kind}", "List"},
        {".kind", "List"},
        {"$.items[1].name", "b"},
        {"{.n} of {.rate}", "3 of 101.5"},
        {"runs: {.items[*].name}!", "runs: a b!"},
        {"{.is_done}{.none}{.empty}", "truenull[]"},
        {"{.items[0].trials}", "{\"done\":6,\"of\":6}"},
        {"{.items[*].list[2]}", "3 6"},
        {"{.items[*].list[*]}", "1 2 3 4 5 6"},
        {"{.items[*].trials[*]}", "6 6 2 6"},
        {"{.items.[0].name}", "a"},
        {"{.items[*].why}", "x"},
        {"{.items[?(@.name==\"b\")].trials.done}", "2"},
        {"{.items[?(@.name==\"c\")].n}{.kind[?(@.a==\"b\")]}{.items[?(@.n==\"\")]}", ""},
        {"{.nothing}{.items[7].name}{.kind[0].x}{.kind.x}{.n[*]}", ""},
        {"a}b{.n}", "a}b3"},
        {"{.}", document},
        {"$", document},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_prints(rows[i].template, rows[i].expected);
    }
}

TEST(refuses)
{
    static const struct {
        const char *template, *error;
    } rows[] = {
        {"{.a", "character 4: expected '}'"},
        {"{.a b}", "character 4: expected '.', '[' or the end of the path"},
        {".a}", "character 3: expected '.', '[' or the end of the path"},
        {"", "character 1: expected a path, which begins with '.'"},
        {"{}", "character 2: expected a path, which begins with '.'"},
        {"items[0]", "character 1: expected a path, which begins with '.'"},
        {"{.a[}", "character 5: expected an index of at most 9 digits, or '*'"},
        {"{.a[1234567890]}", "character 5: expected an index of at most 9 digits, or '*'"},
        {"{.a[0}", "character 6: expected ']'"},
        {"{.a[*}", "character 6: expected ']'"},
        {"{.a.}", "character 5: expected a name"},
        {"{.a}{.b[?(@.c)]}", "character 14: expected '==\"' and a text"},
        {"{.a[?(@.b==1)]}", "character 10: expected '==\"' and a text"},
        {"{.a[0:4]}", "character 6: a slice is not supported"},
        {"{.a[0,2]}", "character 6: a list of names or indexes is not supported"},
        {"{.a[-1]}", "character 5: an index from the end is not supported"},
        {"{..a}", "character 3: a search below (..) is not supported"},
        {"{.a.*}", "character 5: '*' outside brackets is not supported"},
        {"{range .a[*]}", "character 2: range is not supported"},
        {"{.a}{end}", "character 6: range is not supported"},
        {"{\"\\n\"}", "character 2: a text in quotes is not supported"},
        {"{.a['b']}", "character 5: a text in quotes is not supported"},
        {"{.a\\.b}", "character 4: a backslash is not supported"},
        {"{@.a}", "character 2: @ is not supported"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct err err = {0};
        const int code = json_path_check(rows[i].template, &err);
        if (code != -EINVAL || strcmp(err.msg, rows[i].error) != 0) {
            fail_msg("%s: expected '%s', got %d '%s'", rows[i].template, rows[i].error, code,
                     err.msg);
        }
    }
}

TEST(conditions)
{
    static const struct {
        const char *condition;
        int holds; /* -1: refused */
    } rows[] = {
        {"{.items[?(@.name==\"b\")].why}=x", 1},
        {"{.items[?(@.name==\"a\")].why}=x", 0},
        {"{.n}=3", 1},
        {"{.is_done}=true", 1},
        {"{.n}=", -1},
        {"{.n}", -1},
        {".n=3", -1},
        {"{.n}{.n}=33", -1},
        {"{.n[-1]}=3", -1},
    };
    _cleanup_(json_decrefp) json_t *root = json_loads(document, 0, NULL);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct err err;
        const int r = json_condition_check(rows[i].condition, &err);
        const int got = r < 0 ? -1 : json_condition_holds(rows[i].condition, root);
        if (got != rows[i].holds) {
            fail_msg("%s: expected %d, got %d", rows[i].condition, rows[i].holds, got);
        }
    }
}
