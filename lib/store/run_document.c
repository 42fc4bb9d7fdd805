/* See run_document.h. */
#include "store/run_document.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "core/json_field.h"
#include "core/record_members.h"

/* clang-format off */
static const struct record_member counts[] = {
    {"phase", MEMBER_WORD, true, AT(run_status, phase), .words = run_phase_names, .n_words = RUN_PHASE_COUNT},
    {"trialsDone", MEMBER_32, true, AT(run_status, trials_done)},
    {"trialsFailed", MEMBER_32, true, AT(run_status, trials_failed)},
    {"trialsTotal", MEMBER_32, true, AT(run_status, trials_total)},
};
static const struct record_members count_members = MEMBERS(counts, NULL);
/* clang-format on */

int run_status_counts_from_json(const json_t *o, struct run_status *ret, struct err *err)
{
    const char *reason, *message;
    *ret = (struct run_status){0};
    int r = record_read_members(o, &count_members, ret, err);
    if (r < 0 || (r = json_field_text(o, "reason", &reason, err)) < 0 ||
        (r = json_field_text(o, "message", &message, err)) < 0) {
        return r;
    }
    text_put(ret->reason, sizeof(ret->reason), "%s", reason);
    text_put(ret->message, sizeof(ret->message), "%s", message);
    return 0;
}

/* ---- a list of runs ---- */

json_t *run_time_to_json(int64_t unix_ms)
{
    char text[CLOCK_RFC3339_SIZE];
    clock_format_rfc3339(unix_ms, text);
    return unix_ms == 0 ? json_null() : json_string(text);
}

json_t *run_item_to_json(const struct run_row *run, bool is_interrupted)
{
    const struct run_status *st = &run->status;
    return json_pack(
        "{s:s, s:s, s:s, s:s, s:b, s:o, s:o, s:I, s:I, s:I, s:I, s:b, s:b, s:b, s:o, s:o, s:o}",
        "name", run->name, "uid", run->uid, "benchmark", run->benchmark, "phase",
        run_phase_to_string(st->phase), "interrupted", is_interrupted, "reason",
        json_text_or_null(st->reason), "message", json_text_or_null(st->message), "trialsDone",
        (json_int_t)st->trials_done, "trialsFailed", (json_int_t)st->trials_failed, "trialsTotal",
        (json_int_t)st->trials_total, "cpus", (json_int_t)run->cpus, "rehearsal", run->rehearsal,
        "simulated", run->simulated, "imported", run_status_is_imported(st), "created",
        run_time_to_json(run->created_unix_ms), "started", run_time_to_json(st->started_unix_ms),
        "ended", run_time_to_json(run_phase_is_final(st->phase) ? st->ended_unix_ms : 0));
}
