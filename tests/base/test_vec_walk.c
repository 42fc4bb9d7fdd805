/* Walks over a vector or an array. */
#include "tests/test.h"
#include "base/vec.h"

static const int numbers[] = {4, 7, 9};

TEST(the_first_item_is_found)
{
    assert_ptr_equal(array_find(numbers, 3, it, *it > 4), &numbers[1]);
    assert_ptr_equal(array_find(numbers, 3, it, *it == 9), &numbers[2]);
    assert_null(array_find(numbers, 2, it, *it == 9));
}

TEST(an_item_that_is_a_pointer_is_found_itself)
{
    VEC(const char *) v = {0};
    assert_null(vec_find_item(&v, it, it[0] == 'a'));
    *vec_push(&v) = "ape";
    *vec_push(&v) = "bear";
    *vec_push(&v) = "bee";
    assert_string_equal(vec_find_item(&v, it, it[0] == 'b'), "bear");
    assert_null(vec_find_item(&v, it, it[0] == 'c'));
    vec_done(&v);
}

TEST(a_condition_holds_for_some_or_all)
{
    assert_true(array_any(numbers, 3, it, *it == 9));
    assert_false(array_any(numbers, 2, it, *it == 9));
    assert_true(array_all(numbers, 2, it, *it < 9));
    assert_false(array_all(numbers, 3, it, *it < 9));
    assert_true(array_all(numbers, 3, it, *it < 5 || *it > 6));
    VEC(int) empty = {0};
    assert_false(vec_any(&empty, it, *it == 4));
    assert_true(array_all(empty.items, empty.len, it, *it == 4));
}

TEST(a_sum_has_the_type_of_a_number)
{
    assert_int_equal(array_sum(numbers, 2, it, *it * 2), 22);
    assert_int_equal(array_sum(numbers, 3, it, *it > 4), 2);
    VEC(uint32_t) v = {0};
    assert_int_equal(vec_sum(&v, it, *it), 0);
    *vec_push(&v) = UINT32_MAX;
    *vec_push(&v) = 3;
    assert_int_equal(vec_sum(&v, it, *it), 2);
    assert_int_equal(vec_sum(&v, it, (uint64_t)*it), UINT32_MAX + UINT64_C(3));
    vec_done(&v);
}
