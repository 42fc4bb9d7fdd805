/* Where made-up step times settle: how often steady ones are said to change, what is
 * found, and what is not. */
#include "tests/test.h"
#include "stats/warmup_test.h"

#include "tests/stats/draws.h"

#define TRIALS_MAX 8
#define STEPS_MAX 256
#define ALPHA 0.01

/* The noise of a step, of deviation about 1. */
enum shape { NORMAL, EXPONENTIAL, STRAGGLERS, ROUNDED };
static double noise(enum shape shape, uint64_t *state)
{
    switch (shape) {
    case NORMAL:
        return normal(state);
    case EXPONENTIAL:
        return -log(uniform(state)) - 1;
    case STRAGGLERS:
        return normal(state) + (uniform(state) < 0.1 ? 18 : 0);
    case ROUNDED: /* most are alike */
        return round(normal(state) / 2) * 2;
    }
    return 0;
}

static double made_up[TRIALS_MAX][STEPS_MAX];
static const double *trials[TRIALS_MAX];

static void make(enum shape shape, double deviation, size_t n_trials, size_t n, uint64_t *state)
{
    for (size_t t = 0; t < n_trials; t++) {
        trials[t] = made_up[t];
        const double level = 1000 * (1 + 0.1 * uniform(state));
        for (size_t i = 0; i < n; i++) {
            made_up[t][i] = level * exp(deviation * noise(shape, state));
        }
    }
}

TEST(quantiles)
{
    for (double p = 1e-12; p < 1; p += p < 0.01 ? p / 2 : 0.001) {
        const double x = warmup_test_normal_quantile(p);
        assert_true(fabs(erfc(-x / sqrt(2)) / 2 - p) <= 1e-6 * fmin(p, 1 - p) + 1e-9);
    }
    assert_true(warmup_test_normal_quantile(0.5) == 0);
}

/* No change is too small to count here, so this is the test itself, at the level
 * of a run of one point. */
TEST(steady_times_are_steady)
{
    static const struct {
        const char *name;
        enum shape shape;
        double deviation;
        size_t n_trials, n;
    } rows[] = {
        {"normal 1%, 3 trials of 6 steps", NORMAL, 0.01, 3, 6},
        {"normal 1%, 3 trials of 8 steps", NORMAL, 0.01, 3, 8},
        {"normal 1%, 3 trials of 20 steps", NORMAL, 0.01, 3, 20},
        {"normal 5%, 5 trials of 100 steps", NORMAL, 0.05, 5, 100},
        {"normal 1%, 8 trials of 8 steps", NORMAL, 0.01, 8, 8},
        {"normal 1%, 3 trials of 250 steps", NORMAL, 0.01, 3, 250},
        {"exponential 5%, 3 trials of 100 steps", EXPONENTIAL, 0.05, 3, 100},
        {"stragglers 1%, 3 trials of 20 steps", STRAGGLERS, 0.01, 3, 20},
        {"stragglers 1%, 5 trials of 100 steps", STRAGGLERS, 0.01, 5, 100},
        {"rounded 1%, 3 trials of 100 steps", ROUNDED, 0.01, 3, 100},
    };
    const char *const times = getenv("BENCHD_SETTLE_TIMES"); /* a longer look, by hand */
    const unsigned n_tries = times == NULL ? 2000 : 20000;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        uint64_t random = 1 + i;
        unsigned n_alarms = 0;
        for (unsigned k = 0; k < n_tries; k++) {
            make(rows[i].shape, rows[i].deviation, rows[i].n_trials, rows[i].n, &random);
            n_alarms += warmup_test_find(trials, rows[i].n_trials, rows[i].n, ALPHA, 0).has_change;
        }
        print_message("# %s: %.2f%% of %u are said to change\n", rows[i].name,
                      100.0 * n_alarms / n_tries, n_tries);
        assert_true(n_alarms <= ALPHA * n_tries);
    }
}

/* Steps whose noise is half that of the step before are not in any order, which the test asks for;
 * the size of a change that counts, and the median over trials, keep most alarms away. */
TEST(neighbours_that_are_alike)
{
    uint64_t random = 77;
    unsigned n_alarms = 0;
    for (unsigned k = 0; k < 1000; k++) {
        for (size_t t = 0; t < 3; t++) {
            double one = normal(&random);
            trials[t] = made_up[t];
            for (size_t i = 0; i < 100; i++) {
                made_up[t][i] = 1000 * exp(0.01 * one);
                one = one / 2 + sqrt(0.75) * normal(&random);
            }
        }
        n_alarms += warmup_test_find(trials, 3, 100, ALPHA, 0.02).has_change;
    }
    print_message("# neighbours alike by half: %.1f%% are said to change\n", n_alarms / 10.0);
    assert_true(n_alarms <= 10);
}

TEST(a_change_is_found_where_it_is)
{
    static const struct {
        const char *name;
        size_t n_trials, n, at;
        double factor; /* of the steps before */
        double least;  /* share of tries that must find it within a step */
    } rows[] = {
        {"the first step", 3, 100, 1, 1.1, 0.95},
        {"five steps of 100", 3, 100, 5, 1.05, 0.95},
        {"half of them, 3%", 3, 100, 50, 1.03, 0.95},
        {"ten steps of 250, faster", 5, 250, 10, 0.95, 0.95},
        {"eight steps: few, but five trials", 5, 8, 2, 1.2, 0.95},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        uint64_t random = 100 + i;
        unsigned n_found = 0;
        const unsigned n_tries = 300;
        for (unsigned k = 0; k < n_tries; k++) {
            make(NORMAL, 0.01, rows[i].n_trials, rows[i].n, &random);
            for (size_t t = 0; t < rows[i].n_trials; t++) {
                for (size_t j = 0; j < rows[i].at; j++) {
                    made_up[t][j] *= rows[i].factor;
                }
            }
            const struct warmup_change s =
                warmup_test_find(trials, rows[i].n_trials, rows[i].n, ALPHA, 0.02);
            n_found += s.has_change && s.at + 1 >= rows[i].at && s.at <= rows[i].at + 1 &&
                       fabs(s.change - log(rows[i].factor)) < 0.04;
        }
        print_message("# %s: found in %.0f%%\n", rows[i].name, 100.0 * n_found / n_tries);
        assert_true(n_found >= rows[i].least * n_tries);
    }
}

/* What one trial met is no habit of the point; and it does not hide one that is. */
TEST(one_trial_alone)
{
    uint64_t random = 5;
    make(NORMAL, 0.01, 3, 100, &random);
    for (size_t j = 40; j < 100; j++) {
        made_up[1][j] *= 1.5;
    }
    assert_false(warmup_test_find(trials, 3, 100, ALPHA, 0.02).has_change);
    for (size_t t = 0; t < 3; t++) {
        for (size_t j = 0; j < 6; j++) {
            made_up[t][j] *= 1.2;
        }
    }
    const struct warmup_change s = warmup_test_find(trials, 3, 100, ALPHA, 0.02);
    assert_true(s.has_change);
    assert_int_equal(s.at, 6);
}

TEST(too_little_to_say)
{
    for (size_t t = 0; t < TRIALS_MAX; t++) {
        trials[t] = made_up[t];
        for (size_t i = 0; i < STEPS_MAX; i++) {
            made_up[t][i] = 7; /* all alike: nothing to rank */
        }
    }
    assert_false(warmup_test_find(trials, 8, 256, ALPHA, 0).has_change);
    uint64_t random = 6;
    make(NORMAL, 0.01, 8, 100, &random);
    for (size_t t = 0; t < 8; t++) {
        made_up[t][0] = made_up[t][1] = 9000;
    }
    assert_true(warmup_test_find(trials, 3, 100, ALPHA, 0.02).has_change);
    assert_false(warmup_test_find(trials, 2, 100, ALPHA, 0.02).has_change);
    assert_false(warmup_test_find(trials, 8, 5, ALPHA, 0.02).has_change);
    assert_false(warmup_test_find(trials, 0, 0, ALPHA, 0.02).has_change);
}
