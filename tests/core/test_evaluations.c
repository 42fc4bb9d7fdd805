/* Evaluations: what is taken, how many are kept, and that a summary brings them back. */
#include "tests/test.h"
#include "core/evaluations.h"

#include <errno.h>
#include <math.h>

#include "base/splitmix.h"
#include "summary_fixture.h"

TEST(some_are_refused)
{
    static const struct {
        const char *name;
        double t_s, accuracy;
        bool is_taken;
        double loss;
    } rows[] = {
        {"at once", 0, 0, true, NAN},
        {"later", 1.5, 1, true, NAN},
        {"at the same time", 1.5, 0.5, true, NAN},
        {"before", 1.4, 0.5, false, NAN},
        {"no time", NAN, 0.5, false, 2.3},
        {"before training", -1, 0.5, false, NAN},
        {"never", INFINITY, 0.5, false, NAN},
        {"after 100 days", 8640001, 0.5, false, NAN},
        {"no accuracy", 2, NAN, false, NAN},
        {"a percentage", 2, 76.3, false, NAN},
        {"negative", 2, -0.1, false, NAN},
        {"a loss alone", 2, NAN, true, 2.3},
        {"both", 3, 0.5, true, 0.7},
        {"a loss that is negative", 4, NAN, false, -0.1},
        {"a loss that has too many digits", 4, NAN, false, 1000},
        {"the highest loss", 4, NAN, true, 999.999999},
        {"the last", 8640000, 0.25, true, NAN},
    };
    struct evaluations e = {0};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s'\n", rows[i].name);
        const struct evaluations before = e;
        assert_int_equal(evaluations_add(&e, rows[i].t_s, rows[i].accuracy, rows[i].loss),
                         rows[i].is_taken);
        assert_int_equal(e.n, before.n + (rows[i].is_taken ? 1 : 0));
        if (!rows[i].is_taken) {
            assert_memory_equal(&e, &before, sizeof(e));
        }
    }
    assert_int_equal(e.end_ms, EVALUATION_MAX_MS);
}

/* A goal of 0.72 is not met by 0.7199996, nor one of 5.6 by 5.6000004. */
TEST(what_is_short_of_a_goal_stays_so)
{
    for (uint32_t ppm = 0; ppm < EVALUATION_PPM; ppm += 7) {
        const double value = (double)ppm / EVALUATION_PPM;
        struct evaluations e = {0};
        assert_true(evaluations_add(&e, 1, value, 5 * value));
        assert_int_equal(e.list[0].accuracy_ppm, ppm);
        assert_int_equal(e.list[0].loss_ppm, 5 * ppm);
    }
    struct evaluations e = {0};
    assert_true(evaluations_add(&e, 1, 0.7199996, 5.6000004));
    assert_int_equal(e.list[0].accuracy_ppm, 719999);
    assert_int_equal(e.list[0].loss_ppm, 5600001);
}

TEST(training_goes_on)
{
    struct evaluations e = {0};
    evaluations_extend(&e, 7);
    assert_int_equal(e.end_ms, 7000);
    assert_true(evaluations_add(&e, 5, 0.5, NAN)); /* another process is ahead */
    assert_int_equal(e.end_ms, 7000);
    evaluations_extend(&e, 6);
    evaluations_extend(&e, NAN);
    evaluations_extend(&e, 1e300);
    assert_int_equal(e.end_ms, 7000);
}

/* However many there are: the last one is kept, each is the last of its k, and none is made up. */
TEST(many_become_every_kth)
{
    for (uint32_t n = 1; n <= 1000; n++) {
        struct evaluations e = {0};
        for (uint32_t i = 1; i <= n; i++) {
            assert_true(evaluations_add(&e, i, (double)(i % 1000) / 1000, NAN));
        }
        assert_true(e.n >= 1 && e.n <= EVALUATIONS_MAX && (e.k & (e.k - 1)) == 0);
        assert_true(n > EVALUATIONS_MAX || (e.k == 1 && e.n == n));
        assert_true(n <= EVALUATIONS_MAX || e.n > EVALUATIONS_MAX / 2);
        for (uint32_t i = 0; i < e.n; i++) {
            const uint32_t number = i + 1 < e.n ? (i + 1) * e.k : n;
            assert_int_equal(e.list[i].t_ms, number * 1000);
            assert_int_equal(e.list[i].accuracy_ppm, number % 1000 * 1000);
        }
    }
}

/* Losses and accuracies come in turn; whoever is left out gives what it knew to the next. */
TEST(neither_is_lost)
{
    struct evaluations e = {0};
    for (uint32_t i = 1; i <= 300; i++) {
        assert_true(evaluations_add(&e, i, i % 2 == 0 ? 0.001 * i : NAN, i % 2 == 0 ? NAN : i));
    }
    assert_int_equal(e.k, 8);
    for (uint32_t i = 0; i < e.n; i++) {
        const double t_s = (double)e.list[i].t_ms / 1e3;
        assert_true(evaluation_value(&e.list[i], GOAL_LOSS) == t_s - 1);
        assert_int_equal(e.list[i].accuracy_ppm, 1000 * t_s);
    }
}

/* ---- in a summary ---- */

static const struct record_who who = {ROLE_TRAINER, 0, 0};

TEST(a_summary_brings_them_back)
{
    uint64_t seed = 11;
    int64_t step_ns[2000];
    for (size_t i = 0; i < N_ROWS(step_ns); i++) {
        step_ns[i] = INT64_MAX;
    }
    for (int round = 0; round < 200; round++) {
        struct evaluations e = {0};
        double t_s = 0;
        for (uint32_t i = splitmix_next(&seed) % 300 + 1; i > 0; i--) {
            t_s += (double)(splitmix_next(&seed) % 20000000) / 1e3;
            const uint64_t what =
                round % 2 == 0 ? 0 : splitmix_next(&seed) % 3; /* 1: a loss alone */
            const double accuracy = (double)(splitmix_next(&seed) % 1000001) / 1e6;
            const double loss = (double)(splitmix_next(&seed) % 1000000000) / 1e6;
            assert_true(
                evaluations_add(&e, t_s, what == 1 ? NAN : accuracy, what == 0 ? NAN : loss));
        }
        const struct summary s = {.samples = 1, .duration_ns = 1, .evaluations = &e};
        _cleanup_(buf_done) struct buf line = BUF_INIT;
        write_summary(&line, &who, &s, step_ns, N_ROWS(step_ns));
        assert_true(line.len <= SUMMARY_MAX_BYTES);
        _cleanup_(record_done) struct record r;
        assert_int_equal(record_read(line.data, line.len, &r, NULL), 1);
        const struct evaluations *back = r.summary.evaluations;
        assert_int_equal(back->n, e.n);
        assert_int_equal(back->k, e.k);
        assert_int_equal(back->end_ms, e.end_ms);
        assert_memory_equal(back->list, e.list, e.n * sizeof(e.list[0]));
        bool has_loss = false;
        for (uint32_t i = 0; i < e.n; i++) {
            has_loss = has_loss || e.list[i].loss_ppm != EVALUATION_UNKNOWN;
        }
        assert_int_equal(r.summary.series.n,
                         has_loss ? SUMMARY_MAX_SERIES_LOSSES : SUMMARY_MAX_SERIES_EVALUATED);
    }
}

TEST(damaged_ones_are_refused)
{
    static const struct {
        const char *evaluations, *why; /* NULL: they are fine */
    } rows[] = {
        {"{\"k\":1,\"end_ms\":9,\"t_ms\":[5,9],\"accuracy_ppm\":[0,1000000]}", NULL},
        {"{\"k\":1,\"end_ms\":9,\"t_ms\":[5,4],\"accuracy_ppm\":[1,2]}", "'t_ms': entry 1"},
        {"{\"k\":1,\"end_ms\":9,\"t_ms\":[10],\"accuracy_ppm\":[1]}", "'t_ms': entry 0"},
        {"{\"k\":1,\"end_ms\":9,\"t_ms\":[-1],\"accuracy_ppm\":[1]}", "'t_ms': entry 0"},
        {"{\"k\":1,\"end_ms\":9,\"t_ms\":[1.5],\"accuracy_ppm\":[1]}", "'t_ms': entry 0"},
        {"{\"k\":1,\"end_ms\":9,\"t_ms\":[5],\"accuracy_ppm\":[1000001]}",
         "'accuracy_ppm': entry 0"},
        {"{\"k\":1,\"end_ms\":9,\"t_ms\":[5],\"accuracy_ppm\":[-1]}", "'accuracy_ppm': entry 0"},
        {"{\"k\":1,\"end_ms\":9,\"t_ms\":[5],\"accuracy_ppm\":[null]}",
         "entry 0 has neither an accuracy nor a loss"},
        {"{\"k\":1,\"end_ms\":9,\"t_ms\":[5,6],\"accuracy_ppm\":[null,7],\"loss_ppm\":[8,null]}",
         NULL},
        {"{\"k\":1,\"end_ms\":9,\"t_ms\":[5],\"accuracy_ppm\":[1],\"loss_ppm\":[1000000001]}",
         "'loss_ppm': entry 0"},
        {"{\"k\":1,\"end_ms\":9,\"t_ms\":[5],\"accuracy_ppm\":[1],\"loss_ppm\":[1.5]}",
         "'loss_ppm': entry 0"},
        {"{\"k\":1,\"end_ms\":9,\"t_ms\":[5],\"accuracy_ppm\":[1],\"loss_ppm\":[1,2]}",
         "are not lists of the same"},
        {"{\"k\":1,\"end_ms\":9,\"t_ms\":[5],\"accuracy_ppm\":[1,2]}", "are not lists of the same"},
        {"{\"k\":1,\"end_ms\":9,\"t_ms\":[],\"accuracy_ppm\":[]}", "are not lists of the same"},
        {"{\"k\":0,\"end_ms\":9,\"t_ms\":[5],\"accuracy_ppm\":[1]}", "'k' is 0"},
        {"{\"k\":1,\"end_ms\":9,\"t_ms\":5,\"accuracy_ppm\":5}", "are not lists of the same"},
        {"{\"k\":1,\"t_ms\":[5],\"accuracy_ppm\":[1]}", "'end_ms' is missing"},
        {"{\"k\":1,\"end_ms\":8640000001,\"t_ms\":[5],\"accuracy_ppm\":[1]}", "'end_ms' is"},
        {"[]", "'evaluations' is not an object"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s'\n", rows[i].evaluations);
        _cleanup_(freep) char *line =
            xasprintf("{\"benchd\":1,\"type\":\"summary\",\"role\":\"trainer\",\"index\":0,"
                      "\"attempt\":0,\"samples\":1,\"duration_ns\":1,\"steps\":1,"
                      "\"evaluations\":%s}",
                      rows[i].evaluations);
        struct record r;
        struct err err = {0};
        const int result = record_read(line, strlen(line), &r, &err);
        if (rows[i].why == NULL) {
            assert_int_equal(result, 1);
            record_done(&r);
        } else {
            assert_int_equal(result, -EPROTO);
            assert_non_null(strstr(err.msg, rows[i].why));
        }
    }
}
