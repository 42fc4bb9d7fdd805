/* Where a replica ran, core/environment.h. */
#include "summary_fixture.h"

#include "base/str.h"

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
        struct replica_row row = {0};
        replica_set_environment(&row, rows[i].environment);
        replica_place(&row, rows[i].node, rows[i].image_id);
        assert_environment(&row.environment, rows[i].want);
        environment_done(&row.environment);
    }
}

/* What most replicas have alone is no part of what they share; values of other types stay there. */
TEST(what_is_shared)
{
    static const struct {
        const char *said, *facts, *host;
        double mhz;
    } rows[] = {
        {"{\"cpu_mhz\":1.5,\"host\":\"a\",\"x\":1}", "{\"x\":1}", "a", 1.5},
        {"{\"cpu_mhz\":2100,\"host\":7}", "{\"cpu_mhz\":2100,\"host\":7}", NULL, 0},
        {"{\"cpu_mhz\":0.0,\"host\":null}", "{\"cpu_mhz\":0.0,\"host\":null}", NULL, 0},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct replica_row row = {0};
        replica_set_environment(&row, rows[i].said);
        assert_facts(row.environment.facts, rows[i].facts);
        assert_true(str_eq_or_null(row.environment.host, rows[i].host));
        assert_true(row.environment.cpu_mhz == rows[i].mhz);
        assert_environment(&row.environment, rows[i].said);
        environment_done(&row.environment);
    }
}
