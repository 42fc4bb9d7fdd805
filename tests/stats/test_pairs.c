/* Which items lower the values of their pairs: exact cases, numbers that another program computed,
 * and random worlds, in which the level must hold and the power is what docs/shared-cluster.md
 * says. */
#include "tests/test.h"
#include "stats/pairs.h"

#include <math.h>

#include "base/splitmix.h"

#define N_MAX 64
#define WORLDS 1000
/* Of 1,000 worlds with a probability of 5% each; four deviations above. */
#define LEVEL_MOST 78

static double uniform(uint64_t *state)
{
    return ((double)(splitmix_next(state) >> 11) + 0.5) * 0x1p-53;
}

static double normal(uint64_t *state)
{
    return sqrt(-2 * log(uniform(state))) * cos(2 * 3.14159265358979323846 * uniform(state));
}

struct world {
    const char *name;
    size_t n, partners; /* each with so many of the next ones */
    double slow[2];     /* logs of what the first and the last item leave of a value */
    double sd;          /* of a pair, around what its slower item leaves */
    double wild;        /* share of pairs that deviate ten times as much */
    unsigned most_false, least_found; /* of WORLDS: others that are named; all slow ones are */
};

static void draw(const struct world *w, uint64_t *state, double *values)
{
    for (size_t i = 0; i < w->n; i++) {
        for (size_t j = 0; j < w->n; j++) {
            const double first = i == 0 ? w->slow[0] : 0, last = j == w->n - 1 ? w->slow[1] : 0;
            const double scale = uniform(state) < w->wild ? 10 : 1;
            const bool is_pair = j > i && j - i <= w->partners;
            values[i * w->n + j] = is_pair ? 5 + fmin(first, last) + fmax(fmax(first, last), 0) +
                                                 scale * w->sd * normal(state)
                                           : NAN;
        }
    }
}

TEST(random_worlds)
{
    const double ten = log(0.9), five = log(0.95), half = log(0.5);
    const struct world worlds[] = {
        {"8, none is slow", 8, 7, {0, 0}, 0.03, 0, LEVEL_MOST, 0},
        {"5, none is slow", 5, 4, {0, 0}, 0.03, 0, LEVEL_MOST, 0},
        {"32 with 3 others each, none is slow", 32, 3, {0, 0}, 0.03, 0, LEVEL_MOST, 0},
        {"8, some pairs are wild", 8, 7, {0, 0}, 0.03, 0.1, LEVEL_MOST, 0},
        {"8, one is half as fast", 8, 7, {half, 0}, 0.03, 0, LEVEL_MOST, WORLDS},
        {"8, two are slow", 8, 7, {half, ten}, 0.01, 0, LEVEL_MOST, 0},
        {"32 with 3 others each, two are slow", 32, 3, {half, half}, 0.03, 0, LEVEL_MOST, WORLDS},
        {"8, one is twice as fast", 8, 7, {-half, 0}, 0.03, 0, LEVEL_MOST, 0},
        {"8, 10% of 2%", 8, 7, {ten, 0}, 0.02, 0, LEVEL_MOST, 999},
        {"8, 10% of 3%", 8, 7, {ten, 0}, 0.03, 0, LEVEL_MOST, 990},
        {"8, 10% of 5%", 8, 7, {ten, 0}, 0.05, 0, LEVEL_MOST, 700},
        {"8, 5% of 2%", 8, 7, {five, 0}, 0.02, 0, LEVEL_MOST, 900},
        {"5, 10% of 2%", 5, 4, {ten, 0}, 0.02, 0, LEVEL_MOST, 700},
        {"32 with 6 others each, 10% of 3%", 32, 6, {ten, 0}, 0.03, 0, LEVEL_MOST, 900},
    };
    for (size_t k = 0; k < N_ROWS(worlds); k++) {
        const struct world *w = &worlds[k];
        uint64_t state = 38 + k;
        unsigned n_false = 0, n_found = 0;
        for (unsigned i = 0; i < WORLDS; i++) {
            double values[N_MAX * N_MAX];
            struct pair_effect effects[N_MAX] = {0};
            draw(w, &state, values);
            assert_true(pairs_fit(values, w->n, effects));
            bool is_false = false, is_found = true;
            for (size_t j = 0; j < w->n; j++) {
                const double slow = j == 0 ? w->slow[0] : j == w->n - 1 ? w->slow[1] : 0;
                const bool is_named = effects[j].p <= 0.05;
                is_false |= slow >= 0 && is_named;
                is_found &= slow >= 0 || is_named;
            }
            n_false += is_false;
            n_found += is_found;
        }
        print_message("# %s: %u false, %u found\n", w->name, n_false, n_found);
        assert_true(n_false <= w->most_false);
        assert_true(n_found >= w->least_found);
    }
}

/* By a program that solves for a mean and deviations from it, and integrates the density of t. */
TEST(as_computed_elsewhere)
{
    const double x[5][5] = {
        {0, 100, 101.5, 99, 92}, {0, 0, 100.8, 101.1, 91}, {0, 0, 0, 98.7, 90.5}};
    const double expected[5][3] = {
        {1.003842517074606, 0.9815591695506556, 1.0266317409555572},
        {1.0048940110435933, 0.982587322402753, 1.0277071059312624},
        {1, 0.977801948866553, 1.0227019910925506},
        {0.9912600210452579, 0.967712212801732, 1.0153808294697657},
        {0.9073587315352812, 0.8858040345186987, 0.9294379293955848},
    };
    double values[25];
    struct pair_effect effects[5] = {0};
    for (size_t i = 0; i < 25; i++) {
        values[i] = x[i / 5][i % 5] > 0 ? log(x[i / 5][i % 5]) : NAN;
    }
    assert_true(pairs_fit(values, 5, effects));
    for (size_t i = 0; i < 5; i++) {
        assert_true(fabs(effects[i].ratio.value - expected[i][0]) < 1e-11);
        assert_true(fabs(effects[i].ratio.low - expected[i][1]) < 1e-11);
        assert_true(fabs(effects[i].ratio.high - expected[i][2]) < 1e-11);
        assert_true(fabs(effects[i].p - (i == 4   ? 5 * 0.000179247489913781
                                         : i == 3 ? 4 * 0.18401898147614507
                                                  : 1)) < 1e-9);
        assert_int_equal(effects[i].n_pairs, i < 3 ? 4 : 3);
    }
}

TEST(exact)
{
    double values[25];
    struct pair_effect effects[5] = {0};
    const struct world w = {"", 5, 4, {0, log(0.9)}, 0, 0, 0, 0};
    uint64_t state = 1;
    draw(&w, &state, values);
    assert_true(pairs_fit(values, 5, effects));
    for (size_t i = 0; i < 5; i++) {
        const double expected = i == 4 ? 0.9 : 1;
        assert_int_equal(effects[i].n_pairs, 4);
        assert_true(fabs(effects[i].ratio.value - expected) < 1e-12);
        assert_true(fabs(effects[i].ratio.low - expected) < 1e-9);
        assert_true(effects[i].p == (i == 4 ? 0 : 1) || effects[i].p < 1e-9);
    }
    assert_true(effects[0].p == 1);
}

TEST(unknown)
{
    double values[36];
    struct pair_effect effects[6] = {0};
    const struct {
        const char *name;
        size_t n;
        bool is_pair[6]; /* 01 02 03 12 13 23 */
    } rows[] = {
        {"no item", 0, {false}},
        {"three items have three pairs", 3, {true, true, true}},
        {"as many pairs as items", 4, {true, true, true, true, false, false}},
    };
    for (size_t k = 0; k < N_ROWS(rows); k++) {
        print_message("# %s\n", rows[k].name);
        const size_t n = rows[k].n;
        size_t at = 0;
        for (size_t i = 0; i < n; i++) {
            for (size_t j = i + 1; j < n; j++, at++) {
                values[i * n + j] = at < 6 && rows[k].is_pair[at] ? 0.1 * (double)at : NAN;
            }
        }
        assert_false(pairs_fit(values, n, effects));
    }
    /* Six items, of which three only meet the other three: nine pairs. */
    for (size_t i = 0; i < 6; i++) {
        for (size_t j = i + 1; j < 6; j++) {
            values[i * 6 + j] = i < 3 && j >= 3 ? (double)(i * j) : NAN;
        }
    }
    assert_false(pairs_fit(values, 6, effects));
}
