#include "tests/test.h"
#include "doc/diag.h"

#include "base/str.h"

static char *format(struct diags *d, const char *text)
{
    struct buf out = BUF_INIT;
    diags_format(d, "f.yaml", text, &out);
    diags_done(d);
    return buf_take(&out);
}

TEST(sorts_by_place_and_shows_the_line)
{
    struct diags d = {0};
    diags_add(&d, (struct mark){2, 6}, "b", "write 2", "wrong %d", 1);
    diags_add(&d, (struct mark){1, 1}, "a", NULL, "unknown");
    diags_add(&d, (struct mark){0}, "", NULL, "whole file");
    _cleanup_(freep) char *got = format(&d, "a: 1\nb:\t\xc3\xa9 x\r\n");
    assert_string_equal(got, "f.yaml: error: whole file\n"
                             "f.yaml:1:1: error: a: unknown\n"
                             "    1 | a: 1\n"
                             "      | ^\n"
                             "f.yaml:2:6: error: b: wrong 1\n"
                             "    2 | b: \xc3\xa9 x\n"
                             "      |      ^\n"
                             "  fix: write 2\n"
                             "3 errors in f.yaml\n");
}

TEST(names_the_option)
{
    struct diags d = {0};
    diags_add_from(&d, "--set pservers=x", (struct mark){0}, "spec.sweep", "write 1", "no number");
    _cleanup_(freep) char *got = format(&d, "a: 1\n");
    assert_string_equal(got, "--set pservers=x: error: spec.sweep: no number\n"
                             "  fix: write 1\n"
                             "1 error on the command line\n");
    diags_add_from(&d, "--steps 0", (struct mark){0}, "spec.measure", NULL, "out of range");
    diags_add(&d, (struct mark){1, 1}, "a", NULL, "unknown");
    _cleanup_(freep) char *both = format(&d, NULL);
    assert_true(str_has_suffix(both, "\n2 errors in f.yaml and on the command line\n"));
}

/* An origin with a line is another file: it is named, sorted after the definition, and one of its
 * places is none of another file's. */
TEST(names_another_file)
{
    struct diags d = {0}, more = {0};
    diags_add_from(&d, "t.yaml", (struct mark){1, 3}, "a", NULL, "wrong");
    _cleanup_(freep) char *alone = format(&d, "a: 1\n");
    assert_string_equal(alone, "t.yaml:1:3: error: a: wrong\n1 error in templates of f.yaml\n");
    diags_add_from(&d, "t.yaml", (struct mark){1, 3}, "a", NULL, "wrong");
    diags_add(&d, (struct mark){2, 1}, "b", NULL, "wrong");
    diags_add_from(&d, "--steps 0", (struct mark){0}, "c", NULL, "wrong");
    diags_add_from(&more, "t.yaml", (struct mark){1, 3}, "other", NULL, "wrong");
    diags_add_from(&more, "u.yaml", (struct mark){1, 3}, "a", NULL, "wrong");
    diags_move(&d, &more);
    _cleanup_(freep) char *got = format(&d, "a: 1\n");
    assert_string_equal(got, "--steps 0: error: c: wrong\n"
                             "f.yaml:2:1: error: b: wrong\n"
                             "    2 | \n      | ^\n"
                             "t.yaml:1:3: error: a: wrong\n"
                             "u.yaml:1:3: error: a: wrong\n"
                             "4 errors in f.yaml and its templates and on the command line\n");
}

TEST(quotes_nothing_that_acts_on_a_terminal)
{
    struct diags d = {0};
    diags_add(&d, (struct mark){1, 3}, "a\nb", "c\rd", "'%s'", "\x1b[31m\n");
    _cleanup_(freep) char *got = format(&d, "\x1b\xc2\x9b" /* CSI, a character of C1 */ "2J\x7f");
    assert_string_equal(got, "f.yaml:1:3: error: a?b: '?[31m?'\n"
                             "    1 | ??2J?\n"
                             "      |   ^\n"
                             "  fix: c?d\n"
                             "1 error in f.yaml\n");
}

TEST(places_behind_the_text_need_no_line)
{
    struct diags d = {0};
    diags_add(&d, (struct mark){9, 1}, "a", NULL, "gone");
    _cleanup_(freep) char *got = format(&d, "a: 1");
    assert_string_equal(got, "f.yaml:9:1: error: a: gone\n1 error in f.yaml\n");
    diags_add(&d, (struct mark){1, 1}, "a", NULL, "no text");
    _cleanup_(freep) char *without = format(&d, NULL);
    assert_string_equal(without, "f.yaml:1:1: error: a: no text\n1 error in f.yaml\n");
}

TEST(cuts_long_lines_around_the_caret)
{
    char text[1001];
    memset(text, 'x', 1000);
    text[499] = 'Y';
    text[1000] = '\0';
    struct diags d = {0};
    diags_add(&d, (struct mark){1, 500}, "", NULL, "here");
    _cleanup_(freep) char *got = format(&d, text);
    const char *line = strchr(got, '\n') + 1;
    const char *caret_line = strchr(line, '\n') + 1;
    size_t caret = strcspn(caret_line, "^");
    assert_int_equal(line[caret], 'Y');
    assert_int_equal(strcspn(line, "\n"), strlen("    1 | ") + 120 + 2 * strlen("..."));
}

TEST(moves_what_is_new)
{
    _cleanup_(diags_done) struct diags d = {0}, more = {0};
    diags_add(&d, (struct mark){1, 1}, "a", NULL, "one");
    diags_add(&more, (struct mark){1, 1}, "other path, same place", NULL, "one");
    diags_add(&more, (struct mark){1, 2}, "a", NULL, "one");
    diags_add(&more, (struct mark){0}, "a", NULL, "one");
    diags_move(&d, &more);
    assert_int_equal(d.list.len, 3);
    assert_int_equal(more.list.len, 0);
}

TEST(counts_what_it_does_not_keep)
{
    struct diags d = {0};
    for (unsigned i = 1; i <= DIAGS_MAX + 5; i++) {
        diags_add(&d, (struct mark){i, 1}, "", NULL, "one");
    }
    assert_int_equal(d.list.len, DIAGS_MAX);
    _cleanup_(freep) char *got = format(&d, NULL);
    assert_true(str_has_suffix(got, "\n105 errors in f.yaml; only the first 100 are shown\n"));
    _cleanup_(diags_done) struct diags full = {0}, more = {0};
    for (unsigned i = 1; i <= DIAGS_MAX; i++) {
        diags_add(&full, (struct mark){i, 1}, "", NULL, "one");
        diags_add(&more, (struct mark){i, 2}, "", NULL, "two");
    }
    diags_move(&full, &more);
    assert_int_equal(full.list.len, DIAGS_MAX);
    assert_int_equal(full.n_dropped, DIAGS_MAX);
}
