#include "tests/test.h"
#include "compare/comparison.h"

#include "../golden_json.h"
#include "compare_fixture.h"

/* Also the example of docs/contracts/compare.md: a change, a point without a number, points of one
 * side only, another kernel. */
TEST(golden_document)
{
    _cleanup_(fixture_done) struct fixture a, b;
    fixture_init(&a, "{grid: {pservers: [1], trainers: [2, 4]}}",
                 "  baseline: {kind: SingleNode}\n  repeats: {min: 4}\n", 8);
    fixture_init(&b, "{grid: {pservers: [1, 2], trainers: [2]}}",
                 "  baseline: {kind: SingleNode}\n  repeats: {min: 4}\n", 8);
    rename_run(&b, "demo-q2v8n");
    for (uint32_t t = 0; t < 4; t++) {
        fixture_throughput(&a, 0, t, 70 * spread[t]);
        fixture_throughput(&a, 1, t, 120 * spread[t]);
        fixture_throughput(&b, 0, t, 63 * spread[t + 3]);
        fixture_throughput(&b, 2, t, 40 * spread[t + 3]);
    }
    fixture_throughput(&a, 2, 0, 40);
    for (size_t i = 0; i < b.rows.len; i++) {
        fixture_set_environment(&b, i, 0,
                                "{\"blas_core\":\"HASWELL\",\"cpu_model\":\"Intel(R) Xeon(R) CPU "
                                "E5-2620 v4 @ 2.10GHz\",\"kernel\":\"6.1.0-35-amd64\"}");
    }
    fixture_build(&a, RUN_SUCCEEDED);
    fixture_build(&b, RUN_SUCCEEDED);
    _cleanup_(comparison_freep) struct comparison *c = compare_beside(&a, &b, &defaults, usual);
    _cleanup_(json_decrefp) json_t *document = comparison_to_json(c);
    golden_check_json("docs/contracts/golden/compare.json", document);
}
