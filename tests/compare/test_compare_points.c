#include "tests/test.h"
#include "compare/compare_parts.h"

#include "compare_fixture.h"

static void add_trials(struct fixture *f)
{
    for (uint32_t p = 0; p < f->def->matrix.n_points; p++) {
        fixture_throughput(f, p, 0, 40 + 10.0 * p);
    }
    fixture_build(f, RUN_SUCCEEDED);
}

/* "0=1 2=0 -1 +2": point 0 of the base is 1 of the candidate, 1 is the base's alone, ... */
static char *matches_text(const struct comparison *c)
{
    struct buf text = BUF_INIT;
    vec_each (struct compared_point, p, &c->points) {
        buf_printf(&text, "%u=%u ", p->base->point->index, p->candidate->point->index);
    }
    vec_each (const struct point_result *, p, &c->only_base) {
        buf_printf(&text, "-%u ", (*p)->point->index);
    }
    vec_each (const struct point_result *, p, &c->only_candidate) {
        buf_printf(&text, "+%u ", (*p)->point->index);
    }
    return buf_take(&text);
}

#define SINGLE "  baseline: {kind: SingleNode}\n  repeats: {min: 1}\n"
#define CPU_PARAMETER                                                                              \
    "  parameters: [{name: cpu, targets: [{roles: [trainer], paths: [/metadata/labels/cpu]}]}]\n"
#define TWO_SYSTEMS(first, second)                                                                 \
    "  systems: [{name: " first ", profile: benchworker}, {name: " second                          \
    ", profile: benchworker}]\n"

TEST(points_are_matched_by_what_ran)
{
    static const struct {
        const char *name, *sweep_a, *more_a, *sweep_b, *more_b, *matches;
    } rows[] = {
        {"the same", "{grid: {pservers: [1], trainers: [2, 4]}}", SINGLE,
         "{grid: {pservers: [1], trainers: [2, 4]}}", SINGLE, "0=0 1=1 2=2 "},
        {"another order", "{grid: {pservers: [1], trainers: [2, 4]}}", SINGLE,
         "{grid: {pservers: [1], trainers: [4, 2]}}", SINGLE, "0=1 1=0 2=2 "},
        {"another kind of sweep", "{grid: {pservers: [1], trainers: [2, 4]}}", SINGLE,
         "{points: [{pservers: 3, trainers: 8}, {pservers: 1, trainers: 4}]}", SINGLE,
         "1=1 2=2 -0 +0 "},
        {"a batch size that is swept here and fixed there",
         "{grid: {pservers: [1], trainers: [2], batch_size: [8, 16]}}", SINGLE,
         "{grid: {pservers: [1], trainers: [2]}}", SINGLE, "1=0 3=1 -0 -2 "},
        {"other counts of servers", "{grid: {pservers: [1], trainers: [2]}}", SINGLE,
         "{grid: {pservers: [2], trainers: [2]}}", SINGLE, "1=1 -0 +0 "},
        {"a parameter with a value of its own", "{grid: {pservers: [1], trainers: [2], cpu: [1]}}",
         SINGLE CPU_PARAMETER, "{grid: {pservers: [1], trainers: [2], cpu: [2, 1]}}",
         SINGLE CPU_PARAMETER, "0=1 1=3 +0 +2 "},
        {"a parameter that one side lacks", "{grid: {pservers: [1], trainers: [2], cpu: [1]}}",
         SINGLE CPU_PARAMETER, "{points: [{pservers: 1, trainers: 2}]}", SINGLE, NULL},
        {"a parameter that the base lacks", "{points: [{pservers: 1, trainers: 2}]}", SINGLE,
         "{grid: {pservers: [1], trainers: [2], cpu: [1]}}", SINGLE CPU_PARAMETER, NULL},
        {"systems by name", "{grid: {pservers: [1], trainers: [2]}}", SINGLE TWO_SYSTEMS("a", "b"),
         "{grid: {pservers: [1], trainers: [2]}}", SINGLE TWO_SYSTEMS("b", "c"),
         "1=0 3=2 -0 -2 +1 +3 "},
        {"nothing in common", "{grid: {pservers: [1], trainers: [2]}}", SINGLE,
         "{grid: {pservers: [1], trainers: [2]}}", SINGLE TWO_SYSTEMS("b", "c"), NULL},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s'\n", rows[i].name);
        _cleanup_(fixture_done) struct fixture a, b;
        fixture_init(&a, rows[i].sweep_a, rows[i].more_a, 0);
        fixture_init(&b, rows[i].sweep_b, rows[i].more_b, 0);
        rename_run(&b, "demo-q2v8n");
        add_trials(&a);
        add_trials(&b);
        _cleanup_(comparison_freep) struct comparison *c = NULL;
        const char *fix = NULL;
        struct err err = {0};
        int r = comparison_new(a.result, b.result, &defaults, &c, &fix, &err);
        if (rows[i].matches == NULL) {
            assert_int_equal(r, -EINVAL);
            assert_non_null(strstr(err.msg, "run/demo-7k3fq and run/demo-q2v8n have no point in "
                                            "common"));
            assert_non_null(strstr(fix, "compare runs of one definition"));
            assert_non_null(strstr(fix, "compare RUN --axis NAME"));
        } else {
            assert_int_equal(r, 0);
            _cleanup_(freep) char *matches = matches_text(c);
            assert_string_equal(matches, rows[i].matches);
        }
    }
}
