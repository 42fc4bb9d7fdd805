#include "tests/test.h"

#include "base/vec_walk.h"
#include "result/company_check.h"
#include "result/result_json.h"
#include "result_fixture.h"

#define MORE "  baseline: {kind: Point, where: {trainers: 1}}\n  repeats: {min: 1}\n"

/* Pairs of trials of point 1, alone (0, 3, 4) and in company (1, 2, 5): each in its own second, and
 * in that of one in company a trial of another point, of another lane. */
TEST(lanes_are_independent_if_the_company_check_shows_it)
{
#define NOT_SHOWN                                                                                  \
    "parallel, not shown independent: up to 2 trials ran at a time, on nodes of their own but "    \
    "with one network; "
#define COMPARE "; compare its numbers only with runs of as many"
    /* clang-format off */
    static const struct {
        const char *name;
        double x[6]; /* 0: the trial has failed */
        int64_t others_ms, late_ms, most;
        const char *message;
    } rows[] = {
        {"the same", {100, 99, 101, 101, 99, 100}, 1000, 0, 6, NULL},
        {"slower",
         {100, 93, 94, 100, 100, 94},
         1000,
         0,
         6,
         NOT_SHOWN "in company, point 1 has 93.7% of its throughput alone (95%: 92.2..95.1%; 3 "
                   "pairs of trials, 1.0 other trials at a time)" COMPARE},
        {"too wide",
         {100, 97, 104, 100, 100, 100},
         1000,
         0,
         6,
         NOT_SHOWN "in company, point 1 has 100.3% of its throughput alone (95%: 92.0..109.4%; 3 "
                   "pairs of trials, 1.0 other trials at a time)" COMPARE},
        {"no company", {100, 99, 101, 101, 99, 100}, 499, 0, 6,
         NOT_SHOWN "the company check of point 1 has 0 pairs of trials, and needs 3" COMPARE},
        {"one alone had company", {100, 99, 101, 101, 99, 100}, 1000, 100, 6,
         NOT_SHOWN "the company check of point 1 has 2 pairs of trials, and needs 3" COMPARE},
        {"one has failed", {100, 99, 101, 101, 99, 0}, 1000, 0, 6,
         NOT_SHOWN "the company check of point 1 has 2 pairs of trials, and needs 3" COMPARE},
        {"three of four pairs",
         {100, 99, 101, 101, 99, 100},
         1000,
         0,
         8,
         NOT_SHOWN "in company, point 1 has 100.0% of its throughput alone (95%: 97.5..102.5%; 3 "
                   "pairs of trials, 1.0 other trials at a time)" COMPARE},
    };
    /* clang-format on */
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s'\n", rows[i].name);
        _cleanup_(fixture_done) struct fixture f;
        fixture_init(&f, "{grid: {pservers: [1], trainers: [1, 2, 4, 8]}}", MORE, 0);
        f.def->scheduling = (struct scheduling){.trials = 2, .check = (uint32_t)rows[i].most / 2};
        run_def_schedule(f.def);
        static const uint32_t company[] = {1, 0, 2, 5}; /* trial of point 1 with point p */
        for (uint32_t p = 0; p < 4; p++) {
            for (uint32_t t = 0; t < (p == 1 ? 6 : 1); t++) {
                const double x = p == 1 ? rows[i].x[t] : 100;
                struct attempt_row *row = x > 0 ? fixture_throughput(&f, p, t, x)
                                                : fixture_end(&f, p, t, 0, ATTEMPT_FAILED, "lost");
                const uint32_t second = p == 1 ? t : company[p];
                row->started_unix_ms = 1000 * second + (p == 1 ? 0 : rows[i].late_ms);
                row->ended_unix_ms = row->started_unix_ms + (p == 1 ? 1000 : rows[i].others_ms);
            }
        }
        const struct result *r = fixture_build(&f, RUN_SUCCEEDED);
        const struct warning *w = vec_find(&r->warnings, it, it->code == WARNING_PARALLEL);
        assert_string_equal(w == NULL ? "" : w->message, rows[i].message ?: "");
        json_auto_t *json = result_to_json(r);
        const json_t *of_check = json_object_get(json, "companyCheck");
        assert_int_equal(json_is_true(json_object_get(of_check, "independent")),
                         rows[i].message == NULL);
        assert_int_equal(json_integer_value(json_object_get(of_check, "point")), 1);
        assert_int_equal(result_lanes(r) == 1, rows[i].message == NULL);
    }
}
