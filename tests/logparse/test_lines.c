/* Bytes to lines, however they are cut. */
#include "tests/test.h"
#include "logparse/lines.h"

static void on_line(void *ctx, uint64_t number, const char *line, size_t len)
{
    struct buf *out = ctx;
    (void)number;
    buf_append(out, line, len);
    buf_putc(out, '|');
}

static void on_number(void *ctx, uint64_t number, const char *line, size_t len)
{
    buf_printf(ctx, "%llu %.*s|", (unsigned long long)number, (int)len, line);
}

/* Empty lines count, and a carriage return before a newline does not. */
TEST(lines_have_numbers)
{
    static const char text[] = "\n\na\r\n\nb\rc\n\rd";
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    log_lines_each(text, sizeof(text) - 1, on_number, &out);
    assert_string_equal(buf_cstr(&out), "3 a|5 b|6 c|8 d|");
}

/* Feeds the text in pieces of `piece` bytes, each an exact copy on the heap. */
static char *split(const char *text, size_t len, size_t piece)
{
    struct buf out = BUF_INIT;
    struct log_lines l;
    log_lines_init(&l, on_line, &out);
    for (size_t at = 0; at < len; at += piece) {
        const size_t n = len - at < piece ? len - at : piece;
        _cleanup_(freep) char *copy = xmalloc(n);
        memcpy(copy, text + at, n);
        log_lines_feed(&l, copy, n);
    }
    log_lines_end(&l);
    log_lines_done(&l);
    return buf_take(&out);
}

TEST(lines_are_split_and_cleaned)
{
    static const struct {
        const char *name, *text, *lines;
        size_t len; /* 0: strlen */
    } rows[] = {
        {"two lines", "a\nb\n", "a|b|", 0},
        {"no newline at the end", "a\nb", "a|b|", 0},
        {"nothing", "", "", 0},
        {"empty lines", "\n\na\n\n", "a|", 0},
        {"lines of Windows", "a\r\nb\r\n", "a|b|", 0},
        {"a progress bar", "\r 1/3\r 2/3\r 3/3\n", " 1/3| 2/3| 3/3|", 0},
        {"colours", "\033[1;31mred\033[0m text\n", "red text|", 0},
        {"a colour that never ends", "x\033[1;31", "x|", 0},
        {"a window's title", "\033]0;title\atext\033]0;more\033\\!\n", "text!|", 0},
        {"cursor up, line cleared", "\033[A\033[2Kdone\n", "done|", 0},
        {"backspaces", "10%\b\b\b20%\n", "10%20%|", 0},
        {"NULs", "a\0b\0\n\0\n", "ab|", 7},
        {"tabs stay", "a\tb\n", "a\tb|", 0},
        {"bytes that are not UTF-8 stay", "a\xff\n", "a\xff|", 0},
        {"a lone escape", "a\033\n", "a|", 0},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s'\n", rows[i].name);
        const size_t len = rows[i].len == 0 ? strlen(rows[i].text) : rows[i].len;
        for (size_t piece = 1; piece <= len + 1; piece++) {
            _cleanup_(freep) char *lines = split(rows[i].text, len, piece);
            assert_string_equal(lines, rows[i].lines);
        }
    }
}

TEST(long_lines_are_cut)
{
    const size_t len = 3 * LOG_LINE_MAX;
    _cleanup_(freep) char *text = xmalloc(len + 3);
    memset(text, 'x', len);
    memcpy(text + len, "\ny\n", 3);
    static const size_t pieces[] = {1, 1000, LOG_LINE_MAX, 100000};
    for (size_t i = 0; i < N_ROWS(pieces); i++) {
        _cleanup_(freep) char *lines = split(text, len + 3, pieces[i]);
        assert_int_equal(strlen(lines), LOG_LINE_MAX + 3);
        assert_string_equal(lines + LOG_LINE_MAX, "|y|");
    }
    struct log_lines l;
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    log_lines_init(&l, on_line, &out);
    for (int i = 0; i < 1000; i++) {
        log_lines_feed(&l, text, len); /* 24 MB without a newline */
    }
    assert_true(l.partial.cap <= 2 * LOG_LINE_MAX);
    log_lines_done(&l);
}

TEST(prefixes)
{
    static const struct {
        const char *line;
        size_t len;
        int64_t rank;
    } rows[] = {
        {"[1,3]<stdout>:x", 14, 3},
        {"[1,12]<stderr>: x", 16, 12},
        {"[prterun-host-7@1,2]<stdout>: x", 30, 2},
        {"[4]<stdout>:x", 12, 4},
        {"[default5]:x", 11, 5},
        {"[rank6]: x", 9, 6},
        {"[rank0] x", 8, 0},
        {"[Rank 12] x", 10, 12},
        {"[rank7]x", 0, -1},
        {"[ranking 7] x", 0, -1},
        {"[rank] x", 0, -1},
        {"[rank ] x", 0, -1},
        {"[rank7]", 0, -1},
        {"[3]: x", 0, -1},
        {"[Epoch 0, batch 5] loss", 0, -1},
        {"[2023/07/28 06:42:45] x", 0, -1},
        {"[rank6", 0, -1},
        {"[]<stdout>:", 0, -1},
        {"", 0, -1},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s'\n", rows[i].line);
        int64_t rank = -1;
        assert_int_equal(log_prefix_len(rows[i].line, strlen(rows[i].line), &rank), rows[i].len);
        assert_int_equal(rank, rows[i].rank);
    }
}

TEST(labels_of_processes)
{
    static const struct {
        const char *text;
        int64_t trainers;
        bool is_labelled;
    } rows[] = {
        {"2: a\n0: a\n1: a\n0: b\n2: b\n1: b\n", 3, true},
        {"2: a\n0: a\n1: a\n0: b\n2: b\n1: b\n", 8, true}, /* import says that ranks are missing */
        {"2: a\n  more\nmore\n0: a\n1: a\n0: b\nmore\n2: b\n1: b\n", 3, true},
        {"02: a\n 0: a\n01: a\n00: b\n02: b\n", 3, true},
        {"0: a\n1: a\n0: b\n1: b\n0: c\n", 2, true},
        {"0: a\n1: a\n0: b\n1: b\n0: c\n", 1, false},
        {"0: a\n0: b\n0: c\n", 1, false},
        {"0: a\n0: b\n1: a\n1: b\n", 2, false},             /* epochs */
        {"0: a\n1: b\n2: c\n0: d\n1: e\n2: f\n", 3, false}, /* steps of two epochs */
        {"0: a\n1: b\n2: c\n3: d\n4: e\n5: f\n6: g\n7: h\n3: d\n4: e\n5: f\n", 8,
         false}, /* resumed */
        {"0: a\n20: b\n10: c\n30: d\n", 4, false},
        {"2: a\nx\nx\nx\nx\nx\n0: a\nx\n2: a\nx\nx\nx\n1: b\n", 3, false},
        {"5000: a\n2: b\n", 2, false},
        {"2:a\n0:a\n1:a\n0:b\n", 3, false},
        {"", 0, false},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row %zu\n", i);
        assert_int_equal(log_is_labelled(rows[i].text, strlen(rows[i].text), rows[i].trainers),
                         rows[i].is_labelled);
    }
    assert_int_equal(log_label_rank("12: x", 5), 12);
    assert_int_equal(log_label_rank("x 12: x", 7), -1);
}
