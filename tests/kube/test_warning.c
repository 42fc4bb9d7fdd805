/* Warning headers of the API server as texts, each once. */
#include "cmocka_kube.h"

#include "base/buf.h"
#include "base/mem.h"
#include "kube/session.h"

TEST(texts)
{
    static const struct {
        const char *header, *texts; /* each in [] */
    } rows[] = {
        {"", ""},
        {"299 - \"old field\"", "[old field]"},
        {"299 - \"b, c\" \"Sat, 21 Nov 2026 08:00:00 GMT\"", "[b, c]"},
        {"299 - \"a\"\n299 - \"b\"", "[a][b]"},
        {"299 - \"no 299 - \\\"x\\\"\"", "[no 299 - \"x\"]"},
        {"199 - \"other\"\n299 kube \"ours\"", "[ours]"},
        {"299 - \"say \\\"hi\\\" \\\\\"", "[say \"hi\" \\]"},
        {"299 - \"cut\n299 - \"whole\"", "[whole]"},
        {"299 - \"cut\\", ""},
        {"299 - \"\"", ""},
        {"nonsense", ""},
        {"299 - \"a\" \"cut\n299 - \"b\"", "[a][b]"},
        {"299 - \"a\033[31mb\"", "[a [31mb]"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(buf_done) struct buf got = BUF_INIT;
        const char *at = rows[i].header;
        for (char *text; (text = kube_warning_next(&at)) != NULL; free(text)) {
            buf_printf(&got, "[%s]", text);
        }
        if (strcmp(buf_cstr(&got), rows[i].texts) != 0) {
            fail_msg("'%s': expected '%s', got '%s'", rows[i].header, rows[i].texts,
                     buf_cstr(&got));
        }
    }
}

TEST(each_once)
{
    _cleanup_(kube_warnings_done) struct kube_warnings w = {0};
    char text[16];
    assert_true(kube_warnings_add(&w, "a"));
    assert_false(kube_warnings_add(&w, "a"));
    for (int i = 0; i < KUBE_WARNINGS_MAX; i++) {
        (void)snprintf(text, sizeof(text), "%d", i);
        assert_true(kube_warnings_add(&w, text));
    }
    assert_false(kube_warnings_add(&w, "0"));
    assert_true(kube_warnings_add(&w, "a")); /* the oldest is forgotten */
    assert_int_equal(w.n, KUBE_WARNINGS_MAX);
}
