#include "tests/test.h"

#include <errno.h>

#include "base/clock.h"
#include "base/str.h"
#include "base/texts.h"

#include <errno.h>

TEST(distances)
{
    /* clang-format off */
    static const struct {
        const char *a, *b;
        size_t distance;
    } rows[] = {
        {"", "", 0},           {"abc", "abc", 0},       {"abc", "ab", 1},
        {"abc", "acb", 1},     {"kitten", "sitting", 3}, {"repeats", "repeat", 1},
        {"tariners", "trainers", 1},
    };
    /* clang-format on */
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s' '%s'\n", rows[i].a, rows[i].b);
        assert_int_equal(str_distance(rows[i].a, rows[i].b), rows[i].distance);
        assert_int_equal(str_distance(rows[i].b, rows[i].a), rows[i].distance);
    }
}

TEST(long_words_have_no_distance)
{
    char word[66];
    memset(word, 'x', sizeof(word) - 1);
    word[65] = '\0';
    assert_int_equal(str_distance(word, "x"), SIZE_MAX);
    assert_int_equal(str_distance("x", word), SIZE_MAX);
    word[64] = '\0';
    assert_int_equal(str_distance(word, "x"), 63);
    assert_int_equal(str_distance("x", word), 63);
}

TEST(suggests_only_a_clear_winner)
{
    static const char *const words[] = {"get", "describe", "delete", "results", "run"};
    assert_string_equal(str_suggest("desribe", words, N_ROWS(words)), "describe");
    assert_string_equal(str_suggest("rnu", words, N_ROWS(words)), "run");
    assert_null(str_suggest("frobnicate", words, N_ROWS(words)));
    assert_null(str_suggest("x", words, N_ROWS(words)));
    static const char *const tie[] = {"cat", "car"};
    assert_null(str_suggest("caz", tie, N_ROWS(tie)));
}

TEST(place_in_a_list)
{
    static const char *const list[] = {"a", "b", "", "b"};
    assert_int_equal(str_index("a", list, N_ROWS(list)), 0);
    assert_int_equal(str_index("b", list, N_ROWS(list)), 1);
    assert_int_equal(str_index("", list, N_ROWS(list)), 2);
    assert_int_equal(str_index("ab", list, N_ROWS(list)), -EINVAL);
    assert_int_equal(str_index("b", list, 1), -EINVAL);
    assert_int_equal(str_index("a", NULL, 0), -EINVAL);
}

TEST(affixes_and_dates)
{
    assert_true(str_has_prefix("sqlite:x", "sqlite:"));
    assert_false(str_has_prefix("sq", "sqlite:"));
    assert_true(str_has_suffix("a.yaml", ".yaml"));
    assert_false(str_has_suffix("l", ".yaml"));
    char date[CLOCK_RFC3339_SIZE];
    clock_format_rfc3339(1795161171000, date);
    assert_string_equal(date, "2026-11-20T07:52:51Z");
}

TEST(capitals_do_not_count)
{
    static const struct {
        const char *text, *wanted;
        bool is_equal;
        int found_at; /* -1 if it is not there */
    } rows[] = {
        {"", "", true, 0},
        {"Limit", "LIMIT", true, 0},
        {"limit", "limits", false, -1},
        {"a limit", "LIMIT", false, 2},
        {"lilimit", "Limit", false, 2},
        {"limi", "limit", false, -1},
        {"limit", "", false, 0},
        {"", "a", false, -1},
        {"\xc4\xb0", "i", false, -1},
        {"caf\xc3\xa9", "CAF\xc3\xa9", true, 0},
        {"[@`{", "{`@[", false, -1},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        const char *text = rows[i].text, *wanted = rows[i].wanted;
        print_message("# row '%s' '%s'\n", text, wanted);
        assert_int_equal(str_eq_nocase(text, wanted), rows[i].is_equal);
        assert_int_equal(str_eq_nocase(wanted, text), rows[i].is_equal);
        const char *found = str_find_nocase(text, wanted);
        assert_int_equal(found == NULL ? -1 : found - text, rows[i].found_at);
    }
    assert_true(str_eq_nocase_n("ITERxx", "iteryy", 4));
    assert_false(str_eq_nocase_n("ITERxx", "iteryy", 5));
    assert_true(str_eq_nocase_n("abc", "ABC", 9));
    assert_false(str_eq_nocase_n("ab", "abc", 3));
    assert_true(str_eq_nocase_n("a", "b", 0));
}

TEST(a_text_is_found_in_a_list)
{
    static const char *const words[] = {"get", "describe", "get"};
    assert_int_equal(str_index("get", words, 3), 0);
    assert_int_equal(str_index("describe", words, 3), 1);
    assert_int_equal(str_index("describe", words, 1), -EINVAL);
    assert_int_equal(str_index("ge", words, 3), -EINVAL);
    assert_int_equal(str_index("gets", words, 3), -EINVAL);
    assert_int_equal(str_index_n("describe=1", 8, words, 3), 1);
    assert_int_equal(str_index_n("get", 2, words, 3), -EINVAL);
}

TEST(a_variable_is_found_in_a_list)
{
    char *const list[] = {(char *)"AB=1", (char *)"C", NULL};
    assert_true(str_list_sets(list, "AB=2"));
    assert_true(str_list_sets(list, "AB"));
    assert_true(str_list_sets(list, "C=1"));
    assert_false(str_list_sets(list, "A=1"));
    assert_false(str_list_sets(list, "ABC=1"));
    assert_false(str_list_sets(list, "B=1"));
    assert_false(str_list_sets(list + 1, "AB=1"));
}
