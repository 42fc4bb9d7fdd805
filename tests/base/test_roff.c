/* Manual pages: what roff would take for its own is escaped. */
#include "tests/test.h"
#include "base/roff.h"

TEST(text_is_escaped)
{
    static const struct {
        const char *text, *roff;
    } rows[] = {
        {"plain", "plain\n"},
        {".dot\n'quote", "\\&.dot\n\\&'quote\n"},
        {"not . here", "not . here\n"},
        {"a\\b --x", "a\\eb \\-\\-x\n"},
        {"use `-o` now", "use \\fB\\-o\\fP now\n"},
        {"one\n\ntwo", "one\n.PP\ntwo\n"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        _cleanup_(buf_done) struct buf out = BUF_INIT;
        roff_text(rows[i].text, &out);
        assert_string_equal(buf_cstr(&out), rows[i].roff);
    }
}

TEST(options_have_their_names_and_values)
{
    static const struct arg_opt opts[] = {{"output", 'o', "FORMAT", "How"},
                                          {"no-color", 0, NULL, ".Plain"}};
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    roff_options(opts, 2, &out);
    assert_string_equal(buf_cstr(&out),
                        ".TP\n\\fB\\-o\\fP, \\fB\\-\\-output\\fP \\fIFORMAT\\fP\nHow\n"
                        ".TP\n\\fB\\-\\-no\\-color\\fP\n\\&.Plain\n");
}

TEST(a_page_has_the_exit_codes_of_its_program)
{
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    roff_begin(&(struct roff_page){"a-b", 8, "does it", "1.2"}, &out);
    roff_exit_codes("benchd", &out);
    roff_see_also((const char *const[]){"x", "y-z", NULL}, 1, &out);
    assert_string_equal(
        buf_cstr(&out),
        ".TH A-B 8 \"\" \"benchd 1.2\"\n.SH NAME\na\\-b \\- does it\n.SH EXIT STATUS\n"
        ".TP\n\\fB0\\fP\ndone as asked\n"
        ".TP\n\\fB2\\fP\nusage, definition or kubeconfig error\n"
        ".TP\n\\fB5\\fP\ncluster or benchd unreachable\n"
        ".TP\n\\fB9\\fP\nlocal resource: file, disk, port\n"
        ".TP\n\\fB14\\fP\nthe lease was lost\n"
        ".SH SEE ALSO\n\\fBx\\fP(1),\n\\fBy\\-z\\fP(1)\n");
}
