/* docs/contracts/golden/order.txt, and what any order must be. */
#include "tests/test.h"
#include "small_definition.h"

#include "spec/matrix.h"
#include "spec/run_def.h"

/* The order in the words of the golden file. Owned. */
static char *describe(unsigned n_points, unsigned repeats, enum order_kind order, uint64_t seed)
{
    _cleanup_(freep) struct slot *slots = order_slots(n_points, repeats, order, seed);
    struct buf out = BUF_INIT;
    buf_printf(&out, "%u %u %llu %s\n", n_points, repeats, (unsigned long long)seed,
               order_kind_names[order]);
    unsigned a_line = order == ORDER_SEQUENTIAL ? repeats : n_points;
    for (unsigned i = 0; i < n_points * repeats; i++) {
        buf_printf(&out, "%u%c", slots[i].point, (i + 1) % a_line == 0 ? '\n' : ' ');
        unsigned trial = order == ORDER_SEQUENTIAL ? i % repeats : i / n_points;
        assert_int_equal(slots[i].trial, trial);
    }
    return buf_take(&out);
}

TEST(is_what_the_contract_says)
{
    _cleanup_(freep) char *golden = golden_read("docs/contracts/golden/order.txt");
    _cleanup_(buf_done) struct buf got = BUF_INIT;
    unsigned n = 0;
    for (const char *line = golden; line != NULL && *line != '\0';) {
        unsigned points, repeats;
        unsigned long long seed;
        char order[16];
        if (sscanf(line, "%u %u %llu %15[A-Za-z]", &points, &repeats, &seed, order) == 4) {
            _cleanup_(freep) char *text = describe(
                points, repeats, order[0] == 'S' ? ORDER_SEQUENTIAL : ORDER_INTERLEAVED, seed);
            buf_puts(&got, text);
            n++;
        }
        line = strchr(line, '\n');
        line = line == NULL ? NULL : line + 1;
    }
    assert_true(n >= 5);
    assert_string_equal(buf_cstr(&got), strchr(golden, '\n') + 1);
}

TEST(every_trial_runs_once)
{
    for (uint64_t seed = 0; seed < 50; seed++) {
        enum { POINTS = 13, REPEATS = 4 };
        bool seen[POINTS][REPEATS] = {{false}};
        _cleanup_(freep) struct slot *slots = order_slots(POINTS, REPEATS, ORDER_INTERLEAVED, seed);
        for (int i = 0; i < POINTS * REPEATS; i++) {
            assert_false(seen[slots[i].point][slots[i].trial]);
            seen[slots[i].point][slots[i].trial] = true;
        }
    }
}

/* Each point is equally often first: a chi-squared test with a fixed seed, so never by chance. */
TEST(the_first_place_is_fair)
{
    enum { POINTS = 5, REPEATS = 5000 };
    unsigned first[POINTS] = {0};
    _cleanup_(freep) struct slot *slots = order_slots(POINTS, REPEATS, ORDER_INTERLEAVED, 1);
    for (int t = 0; t < REPEATS; t++) {
        first[slots[t * POINTS].point]++;
    }
    double chi2 = 0, expected = (double)REPEATS / POINTS;
    for (int i = 0; i < POINTS; i++) {
        chi2 += (first[i] - expected) * (first[i] - expected) / expected;
    }
    assert_true(chi2 < 18.47); /* 4 degrees of freedom, p = 0.001 */
}
