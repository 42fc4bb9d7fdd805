/* The two walks over a pattern's text, and what compiling makes of it. */
#include "tests/test.h"
#include "logparse/scan.h"

#include "logparse/pattern.h"

TEST(literals)
{
    static const struct {
        const char *pattern, *literals; /* each with a '|' behind it */
    } rows[] = {
        {"Speed = (?<rate>) img/s", "Speed = | img/s|"},
        {"Speed ?= ?(?<rate>)", "Speed|=|"},
        {"a+b", "a|b|"},
        {"ab*c", "a|c|"},
        {"ab{0,2}c", "a|c|"},
        {"ab{2}c", "a|c|"},
        {"ab?\?c", "a|c|"},
        {"(?:x|y)z", "z|"},
        {"(?:xyz)?end", "end|"},
        {"[a-z]+end", "end|"},
        {"[]x]end", "end|"},
        {"[^]x]end", "end|"},
        {"[[:alpha:]]end", "end|"},
        {"[[:^alpha:]]end", "end|"},
        {"[[:]x[:]end", "x|end|"},
        {"[[:]x:]end", "x:]end|"},
        {"\\[Epoch (?<epoch>)\\] x", "[Epoch |] x|"},
        {"a\\d+b", "a|b|"},
        {"^a$", "a|"},
        {"a(?=b)c", "a|c|"},
        {"(?<!x)a", "a|"},
        /* where it is not sure, none */
        {"a|b", ""},
        {"(?i)abc", ""},
        {"a(?i:b)c", ""},
        {"(?x)a b", ""},
        {"\\x41bc", ""},
        {"(a)\\1bc", ""},
        {"\\Qa*b\\E", ""},
        {"a(?#b)c", ""},
        {"(*ANYCRLF)abc", ""},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s'\n", rows[i].pattern);
        _cleanup_(texts_done) struct texts l;
        scan_literals(rows[i].pattern, &l);
        _cleanup_(buf_done) struct buf out = BUF_INIT;
        vec_each (char *const, it, &l.list) {
            buf_printf(&out, "%s|", *it);
        }
        assert_string_equal(buf_cstr(&out), rows[i].literals);
    }
}

TEST(filled_groups)
{
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    scan_fill_groups("a(?<epoch>)b\\(?<step>)[(?<rate>)](?<loss>x)(?<other>)", &out);
    assert_string_equal(buf_cstr(&out),
                        "a(?<epoch>(?>\\d+(?:,\\d{3})*))b\\(?<step>)[(?<rate>)](?<loss>x)"
                        "(?<other>)");
    /* the ')' behind the filled group, and the 'x' behind that */
    const size_t body = strlen("(?>\\d+(?:,\\d{3})*)");
    assert_int_equal(scan_written_offset("a(?<epoch>)x", 3), 3);
    assert_int_equal(scan_written_offset("a(?<epoch>)x", 10 + body), 10);
    assert_int_equal(scan_written_offset("a(?<epoch>)x", 11 + body), 11);
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
