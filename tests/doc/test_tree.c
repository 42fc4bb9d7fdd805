#include "tests/test.h"
#include "doc/tree.h"

#include "base/str.h"

static const struct tree_limits limits = TREE_LIMITS_DEFAULT;

/* The tree as JSON, or the diagnostics. Owned. */
static char *parse_limited(const char *text, size_t len, const struct tree_limits *with)
{
    struct node *root = NULL;
    struct diags diags = {0};
    if (tree_parse(text, len, with, &root, &diags) < 0) {
        assert_null(root);
        assert_true(diags.list.len > 0);
        struct buf out = BUF_INIT;
        diags_format(&diags, "f", NULL, &out);
        diags_done(&diags);
        return buf_take(&out);
    }
    assert_int_equal(diags.list.len, 0);
    _cleanup_(json_decrefp) json_t *json = tree_to_json(root);
    tree_free(root);
    return json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY);
}

static char *parse(const char *text)
{
    return parse_limited(text, strlen(text), &limits);
}

TEST(plain_scalars_are_what_kubernetes_takes_them_for)
{
    static const struct {
        const char *yaml, *json;
    } rows[] = {
        {"~", "null"},
        {"Null", "null"},
        {"a:", "{\"a\":null}"},
        {"true", "true"},
        {"False", "false"},
        {"0", "0"},
        {"-17", "-17"},
        {"9223372036854775807", "9223372036854775807"},
        {"0.5", "0.5"},
        {"-1.5e3", "-1500.0"},
        {".5", "0.5"},
        {"5e-1", "0.5"},
        {"5Gi", "\"5Gi\""},
        {"400m", "\"400m\""},
        {"10O", "\"10O\""},
        {"127.0.0.1", "\"127.0.0.1\""},
        {"8080:80", "\"8080:80\""},
        {"2018", "2018"},
        {"a-b", "\"a-b\""},
        {"'012'", "\"012\""},
        {"\"no\"", "\"no\""},
        {"|\n  yes\n  no\n", "\"yes\\nno\\n\""},
        {"$(POD_IP)", "\"$(POD_IP)\""},
        {"nope", "\"nope\""},
        {"\"\\u00e9\"", "\"\xc3\xa9\""},
        {"\xef\xbb\xbf"
         "a: 1",
         "{\"a\":1}"},
        {"{\"a\": [1, {\"b\": \"\\n\"}], \"c\": 1.5}", "{\"a\":[1,{\"b\":\"\\n\"}],\"c\":1.5}"},
        {"{\"a\": \"\\/\"}", "{\"a\":\"/\"}"},
        {"{\n\t\"a\":\t1\n}", "{\"a\":1}"},
        {"{b: 1, a: 2}", "{\"b\":1,\"a\":2}"},
        {"'<<': 1", "{\"<<\":1}"},
        {"a: &x [1, {b: 2}]\nc: *x\n", "{\"a\":[1,{\"b\":2}],\"c\":[1,{\"b\":2}]}"},
        {"a: &x 1\nb: &x 2\nc: *x", "{\"a\":1,\"b\":2,\"c\":2}"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(freep) char *got = parse(rows[i].yaml);
        if (!str_eq(got, rows[i].json)) {
            fail_msg("'%s'\nexpected %s\ngot      %s", rows[i].yaml, rows[i].json, got);
        }
    }
}

TEST(traps_are_errors)
{
    /* clang-format off */
    static const char *const traps[] = {
        "y", "Yes", "NO", "on", "Off", "n", "012", "0x1f", "0o17", "0b11", "-012", "1_000", "1_0.5",
        "12:30:00", "1:30", "-1:30.5", "1e3", "1E+6", "2018-01-31", "2018-1-3",
        "2018-01-31T10:00:00Z", ".inf", "-.INF", ".NaN", "+5", "+.5", "9223372036854775808",
        "-99999999999999999999", "1.0e999",
    };
    /* clang-format on */
    for (size_t i = 0; i < N_ROWS(traps); i++) {
        _cleanup_(freep) char *text = xasprintf("a:\n  b: [x, %s]", traps[i]);
        _cleanup_(freep) char *got = parse(text);
        _cleanup_(freep) char *start = xasprintf("f:2:10: error: a.b[1]: unquoted '%s' ", traps[i]);
        if (!str_has_prefix(got, start) || strstr(got, "\n  fix: ") == NULL ||
            strstr(got, "quotes around it") == NULL) {
            fail_msg("expected %s...\ngot      %s", start, got);
        }
    }
}

/* In a sweep `true` would be wrong as well: quotes come first. */
TEST(truth_words_want_quotes)
{
    _cleanup_(freep) char *got = parse("pservers: [no]");
    static const char expected[] =
        "  fix: put quotes around it to make it a string, or write true or false for a boolean\n";
    if (strstr(got, expected) == NULL) {
        fail_msg("expected %sgot      %s", expected, got);
    }
}

TEST(refuses)
{
    static const struct {
        const char *yaml, *expected;
    } rows[] = {
        {"", "f:1:1: error: the file is empty"},
        {"# only a comment\n", "f:2:1: error: the file is empty"},
        {"a: 1\n---\nb: 2\n", "f:2:1: error: a second document starts here"},
        {"a: 1\nb: 2\na: 3\n", "f:3:1: error: a: duplicate key 'a': it is also on line 1"},
        {"a:\n\tb: 1\n", "f:2:1: error: a: YAML does not allow a tab here"},
        {"a: [1, 2\nb:\t3\n", "f:2:2: error: a: not valid YAML: did not find expected ',' or ']'"},
        {"a: [1, 2\nb: 3\n", "f:2:2: error: a: not valid YAML: did not find expected ','"},
        {"a: [1, 2\nb: 3\n", "  fix: close the bracket, or quote a text that has , ? [ ] { }"},
        {"a:\n  b: 1\n  c:2\n  d: 3\n", "f:3:3: error: a: not valid YAML: could not find expected"},
        {"a: b: c", "  fix: quote a text with ': '; write a space after a '-', also above"},
        {"a: \"\\d\"", "  fix: use single quotes: in double quotes"},
        {"a: @b", "  fix: put quotes around a text that begins with this character"},
        {"a: \"x\n", "not valid YAML: found unexpected end of stream"},
        {"a: {<<: {b: 1}}", "f:1:5: error: a.<<: merge keys ('<<') are not supported"},
        {"1: a", "f:1:1: error: 1: key '1' is a whole number; keys must be strings"},
        {"a: {b: 1,2,4}", "f:1:10: error: a.b: several values must be a list\n"
                          "  fix: write 'b: [1, 2, 4]'\n"},
        {"{b: 1, 2, c: 3}", "fix: write 'b: [1, 2]'"},
        {"{b: 1, 2: 3}", "f:1:8: error: 2: key '2' is a whole number; keys must be strings"},
        {"{b: x, 2}", "f:1:8: error: 2: key '2' is a whole number; keys must be strings"},
        {"~: a", "f:1:1: error: ~: key '~' is null; keys must be strings"},
        {"on: a", "f:1:1: error: on: unquoted key 'on' is a boolean"},
        {"[a]: b", "f:1:1: error: a key must be a string"},
        {"a: &x b\n*x : c", "f:2:1: error: a key must be a string"},
        {"a: *x", "f:1:4: error: a: alias '*x' has no complete anchor '&x' before it"},
        {"a: &x [*x]", "f:1:8: error: a[0]: alias '*x' has no complete anchor"},
        {"a: !!int '5'", "f:1:4: error: a: tag 'tag:yaml.org,2002:int' is not supported"},
        {"a: !!str 5", "f:1:4: error: a: tag 'tag:yaml.org,2002:str' is not supported"},
        {"a: !mine {}", "f:1:4: error: a: tag '!mine' is not supported"},
        {"a: \"x\\0y\"", "f:1:4: error: a: the string contains a NUL character"},
        {"\"x\\0y\": 1", "the key contains a NUL character"},
        {"a: 1\nb: \xff\n", "f:2:4: error: the file is not valid UTF-8"},
        {"a: \x01\n", "f:1:4: error: the file is not valid UTF-8"},
        {"\xff\xfe"
         "a\0",
         "f:1:1: error: the file is not valid UTF-8"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(freep) char *got = parse(rows[i].yaml);
        if (strstr(got, rows[i].expected) == NULL || !str_has_suffix(got, "1 error in f\n")) {
            fail_msg("'%s'\nexpected %s\ngot      %s", rows[i].yaml, rows[i].expected, got);
        }
    }
}

/* What ends a line in YAML alone is a letter of JSON: of keys, and with spaces around it. */
TEST(json_has_two_line_breaks)
{
    static const char json[] =
        "{\"a\u2028b\": [\"x \u2029 \\\" y\", \"\xc2\x85\", \"\\\\\"],\"\u2028\":\"z\"}";
    struct diags diags = {0};
    struct node *root = NULL;
    const int r = tree_parse(json, sizeof(json) - 1, &TREE_LIMITS_DEFAULT, &root, &diags);
    assert_int_equal(r, 0);
    _cleanup_(json_decrefp) json_t *got = tree_to_json(root), *wanted = json_loads(json, 0, NULL);
    assert_non_null(wanted);
    assert_true(json_equal(wanted, got));
    tree_free(root);
}

TEST(finds_all_at_once)
{
    _cleanup_(freep) char *got = parse("a: no\nb: 012\na: 1e3\n");
    assert_true(str_has_suffix(got, "\n4 errors in f\n"));
}

TEST(limits_hold)
{
    struct tree_limits small = {.bytes = 60, .nodes = 7, .depth = 3};
    static const struct {
        const char *yaml, *expected;
    } rows[] = {
        {"[1, 2, 3, 4, 5, 6]", "[1,2,3,4,5,6]"},
        {"[1, 2, 3, 4, 5, 6, 7]", "[6]: the file has more than 7 values"},
        {"[&a [1], *a]", "[[1],[1]]"},
        {"[&a [1, 2, 3], *a]", "f:1:16: error: [1]: the file has more than 7 values"},
        {"[&a [1], *a, *a]", "[[1],[1],[1]]"},
        {"[&a [1], *a, *a, *a]", "f:1:18: error: [3]: the file has more than 7 values"},
        {"[[[1]]]", "[[[1]]]"},
        {"[[[[1]]]]", "f:1:4: error: [0][0][0]: is nested deeper than 3 levels"},
        {"[&a [1], [[*a]]]", "nested deeper than 3 levels"},
        {"[&a [1], [*a]]", "[[1],[[1]]]"},
        {"0123456789012345678901234567890123456789012345678901234567890",
         "f: error: the file is larger than 60 bytes"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(freep) char *got = parse_limited(rows[i].yaml, strlen(rows[i].yaml), &small);
        if (strstr(got, rows[i].expected) == NULL) {
            fail_msg("'%s'\nexpected %s\ngot      %s", rows[i].yaml, rows[i].expected, got);
        }
    }
}

TEST(aliases_are_paid_for_by_the_byte)
{
    static const struct tree_limits small = {.bytes = 60, .nodes = 100, .depth = 3};
    static const char five[] = "[&a x12345678901234567890123456789012345,*a,*a,*a,*a]";
    static const char seven[] = "[&a x12345678901234567890123456789012345,*a,*a,*a,*a,*a,*a]";
    _cleanup_(freep) char *good = parse_limited(five, strlen(five), &small);
    assert_true(str_has_prefix(good, "[\"x123"));
    _cleanup_(freep) char *bad = parse_limited(seven, strlen(seven), &small);
    assert_non_null(
        strstr(bad, "error: [6]: the file has more than 240 bytes with its aliases expanded"));
}

TEST(a_map_has_at_most_1000_keys)
{
    struct buf text = BUF_INIT;
    for (int i = 0; i <= 1000; i++) {
        buf_printf(&text, "k%d: 1\n", i);
    }
    _cleanup_(freep) char *got = parse(buf_cstr(&text));
    buf_done(&text);
    assert_non_null(strstr(got, "f:1001:1: error: k1000: the map has more than 1000 keys"));
}

TEST(keeps_places)
{
    static const char text[] = "a: 1\nb:\n  - \xc3\xa9: x\n    c: *y\n";
    _cleanup_(freep) char *with_anchor = xasprintf("z: &y {d: 1}\n%s", text);
    _cleanup_(tree_freep) struct node *root;
    struct diags diags = {0};
    assert_int_equal(tree_parse(with_anchor, strlen(with_anchor), &limits, &root, &diags), 0);
    const struct node *item = tree_get(root, "b")->children[0];
    assert_int_equal(item->mark.line, 4);
    assert_int_equal(item->mark.column, 5);
    const struct node *e = tree_get(item, "\xc3\xa9");
    assert_int_equal(e->key_mark.column, 5);
    assert_int_equal(e->mark.column, 8); /* characters, not bytes */
    const struct node *copy = tree_path(item, "c", "d", NULL);
    assert_int_equal(tree_get(item, "c")->key_mark.line, 5);
    assert_int_equal(copy->mark.line, 1); /* what an alias stands for is where it was written */
    assert_null(tree_path(root, "a", "d", NULL));
    assert_null(tree_get(NULL, "a"));
}

/* A path as errors print it leads back to its node, or to the last one on the way. */
TEST(paths_lead_to_nodes)
{
    static const char text[] = "a: 1\nb:\n- c: 2\n  d.e/f: {g: 3}\n- [4,\n   5]\n";
    static const struct {
        const char *path;
        unsigned line;
        enum node_kind kind;
    } rows[] = {
        {"", 1, NODE_MAP},         {"a", 1, NODE_INT},
        {"b[0].c", 3, NODE_INT},   {"b[0].d.e/f.g", 4, NODE_INT},
        {"b[1][1]", 6, NODE_INT},  {"b[2]", 3, NODE_SEQ},
        {"b[0].x.y", 3, NODE_MAP}, {"a.b", 1, NODE_INT},
        {"b[0", 3, NODE_SEQ},      {"b[x]", 3, NODE_SEQ},
        {"b.c", 3, NODE_SEQ},      {"bb", 1, NODE_MAP},
    };
    _cleanup_(tree_freep) struct node *root;
    struct diags diags = {0};
    assert_int_equal(tree_parse(text, strlen(text), &limits, &root, &diags), 0);
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        const struct node *node = tree_at(root, rows[i].path);
        if (node->mark.line != rows[i].line || node->kind != rows[i].kind) {
            fail_msg("'%s': line %u, %s", rows[i].path, node->mark.line,
                     node_kind_to_string(node->kind));
        }
    }
}

TEST(trees_can_be_changed)
{
    static const char text[] = "{a: 1, b: [1, 2, 3], c: x}";
    _cleanup_(tree_freep) struct node *root;
    struct diags diags = {0};
    assert_int_equal(tree_parse(text, strlen(text), &limits, &root, &diags), 0);
    _cleanup_(tree_freep) struct node *copy = tree_copy(root);
    tree_remove(copy, "a");
    tree_remove(copy, "not there");
    tree_set_take(copy, "c", tree_copy(tree_get(root, "b")));
    tree_set_take(copy, "d", tree_copy(tree_get(root, "a")));
    struct node *list = tree_get(copy, "c");
    tree_free(tree_take_at(list, 1));
    for (int i = 0; i < 5; i++) {
        tree_append_take(list, tree_copy(root->children[0]));
    }
    _cleanup_(json_decrefp) json_t *json = tree_to_json(copy);
    _cleanup_(freep) char *got = json_dumps(json, JSON_COMPACT);
    assert_string_equal(got, "{\"b\":[1,2,3],\"c\":[1,3,1,1,1,1,1],\"d\":1}");
}
