/* Published figures: whole outputs in golden/, and what may not be compared with a run. */
#include "tests/test.h"

#include "../golden.h"
#include "base/str.h"
#include "reference/reference.h"
#include "report/reference_parts.h"
#include "report_runs.h"
#include "result/number.h"
#include "result/pivot.h"
#include "sheet_as.h"

FREEP(reference_free, struct reference)

static struct reference *load(const char *text)
{
    struct reference *r = NULL;
    struct diags diags = {0};
    if (reference_load(text, strlen(text), &r, &diags) < 0) {
        struct buf out = BUF_INIT;
        diags_format(&diags, "f", text, &out);
        fail_msg("%s", buf_cstr(&out));
    }
    return r;
}

TEST(a_set_on_a_terminal)
{
    struct reference *r = reference_shipped_load("fleetx-ps-2020");
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    sheet_as(sheet_reference, r, &out, SHEET_TEXT, .columns = 80);
    golden_check("tests/report/golden/reference.txt", buf_cstr(&out));
    reference_free(r);
}

/* No line of any set is wider than the terminal: tables turn, and numbers do not break. */
TEST(every_set_fits_a_terminal)
{
    for (size_t i = 0; i < reference_shipped_count; i++) {
        struct reference *r = reference_shipped_load(reference_shipped[i].name);
        _cleanup_(buf_done) struct buf out = BUF_INIT;
        sheet_as(sheet_reference, r, &out, SHEET_TEXT, .columns = 80);
        for (const char *line = buf_cstr(&out); *line != '\0';) {
            const size_t len = strcspn(line, "\n");
            if (len > 80) {
                fail_msg("%s: %zu characters: %.*s", r->name, len, (int)len, line);
            }
            line += len + (line[len] != '\0');
        }
        reference_free(r);
    }
}

/* What the errata name is marked where it is printed. */
TEST(every_erratum_has_a_mark)
{
    for (size_t i = 0; i < reference_shipped_count; i++) {
        struct reference *r = reference_shipped_load(reference_shipped[i].name);
        vec_each (const struct reference_table, t, &r->tables) {
            vec_each (const struct reference_erratum, e, &t->errata) {
                bool is_marked = false;
                for (size_t cell = 0; cell < t->rows.len * t->n_columns; cell++) {
                    const struct reference_row *row = &t->rows.items[cell / t->n_columns];
                    const size_t c = cell % t->n_columns;
                    is_marked |= reference_erratum_names(t, e, row, c) &&
                                 reference_layout_is_marked(t, e->figure, row, c);
                }
                if (!is_marked) {
                    fail_msg("%s, %s: no mark for: %s", r->name, t->name, e->what);
                }
            }
        }
        reference_free(r);
    }
}

TEST(the_run_of_the_same_points)
{
    _cleanup_(fixture_done) struct fixture f;
    report_run_find("acceleration")->make(&f);
    _cleanup_(reference_freep) struct reference *r =
        reference_shipped_load("paddle-vgg16-cpu-2018");
    const struct reference_beside b = {
        .reference = r, .asked = r->name, .result = f.result, .year = 2026};
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    sheet_as(sheet_beside, &b, &out, SHEET_TEXT, .columns = 80);
    golden_check("tests/report/golden/beside.txt", buf_cstr(&out));
}

/* In a page: tables that the keyboard reaches, sentences, and points as the rest of
 * the page names them. */
TEST(beside_a_run_in_its_page)
{
    struct reference *r = reference_shipped_load("paddle-vgg16-cpu-2018");
    _cleanup_(fixture_done) struct fixture f;
    report_run_find("acceleration")->make(&f);
    const struct reference_beside b = {
        .reference = r, .asked = "paddle-vgg16-cpu-2018", .result = f.result, .year = 2026};
    const struct run_page page = {
        .result = f.result, .beside = &b, .created = "now", .program = "benchctl 0.1.0"};
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    sheet_as(sheet_page, &page, &out, SHEET_HTML);
    static const char *const want[] = {
        "<h2>Beside ",
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=",
        "<th>POINT</th><th class=\"r\">THIS RUN</th><th class=\"r\">PUBLISHED</th><th>OF</th>",
        "<td>fluid, trainers 20</td>",
        "<p>Do not compare the throughputs: ",
        "benchctl results --reference paddle-vgg16-cpu-2018</p>\n</section>"};
    const char *at = buf_cstr(&out);
    for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
        at = strstr(at, want[i]);
        if (at == NULL) {
            fail_msg("the page does not say '%s', or in another order", want[i]);
        }
    }
    reference_free(r);
}

/* Builds and kernels make other machines of a run, and no other hardware. */
TEST(hardware_has_the_name_of_its_cpu)
{
    static const struct {
        const char *first, *second, *said;
    } rows[] = {
        {"{\"cpu_model\":\"A\"}", "{\"cpu_model\":\"A\",\"build\":\"b\"}", "(here A, there "},
        {"{\"cpu_model\":\"A\"}", "{\"build\":\"b\"}", "(here A, there "},
        {"{\"cpu_model\":\"A\"}", "{\"cpu_model\":\"B\"}", "(here A and other, there "},
        {"{\"build\":\"a\"}", "{\"build\":\"b\"}", "(here not known, there "},
    };
    struct fixture f;
    static const char text[] =
        "name: mine\ntitle: T\nyear: 2026\nhardware: C\nsources: [{id: s, title: S}]\ntables:\n"
        "- name: t\n  title: T\n  source: s\n  quality: Table\n  unit: samples/s\n"
        "  axis: trainers\n  columns: [1, 2]\n  rows: [{name: a, values: [16, 20]}]\n";
    _cleanup_(reference_freep) struct reference *r = load(text);
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        fixture_init(&f, "{grid: {pservers: [1], trainers: [1, 2]}}",
                     SINGLE_NODE "  repeats: {min: 1}\n", 0);
        for (uint32_t p = 0; p < 3; p++) {
            struct attempt_row *row = fixture_throughput(&f, p, 0, 40);
            for (size_t k = 0; k < row->replicas.len; k++) {
                fixture_set_environment(&f, p, k, p == 0 ? rows[i].first : rows[i].second);
            }
        }
        struct reference_beside b = {.reference = r,
                                     .asked = r->name,
                                     .result = fixture_build(&f, RUN_SUCCEEDED),
                                     .year = 2026};
        _cleanup_(buf_done) struct buf out = BUF_INIT;
        sheet_as(sheet_beside, &b, &out, SHEET_TEXT, .columns = 400);
        if (strstr(buf_cstr(&out), rows[i].said) == NULL) {
            fail_msg("row %zu: '%s' is not in\n%s", i, rows[i].said, buf_cstr(&out));
        }
        fixture_done(&f);
    }
}

/* Hardware, model, unit, batch, year: of each that is the same nothing is said. */
TEST(what_is_the_same_is_not_listed)
{
    static const char text[] =
        "name: mine\ntitle: T\nyear: 2026\nmodel: M\n"
        "hardware: Intel(R) Xeon(R) CPU E5-2620 v4 @ 2.10GHz\n"
        "sources: [{id: s, title: S}]\ntables:\n"
        "- name: t\n  baseline: 1 trainer\n  title: T\n  "
        "source: s\n  quality: Table\n  unit: samples/s\n"
        "  axis: trainers\n  columns: [1, 20]\n  at: {pservers: 20, batch_size: 128}\n"
        "  rows: [{name: a, workload: vgg16-fluid-fc512, values: [16, 260],\n"
        "    recomputed: {efficiency: [100, 81.25]}}]\n";
    struct reference *r = load(text);
    _cleanup_(fixture_done) struct fixture f;
    report_run_find("acceleration")->make(&f);
    struct reference_beside b = {
        .reference = r, .asked = r->name, .result = f.result, .year = 2026};
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    sheet_as(sheet_beside, &b, &out, SHEET_TEXT, .columns = 400);
    assert_null(strstr(buf_cstr(&out), "Do not compare the throughputs"));
    assert_non_null(strstr(buf_cstr(&out), "263.3 (78.64%)"));
    assert_non_null(strstr(buf_cstr(&out), "260 (81.25%)"));
    assert_null(strstr(buf_cstr(&out), "baselines differ"));
    b.year = 2027;
    buf_clear(&out);
    sheet_as(sheet_beside, &b, &out, SHEET_TEXT, .columns = 400);
    assert_non_null(strstr(
        buf_cstr(&out), "Do not compare the throughputs: another year (here 2027, there 2026)."));
    b.year = 2026;
    f.def->spec->systems.items[0].exchange.mode.kind = EXCHANGE_ASYNC;
    buf_clear(&out);
    sheet_as(sheet_beside, &b, &out, SHEET_TEXT, .columns = 400);
    assert_non_null(strstr(buf_cstr(&out), "throughputs: here fluid exchanges by Async, there "
                                           "the mode is not given."));
    f.def->spec->systems.items[0].exchange.mode.kind = EXCHANGE_SYNC;
    r->tables.items[0].rows.items[0].workload = NULL;
    buf_clear(&out);
    sheet_as(sheet_beside, &b, &out, SHEET_TEXT, .columns = 400);
    assert_non_null(
        strstr(buf_cstr(&out), "throughputs: another model (here vgg16-fluid-fc512, there M).\n"));
    r->model = "";
    r->tables.items[0].baseline = NULL;
    b.asked = "./mine.yaml";
    buf_clear(&out);
    sheet_as(sheet_beside, &b, &out, SHEET_TEXT, .columns = 400);
    assert_non_null(
        strstr(buf_cstr(&out), "another model (here vgg16-fluid-fc512, there unknown)"));
    assert_non_null(
        strstr(buf_cstr(&out), "their baselines differ (here 1 trainer; there an unknown "));
    assert_non_null(strstr(buf_cstr(&out), ": benchctl results --reference ./mine.yaml\n"));
    r->tables.items[0].at.items[1].value = 64;
    buf_clear(&out);
    sheet_as(sheet_beside, &b, &out, SHEET_TEXT, .columns = 400);
    assert_non_null(
        strstr(buf_cstr(&out), "1 of 1 tables have no figure for a point of this run."));
    reference_free(r);
}

/* ---- the same quantity in the same unit, of the same task and family ---- */

/* With one blank between words. Owned. */
static char *text_of(const struct result *result, struct reference *r_take)
{
    const struct reference_beside b = {
        .reference = r_take, .asked = "mine", .result = result, .year = 2026};
    struct buf out = BUF_INIT, text = BUF_INIT;
    sheet_as(sheet_beside, &b, &out, SHEET_TEXT, .columns = 400);
    for (const char *c = buf_cstr(&out); *c != '\0'; c++) {
        if (*c != ' ' || (text.len > 0 && text.data[text.len - 1] != ' ')) {
            buf_putc(&text, *c);
        }
    }
    buf_done(&out);
    reference_free(r_take);
    return buf_take(&text);
}

static void expect(const char *text, const char *said, const char *not_said)
{
    if (said != NULL && strstr(text, said) == NULL) {
        fail_msg("expected: %s\ngot: %s", said, text);
    }
    if (not_said != NULL && strstr(text, not_said) != NULL) {
        fail_msg("did not expect: %s\ngot: %s", not_said, text);
    }
}

#define SET(fields, rows)                                                                          \
    "name: mine\ntitle: T\nyear: 2026\nsources: [{id: s, title: S}]\ntables:\n"                    \
    "- name: t\n  title: T\n  source: s\n  quality: Table\n  columns: [1, 2]\n" fields             \
    "  rows:\n" rows
#define ONE_ROW "  - {name: a, values: [5895, 3530]}\n"
#define AXIS "  axis: trainers\n"
#define NO_FIGURE "1 of 1 tables have no figure for a point of this run. "

TEST(a_figure_is_chosen_by_its_quantity)
{
    static const struct {
        const char *run, *set, *said, *not_said;
    } rows[] = {
        {"accuracy", SET(AXIS "  unit: samples/s\n", ONE_ROW), "trainers 1 41.00 5895 a\n", "215"},
        {"accuracy", SET(AXIS "  unit: images/s\n", ONE_ROW), "trainers 2 81.50 3530 a\n", NULL},
        {"accuracy", SET(AXIS "  unit: batches/s\n", ONE_ROW), "trainers 1 2.562 5895 a\n", NULL},
        {"accuracy", SET(AXIS "  unit: words/s\n", ONE_ROW), NO_FIGURE, "THIS RUN"},
        {"accuracy", SET(AXIS "  unit: samples/s\n  scope: Worker\n", ONE_ROW), NO_FIGURE,
         "THIS RUN"},
        {"accuracy", SET(AXIS "  measure: Time\n  unit: s\n", ONE_ROW), NO_FIGURE, "THIS RUN"},
        {"accuracy",
         SET(AXIS "  measure: Time\n  quantity: TimeToAccuracy\n  goal: 0.8\n  unit: s\n", ONE_ROW),
         "trainers 1 215.0 5895 a\n", "trainers 2"},
        {"accuracy",
         SET(AXIS "  measure: Time\n  quantity: TimeToAccuracy\n  goal: 0.8\n  unit: ms\n",
             ONE_ROW),
         "trainers 1 215000 5895 a\n", "41.00"},
        {"accuracy",
         SET(AXIS "  measure: Time\n  quantity: TimeToAccuracy\n  goal: 0.9\n  unit: s\n", ONE_ROW),
         NO_FIGURE, "THIS RUN"},
        {"sweep",
         SET(AXIS "  measure: Time\n  quantity: TimeToAccuracy\n  goal: 0.8\n  unit: s\n"
                  "  at: {pservers: 1}\n",
             ONE_ROW),
         NO_FIGURE, "35.10"},
        {"accuracy",
         SET(AXIS "  measure: Ratio\n  quantity: SpeedupToAccuracy\n  goal: 0.8\n  unit: ratio\n",
             ONE_ROW),
         "trainers 1 1.000 5895 a\n", "41.00"},
        {"sweep",
         SET(AXIS "  measure: Ratio\n  quantity: SpeedupToAccuracy\n  goal: 0.8\n  unit: ratio\n"
                  "  at: {pservers: 1}\n",
             ONE_ROW),
         NO_FIGURE, "THIS RUN"},
        {"accuracy",
         SET(AXIS "  measure: Other\n  quantity: AccuracyAfterTime\n  goal: 100\n  unit: percent\n",
             ONE_ROW),
         "trainers 1 71.20 5895 a\n", NULL},
        {"accuracy", SET(AXIS "  measure: Ratio\n  quantity: Speedup\n  unit: ratio\n", ONE_ROW),
         "trainers 2 1.988 3530 a\n", NULL},
        {"accuracy",
         SET(AXIS "  measure: Other\n  quantity: Efficiency\n  unit: percent\n", ONE_ROW),
         "trainers 2 99.39 3530 a\n", NULL},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(fixture_done) struct fixture f;
        report_run_find(rows[i].run)->make(&f);
        _cleanup_(freep) char *text = text_of(f.result, load(rows[i].set));
        expect(text, rows[i].said, rows[i].not_said);
    }
}

/* A run that knows its throughput alone is next to no published time, ratio or share, whatever the
 * task and the family. */
TEST(no_throughput_is_next_to_another_quantity)
{
    size_t n_tables = 0;
    _cleanup_(fixture_done) struct fixture f;
    report_run_find("sweep")->make(&f);
    for (size_t i = 0; i < reference_shipped_count; i++) {
        struct reference *r = reference_shipped_load(reference_shipped[i].name);
        struct reference only = *r;
        only.kin = (struct reference_kin){0};
        vec_each (struct reference_table, t, &r->tables) {
            t->kin = (struct reference_kin){0};
            t->at.len = 0;
            vec_each (struct reference_row, row, &t->rows) {
                row->kin = (struct reference_kin){0};
                row->at.len = 0;
            }
            only.tables.items = t;
            only.tables.len = 1;
            const struct reference_beside b = {
                .reference = &only, .asked = "mine", .result = f.result, .year = 2026};
            _cleanup_(buf_done) struct buf out = BUF_INIT;
            sheet_as(sheet_beside, &b, &out, SHEET_TEXT, .columns = 400);
            const bool is_rate = t->measure == REFERENCE_THROUGHPUT ||
                                 t->quantity == REFERENCE_EXCHANGE_SHARE; /* it has phases */
            expect(buf_cstr(&out), NULL, is_rate ? NULL : "THIS RUN");
            n_tables += !is_rate && strstr(buf_cstr(&out), NO_FIGURE) != NULL;
        }
        reference_free(r);
    }
    assert_true(n_tables >= 10);
}

TEST(systems_are_next_to_their_family)
{
    static const char set[] =
        SET("  axis: workers\n  unit: samples/s\n",
            "  - {name: Torch 2017, family: [PyTorch], values: [11, 12]}\n"
            "  - {name: Torch of 32, family: [PyTorch], at: {batch_size: 32}, values: [21, 22]}\n"
            "  - {name: Fluid, family: [Paddle], reimplementedBy: [benchworker],\n"
            "     workload: vgg16-fluid-fc512, values: [31, 32]}\n"
            "  - {name: MX, family: [MXNet], values: [41, 42]}\n"
            "  - {name: another task, family: [PyTorch], task: [resnet20], values: [51, 52]}\n");
    _cleanup_(fixture_done) struct fixture f;
    report_run_find("systems")->make(&f);
    _cleanup_(freep) char *text = text_of(f.result, load(set));
    expect(text, "own, pservers 1 103.8 32 Fluid\nddp, pservers 0 37.84 12 Torch 2017\n\n",
           "another task");
    expect(text, NULL, "Torch of 32");
    expect(text, NULL, "mpi");
    expect(text, "; own reimplements 'Fluid'; another model", "ddp reimplements");
    expect(text, "another model in all rows but 'Fluid' (here vgg16-fluid-fc512)", NULL);
    _cleanup_(freep) char *none =
        text_of(f.result, load(SET("  axis: workers\n  unit: samples/s\n",
                                   "  - {name: MX, family: [MXNet], values: [41, 42]}\n")));
    expect(none, NO_FIGURE, "THIS RUN");
}

TEST(tables_of_other_tasks_are_left_out)
{
    _cleanup_(fixture_done) struct fixture f;
    report_run_find("sweep")->make(&f);
    _cleanup_(freep) char *text = text_of(f.result, reference_shipped_load("mlbench-charts-2019"));
    expect(text,
           "7 of 7 tables have no figure for a point of this run. All of these figures, with "
           "sources and errata: benchctl results --reference mine\n",
           "1a-baselines");
}

/* bytes / time x 2 (n - 1) / n is the bus bandwidth: 3773492 bytes by 2 at
 * 1 GB/s are 3.773 ms. */
TEST(the_time_of_an_all_reduce)
{
    _cleanup_(fixture_done) struct fixture f;
    fixture_init(&f, "{grid: {trainers: [2], bytes: [4, 3773492]}}",
                 "  baseline: {kind: Point, where: {trainers: 2}}\n  repeats: {min: 1}\n"
                 "  systems: [{name: mpi, profile: of-mine, command: [x]}]\n"
                 "  workload: {model: fp32-sum, batchSize: 1, exchange: {kind: None}}\n"
                 "  parameters: [{name: bytes, targets: [{roles: [trainer], args: [--bytes=]}]}]\n"
                 "  roles: {trainer: {replicas: {from: trainers},\n"
                 "                    template: {spec: {containers: [{name: main}]}}}}\n",
                 2);
    for (uint32_t p = 0; p < 2; p++) {
        fixture_count(fixture_throughput(&f, p, 0, 1), UNIT_GB);
    }
    fixture_build(&f, RUN_SUCCEEDED);
    struct reference *r = reference_shipped_load("mlbench-allreduce-2020");
    _cleanup_(freep) char *text = text_of(f.result, r);
    expect(text, "bytes 3773492 3.773 5.6 mpi, 2 workers\n", "mpi, 4 workers\n");
}
