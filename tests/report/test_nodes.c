/* The tables by node, report/nodes_sheet.c. */
#include "tests/test.h"

#include "../result/result_fixture.h"
#include "sheet_forms.h"

/* Three points of two trainers; the second is on a slow node. Nobody knows where the server of the
 * first point was. */
static void make(struct fixture *f)
{
    static const double ms[] = {113, 112, 115};
    fixture_init(f, "{grid: {pservers: [1, 2, 3], trainers: [2]}}",
                 "  baseline: {kind: Point, where: {pservers: 1}}\n", 0);
    for (uint32_t p = 0; p < 3; p++) {
        struct attempt_row *row = fixture_throughput(f, p, 0, 100);
        const size_t first = row->replicas.len - 2;
        fixture_place(row, first, "node-a", 100);
        fixture_place(row, first + 1, "node-b,2", ms[p]);
        for (size_t i = 0; p > 0 && i < first; i++) {
            fixture_place(row, i, "node-c", 10);
        }
    }
    fixture_build(f, RUN_SUCCEEDED);
}

TEST(three_forms)
{
    _cleanup_(fixture_done) struct fixture f;
    make(&f);
    golden_check_forms(sheet_nodes, f.result, "nodes", 80, 1e-12);
}

/* A replica writes its start record. */
TEST(a_hostile_start_record)
{
    _cleanup_(fixture_done) struct fixture f;
    fixture_init(&f, "{grid: {pservers: [1], trainers: [2]}}",
                 "  baseline: {kind: Point, where: {trainers: 2}}\n", 0);
    struct attempt_row *row = fixture_throughput(&f, 0, 0, 100);
    for (size_t i = 0; i < 2; i++) {
        replica_set_environment(&row->replicas.items[i],
                                i == 0 ? "{\"cpu_model\":\"\\u001b[2J0\",\"node\":\"a\"}"
                                       : "{\"cpu_model\":\"\\u001b[2J1\",\"node\":\"a\"}");
    }
    fixture_build(&f, RUN_SUCCEEDED);
    _cleanup_(buf_done) struct buf text = BUF_INIT;
    sheet_as(sheet_nodes, f.result, &text, SHEET_TEXT, .columns = 80);
    assert_non_null(strstr(buf_cstr(&text), "on '?[2J0' and on '?[2J1'"));
    assert_null(strchr(buf_cstr(&text), '\033'));
}

TEST(no_node_is_known)
{
    static const char words[] = "No replica of a succeeded trial reports its node.\n";
    _cleanup_(fixture_done) struct fixture f;
    fixture_init(&f, "{grid: {pservers: [1], trainers: [2]}}",
                 "  baseline: {kind: Point, where: {trainers: 2}}\n", 0);
    fixture_throughput(&f, 0, 0, 100);
    fixture_build(&f, RUN_SUCCEEDED);
    check_no_rows(sheet_nodes, f.result, words);
}
