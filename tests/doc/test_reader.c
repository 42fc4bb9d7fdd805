/* The small questions behind the messages. */
#include "tests/test.h"
#include "doc/reader.h"

TEST(digits_behind_letters)
{
    static const struct {
        const char *text, *guess;
    } rows[] = {{"10O", "100"}, {"1o", "10"}, {"l0", "10"}, {"I2", "12"},  {"-1O", "-10"},
                {"O", NULL},    {"lO", NULL}, {"10", NULL}, {"5Gi", NULL}, {"10Ox", NULL}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        _cleanup_(freep) char *got = guess_digits(rows[i].text);
        if ((got == NULL) != (rows[i].guess == NULL) ||
            (got != NULL && strcmp(got, rows[i].guess) != 0)) {
            fail_msg("'%s': expected %s, got %s", rows[i].text,
                     rows[i].guess == NULL ? "none" : rows[i].guess, got == NULL ? "none" : got);
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
    struct place document = place_root(root);
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
        int64_t value;
        bool is_good;
    } rows[] = {{0, false}, {1, true}, {64, true}, {65, false}, {INT64_MIN, false}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct node node = {.kind = NODE_INT, .i = rows[i].value};
        const struct place whole = place_root(&node);
        _cleanup_(diags_done) struct diags diags = {0};
        int64_t i64 = -7;
        double f64 = -7;
        assert_int_equal(read_int(&diags, &whole, 1, 64, &i64), rows[i].is_good);
        assert_int_equal(read_number(&diags, &whole, 1, 64, &f64), rows[i].is_good);
        assert_int_equal(i64, rows[i].is_good ? rows[i].value : -7);
        assert_true(f64 == (rows[i].is_good ? (double)rows[i].value : -7));
        assert_int_equal(diags.list.len, rows[i].is_good ? 0 : 2);
    }
}
