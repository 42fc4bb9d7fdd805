/* See run_list.h. */
#include "store/run_list.h"

#include "base/clock.h"
#include "core/json_field.h"

json_t *run_time_to_json(int64_t unix_ms)
{
    char text[CLOCK_RFC3339_SIZE];
    clock_format_rfc3339(unix_ms, text);
    return unix_ms == 0 ? json_null() : json_string(text);
}

json_t *run_item_to_json(const struct run_row *row, bool is_interrupted)
{
    const struct run_status *st = &row->status;
    return json_pack(
        "{s:s, s:s, s:s, s:s, s:b, s:o, s:o, s:I, s:I, s:I, s:I, s:b, s:b, s:b, s:o, s:o, s:o}",
        "name", row->name, "uid", row->uid, "benchmark", row->benchmark, "phase",
        run_phase_to_string(st->phase), "interrupted", is_interrupted, "reason",
        json_text_or_null(st->reason), "message", json_text_or_null(st->message), "trialsDone",
        (json_int_t)st->trials_done, "trialsFailed", (json_int_t)st->trials_failed, "trialsTotal",
        (json_int_t)st->trials_total, "cpus", (json_int_t)row->cpus, "rehearsal", row->rehearsal,
        "simulated", row->simulated, "imported", run_status_is_imported(st), "created",
        run_time_to_json(row->created_unix_ms), "started", run_time_to_json(st->started_unix_ms),
        "ended", run_time_to_json(run_phase_is_final(st->phase) ? st->ended_unix_ms : 0));
}
