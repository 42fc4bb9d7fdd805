/* What the lines under a comparison say of a machine that was busy. */
#include "tests/test.h"
#include "../result/result_fixture.h"
#include "compare/comparison.h"
#include "report/prose.h"

static void make_run(struct fixture *f, const char *name, double x, double share)
{
    static const double spread[] = {1, 1.004, 0.997, 1.002};
    fixture_init(f, "{grid: {pservers: [1], trainers: [1, 2]}}",
                 "  baseline: {kind: Point, where: {trainers: 1}}\n  repeats: {min: 4}\n", 16);
    free(f->def->name);
    free(f->def->uid);
    f->def->name = xstrdup(name);
    f->def->uid = xstrdup(name);
    for (uint32_t i = 0; i < 8; i++) {
        fixture_throughput(f, i / 4, i % 4, x * spread[i % 4]);
    }
    fixture_build(f, RUN_SUCCEEDED);
    for (uint32_t i = 0; i < 8; i++) {
        f->result->points[i / 4].trials[i % 4].others_share = share;
    }
}

static const char *line_of(const struct notes *lines, enum note_kind kind)
{
    const char *text = "";
    vec_each (const struct note, l, &lines->list) {
        text = l->kind == kind ? l->text : text;
    }
    return text;
}

TEST(says_why_and_what_to_do)
{
    static const struct {
        double x, share;
        const char *warning, *verdict;
    } rows[] = {
        {50, 0.5,
         "the change at 2 points may come from other programs on the machine: while threads waited "
         "for CPUs, "
         "others took 2% of the speed of the base's runs and 50% of the candidate's (where it "
         "differs most), which "
         "explains a ratio of 0.510; 0.972 remain and show no change; run it again on a quiet "
         "machine, or sweep both "
         "in one run and compare RUN --axis NAME",
         "demo-q2v8n compared with demo-7k3fq: of 2 points 2 MachineBusy."},
        {50, 0.02, "",
         "demo-q2v8n compared with demo-7k3fq: of 2 points 2 Slower by up to 50.4%, all points "
         "together slower by 50.4%."},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        _cleanup_(fixture_done) struct fixture a, b;
        make_run(&a, "demo-7k3fq", 100, 0.02);
        make_run(&b, "demo-q2v8n", rows[i].x, rows[i].share);
        static const double usual[FIXTURE_HISTORY] = {1.04, 0.97, 1.02, 0.99, 1.03};
        _cleanup_(fixture_history_done) struct fixture_history history;
        fixture_history_init(&history, a.result, usual);
        const struct compare_params params = {.threshold_ratio = COMPARE_THRESHOLD_RATIO,
                                              .history = history.list,
                                              .n_history = FIXTURE_HISTORY};
        struct comparison *c = NULL;
        const char *fix;
        struct err err;
        assert_int_equal(comparison_new(a.result, b.result, &params, &c, &fix, &err), 0);
        struct notes lines;
        prose_compare_init(&lines, c);
        assert_string_equal(line_of(&lines, NOTE_WARNING), rows[i].warning);
        assert_string_equal(line_of(&lines, NOTE_VERDICT), rows[i].verdict);
        notes_done(&lines);
        comparison_free(c);
    }
}

/* Trials that differ because the machine was busy, and no builds that do. */
TEST(one_run_says_why_it_shows_little)
{
    const struct compare_axis_params params = {
        .axis = "pservers", .threshold_ratio = 0.02, .margin = {0.05, true}};
    for (int is_busy = 0; is_busy < 2; is_busy++) {
        _cleanup_(fixture_done) struct fixture f;
        struct comparison *c = NULL;
        struct notes lines;
        const char *fix;
        fixture_init(&f, "{grid: {pservers: [1, 2], trainers: [1]}}", "  repeats: {min: 4}\n", 16);
        for (uint32_t i = 0; i < 8; i++) {
            fixture_throughput(&f, i / 4, i % 4, i == 1 || i == 6 ? 70 : 100);
        }
        fixture_build(&f, RUN_SUCCEEDED);
        for (uint32_t i = 0; i < 8; i++) {
            f.result->points[i / 4].trials[i % 4].others_share = is_busy ? 0.4 : 0.01;
        }
        assert_int_equal(comparison_new_axis(f.result, &params, &c, &fix, NULL), 0);
        prose_compare_init(&lines, c);
        assert_string_equal(line_of(&lines, NOTE_WARNING),
                            is_busy ? "other programs took 40% of the speed of these trials; on a "
                                      "quiet machine fewer repeats show more"
                                    : "--repeats 278 would likely give the answer");
        notes_done(&lines);
        comparison_free(c);
    }
}
