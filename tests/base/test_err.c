#include "tests/test.h"
#include "base/err.h"

TEST(set_formats_and_returns_minus_code)
{
    struct err err;
    assert_int_equal(err_set(&err, EPROTO, "line of %d bytes", 7), -EPROTO);
    assert_int_equal(err.code, EPROTO);
    assert_string_equal(err.msg, "line of 7 bytes");
    assert_int_equal(err_set(NULL, EIO, "nobody listens"), -EIO);
}

TEST(set_errno_appends_the_reason)
{
    struct err err;
    assert_int_equal(err_set_errno(&err, ENOENT, "open '%s'", "x.yaml"), -ENOENT);
    assert_string_equal(err.msg, "open 'x.yaml': No such file or directory");
}

TEST(set_errno_cuts_the_text_never_the_reason)
{
    char what[ERR_MSG_SIZE + 100];
    memset(what, 'w', sizeof(what) - 1);
    what[sizeof(what) - 1] = '\0';
    static const char reason[] = ": No such file or directory";
    struct err err;
    assert_int_equal(err_set_errno(&err, ENOENT, "%s", what), -ENOENT);
    assert_int_equal(strlen(err.msg), ERR_MSG_SIZE - 1);
    assert_string_equal(err.msg + strlen(err.msg) - strlen(reason), reason);
    assert_int_equal(err.msg[0], 'w');
}

TEST(wrap_reads_outside_in)
{
    struct err err;
    int r = err_set(&err, EIO, "disk full");
    r = err_wrap(&err, r, "save attempt %d", 3);
    r = err_wrap(&err, r, "run '%s'", "a");
    assert_int_equal(r, -EIO);
    assert_string_equal(err.msg, "run 'a': save attempt 3: disk full");
}

TEST(wrap_cuts_context_never_the_cause)
{
    enum { CAUSE_LEN = ERR_MSG_SIZE - 12 };
    char cause[CAUSE_LEN + 1], context[101];
    memset(cause, 'c', CAUSE_LEN);
    cause[CAUSE_LEN] = '\0';
    memset(context, 'x', 100);
    context[100] = '\0';
    struct err err;
    int r = err_set(&err, EIO, "%s", cause);
    assert_int_equal(err_wrap(&err, r, "%s", context), -EIO);
    assert_int_equal(strlen(err.msg), ERR_MSG_SIZE - 1);
    assert_string_equal(err.msg + strlen(err.msg) - CAUSE_LEN, cause);
    assert_memory_equal(err.msg, "xxxxxxxxx: c", 12);
    const struct err full = err;
    assert_int_equal(err_wrap(&err, r, "more"), -EIO);
    assert_string_equal(err.msg, full.msg); /* no room is left */
}

/* Whatever is cut: 511 bytes of e-acute are not 255 characters and a half. */
TEST(no_text_is_cut_within_a_character)
{
    for (size_t lead = 0; lead < 2; lead++) {
        char text[ERR_MSG_SIZE + 200] = "x";
        for (size_t at = lead; at + 2 < sizeof(text); at += 2) {
            memcpy(text + at, "\xc3\xa9", 3);
        }
        struct err err;
        assert_int_equal(err_set(&err, EIO, "%s", text), -EIO);
        assert_int_equal(strlen(err.msg), ERR_MSG_SIZE - 2 + lead);
        assert_memory_equal(err.msg, text, strlen(err.msg));
        assert_int_equal(err_set_errno(&err, ENOENT, "%s", text), -ENOENT);
        const size_t kept = strlen(err.msg) - strlen(": No such file or directory");
        assert_int_equal(kept % 2, lead);
        assert_string_equal(err.msg + kept, ": No such file or directory");
        assert_int_equal(err_set(&err, EIO, "cause"), -EIO);
        assert_int_equal(err_wrap(&err, -EIO, "%s", text), -EIO);
        assert_int_equal((strlen(err.msg) - strlen(": cause")) % 2, lead);
    }
}
