/* Where a replica ran, core/placement.h. */
#include "tests/test.h"
#include "base/mem.h"
#include "core/placement.h"

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
            placement_add(rows[i].environment, rows[i].node, rows[i].image_id);
        same(got, rows[i].want);
    }
}

TEST(what_readers_take)
{
    struct placement p;
    placement_read("{\"cpu_model\":\"Fast\",\"cpuset\":\"0-3\",\"host\":\"pod\",\"image_id\":\"r\","
                   "\"kernel\":\"6.1\",\"node\":\"n4\"}",
                   &p);
    same(p.node, "n4");
    same(p.image_id, "r");
    same(p.cpu_model, "Fast");
    same(p.kernel, "6.1");
    same(p.cpuset, "0-3");
    placement_done(&p);
    assert_null(p.node);
    placement_read("{\"cpuset\":null,\"node\":7}", &p);
    same(p.node, NULL);
    same(p.cpuset, NULL);
    placement_done(&p);
    placement_read(NULL, &p);
    same(p.node, NULL);
    placement_read("{damaged", &p);
    same(p.node, NULL);
}
