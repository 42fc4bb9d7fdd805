/* The two walks over a pattern's text, and what compiling makes of it. */
#include "tests/test.h"

#include "logparse/groups.h"
#include "logparse/pattern.h"

TEST(filled_groups)
{
    _cleanup_(buf_done) struct buf out = BUF_INIT, expected = BUF_INIT;
    scan_fill_groups("a(?<epoch>)b\\(?<step>)[(?<rate>)](?<loss>x)(?<other>)", &out);
    const char *body = log_group_body(LOG_EPOCH, LOG_NO_COLUMN);
    buf_printf(&expected, "a(?<epoch>%s)b\\(?<step>)[(?<rate>)](?<loss>x)(?<other>)", body);
    assert_string_equal(buf_cstr(&out), buf_cstr(&expected));
    /* the ')' after the filled group, and the 'x' after that */
    assert_int_equal(scan_written_offset("a(?<epoch>)x", 3), 3);
    assert_int_equal(scan_written_offset("a(?<epoch>)x", 10 + strlen(body)), 10);
    assert_int_equal(scan_written_offset("a(?<epoch>)x", 11 + strlen(body)), 11);
}

/* A group takes a whole number or nothing, whatever is before it in the pattern. */
TEST(a_group_never_cuts_a_number)
{
    static const struct {
        const char *pattern, *line, *taken; /* NULL: no match */
    } rows[] = {
        {"(?<rate>) img/s", "1,234.5 img/s", "1,234.5"},
        {"(?<rate>) img/s", "x 1'234.5 img/s", "1'234.5"},
        {"(?<rate>) img/s", "x 1_234.5 img/s", "1_234.5"},
        {"(?<rate>) img/s", "x 1\u2019234.5 img/s", "1\u2019234.5"},
        {"(?<rate>) img/s", "x 1\u00a0234.5 img/s", "1\u00a0234.5"},
        {"(?<rate>) img/s", "x 1\u202f234 img/s", "1\u202f234"},
        {"(?<rate>) img/s", "x 1\u2009234,5 img/s", "1\u2009234,5"},
        {"(?<rate>) img/s", "x 1.234,56 img/s", "1.234,56"},
        {"(?<rate>) img/s", "x 796,31 img/s", "796,31"},
        {"(?<rate>) img/s", "x 1.25 k img/s", "1.25 k"},
        {"(?<rate>) k img/s", "x 1.25 k img/s", "1.25"},
        {"(?<rate>) +img/s", "x -12 img/s", "-12"},
        {".*(?<rate>) img/s", "x 1234.5 img/s", "1234.5"},
        {".*(?<rate>) img/s", "x 1'234.5 img/s", "1'234.5"},
        {".*(?<rate>) img/s", "x 1e-05 img/s", "1e-05"},
        {".*(?<rate>) img/s", "x 1\u202f234.5 img/s", "1\u202f234.5"},
        {".*(?<rate>) img/s", "-12 img/s", "-12"},
        {".*(?<rate>) img/s", "x -12 img/s", "-12"},
        {"(?<rate>) img/s", "1,23,456 img/s", NULL},
        {"(?<rate>) img/s", "1'23'456 img/s", NULL},
        {"(?<rate>) img/s", "12_34 img/s", NULL},
        {"(?<rate>) img/s", "1.2.3 img/s", NULL},
        {"rate (?<rate>)", "rate 1,23,456", NULL},
        {"rate (?<rate>)", "rate 1'234.5 x", "1'234.5"},
        {"rate (?<rate>)", "rate 1'23", NULL},
        {"rate (?<rate>)", "rate 12.5,13.5", "12.5"},
        {"rate (?<rate>),", "rate 1,234.5, loss", "1,234.5"},
        {"rate (?<rate>), ", "rate 1,234, loss", "1,234"},
        {"'(?<rate>)'", "['12.5', '3']", "12.5"},
        {"x=(?<rate>)", "x=.5", ".5"},
        {"x=(?<rate>)", "x=nan", "nan"},
        /* columns */
        {"^\\d+,(?<rate>)$", "5,800", "800"},
        {"^\\d+,(?<rate>),\\d", "5,800,12", "800"},
        {"^(?<rate>),\\d+,\\d+$", "800,12,345", "800"},
        {"(?<rate>),loss", "1,234.5,loss", NULL},
        {"ckpt_(?<rate>)_(?:x)", "ckpt_12_x", "12"},
        {",(?<rate>) img", ",1'234 img", NULL},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# %s on %s\n", rows[i].pattern, rows[i].line);
        struct log_pattern *p;
        struct log_match match = {0};
        size_t offset;
        assert_int_equal(log_pattern_new(rows[i].pattern, &p, &offset, NULL), 0);
        struct log_matcher *m = log_matcher_new();
        const int r = log_matcher_run(m, p, rows[i].line, strlen(rows[i].line), &match);
        log_matcher_free(m);
        log_pattern_free(p);
        assert_int_equal(r, rows[i].taken != NULL);
        if (r == 1) {
            assert_int_equal(match.len[LOG_RATE], strlen(rows[i].taken));
            assert_memory_equal(match.text[LOG_RATE], rows[i].taken, match.len[LOG_RATE]);
        }
    }
}

/* The number of a step may have thousands and an exponent, as float numbers are printed. */
TEST(whole_numbers)
{
    static const char *const rows[][2] = {
        {"step=1,000 ", "1,000"}, {"step=1_000 ", "1_000"},
        {"step=1e+3,", "1e+3"},   {"step=1.0e3,", "1.0e3"},
        {"step=1.5e3,", "1.5e3"}, {"step=12.00,", "12.00"},
        {"step=12/60", "12"},     {"step=12.5 ", "12"},
        {"step=12.", "12"},       {"step=1.234 ", NULL},
        {"step=1,23 ", NULL},     {"step=1'23 ", NULL},
        {"step=7, x", "7"},       {"step=1\u202f000 ", "1\u202f000"},
    };
    struct log_pattern *p;
    size_t offset;
    assert_int_equal(log_pattern_new("step=(?<step>)", &p, &offset, NULL), 0);
    struct log_matcher *m = log_matcher_new();
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# %s\n", rows[i][0]);
        struct log_match match = {0};
        assert_int_equal(log_matcher_run(m, p, rows[i][0], strlen(rows[i][0]), &match),
                         rows[i][1] != NULL);
        if (rows[i][1] != NULL) {
            assert_int_equal(match.len[LOG_STEP], strlen(rows[i][1]));
        }
    }
    log_matcher_free(m);
    log_pattern_free(p);
}

TEST(patterns)
{
    static const struct {
        const char *pattern, *why;
        size_t offset;
    } wrong[] = {
        {"(?<rate>", "missing closing parenthesis", 8},
        {"a(", "missing closing parenthesis", 2},
        {"(?<rate>) [a", "missing terminating ] for character class", 12},
        {"(?<speed>\\d+) img", "no group is called 'speed'; the names are ", 3},
        {"(?<rat>\\d+) img", "no group is called 'rat'; did you mean 'rate'?", 3},
        {"x*", "it matches an empty line", 0},
        {"", "it matches an empty line", 0},
        {"((((((((((((((((((((((((((((((((((((((((((((((((((((x))))))))))))))))))))))))))))))))))))"
         "))))))))))))))))",
         "parentheses are too deeply nested", 51},
        {"(a{1,30000}){1,30000}", "regular expression is too large", 21},
    };
    for (size_t i = 0; i < N_ROWS(wrong); i++) {
        print_message("# row '%s'\n", wrong[i].pattern);
        struct log_pattern *p;
        struct err err = {0};
        size_t offset;
        assert_int_equal(log_pattern_new(wrong[i].pattern, &p, &offset, &err), -EINVAL);
        print_message("# %s at %zu\n", err.msg, offset);
        assert_memory_equal(err.msg, wrong[i].why, strlen(wrong[i].why));
        assert_int_equal(offset, wrong[i].offset);
    }
}

/* What would run for hours is given up. */
TEST(a_bad_pattern_is_given_up)
{
    struct log_pattern *p;
    struct err err;
    size_t offset;
    assert_int_equal(log_pattern_new("^(?:[a-z]+[a-z]+)+!(?<rate>)$", &p, &offset, &err), 0);
    struct log_matcher *m = log_matcher_new();
    struct log_match match;
    char line[201];
    memset(line, 'a', sizeof(line));
    line[199] = '!';
    assert_int_equal(log_matcher_run(m, p, line, 201, &match), -E2BIG);
    assert_int_equal(log_matcher_run(m, p, "ab!5", 4, &match), 1);
    assert_int_equal(match.len[LOG_RATE], 1);
    log_matcher_free(m);
    log_pattern_free(p);
}
