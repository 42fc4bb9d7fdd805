/* The order of a list, and which column a word means. */
#include <math.h>

#include "tests/test.h"
#include "ctl/runs/list_order.h"

static void assert_order(struct order_key *keys, size_t n, const size_t *expected)
{
    for (size_t i = 0; i < n; i++) {
        keys[i].at = i;
    }
    order_keys(keys, n);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(keys[i].at, expected[i]);
    }
}

TEST(test_texts_and_numbers)
{
    struct order_key texts[] = {{.text = "b"}, {.text = "a"}, {.text = "b"}, {.text = ""}};
    assert_order(texts, 4, (const size_t[]){3, 1, 0, 2}); /* what is alike stays as it was */
    struct order_key numbers[] = {
        {.number = NAN}, {.number = 2}, {.number = -1}, {.number = NAN}, {.number = 2}};
    assert_order(numbers, 5, (const size_t[]){2, 1, 4, 0, 3}); /* the unknown is last */
    order_keys(NULL, 0);
}

TEST(test_which_column_a_word_means)
{
    static const char *const columns[] = {"name", "created", "age", NULL};
    static const struct {
        const char *word;
        int column;
    } rows[] = {
        {"name", 0},
        {"AGE", 2},
        {".metadata.name", 0},
        {"{.metadata.creationTimestamp}", 1},
        {".metadata.creationTimestamp", 1},
        {".status.phase", -1}, /* this list has no such column */
        {"nam", -1},
        {"", -1},
        {"{", -1},
        {"{}", -1},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        const int column = order_column_find(rows[i].word, columns);
        if (column != rows[i].column) {
            fail_msg("'%s': expected %d, got %d", rows[i].word, rows[i].column, column);
        }
    }
}
