/* See compare_fixture.h. */
#include "tests/test.h"
#include "compare_fixture.h"

const struct compare_params defaults = {.threshold_ratio = COMPARE_THRESHOLD_RATIO};
const double spread[8] = {1, 1.004, 0.997, 1.002, 0.999, 1.003, 0.996, 1.001};
const double usual[FIXTURE_HISTORY] = {1.004, 0.997, 1.002, 0.999, 1.003};
static const double steady[FIXTURE_HISTORY] = {1, 1, 1, 1, 1};

void rename_run(struct fixture *f, const char *name)
{
    free(f->def->name);
    f->def->name = xstrdup(name);
}

void make_run(struct fixture *f, const char *name, size_t n, const double x[4], size_t shift)
{
    _cleanup_(freep) char *more = xasprintf("%s  repeats: {min: %zu}\n", POINT_BASELINE, n);
    fixture_init(f, GRID, more, 16);
    rename_run(f, name);
    for (uint32_t p = 0; p < 4; p++) {
        for (uint32_t t = 0; t < n && x[p] > 0; t++) {
            fixture_throughput(f, p, t, x[p] * spread[(t + p + shift) % N_ROWS(spread)]);
        }
    }
    fixture_build(f, RUN_SUCCEEDED);
}

struct comparison *compare_beside(const struct fixture *a, const struct fixture *b,
                                  const struct compare_params *params,
                                  const double factors[static FIXTURE_HISTORY])
{
    struct comparison *c = NULL;
    const char *fix = NULL;
    struct err err = {0};
    struct fixture_history history;
    fixture_history_init(&history, a->result, factors);
    struct compare_params all = *params;
    all.history = history.list;
    all.n_history = FIXTURE_HISTORY;
    const int r = comparison_new(a->result, b->result, &all, &c, &fix, &err);
    fixture_history_done(&history);
    if (r < 0) {
        fail_msg("refused: %s", err.msg);
    }
    return c;
}

struct comparison *compare_alone(const struct fixture *a, const struct fixture *b)
{
    struct comparison *c = NULL;
    const char *fix = NULL;
    assert_int_equal(comparison_new(a->result, b->result, &defaults, &c, &fix, NULL), 0);
    return c;
}

struct comparison *compare(const struct fixture *a, const struct fixture *b,
                           const struct compare_params *params)
{
    return compare_beside(a, b, params, steady);
}
