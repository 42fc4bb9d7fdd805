/* Conditions that hold for a document, and what is wrong with others. */
#include "tests/test.h"
#include "doc/json_path.h"

static const char document[] =
    "{\"kind\":\"List\",\"n\":3,\"rate\":101.5,\"empty\":[],\"none\":null,\"is_done\":true,"
    "\"items\":[{\"name\":\"a\",\"trials\":{\"done\":6,\"of\":6},\"list\":[1,2,3]},"
    "{\"name\":\"b\",\"trials\":{\"done\":2,\"of\":6},\"why\":\"x\",\"list\":[4,5,6]}]}";

static bool holds(const char *path, const char *value)
{
    _cleanup_(json_decrefp) json_t *root = json_loads(document, 0, NULL);
    _cleanup_(freep) char *condition = xasprintf("%s=%s", path, value);
    struct err err = {0};
    if (json_condition_check(condition, &err) < 0) {
        fail_msg("%s: %s", condition, err.msg);
    }
    return json_condition_holds(condition, root);
}

TEST(finds)
{
    static const struct {
        const char *path, *value; /* NULL: the path picks nothing */
    } rows[] = {
        {"{.kind}", "List"},
        {"{$.kind}", "List"},
        {"{$.items[1].name}", "b"},
        {"{.rate}", "101.5"},
        {"{.items[*].name}", "a b"},
        {"{.is_done}", "true"},
        {"{.none}", "null"},
        {"{.empty}", "[]"},
        {"{.items[0].trials}", "{\"done\":6,\"of\":6}"},
        {"{.items[*].list[2]}", "3 6"},
        {"{.items[*].list[*]}", "1 2 3 4 5 6"},
        {"{.items[*].trials[*]}", "6 6 2 6"},
        {"{.items.[0].name}", "a"},
        {"{.items[*].why}", "x"},
        {"{.items[?(@.name==\"b\")].trials.done}", "2"},
        {"{.items[?(@.name==\"c\")].n}", NULL},
        {"{.kind[?(@.a==\"b\")]}", NULL},
        {"{.items[?(@.n==\"\")]}", NULL},
        {"{.nothing}", NULL},
        {"{.items[7].name}", NULL},
        {"{.kind[0].x}", NULL},
        {"{.kind.x}", NULL},
        {"{.n[*]}", NULL},
        {"{.}", document},
        {"{$}", document},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *value = rows[i].value == NULL ? "null" : rows[i].value;
        if (holds(rows[i].path, value) != (rows[i].value != NULL)) {
            fail_msg("%s=%s: expected %d", rows[i].path, value, rows[i].value != NULL);
        }
        assert_false(holds(rows[i].path, "another value"));
    }
}

TEST(refuses)
{
    static const struct {
        const char *condition;
        int at; /* the character; 0: it is no {.path}=VALUE */
    } rows[] = {
        {"{.a b}=x", 4},        {"{}=x", 0},           {"{.a[0}=x", 4},          {"{.a[*}=x", 4},
        {"{.a.}=x", 4},         {"{.b[?(@.c)]}=x", 4}, {"{.a[?(@.b==1)]}=x", 4}, {"{.a[0:4]}=x", 4},
        {"{.a[0,2]}=x", 4},     {"{.a[-1]}=x", 4},     {"{..a}=x", 2},           {"{.a.*}=x", 4},
        {"{range .a[*]}=x", 2}, {"{\"\\n\"}=x", 2},    {"{.a['b']}=x", 4},       {"{.a\\.b}=x", 4},
        {"{@.a}=x", 2},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct err err = {0};
        _cleanup_(freep) char *said =
            rows[i].at == 0
                ? xstrdup("expected {.path}=VALUE, as kubectl wait --for=jsonpath has it")
                : xasprintf("character %d: expected .name, [0], [*] or [?(@.type==\"Ready\")]",
                            rows[i].at);
        const int code = json_condition_check(rows[i].condition, &err);
        if (code != -EINVAL || strcmp(err.msg, said) != 0) {
            fail_msg("%s: expected '%s', got %d '%s'", rows[i].condition, said, code, err.msg);
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
        {"{.n} of {.n}=3 of 3", -1},
        {"{.n}b}=3b}", -1},
        {"{.n}=3}", 0},
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
