#include "tests/test.h"
#include "base/parse.h"

#include <errno.h>

TEST(integers)
{
    static const struct {
        const char *text;
        int result;
        int64_t value;
    } rows[] = {
        {"0", 0, 0},
        {"-17", 0, -17},
        {"9223372036854775807", 0, INT64_MAX},
        {"9223372036854775808", -ERANGE, 0},
        {"", -EINVAL, 0},
        {" 1", -EINVAL, 0},
        {"+1", -EINVAL, 0},
        {"1 ", -EINVAL, 0},
        {"10O", -EINVAL, 0},
        {"0x10", -EINVAL, 0},
        {"-", -EINVAL, 0},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        int64_t v = 42;
        print_message("# row '%s'\n", rows[i].text);
        assert_int_equal(parse_i64(rows[i].text, &v), rows[i].result);
        assert_int_equal(v, rows[i].result == 0 ? rows[i].value : 42);
    }
    uint64_t u = 0;
    assert_int_equal(parse_u64("18446744073709551615", &u), 0);
    assert_true(u == UINT64_MAX);
    assert_int_equal(parse_u64("18446744073709551616", &u), -ERANGE);
    assert_int_equal(parse_u64("-1", &u), -EINVAL);
    int64_t v = 0;
    assert_int_equal(parse_i64_in("10", 1, 10, &v), 0);
    assert_int_equal(parse_i64_in("11", 1, 10, &v), -ERANGE);
    assert_int_equal(parse_i64_in("1", 1, 10, &v), 0);
    assert_int_equal(parse_i64_in("0", 1, 10, &v), -ERANGE);
    assert_int_equal(v, 1);
}

TEST(floats)
{
    double v = 0;
    assert_int_equal(parse_f64("0.9", &v), 0);
    assert_true(v == 0.9);
    assert_int_equal(parse_f64("-1e-3", &v), 0);
    assert_true(v == -1e-3);
    assert_int_equal(parse_f64("nan", &v), -EINVAL);
    assert_int_equal(parse_f64("inf", &v), -EINVAL);
    assert_int_equal(parse_f64("0x1p3", &v), -EINVAL);
    assert_int_equal(parse_f64("1e999", &v), -ERANGE);
    assert_int_equal(parse_f64("1.5x", &v), -EINVAL);
    assert_int_equal(parse_f64("4e07408562bedb8b", &v), -EINVAL); /* a digest */
    assert_int_equal(parse_f64("1e-999", &v), 0); /* too small for a double: 0 is near enough */
    assert_true(v == 0);
}

TEST(quantities)
{
    int64_t v = 0;
    assert_int_equal(parse_cpu_millicores("400m", &v), 0);
    assert_int_equal(v, 400);
    assert_int_equal(parse_cpu_millicores("10", &v), 0);
    assert_int_equal(v, 10000);
    assert_int_equal(parse_cpu_millicores("0.1", &v), 0);
    assert_int_equal(v, 100);
    assert_int_equal(parse_cpu_millicores("9m", &v), 0);
    assert_int_equal(v, 9); /* 9 * 1e-3 * 1000 is a little more than 9 as a double */
    assert_int_equal(parse_cpu_millicores("1u", &v), 0);
    assert_int_equal(v, 1); /* fractions round up */
    assert_int_equal(parse_mem_bytes("5Gi", &v), 0);
    assert_int_equal(v, INT64_C(5) << 30);
    assert_int_equal(parse_mem_bytes("1.5k", &v), 0);
    assert_int_equal(v, 1500);
    assert_int_equal(parse_mem_bytes("1.0001Ki", &v), 0);
    assert_int_equal(v, 1025);
    assert_int_equal(parse_mem_bytes("8191Pi", &v), 0);
    assert_int_equal(v, INT64_C(8191) << 50);
    assert_int_equal(parse_mem_bytes("8192Pi", &v), -ERANGE); /* 2^63 */
    assert_int_equal(parse_mem_bytes("5GB", &v), -EINVAL);
    assert_int_equal(parse_mem_bytes("-1", &v), -ERANGE);
    assert_int_equal(parse_mem_bytes("Gi", &v), -EINVAL);
}

TEST(ages)
{
    static const struct {
        const char *text;
        int result;
        int64_t ms;
    } rows[] = {
        {"1m", 0, 60000},       {"12h", 0, 43200000},
        {"90d", 0, 7776000000}, {"36500d", 0, 3153600000000},
        {"36501d", -ERANGE, 0}, {"0d", -ERANGE, 0},
        {"-1d", -ERANGE, 0},    {"90", -EINVAL, 0},
        {"d", -EINVAL, 0},      {"", -EINVAL, 0},
        {"9 d", -EINVAL, 0},    {"90s", -EINVAL, 0},
        {"1d2", -EINVAL, 0},    {"00000001d", -EINVAL, 0},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        int64_t ms = 42;
        print_message("# row '%s'\n", rows[i].text);
        assert_int_equal(parse_age_ms(rows[i].text, &ms), rows[i].result);
        assert_int_equal(ms, rows[i].result == 0 ? rows[i].ms : 42);
    }
}
