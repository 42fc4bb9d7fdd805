/* The share of a CPU that readers have. */
#include "tests/test.h"
#include "daemon/web/cpu_budget.h"

/* A bucket of CPU time, whose looks follow each other. */
TEST(test_cpu_budget)
{
    static const struct {
        const char *name;
        int64_t after_ms, used_ms;
        bool is_idle; /* nothing is driven */
        int64_t wait_ms;
    } rows[] = {
        {"full", 0, 0, false, 0},
        {"the burst is at once", 0, 499, false, 0},
        {"used up", 0, 1, false, 20 * 5},
        {"half a slice earned", 50, 0, false, 10 * 5},
        {"what it uses meanwhile is owed", 0, 5, false, 15 * 5},
        {"a slice", 75, 0, false, 0},
        {"the rest of it", 0, 19, false, 0},
        {"and again", 0, 1, false, 20 * 5},
        {"a long document owes a second", 0, 7000, false, 1020 * 5},
        {"not over a moment before", 5099, 0, false, 1},
        {"over", 1, 0, false, 0},
        {"it earns no more than the burst", 3600 * 1000, 0, false, 0},
        {"which is used up", 0, 500, false, 20 * 5},
        {"as much as one likes while nothing is driven", 0, 9000, true, 0},
        {"which leaves it full", 0, 499, false, 0},
    };
    struct cpu_budget b;
    int64_t at_ms = 7000000, cpu_ms = 300; /* of a machine and threads that have worked before */
    cpu_budget_init(&b, at_ms * 1000000, cpu_ms * 1000000);
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# %s\n", rows[i].name);
        at_ms += rows[i].after_ms;
        cpu_ms += rows[i].used_ms;
        const int64_t wait_ns =
            cpu_budget_wait_ns(&b, at_ms * 1000000, cpu_ms * 1000000, !rows[i].is_idle);
        assert_int_equal(wait_ns / 1000000, rows[i].wait_ms);
    }
}
