/* The document that lists runs: its keys, and text that is not UTF-8. */
#include "store_fixture.h"

#include "core/json_field.h"
#include "store/run_document.h"

TEST(test_document)
{
    _cleanup_(run_row_done) struct run_row row = make_run(UID, RUN_NAME, 1000);
    row.status = (struct run_status){.phase = RUN_FAILED,
                                     .reason = "TooManyFailedTrials",
                                     .message = "lost \xff",
                                     .trials_done = 3,
                                     .trials_failed = 2,
                                     .trials_total = UINT32_MAX,
                                     .started_unix_ms = 2000};
    json_t *items = json_array();
    (void)json_array_append_new(items, run_item_to_json(&row, true));
    _cleanup_(json_decrefp) json_t *document = document_list(RUN_LIST_KIND, items);
    _cleanup_(json_decrefp) json_t *expected = json_pack(
        "{s:s, s:s, s:[{s:s, s:s, s:s, s:s, s:b, s:s, s:s, s:i, s:i, s:I, s:i, s:b, s:b, s:b, "
        "s:s, s:s, s:n}]}",
        "apiVersion", "benchd.io/v1alpha1", "kind", "BenchmarkRunList", "items", "name", RUN_NAME,
        "uid", UID, "benchmark", row.benchmark, "phase", "Failed", "interrupted", 1, "reason",
        "TooManyFailedTrials", "message", "lost ?", "trialsDone", 3, "trialsFailed", 2,
        "trialsTotal", (json_int_t)UINT32_MAX, "cpus", 2, "rehearsal", 1, "simulated", 0,
        "imported", 0, "created", "1970-01-01T00:00:01Z", "started", "1970-01-01T00:00:02Z",
        "ended");
    if (!json_equal(document, expected)) {
        fail_msg("expected %s\ngot %s", json_dumps(expected, 0), json_dumps(document, 0));
    }
}
