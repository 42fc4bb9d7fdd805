/* Numbers, durations and dates as programs print them. */
#include "tests/test.h"
#include "logparse/number_text.h"

#include <math.h>

TEST(numbers)
{
    static const struct {
        const char *text;
        double value;
    } rows[] = {
        {"0", 0},
        {"123.456", 123.456},
        {".5", .5},
        {"5.", 5},
        {"0.1", 0.1},
        {"1088.76", 1088.76},
        {"-3.25", -3.25},
        {"+3", 3},
        {"1,234.5", 1234.5},
        {"1,234,567", 1234567},
        {"12,345.678", 12345.678},
        {"1.2e+03", 1200},
        {"7.0123e+00", 7.0123},
        {"123456789012345678", 123456789012345678.0},
        {"0.123456789012345678", 0.123456789012345678},
        {"43.2K", 43200},
        {"8.1k", 8100},
        {"1.02M", 1020000},
        {"1,234.5M", 1234500000},
        {"2G", 2e9},
        {"7B", 7e9},
        {"1.5T", 1.5e12},
        {"1.25 k", 1250},
        {"1'234.5", 1234.5},
        {"1_234_567.5", 1234567.5},
        {"1\u2019234.5", 1234.5},
        {"1\u00a0234.5", 1234.5},
        {"12\u202f345\u202f678", 12345678},
        {"1\u2009234,5", 1234.5},
        {"1'234,567", 1234.567},
        {"796,31", 796.31},
        {"0,123", 0.123},
        {"1,2345", 1.2345},
        {"1.234,56", 1234.56},
        {"-12.345.678,9", -12345678.9},
        {"1,234", 1234},
        {"1e+3", 1000},
        {"1.0e3", 1000},
        {"inf", INFINITY},
        {"-inf", -INFINITY},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s'\n", rows[i].text);
        double v = 0;
        assert_true(log_number(rows[i].text, strlen(rows[i].text), &v));
        assert_true(v == rows[i].value);
    }
    double v = 0;
    assert_true(log_number("NaN", 3, &v) && isnan(v));
    assert_true(log_number("12345", 2, &v) && v == 12); /* no more than its length is read */
    static const char *const wrong[] = {
        "",        ",5",    "1,234,5",   "12,",    "1.2.3",   "0x10",      "12a",
        "--1",     "+-1",   ".",         "1,234,", "e5",      "1234,567",  "infinity",
        "1.5,000", "K",     "1KK",       "1m",     "12KB",    "1,23,456",  "1.234.567",
        "1'23",    "12_34", "1_234'567", "1 234",  "1 234.5", "1'234.5.6", "1,234'567",
        "0'123",   "1  k",  "1,5,"};
    for (size_t i = 0; i < N_ROWS(wrong); i++) {
        print_message("# wrong '%s'\n", wrong[i]);
        assert_false(log_number(wrong[i], strlen(wrong[i]), &v));
    }
}

/* The short way of reading gives the bits of strtod. */
TEST(short_numbers_are_exact)
{
    for (unsigned i = 0; i < 200000; i++) {
        char text[32];
        const unsigned digits = i * 2654435761U;
        const int n = snprintf(text, sizeof(text), "%u.%03u", digits % 100000, i % 1000);
        double v;
        assert_true(log_number(text, (size_t)n, &v));
        assert_true(v == strtod(text, NULL));
    }
}

TEST(clocks)
{
    double s;
    assert_true(log_clock("1:02:03.5", 9, &s) && s == 3723.5);
    assert_true(log_clock("02:03", 5, &s) && s == 123);
    assert_true(log_clock("1:01:02:03.5", 12, &s) && s == 90123.5);
    static const char *const wrong[] = {"",
                                        "12",
                                        ":12",
                                        "1:2:3:4",
                                        "1:",
                                        "1:xx",
                                        "1:00:00:00:00",
                                        "1 day",
                                        "1 day, 02:03",
                                        "1 day, 1:00:00:00",
                                        "1 dog, 1:00:00"};
    for (size_t i = 0; i < N_ROWS(wrong); i++) {
        assert_false(log_clock(wrong[i], strlen(wrong[i]), &s));
    }
}

TEST(stamps)
{
    static const struct {
        const char *text;
        int64_t unix_ms; /* as `date -ud TEXT +%s%3N` says */
        bool has_date;
    } rows[] = {
        {"1970-01-01T00:00:00Z", 0, true},
        {"2023-07-28T06:42:45Z", 1690526565000, true},
        {"2023/07/28 06:42:45", 1690526565000, true},
        {"2021-02-20 14:54:52,490", 1613832892490, true},
        {"2024-02-29T23:59:59.5+01:00", 1709247599500, true},
        {"2024-03-01 00:00:00-0530", 1709271000000, true},
        {"0315 05:18:15.651", 6326295651, true}, /* of 1970 */
        {"06:42:45", 24165000, false},
        {"06:42:45.25", 24165250, false},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s'\n", rows[i].text);
        struct log_stamp stamp;
        assert_true(log_stamp_read(rows[i].text, strlen(rows[i].text), &stamp));
        assert_int_equal(stamp.ns, rows[i].unix_ms * 1000000);
        assert_int_equal(stamp.has_date, rows[i].has_date);
    }
    static const char *const wrong[] = {"",
                                        "12",
                                        "12:34",
                                        "25:00:00",
                                        "12:60:00",
                                        "2023-13-01T00:00:00",
                                        "2023-01/01T00:00:00",
                                        "2023-01-01",
                                        "12:00:00 ",
                                        "2023-01-01T"};
    for (size_t i = 0; i < N_ROWS(wrong); i++) {
        struct log_stamp stamp;
        print_message("# wrong '%s'\n", wrong[i]);
        assert_false(log_stamp_read(wrong[i], strlen(wrong[i]), &stamp));
    }
}
