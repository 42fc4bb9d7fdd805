/* Paths of benchd's API, and what its errors say. */
#include <errno.h>

#include "tests/test.h"
#include "ctl/cluster/cluster_internal.h"

TEST(test_names_are_escaped)
{
    static const struct {
        const char *name, *path;
    } rows[] = {
        {"tiny-7k3fq", "/tiny-7k3fq/logs?point=3"}, {"a/../b", "/a%2F%2E%2E%2Fb/logs?point=3"},
        {"a?b#c d", "/a%3Fb%23c%20d/logs?point=3"}, {"A%", "/%41%25/logs?point=3"},
        {"\xc3\xa9", "/%C3%A9/logs?point=3"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        _cleanup_(freep) char *path = cluster_api_path(rows[i].name, "/logs?point=%d", 3);
        assert_string_equal(path, rows[i].path);
    }
}

/* benchd explains its errors in a document; the API server and proxies answer in their own way. */
TEST(test_benchds_own_words_come_first)
{
    static const struct {
        const char *name, *body;
        bool is_status;
        const char *message;
    } rows[] = {
        {"benchd's", "{\"message\": \"run 'x' not found\"}", false, "benchd: run 'x' not found"},
        {"a Status of the API server", "{\"message\": \"services not found\"}", true, "HTTP 404"},
        {"a page of a proxy", "<html>", false, "HTTP 404"},
        {"without a message", "{}", false, "HTTP 404"},
        {"nothing", "", false, "HTTP 404"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        _cleanup_(cluster_answer_done) struct cluster_answer a = {.is_status = rows[i].is_status};
        (void)err_set(&a.err, ENOENT, "HTTP 404");
        buf_puts(&a.body, rows[i].body);
        struct err err = {0};
        cluster_api_error(&a, &err);
        if (err.code != ENOENT || strcmp(err.msg, rows[i].message) != 0) {
            fail_msg("%s: expected %d '%s', got %d '%s'", rows[i].name, ENOENT, rows[i].message,
                     err.code, err.msg);
        }
    }
}
