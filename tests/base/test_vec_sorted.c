/* Vectors whose items have an order. */
#include "tests/test.h"
#include "base/vec.h"

TEST(items_are_found_inserted_and_removed)
{
    static const int added[] = {5, 1, 9, 3, 7}, removed[] = {5, 1, 9};
    VEC(int) v = {0};
    size_t at;
    for (size_t i = 0; i < N_ROWS(added); i++) {
        assert_false(vec_search(&v, it, *it - added[i], &at));
        *vec_insert(&v, at) = added[i];
    }
    for (int n = 0; n <= 10; n++) {
        const bool is_there = n % 2 == 1;
        assert_int_equal(vec_search(&v, it, *it - n, &at), is_there);
        assert_int_equal(at, n / 2);
    }
    for (size_t i = 0; i < N_ROWS(removed) && vec_search(&v, it, *it - removed[i], &at); i++) {
        vec_remove(&v, at);
    }
    assert_int_equal(v.len, 2);
    assert_int_equal(v.items[0], 3);
    assert_int_equal(v.items[1], 7);
    vec_done(&v);
}
