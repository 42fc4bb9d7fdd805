/* Where definitions are looked for: places of the test's own, in a folder of its own. */
#include <errno.h>
#include <unistd.h>

#include "tests/test.h"
#include "ctl/runs/find.h"

static char folder[] = "/tmp/test_find-XXXXXX";

static int setup(void)
{
    if (mkdtemp(folder) == NULL || chdir(folder) < 0) {
        return -1;
    }
    test_write_file("one", "one/both.yml");
    test_write_file("yaml", "one/ends.yaml");
    test_write_file("json", "one/ends.json");
    test_write_file("two", "two/both.yaml");
    test_write_file("two", "two/second.json");
    test_write_file("here", "here");
    return 0;
}

static int teardown(void)
{
    return chdir("/") | test_remove_folder(folder);
}

static void set_path(const char *more)
{
    _cleanup_(freep) char *path = xasprintf("%s/one:%s/two%s", folder, folder, more);
    assert_int_equal(setenv("BENCHCTL_PATH", path, 1), 0);
}

TEST(test_the_first_match_wins)
{
    set_path("");
    static const struct {
        const char *name, *text; /* NULL: not found */
    } rows[] = {
        {"ends", "yaml"},         {"both", "one"}, /* whatever its ending */
        {"second", "two"},        {"here", "here"},      {"./here", "here"},
        {"two/both.yaml", "two"}, {"second.json", NULL}, /* an ending makes it a file here */
        {"third", NULL},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        _cleanup_(definition_file_done) struct definition_file file = {0};
        struct err err = {0};
        const int r = definition_find(rows[i].name, &file, &err);
        const char *expected = rows[i].text == NULL ? "" : rows[i].text;
        if (r != (rows[i].text == NULL ? -ENOENT : 0) ||
            strcmp(file.text == NULL ? "" : file.text, expected) != 0) {
            fail_msg("%s: expected '%s', got %d '%s' %s", rows[i].name, expected, r,
                     file.text == NULL ? "" : file.text, err.msg);
        }
    }
}

#define SHIPPED "write second, without -f and without an ending, for the shipped definition"

TEST(test_the_nearest_name_is_suggested)
{
    set_path("");
    static const struct {
        const char *name, *fix;
        bool is_path;
    } rows[] = {
        {"secnd", "did you mean 'second'?", false},
        {"./two/bot.yaml", "did you mean './two/both.yaml'?", false},
        {"two/seconds.json", "did you mean 'two/second.json'?", false},
        {"second.yaml", SHIPPED, false},
        {"none/secnd.yaml", SHIPPED, false},
        {"secnd", SHIPPED, true},
        {"ther.yaml", "list the names with: benchctl get benchmarks --local", false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct definition_file file = {0};
        struct err err = {0};
        assert_int_equal(definition_find(rows[i].name, &file, &err), -ENOENT);
        _cleanup_(freep) char *fix = definition_fix(rows[i].name, rows[i].is_path);
        assert_string_equal(fix, rows[i].fix);
    }
}

TEST(test_names_are_listed_once)
{
    set_path("");
    _cleanup_(texts_done) struct texts names = {0};
    definition_names(&names);
    size_t n_both = 0;
    for (size_t i = 0; i < names.list.len; i++) {
        n_both += strcmp(names.list.items[i], "both") == 0;
        assert_true(i == 0 || strcmp(names.list.items[i - 1], names.list.items[i]) < 0);
    }
    assert_int_equal(n_both, 1);
}

TEST(test_empty_parts_of_the_path_are_no_places)
{
    _cleanup_(texts_done) struct texts plain = {0}, with_empty = {0};
    set_path("");
    places_list(&plain);
    set_path("::");
    places_list(&with_empty);
    assert_int_equal(with_empty.list.len, plain.list.len);
    for (size_t i = 0; i < plain.list.len; i++) {
        assert_string_equal(with_empty.list.items[i], plain.list.items[i]);
    }
}

int main(void)
{
    int failed = setup();
    failed |= test_run_all(NULL);
    return failed | teardown();
}
