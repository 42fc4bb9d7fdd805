/* Tables over any axes, result/pivot.c and report/pivot_sheet.c: the whole of a published sheet of
 * 2017, as it was typed and as its source has it. */
#include "tests/test.h"
#include "result/catalogue.h"

#include <math.h>

#include "report_runs.h"
#include "sheet_forms.h"

#define KIND(id) (&figure_kinds[FIGURE_##id])

FREEP(pivot_free, struct pivot)

/* --- the TensorFlow benchmarks of 2017: 2 batch sizes, data sets, machines, models; 4 sizes --- */

static const char parameters[] =
    "  baseline: {kind: Point, where: {trainers: 1}}\n  repeats: {min: 1}\n"
    "  parameters:\n"
    "  - {name: dataset, targets: [{roles: [trainer], paths: [/spec/priorityClassName]}]}\n"
    "  - {name: machine, targets: [{roles: [trainer], paths: [/spec/schedulerName]}]}\n"
    "  - {name: model, targets: [{roles: [trainer], paths: [/spec/hostname]}]}\n";
static const char sweep[] =
    "{grid: {batch_size: [64, 32], dataset: [synth, real], machine: [dgx-1, "
    "gce], model: [inception3, resnet50], pservers: [1], trainers: [1, 2, 4, 8]}}";

/* Images a second, in the order of the points. */
static const double
    published[64] =
        {
            142,  284,  569, 1131, 219,  422,  852, 1734, /* batch 64, synthetic, DGX-1 */
            30.5, 57.8, 116, 227,  51.9, 99.0, 195, 387,  /* GCE */
            142,  278,  551, 1079, 218,  425,  853, 1630, /* real */
            30.6, 58.4, 115, 225,  51.2, 98.8, 194, 381,  128,  259,  520, 995,
            195,  368,  768, 1485, /* batch 32, synthetic */
            29.3, 55.0, 109, 216,  49.5, 95.4, 183, 362,  130,  257,  507, 966,
            193,  369,  760, 1410, 29.5, 55.4, 110, 216,  49.3, 95.3, 186, 359,
};
/* What was typed otherwise into the sheet: two digits swapped, three figures rounded. */
static const struct {
    size_t point;
    double typed;
} slips[] = {{2, 596}, {8, 30}, {9, 58}, {12, 52}};

static void make_sheet(struct fixture *f, bool as_typed)
{
    double x[64];
    memcpy(x, published, sizeof(x));
    for (size_t i = 0; as_typed && i < sizeof(slips) / sizeof(slips[0]); i++) {
        x[slips[i].point] = slips[i].typed;
    }
    fixture_init(f, sweep, parameters, 0);
    assert_int_equal(f->def->matrix.n_points, 64);
    for (uint32_t p = 0; p < 64; p++) {
        fixture_throughput(f, p, 0, x[p]);
    }
    fixture_build(f, RUN_SUCCEEDED);
}

static struct pivot *make(const struct fixture *f, const struct pivot_params *params)
{
    struct pivot *p = NULL;
    const char *fix = NULL;
    struct err err = {0};
    if (pivot_new(f->result, params, &p, &fix, &err) < 0) {
        fail_msg("%s", err.msg);
    }
    return p;
}

static struct pivot_summary row_of(const struct pivot *p, size_t i)
{
    return pivot_summarise(p, i * p->columns.heads.len, p->columns.heads.len);
}

static struct pivot_summary whole_of(const struct pivot *p)
{
    return pivot_summarise(p, 0, p->rows.heads.len * p->columns.heads.len);
}

static void assert_rounds_to(double expected, double actual)
{
    if (fabs(expected - actual) > 0.005 + 1e-9) {
        fail_msg("expected %.2f, got %.4f", expected, actual);
    }
}

/* Efficiency by GPUs over 16 columns; its last column is the median. */
TEST(medians_of_the_sheet)
{
    static const double medians[2][3] = {{96.36, 96.04, 93.03}, {96.42, 96.84, 93.02}};
    static const double geomeans[] = {96.51, 96.15, 93.77};
    const struct pivot_params params = {.rows = "trainers",
                                        .columns = "batch_size,dataset,model,machine",
                                        .figure = KIND(EFFICIENCY)};
    for (int typed = 0; typed < 2; typed++) {
        _cleanup_(fixture_done) struct fixture f;
        make_sheet(&f, typed == 1);
        _cleanup_(pivot_freep) struct pivot *p = make(&f, &params);
        assert_int_equal(p->rows.heads.len, 4);
        assert_int_equal(p->columns.heads.len, 16);
        assert_rounds_to(100, 100 * row_of(p, 0).median);
        for (size_t i = 0; i < 3; i++) {
            assert_int_equal(row_of(p, i + 1).n, 16);
            assert_rounds_to(medians[typed][i], 100 * row_of(p, i + 1).median);
            if (typed == 0) {
                assert_rounds_to(geomeans[i], 100 * row_of(p, i + 1).geomean);
            }
        }
        /* From the left, as the sheet has them: inception3 on DGX-1 at 4 GPUs. */
        assert_rounds_to(typed ? 104.93 : 100.18, 100 * p->cells[2 * 16].value);
    }
}

/* The sheet's blocks of ratios, with the medians that it prints: of each
 * number of GPUs, or of all. */
TEST(ratios_of_the_sheet)
{
    static const struct {
        const char *ratio;
        const struct figure_kind *figure;
        double first, medians[4], all; /* all 0: not printed */
    } rows[] = {
        {"machine=dgx-1/gce", KIND(THROUGHPUT), 4.73, {0}, 4.40},
        {"model=resnet50/inception3", KIND(THROUGHPUT), 1.54, {0}, 1.61},
        {"dataset=synth/real", KIND(THROUGHPUT), 1.00, {1.00, 1.00, 1.01, 1.02}, 0},
        {"batch_size=64/32", KIND(SPEEDUP), 1.00, {1.00, 1.01, 1.01, 1.02}, 0},
    };
    _cleanup_(fixture_done) struct fixture f;
    make_sheet(&f, true);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        _cleanup_(pivot_freep) struct pivot *p =
            make(&f, &(struct pivot_params){
                         .rows = "trainers", .figure = rows[i].figure, .ratio = rows[i].ratio});
        assert_true(p->has_summaries);
        assert_int_equal(whole_of(p).n, 32);
        assert_rounds_to(rows[i].first, p->cells[0].value);
        for (size_t k = 0; k < 4 && rows[i].all == 0; k++) {
            assert_rounds_to(rows[i].medians[k], row_of(p, k).median);
        }
        assert_rounds_to(rows[i].all == 0 ? whole_of(p).median : rows[i].all, whole_of(p).median);
    }
}

/* A system beside another at equal points; what only one has stays empty. */
TEST(any_system_beside_any_other)
{
    _cleanup_(fixture_done) struct fixture f;
    report_run_find("acceleration")->make(&f);
    struct pivot *p = make(&f, &(struct pivot_params){.ratio = "system=fluid/v2"});
    assert_int_equal(p->rows.axes.len, 0);
    assert_int_equal(p->columns.axes.len, 1);
    assert_string_equal(p->columns.axes.items[0], "trainers");
    assert_int_equal(whole_of(p).n, 4);
    assert_true(fabs(p->cells[0].value - 263.29 / 326.85) < 1e-9);
    assert_false(p->cells[0].has_interval);
    pivot_free(p);
}

/* A parameter may be called as the axis of systems is: its points stay apart. */
TEST(a_parameter_called_system)
{
    _cleanup_(fixture_done) struct fixture f;
    fixture_init(&f, "{grid: {pservers: [1], system: [a, b], trainers: [1, 2]}}",
                 "  baseline: {kind: Point, where: {trainers: 1}}\n  repeats: {min: 1}\n"
                 "  parameters:\n"
                 "  - {name: system, targets: [{roles: [trainer], paths: [/spec/hostname]}]}\n",
                 0);
    for (uint32_t p = 0; p < 4; p++) {
        fixture_throughput(&f, p, 0, 40 + p);
    }
    fixture_build(&f, RUN_SUCCEEDED);
    _cleanup_(pivot_freep) struct pivot *p = make(&f, &(struct pivot_params){0});
    assert_int_equal(p->rows.heads.len * p->columns.heads.len, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_true(fabs(p->cells[i].value - 40 - (double)i) < 1e-6);
    }
}

/* ---- figures ---- */

static double first_cell(const struct fixture *f, const struct figure_kind *figure,
                         const char *price)
{
    struct pivot_params params = {.figure = figure};
    if (price != NULL) {
        assert_int_equal(pivot_price_parse(price, &params.price), 0);
    }
    _cleanup_(pivot_freep) struct pivot *p = make(f, &params);
    const double value = p->cells[p->columns.heads.len - 1].value; /* the most trainers of a row */
    if (figure != KIND(EXCHANGE_SHARE)) {
        assert_true(p->cells[0].has_interval);
        assert_true(p->cells[0].low <= p->cells[0].value && p->cells[0].value <= p->cells[0].high);
    }
    return value;
}

/* 8 trainers, 1 server: S = 301.5 / 100.4, nearly; one of 9 pods is 1 CPU. */
TEST(figures_by_hand)
{
    _cleanup_(fixture_done) struct fixture f;
    report_run_find("scaling")->make(&f);
    const double x = first_cell(&f, KIND(THROUGHPUT), NULL);
    const double s = first_cell(&f, KIND(SPEEDUP), NULL);
    assert_true(fabs(x - f.result->points[3].throughput.estimate.value) < 1e-9);
    assert_true(fabs(first_cell(&f, figure_find("price-index"), NULL) - 8 / (s * s)) < 1e-9);
    assert_true(fabs(first_cell(&f, KIND(EFFICIENCY), NULL) - s / 8) < 1e-9);
    assert_true(fabs(first_cell(&f, KIND(EFFICIENCY_PER_POD), NULL) - s / 9) < 1e-9);
    assert_true(fabs(first_cell(&f, KIND(EFFICIENCY_PER_CPU), NULL) - s / 9) < 1e-9);
    assert_true(fabs(first_cell(&f, KIND(COST), "0.05/cpu-hour") - 0.05 * 9 / 3600 / x * 1e6) <
                1e-9);
    assert_true(fabs(first_cell(&f, KIND(COST), "0.2/pod-hour") - 0.2 * 9 / 3600 / x * 1e6) < 1e-9);
    const struct point_result *last = &f.result->points[3];
    const double step_ms =
        1e-6 * (double)last->trials[0].row->replicas.items[1].summary->duration_ns / 8;
    assert_true(fabs(first_cell(&f, KIND(EXCHANGE_SHARE), NULL) - 240 / step_ms) < 0.05);
}

/* Of one point in three not all trials reached it; 4 trainers take 61.7 s, one 215.0 s. */
TEST(times_by_hand)
{
    _cleanup_(fixture_done) struct fixture f;
    report_run_find("accuracy")->make(&f);
    assert_true(first_cell(&f, KIND(TIME_TO_ACCURACY), NULL) == 61.7);
    struct pivot *p =
        make(&f, &(struct pivot_params){.figure = KIND(TIME_TO_ACCURACY), .ratio = "trainers=1/4"});
    assert_true(fabs(p->cells[0].value - 215 / 61.7) < 1e-9);
    assert_true(p->cells[0].has_interval); /* times of two points are independent */
    pivot_free(p);
    const double cost = 0.2 * 4 / 3600 * 61.7;
    assert_true(fabs(first_cell(&f, KIND(TIME_COST), "0.2/pod-hour") - cost) < 1e-12);
    assert_true(fabs(first_cell(&f, KIND(TIME_COST), "0.2/cpu-hour") - cost) < 1e-12);
    p = make(&f, &(struct pivot_params){.figure = KIND(TIME_SPEEDUP)});
    assert_true(p->cells[0].value == 1 && !p->cells[0].has_interval && !p->cells[1].known);
    assert_true(fabs(p->cells[2].value - 215 / 61.7) < 1e-9 && p->cells[2].has_interval);
    _cleanup_(buf_done) struct buf text = BUF_INIT;
    sheet_as(sheet_pivot, p, &text, SHEET_TEXT, .columns = 100);
    golden_check("tests/report/golden/pivot-time.txt", buf_cstr(&text));
    pivot_free(p);
    p = make(&f, &(struct pivot_params){.figure = KIND(TIME_EFFICIENCY)});
    assert_true(fabs(p->cells[2].value - 215 / 61.7 / 4) < 1e-9 && p->cells[2].has_interval);
    pivot_free(p);
}

/* Cells without a number say why, and what has one. */
TEST(cpus_that_are_not_known)
{
    static const struct {
        const struct figure_kind *figure;
        const char *price, *text; /* NULL: nothing is said */
    } rows[] = {
        {KIND(COST), "0.05/cpu-hour",
         "The CPUs of 8 of 8 points are unknown: the threads of a rehearsal share them. The pods "
         "are known: use --price AMOUNT/pod-hour."},
        {KIND(EFFICIENCY_PER_CPU), NULL,
         "The CPUs of 8 of 8 points are unknown: the threads of a rehearsal share them. The pods "
         "are known: use --cells efficiency-per-pod."},
        {KIND(COST), "0.2/pod-hour", NULL},
        {KIND(EFFICIENCY), NULL, NULL},
    };
    _cleanup_(fixture_done) struct fixture f;
    report_run_find("scaling")->make(&f);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        for (int known = 0; known < 2; known++) {
            f.def->rehearsal = known == 0;
            fixture_build(&f, RUN_SUCCEEDED);
            struct pivot_params params = {.figure = rows[i].figure};
            if (rows[i].price != NULL) {
                assert_int_equal(pivot_price_parse(rows[i].price, &params.price), 0);
            }
            _cleanup_(pivot_freep) struct pivot *p = make(&f, &params);
            _cleanup_(buf_done) struct buf text = BUF_INIT, markdown = BUF_INIT;
            sheet_as(sheet_pivot, p, &text, SHEET_TEXT, .columns = 200);
            sheet_as(sheet_pivot, p, &markdown, SHEET_MARKDOWN);
            const char *expected = known != 0 || rows[i].text == NULL ? NULL : rows[i].text;
            const char *in_text = strstr(buf_cstr(&text), "The CPUs of");
            const char *in_markdown = strstr(buf_cstr(&markdown), "- The CPUs of");
            assert_int_equal(in_text != NULL, expected != NULL);
            assert_int_equal(in_markdown != NULL, expected != NULL);
            assert_true(expected == NULL ||
                        (strncmp(in_text, expected, strlen(expected)) == 0 &&
                         strncmp(in_markdown + 2, expected, strlen(expected)) == 0));
        }
    }
}

TEST(prices)
{
    static const char *const wrong[] = {
        "",       "5",           "0/cpu-hour",  "-1/cpu-hour",  "x/cpu-hour",
        "1/hour", "1/cpu-hours", "1 /pod-hour", "1e13/gpu-hour"};
    struct pivot_price price;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_int_equal(pivot_price_parse(wrong[i], &price), -EINVAL);
    }
    assert_int_equal(pivot_price_parse("0.2092/pod-hour", &price), 0);
    assert_true(price.unit == PIVOT_POD_HOUR && price.amount == 0.2092);
}

/* ---- wrong questions ---- */

TEST(what_is_refused)
{
    static const struct {
        struct pivot_params params;
        const char *text;
    } rows[] = {
        {{.rows = "gpus"}, " has no axis 'gpus'; it has system, batch_size, pservers, trainers"},
        {{.columns = "trainers,"}, " has no axis ''"},
        {{.rows = "trainers", .columns = "system,trainers"}, "the axis 'trainers' is named twice"},
        {{.ratio = "system"}, "the ratio 'system' is not AXIS=A/B"},
        {{.ratio = "sys=a/b"}, " has no axis 'sys'"},
        {{.ratio = "system=fluid/x"},
         "'fluid/x' does not name two values of system with a slash between them; it has "
         "fluid, v2"},
        {{.ratio = "system=fluid/fluid"}, "'fluid/fluid' does not name two values of system"},
        {{.ratio = "system=fluid"}, "'fluid' does not name two values of system"},
        {{.ratio = "system=fluid/v2", .rows = "system"}, "the axis 'system' is named twice"},
        {{.figure = KIND(COST)}, "a cost needs a price"},
        {{.figure = KIND(COST), .price = {PIVOT_GPU_HOUR, 3}},
         "a price in /gpu-hour needs devices, and no pod has any"},
        {{.figure = KIND(TIME_TO_ACCURACY)},
         "the definition of this run names neither an accuracy nor a loss to reach"},
    };
    _cleanup_(fixture_done) struct fixture f;
    report_run_find("acceleration")->make(&f);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct pivot *p = NULL;
        const char *fix = NULL;
        struct err err = {0};
        assert_int_equal(pivot_new(f.result, &rows[i].params, &p, &fix, &err), -EINVAL);
        assert_non_null(fix);
        if (strstr(err.msg, rows[i].text) == NULL) {
            fail_msg("expected '%s', got '%s'", rows[i].text, err.msg);
        }
    }
}

/* ---- forms ---- */

TEST(heads_of_two_axes)
{
    _cleanup_(fixture_done) struct fixture f;
    make_sheet(&f, false);
    _cleanup_(pivot_freep) struct pivot *p =
        make(&f, &(struct pivot_params){
                     .rows = "trainers", .columns = "machine,model", .ratio = "batch_size=64/32"});
    _cleanup_(buf_done) struct buf text = BUF_INIT;
    sheet_as(sheet_pivot, p, &text, SHEET_TEXT, .columns = 80);
    golden_check("tests/report/golden/pivot.txt", buf_cstr(&text));
}

/* 8 columns stand in blocks in 60 columns, each with the heads of its rows; wide, in one
 * table with intervals. */
TEST(narrow_and_wide)
{
    struct fixture f;
    make_sheet(&f, false);
    struct pivot *p =
        make(&f, &(struct pivot_params){.rows = "trainers", .ratio = "batch_size=64/32"});
    struct buf text = BUF_INIT;
    sheet_as(sheet_pivot, p, &text, SHEET_TEXT, .columns = 60);
    golden_check("tests/report/golden/pivot-60.txt", buf_cstr(&text));
    for (const char *line = buf_cstr(&text); *line != '\0'; line += strcspn(line, "\n") + 1) {
        assert_true(strcspn(line, "\n") <= 60);
    }
    pivot_free(p);
    fixture_done(&f);
    report_run_find("scaling")->make(&f);
    p = make(&f, &(struct pivot_params){.figure = KIND(EFFICIENCY)});
    buf_clear(&text);
    sheet_as(sheet_pivot, p, &text, SHEET_TEXT, .columns = 60, .wide = true);
    golden_check("tests/report/golden/pivot-wide.txt", buf_cstr(&text));
    buf_clear(&text);
    sheet_as(sheet_points, f.result, &text, SHEET_TEXT, .columns = 60, .wide = true);
    assert_non_null(strstr(buf_cstr(&text), "EFF/CPU")); /* all columns, whatever the width */
    buf_done(&text);
    pivot_free(p);
    fixture_done(&f);
}
