/* Where a replica ran, core/environment.h. */
#include "tests/test.h"
#include "core/environment.h"

static void same(const char *got, const char *want)
{
    assert_int_equal(got == NULL, want == NULL);
    assert_string_equal(got == NULL ? "" : got, want == NULL ? "" : want);
}

TEST(what_launchers_add)
{
    static const struct {
        const char *name, *environment, *node, *image_id, *want;
    } rows[] = {
        {"nothing is known", NULL, NULL, NULL, NULL},
        {"the launcher knows nothing", "{\"host\":\"a\"}", NULL, NULL, "{\"host\":\"a\"}"},
        {"no start record", NULL, "n4", NULL, "{\"node\":\"n4\"}"},
        {"both", "{\"host\":\"a\"}", "n4", "r@sha256:1",
         "{\"host\":\"a\",\"image_id\":\"r@sha256:1\",\"node\":\"n4\"}"},
        {"a replica does not know better", "{\"node\":\"mine\"}", "n4", NULL, "{\"node\":\"n4\"}"},
        {"a name that is not UTF-8", "{\"host\":\"a\"}", "\xff", NULL, "{\"host\":\"a\"}"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s'\n", rows[i].name);
        _cleanup_(freep) char *got =
            environment_add(rows[i].environment, rows[i].node, rows[i].image_id);
        same(got, rows[i].want);
    }
}
