/* Changes in made-up series: what is found, how often nothing is called a change, and how often a
 * change is missed. */
#include "tests/test.h"
#include "stats/change_points.h"

#include "tests/stats/draws.h"

#define N_MAX 120

/* A tail to the right: a run now and then is much slower. */
static double skewed(uint64_t *state)
{
    return log(uniform(state));
}

/* The statistic by its definition, of all pairs: where is the best split? */
static size_t best_by_hand(const double *x, size_t n)
{
    double best = -INFINITY;
    size_t at = 0;
    for (size_t m = CHANGE_POINTS_MIN_SIZE; m + CHANGE_POINTS_MIN_SIZE <= n; m++) {
        double left = 0, right = 0, between = 0;
        const double k = (double)(n - m);
        for (size_t i = 0; i < n; i++) {
            for (size_t j = i + 1; j < n; j++) {
                *(j < m ? &left : i >= m ? &right : &between) += fabs(x[i] - x[j]);
            }
        }
        const double d = (double)m;
        const double q =
            d * k / (d + k) *
            (2 * between / (d * k) - 2 * left / (d * (d - 1)) - 2 * right / (k * (k - 1)));
        if (q > best) {
            best = q;
            at = m;
        }
    }
    return at;
}

TEST(steps_are_found_where_they_are)
{
    static const double rows[][12] = {
        {1, 1.1, 0.9, 1, 1.05, 0.95, 2, 2.1, 1.9, 2, 2.05, 1.95}, /* at 6 */
        {1, 1.1, 0.9, 1, 1.05, 0.95, 1.02, 0.98, 1.01, 3, 3.1, 2.9},
        {5, 5.1, 4.9, 1, 1.05, 0.95, 1.02, 0.98, 1.01, 1, 1.1, 0.9},
    };
    static const size_t at[] = {6, 9, 3};
    for (size_t i = 0; i < 3; i++) {
        _cleanup_(change_points_done) struct change_points c;
        assert_int_equal(best_by_hand(rows[i], 12), at[i]);
        change_points_find(rows[i], 12, 0.05, &c);
        assert_true(c.list.len >= 1);
        bool found = false;
        for (size_t k = 0; k < c.list.len; k++) {
            found = found || c.list.items[k].at == at[i];
        }
        assert_true(found);
    }
}

TEST(the_best_split_is_that_of_the_definition)
{
    uint64_t s = 7;
    for (size_t round = 0; round < 50; round++) {
        double x[30];
        _cleanup_(change_points_done) struct change_points c;
        for (size_t i = 0; i < 30; i++) {
            x[i] = round % 5 == 0 ? (double)splitmix_below(&s, 4) : normal(&s); /* ties, too */
            x[i] += i >= 8 + round % 15 ? 6 : 0;
        }
        change_points_find(x, 30, 1, &c); /* every split is taken; the first one is among them */
        const size_t at = best_by_hand(x, 30);
        bool found = false;
        for (size_t k = 0; k < c.list.len; k++) {
            found = found || c.list.items[k].at == at;
        }
        assert_true(found);
    }
}

TEST(two_steps_and_none)
{
    double x[60];
    uint64_t s = 1;
    struct change_points c;
    for (int backwards = 0; backwards < 2; backwards++) { /* the larger step is left or right */
        for (size_t i = 0; i < 60; i++) {
            const double level = i < 20 ? 0 : i < 40 ? -0.1 : 0.05;
            x[backwards ? 59 - i : i] = 0.01 * normal(&s) + level;
        }
        change_points_find(x, 60, CHANGE_POINTS_ALPHA, &c);
        assert_int_equal(c.list.len, 2);
        assert_int_equal(c.list.items[0].at, 20);
        assert_int_equal(c.list.items[1].at, 40);
        assert_true(c.list.items[0].p <= CHANGE_POINTS_ALPHA && c.list.items[0].p >= 0.001);
        change_points_done(&c);
    }
    for (size_t i = 0; i < 60; i++) {
        x[i] = 3;
    }
    change_points_find(x, 60, CHANGE_POINTS_ALPHA, &c);
    assert_int_equal(c.list.len, 0); /* nothing moves */
    change_points_done(&c);
    change_points_find(x, 5, 1, &c);
    assert_int_equal(c.list.len, 0); /* too few */
    change_points_done(&c);
    change_points_find(x, 0, 1, &c);
    assert_int_equal(c.list.len, 0);
    change_points_done(&c);
}

/* The share of series in which a change is named; a shift in deviations after half of them. */
static double share_named(double (*noise)(uint64_t *), size_t n, double shift, size_t rounds)
{
    uint64_t s = 20181120 + n;
    size_t named = 0;
    for (size_t round = 0; round < rounds; round++) {
        double x[N_MAX];
        _cleanup_(change_points_done) struct change_points c;
        for (size_t i = 0; i < n; i++) {
            x[i] = noise(&s) + (i >= n / 2 ? shift : 0);
        }
        change_points_find(x, n, CHANGE_POINTS_ALPHA, &c);
        named += c.list.len > 0;
    }
    return (double)named / (double)rounds;
}

TEST(false_alarms_and_power)
{
    static const struct {
        double (*noise)(uint64_t *);
        size_t n;
        double shift, least, most;
    } rows[] = {
        /* 0.3% of 400 is 1; 6 or more come about once in 600 such tests */
        {normal, 12, 0, 0, 0.0125}, {normal, 30, 0, 0, 0.0125},  {skewed, 30, 0, 0, 0.0125},
        {normal, 14, 4, 0.9, 1},    {normal, 30, 2, 0.8, 1},     {skewed, 30, 2, 0.8, 1},
        {normal, 6, 9, 0, 0},       {normal, 100, 1.2, 0.95, 1},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const double share =
            share_named(rows[i].noise, rows[i].n, rows[i].shift, rows[i].shift > 0 ? 100 : 400);
        if (share < rows[i].least || share > rows[i].most) {
            fail_msg("row %zu: %.4f named, %g to %g expected", i, share, rows[i].least,
                     rows[i].most);
        }
        print_message("# n %zu, shift %g: %.2f%% named\n", rows[i].n, rows[i].shift, 100 * share);
    }
}
