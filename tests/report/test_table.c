#include <math.h>

#include "tests/test.h"
#include "base/parse.h"
#include "report/table.h"
#include "result/number.h"

static void check(const struct buf *out, const char *expected)
{
    assert_string_equal(buf_cstr(out), expected);
}

static struct table *sample(void)
{
    struct table *t = table_new();
    table_column(t, "NAME", TABLE_LEFT);
    table_column(t, "N", TABLE_RIGHT);
    table_column(t, "NOTE", TABLE_LEFT);
    table_cell(t, "a");
    table_cell(t, "%d", 1000);
    table_cell(t, "x");
    table_cell(t, "café ✓");
    table_cell(t, "2");
    table_cell(t, "%s", "");
    return t;
}

TEST(columns_are_aligned_in_characters)
{
    _cleanup_(table_freep) struct table *t = sample();
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    table_format(t, true, &out);
    check(&out, "NAME        N   NOTE\n"
                "a        1000   x\n"
                "café ✓      2\n");
    assert_int_equal(table_width(t), 6 + 3 + 4 + 3 + 4);
    buf_clear(&out);
    table_set_gap(t, 1);
    table_format(t, false, &out);
    check(&out, "a      1000 x\n"
                "café ✓    2\n");
}

TEST(a_wide_table_has_parts)
{
    static const struct {
        size_t n_heads, width;
        const char *expected;
    } rows[] = {
        {1, 20, "NAME        N   NOTE\na        1000   x\ncafé ✓      2\n"},
        {1, 19,
         "NAME        N\na        1000\ncafé ✓      2\n\nNAME     NOTE\na        x\ncafé ✓\n"},
        {1, 1,
         "NAME        N\na        1000\ncafé ✓      2\n\nNAME     NOTE\na        x\ncafé ✓\n"},
        {0, 13, "NAME        N\na        1000\ncafé ✓      2\n\nNOTE\nx\n\n"},
        {2, 1, "NAME        N   NOTE\na        1000   x\ncafé ✓      2\n"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        _cleanup_(table_freep) struct table *t = sample();
        _cleanup_(buf_done) struct buf out = BUF_INIT;
        table_format_parts(t, rows[i].n_heads, rows[i].width, &out);
        check(&out, rows[i].expected);
    }
}

TEST(prose_is_broken_at_blanks)
{
    static const struct {
        size_t columns;
        const char *expected;
    } rows[] = {
        {0, "  KEY   WHY\n  a     of 3 trials 2 failed, 1 ran\n  bcd   -\n  e\n"},
        {35, "  KEY   WHY\n  a     of 3 trials 2 failed, 1 ran\n  bcd   -\n  e\n"},
        {34, "  KEY  WHY\n  a    of 3 trials 2 failed, 1 ran\n  bcd  -\n  e\n"}, /* the tight gap */
        {30, "  KEY  WHY\n  a    of 3 trials 2 failed, 1\n       ran\n  bcd  -\n  e\n"},
        /* fewer than 20 are left */
        {26, "  KEY\n  a\n    of 3 trials 2 failed,\n    1 ran\n  bcd\n  e\n"},
        {9, "  KEY\n  a\n    of 3\n    trials\n    2\n    failed,\n    1 ran\n  bcd\n  e\n"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(table_freep) struct table *t = table_new();
        table_column(t, "  KEY", TABLE_LEFT);
        table_column(t, "WHY", TABLE_LEFT);
        static const char *const cells[] = {
            "  a", "of 3 trials 2 failed, 1 ran", "  bcd", "-", "  e", ""};
        for (size_t k = 0; k < N_ROWS(cells); k++) {
            table_cell(t, "%s", cells[k]);
        }
        _cleanup_(buf_done) struct buf out = BUF_INIT;
        table_format_prose(t, rows[i].columns, &out);
        check(&out, rows[i].expected);
    }
}

TEST(a_header_alone)
{
    _cleanup_(table_freep) struct table *t = table_new();
    table_column(t, "NAME", TABLE_LEFT);
    table_column(t, "PHASE", TABLE_RIGHT);
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    table_format(t, true, &out);
    check(&out, "NAME   PHASE\n");
    buf_clear(&out);
    table_format(t, false, &out);
    check(&out, "");
    table_free(NULL);
}

TEST(foreign_text_cannot_break_a_table)
{
    _cleanup_(table_freep) struct table *t = table_new();
    table_column(t, "A|B", TABLE_LEFT);
    table_column(t, "C", TABLE_RIGHT);
    table_cell(t, "%s", "one\ntwo\t\033[31m");
    table_cell(t, "%s", "x|y\\z");
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    table_format(t, true, &out);
    check(&out, "A|B                 C\n"
                "one two  [31m   x|y\\z\n");
    buf_clear(&out);
    table_format_markdown(t, &out);
    check(&out, "| A\\|B | C |\n"
                "|---|---:|\n"
                "| one two  \\[31m | x\\|y\\\\z |\n");
}

TEST(markdown_has_only_the_markup_of_the_table)
{
    static const struct {
        const char *text, *markdown;
    } rows[] = {
        {"<img src=x onerror=alert(3)>", "\\<img src=x onerror=alert(3)\\>"},
        {"[click](javascript:alert(4))", "\\[click\\](javascript:alert(4))"},
        {"`a` *b* **c**", "\\`a\\` \\*b\\* \\*\\*c\\*\\*"},
        {"_a_ b_c_1 d_ _", "\\_a\\_ b_c_1 d\\_ \\_"},
        {"batch_size 64 / 32, <0.001, -", "batch_size 64 / 32, <0.001, -"},
        {"<!-- a </b <? <", "\\<!-- a \\</b \\<? <"},
        {"a\n# b\r- c", "a # b - c"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(buf_done) struct buf out = BUF_INIT;
        markdown_escape(rows[i].text, &out);
        assert_string_equal(buf_cstr(&out), rows[i].markdown);
        buf_clear(&out);
        _cleanup_(table_freep) struct table *t = table_new();
        table_column(t, "A", TABLE_LEFT);
        table_cell(t, "%s", rows[i].text);
        table_format_markdown(t, &out);
        char want[128];
        (void)snprintf(want, sizeof(want), "| A |\n|---|\n| %s |\n", rows[i].markdown); /* fits */
        check(&out, want);
    }
}

TEST(numbers_have_four_digits)
{
    static const struct {
        double value;
        const char *text;
    } rows[] = {
        {263.29, "263.3"}, {16.74, "16.74"},       {1, "1.000"},
        {0, "0.000"},      {0.7864, "0.7864"},     {0.07864, "0.07864"},
        {1019.29, "1019"}, {12345.6, "12346"},     {999.96, "1000"},
        {9.9996, "10.00"}, {0.00012, "0.0001200"}, {0.000012, "1.200e-05"},
        {-2.5, "-2.500"},  {1234567, "1234567"},   {NAN, "-"},
        {INFINITY, "-"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(buf_done) struct buf out = BUF_INIT;
        number_format(rows[i].value, &out);
        check(&out, rows[i].text);
    }
}

TEST(exact_numbers_read_back)
{
    static const struct {
        double value;
        const char *text;
    } rows[] = {
        {0.1, "0.1"}, {1, "1"}, {0.1 + 0.2, "0.30000000000000004"}, {1e300, "1e+300"}, {NAN, ""},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(buf_done) struct buf out = BUF_INIT;
        number_format_exact(rows[i].value, &out);
        check(&out, rows[i].text);
    }
    double value = 1;
    for (int i = 0; i < 1000; i++) {
        value = fmod(value * 1.618033988749895 + 0.577, 1000);
        _cleanup_(buf_done) struct buf out = BUF_INIT;
        number_format_exact(value, &out);
        double back = 0;
        assert_int_equal(parse_f64(buf_cstr(&out), &back), 0);
        assert_true(back == value);
    }
}

TEST(figures)
{
    struct figure f = {.unit = "samples/s", .scope = "job"};
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    figure_format(&f, &out);
    f.estimate = (struct estimate){.known = true, .value = 42.666};
    figure_format(&f, &out);
    check(&out, "-42.67");
}

TEST(html_is_escaped)
{
    _cleanup_(table_freep) struct table *t = table_new();
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    table_column(t, "A&B", TABLE_LEFT);
    table_column(t, "N", TABLE_RIGHT);
    table_cell(t, "<b>\"it's\"</b>");
    table_cell(t, "1");
    table_cell(t, "a\xff");
    table_cell(t, "%s", "");
    table_format_html(t, &out);
    check(&out, "<table>\n<thead><tr><th>A&amp;B</th><th class=\"r\">N</th></tr></thead>\n<tbody>\n"
                "<tr><td>&lt;b&gt;&quot;it&#39;s&quot;&lt;/b&gt;</td><td class=\"r\">1</td></tr>\n"
                "<tr><td>a?</td><td class=\"r\"></td></tr>\n</tbody>\n</table>\n");
}
