/* The catalogue of figures (result/catalogue.h): its rows are whole, docs/figures.md has them, and
 * every walk over it shows each. */
#include "tests/test.h"
#include "result/catalogue.h"

#include "../golden.h"
#include "base/str.h"
#include "report/sheets.h"
#include "result/result_json.h"
#include "report_runs.h"
#include "sheet_as.h"

TEST(rows_are_whole)
{
    figure_each_kind (k) {
        assert_ptr_equal(figure_find(k->name), k);
        assert_int_equal(k->column == NULL, k->json == NULL);
        assert_true(k->heading != NULL || k->place == PLACE_ASKED || k->place == PLACE_ACCURACY);
        assert_int_equal((k->offset > 0) + (k->of_trial != NULL) + (k->compute != NULL),
                         k->offset > 0 && k->is_cost ? 2 : 1);
        assert_true(str_has_suffix(k->meaning, "."));
        size_t n;
        assert_true(k->metric == NULL || figure_units_of(k, &n) != NULL);
        assert_int_equal(k->json == NULL, k > figure_kinds + FIGURE_LAST_KEYED);
    }
}

/* The one golden of the catalogue: a new row changes it, and no other. */
TEST(documented)
{
    _cleanup_(buf_done) struct buf page = BUF_INIT;
    buf_puts(&page, "# Figures\n\nThe figures of a point, as `lib/spec/figures.h` has them "
                    "(`BENCHD_GOLDEN_UPDATE=1` and the test `report/catalogue` write this page).\n"
                    "In CSV and `/metrics`, one with an interval also has `_low` and `_high`.\n\n"
                    "| figure | heading | column of CSV | key of JSON | unit | metric | 95% | |\n"
                    "|---|---|---|---|---|---|---|---|\n");
    figure_each_kind (k) {
        size_t n;
        const char *cells[] = {k->heading, k->column, k->json};
        buf_printf(&page, "| %s |", k->name);
        for (size_t i = 0; i < N_ROWS(cells); i++) {
            buf_printf(&page, " %s |", cells[i] == NULL ? "-" : cells[i]);
        }
        buf_printf(&page, " %s | ", k->unit == NULL ? figure_units_of(k, &n)->unit : k->unit);
        if (k->metric == NULL) {
            buf_putc(&page, '-');
        } else {
            buf_printf(&page, "%s_%s", k->metric, figure_units_of(k, &n)->metric);
        }
        buf_printf(&page, " | %s | %s |\n", k->has_interval ? "yes" : "-", k->meaning);
    }
    golden_check("docs/figures.md", buf_cstr(&page));
}

static void expect(const struct buf *text, const char *before, const char *name, const char *after)
{
    _cleanup_(freep) char *part = xasprintf("%s%s%s", before, name, after);
    if (strstr(buf_cstr(text), part) == NULL) {
        fail_msg("no %s in: %.2000s", part, buf_cstr(text));
    }
}

/* A run that asks for all: each figure is in CSV and in JSON. */
TEST(shown_everywhere)
{
    _cleanup_(fixture_done) struct fixture f;
    fixture_init(&f, "{grid: {pservers: [1], trainers: [1, 2]}}",
                 "  baseline: {kind: Point, where: {trainers: 1}}\n  repeats: {min: 3}\n"
                 "  measure: {steps: 8, timeToAccuracy: {accuracy: \"0.4\"}, "
                 "accuracyAfterTime: {seconds: 20}}\n",
                 8);
    for (uint32_t p = 0; p < 2; p++) {
        for (uint32_t t = 0; t < 3; t++) {
            struct attempt_row *row = fixture_throughput(&f, p, t, 60 + 30 * p + t);
            row->replicas.items[1].summary->phase_ns[PHASE_FORWARD] += 400000000; /* a straggler */
        }
    }
    const struct result *r = fixture_build(&f, RUN_SUCCEEDED);
    /* A figure that is only computed lies nowhere in the point: it is unknown, not its start. */
    const struct figure *computed = point_figure(&r->points[0], FIGURE_COST);
    assert_ptr_not_equal(computed, &r->points[0]);
    assert_false(computed->estimate.known);
    _cleanup_(buf_done) struct buf csv = BUF_INIT, json = BUF_INIT, text = BUF_INIT;
    sheet_as(sheet_points, r, &csv, SHEET_CSV);
    sheet_as(sheet_points, r, &text, SHEET_TEXT, .wide = true);
    _cleanup_(json_decrefp) json_t *document = result_to_json(r);
    _cleanup_(freep) char *dumped = json_dumps(document, 0);
    buf_puts(&json, dumped);
    figure_each_kind (k) {
        if (k->place == PLACE_MORE && figure_of(&r->points[1], k).estimate.known) {
            expect(&text, "   ", k->heading, k->has_interval ? "   95% INTERVAL" : "");
        }
        if (k->column != NULL) {
            expect(&csv, ",", k->column, ",");
            expect(&json, "\"", k->json, "\": {\"value\": ");
        }
    }
}
