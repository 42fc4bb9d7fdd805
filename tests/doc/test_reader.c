/* The small questions behind the messages. */
#include "tests/test.h"
#include "doc/openapi.h"
#include "doc/openapi_check.h"

/* What is noted of a document, with its fixes: one line for each. Owned. */
static char *check(const char *form, const char *text)
{
    static const struct tree_limits limits = TREE_LIMITS_DEFAULT;
    struct node *schema = schema_parse(form), *root = NULL;
    _cleanup_(diags_done) struct diags diags = {0};
    struct buf out = BUF_INIT;
    assert_int_equal(tree_parse(text, strlen(text), &limits, &root, &diags), 0);
    const struct place place = place_root(root, schema);
    schema_check(&diags, &place);
    vec_each (const struct diag, it, &diags.list) {
        buf_printf(&out, "%s|%s|%s\n", it->path, it->message, it->fix == NULL ? "" : it->fix);
    }
    assert_int_equal(root->has_wrong, diags.list.len > 0);
    tree_free(root);
    tree_free(schema);
    return buf_take(&out);
}

TEST(digits_behind_letters)
{
    static const struct {
        const char *text, *guess;
    } rows[] = {{"10O", "100"}, {"1o", "10"}, {"l0", "10"},   {"I2", "12"},  {"-1O", "-10"},
                {"O", NULL},    {"lO", NULL}, {"'10'", NULL}, {"5Gi", NULL}, {"10Ox", NULL}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        _cleanup_(freep) char *got = check("{type: integer}", rows[i].text);
        _cleanup_(freep) char *meant =
            xasprintf("|did you mean %s? it contains a letter", rows[i].guess);
        if (got[0] == '\0' || (strstr(got, meant) != NULL) != (rows[i].guess != NULL) ||
            (strstr(got, "did you mean") != NULL) != (rows[i].guess != NULL)) {
            fail_msg("'%s': got %s", rows[i].text, got);
        }
    }
}

TEST(suggestions)
{
    static const char *const known[] = {"batchSize", "threads", "Sync"};
    assert_string_equal(suggest_name("batchsize", known, 3), "batchSize");
    assert_string_equal(suggest_name("BATCHSIZE", known, 3), "batchSize");
    assert_string_equal(suggest_name("batch_size", known, 3), "batchSize");
    assert_string_equal(suggest_name("thread", known, 3), "threads");
    assert_string_equal(suggest_name("sync", known, 3), "Sync");
    assert_null(suggest_name("model", known, 3));
}

TEST(paths)
{
    static const char text[] = "spec: {sweep: {grid: {a: [1, 2]}}}";
    static const struct tree_limits limits = TREE_LIMITS_DEFAULT;
    struct node *root;
    _cleanup_(diags_done) struct diags diags = {0};
    assert_int_equal(tree_parse(text, strlen(text), &limits, &root, &diags), 0);
    struct place document = place_root(root, NULL);
    struct place spec = place_get(&document, "spec");
    struct place sweep = place_get(&spec, "sweep");
    struct place grid = place_get(&sweep, "grid");
    struct place axis = place_get(&grid, "a");
    struct place item = place_item(&axis, 1);
    struct place missing = place_get(&spec, "measure");
    struct place deeper = place_get(&missing, "steps");
    const struct {
        const struct place *place;
        const char *path;
    } rows[] = {{&document, ""},
                {&spec, "spec"},
                {&item, "spec.sweep.grid.a[1]"},
                {&deeper, "spec.measure.steps"}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        _cleanup_(freep) char *got = place_path(rows[i].place);
        assert_string_equal(got, rows[i].path);
    }
    assert_null(deeper.node);
    reader_complain(&diags, &deeper, NULL, "missing");
    reader_complain(&diags, &item, NULL, "wrong");
    reader_complain_key(&diags, &axis, NULL, "wrong name");
    assert_int_equal(diags.list.items[0].mark.column, 1); /* the nearest key on the way: spec */
    assert_int_equal(diags.list.items[1].mark.column, 30);
    assert_int_equal(diags.list.items[2].mark.column, 23);
    tree_free(root);
}

TEST(numbers_at_their_bounds)
{
    static const struct {
        const char *text;
        bool is_good;
    } rows[] = {
        {"0", false}, {"1", true}, {"64", true}, {"65", false}, {"-9223372036854775808", false}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        _cleanup_(freep) char *whole =
            check("{type: integer, minimum: 1, maximum: 64}", rows[i].text);
        _cleanup_(freep) char *any = check("{type: number, minimum: 1, maximum: 64}", rows[i].text);
        assert_int_equal(whole[0] == '\0', rows[i].is_good);
        assert_int_equal(any[0] == '\0', rows[i].is_good);
    }
}

#define MAP                                                                                        \
    "{type: object, required: [name, at], properties: {name: {type: string, maxLength: 4}, "       \
    "at: {type: number, nullable: true, maximum: 9, x-example: '0.5'}}, "
#define LIST "{type: array, minItems: 1, maxItems: 2, items: {type: string, enum: [Min, Max]}}"
#define TABLE                                                                                      \
    "{type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [id], x-fix: rename "  \
    "it, items: {type: object, properties: {id: {type: string}}}}"

TEST(documents)
{
    static const struct {
        const char *form, *text, *said;
    } rows[] = {
        {MAP "}", "{name: ab, at: 2}", ""},
        {MAP "}", "{name: ab, at: null}", ""},
        {MAP "}", "[1]",
         "|must be a map, not a list|write its fields as a map: {name: value, ...}\n"},
        {MAP "}", "{name: abcde, at: x}",
         "name|is longer than 4 characters|shorten it\n"
         "at|must be a number, not a string|write a number without quotes\n"},
        {MAP "}", "{}",
         "name|required field 'name' is missing|add 'name: ...'\n"
         "at|required field 'at' is missing|add 'at: 0.5'\n"},
        /* A misspelt field is one mistake, unless the map has others. */
        {MAP "}", "{nam: x, at: 1}", "nam|unknown field 'nam'|did you mean 'name'?\n"},
        {MAP "}", "{name: x, at: 1, z: 2}", "z|unknown field 'z'|allowed: name or at\n"},
        {MAP "x-kubernetes-preserve-unknown-fields: true}", "{nam: x, at: 1}",
         "name|required field 'name' is missing|add 'name: ...'\n"},
        {MAP "maxProperties: 1, x-wrong: choose, x-fix: one}", "{name: x, at: 1}", "|choose|one\n"},
        {"{type: object, minProperties: 1}", "{}", "|the map is empty|add a field, or remove it\n"},
        {LIST, "[Min, Max]", ""},
        {LIST, "[]", "|the list is empty|add an item, or remove the field\n"},
        {LIST, "[Min, Min, Min]", "|has more than 2 items|remove some\n"},
        {LIST, "[max, 1]",
         "[0]|unknown value 'max'|did you mean 'Max'? allowed: Min or Max\n"
         "[1]|must be a string, not a whole number|put quotes around it\n"},
        {TABLE, "[{id: a}, {id: b}, {}]", ""},
        {TABLE, "[{id: a}, {id: b}, {id: a}]", "[2].id|duplicate 'a'|rename it\n"},
        {"{type: string, pattern: ^a, x-wrong: \"not '@'\", x-fix: do}", "b", "|not 'b'|do\n"},
        {"{type: integer, minimum: 1, maximum: 9}", "7.5",
         "|must be a whole number, not a decimal number|write a whole number from 1 to 9\n"},
        {"{x-kubernetes-int-or-string: true}", "1.5",
         "|must be a whole number or a string, not a decimal number|quote the decimal: \"1.5\"\n"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        _cleanup_(freep) char *got = check(rows[i].form, rows[i].text);
        if (strcmp(got, rows[i].said) != 0) {
            fail_msg("%s of %s\nexpected: %s\ngot:      %s", rows[i].text, rows[i].form,
                     rows[i].said, got);
        }
    }
}
