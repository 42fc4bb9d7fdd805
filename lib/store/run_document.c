/* See run_document.h. */
#include "store/run_document.h"

#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "core/attempt_json.h"
#include "core/json_field.h"
#include "core/record_members.h"

static json_t *status_to_json(const struct run_status *st)
{
    return json_pack("{s:s, s:o, s:o, s:I, s:I, s:I, s:o, s:I, s:I}", "phase",
                     run_phase_to_string(st->phase), "reason", json_text_or_null(st->reason),
                     "message", json_text_or_null(st->message), "trialsDone",
                     (json_int_t)st->trials_done, "trialsFailed", (json_int_t)st->trials_failed,
                     "trialsTotal", (json_int_t)st->trials_total, "current",
                     attempt_id_to_json(st->has_current ? &st->current : NULL), "startedUnixMs",
                     (json_int_t)st->started_unix_ms, "endedUnixMs", (json_int_t)st->ended_unix_ms);
}

static json_t *event_to_json(const struct event_row *event)
{
    return json_pack("{s:I, s:s, s:o, s:o}", "unixMs", (json_int_t)event->unix_ms, "type",
                     event->type == EVENT_WARNING ? "Warning" : "Normal", "reason",
                     json_text_or_null(event->reason), "note", json_text_or_null(event->note));
}

json_t *run_document_to_json(const struct run_row *row, const struct attempt_row *attempts,
                             size_t n_attempts, const struct event_row *events, size_t n_events)
{
    json_t *definition = json_null();
    if (row->definition_json != NULL &&
        (definition = json_loads(row->definition_json, 0, NULL)) == NULL) {
        return NULL;
    }
    json_t *run = json_pack("{s:s, s:s, s:s, s:o, s:I, s:I, s:b, s:b, s:o}", "name", row->name,
                            "uid", row->uid, "benchmark", row->benchmark, "definition", definition,
                            "createdUnixMs", (json_int_t)row->created_unix_ms, "cpus",
                            (json_int_t)row->cpus, "rehearsal", row->rehearsal, "simulated",
                            row->simulated, "status", status_to_json(&row->status));
    json_t *list =
        JSON_ARRAY_OF(for (size_t i = 0; i < n_attempts; i++), attempt_row_to_json(&attempts[i]));
    json_t *event_list =
        JSON_ARRAY_OF(for (size_t i = 0; i < n_events; i++), event_to_json(&events[i]));
    return json_pack("{s:s, s:s, s:o, s:o, s:o}", "apiVersion", "benchd.io/v1alpha1", "kind",
                     RUN_DOCUMENT_KIND, "run", run, "attempts", list, "events", event_list);
}

/* clang-format off */
static const struct record_member counts[] = {
    {"phase", MEMBER_WORD, true, AT(run_status, phase), .words = run_phase_names, .n_words = RUN_PHASE_COUNT},
    {"trialsDone", MEMBER_32, true, AT(run_status, trials_done)},
    {"trialsFailed", MEMBER_32, true, AT(run_status, trials_failed)},
    {"trialsTotal", MEMBER_32, true, AT(run_status, trials_total)},
};
static const struct record_members count_members = MEMBERS(counts, NULL);

static const struct record_member times[] = {
    {"startedUnixMs", MEMBER_TIME, true, AT(run_status, started_unix_ms)},
    {"endedUnixMs", MEMBER_TIME, true, AT(run_status, ended_unix_ms)},
};
static const struct record_members time_members = MEMBERS(times, NULL);

static const struct record_member row[] = {
    {"name", MEMBER_TEXT, true, AT(run_row, name)},
    {"uid", MEMBER_TEXT, true, AT(run_row, uid)},
    {"benchmark", MEMBER_TEXT, true, AT(run_row, benchmark)},
    {"createdUnixMs", MEMBER_TIME, true, AT(run_row, created_unix_ms)},
    {"cpus", MEMBER_TIME, true, AT(run_row, cpus)},
    {"rehearsal", MEMBER_FLAG, false, AT(run_row, rehearsal)},
    {"simulated", MEMBER_FLAG, false, AT(run_row, simulated)},
};
static const struct record_members row_members = MEMBERS(row, NULL);

static const char *const event_types[] = {"Normal", "Warning"};
static const struct record_member event[] = {
    {"unixMs", MEMBER_TIME, true, AT(event_row, unix_ms)},
    {"type", MEMBER_WORD, true, AT(event_row, type), .words = event_types, .n_words = 2},
    {"reason", MEMBER_TEXT, true, AT(event_row, reason)},
    {"note", MEMBER_TEXT, true, AT(event_row, note)},
};
static const struct record_members event_members = MEMBERS(event, NULL);
/* clang-format on */

static int current_from_json(const json_t *current, struct run_status *st, struct err *err)
{
    if (!json_is_object(current)) {
        return 0; /* null: none */
    }
    const int r = attempt_id_from_json(current, &st->current, err);
    st->has_current = r >= 0;
    return r < 0 ? err_wrap(err, r, "current") : 0;
}

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

static int row_from_json(const json_t *o, struct run_row *ret, struct err *err)
{
    const json_t *status = json_object_get(o, "status");
    const json_t *definition = json_object_get(o, "definition");
    int r = record_read_members(o, &row_members, ret, err);
    r = r < 0 ? r : run_status_counts_from_json(status, &ret->status, err);
    r = r < 0 ? r : record_read_members(status, &time_members, &ret->status, err);
    r = r < 0 ? r : current_from_json(json_object_get(status, "current"), &ret->status, err);
    ret->definition_json = json_is_object(definition) ? json_dumps(definition, JSON_COMPACT) : NULL;
    return r;
}

static int add_attempt(void *ctx, const json_t *item, struct err *err)
{
    struct run_document *d = ctx;
    struct attempt_row attempt;
    const int r = attempt_row_from_json(item, &attempt, err);
    if (r >= 0) {
        *vec_push(&d->attempts) = attempt;
    }
    return r;
}

static int attempts_from_json(const json_t *list, struct run_document *d, struct err *err)
{
    size_t i;
    const json_t *item;
    json_array_foreach (list, i, item) {
        const int r = add_attempt(d, item, err);
        if (r < 0) {
            return err_wrap(err, r, "attempts[%zu]", i);
        }
    }
    return 0;
}

static int events_from_json(const json_t *list, struct run_document *d, struct err *err)
{
    size_t i;
    const json_t *item;
    d->events = xnew_array(struct event_row, json_array_size(list));
    json_array_foreach (list, i, item) {
        d->n_events = i + 1;
        const int r = record_read_members(item, &event_members, &d->events[i], err);
        if (r < 0) {
            return err_wrap(err, r, "events[%zu]", i);
        }
    }
    return 0;
}

int run_document_from_json(const json_t *document, struct run_document *d, struct err *err)
{
    const char *kind = json_string_value(json_object_get(document, "kind"));
    int r = 0;
    if (kind == NULL || strcmp(kind, RUN_DOCUMENT_KIND) != 0) {
        r = err_set(err, EPROTO, "it is not a %s", RUN_DOCUMENT_KIND);
    } else if ((r = row_from_json(json_object_get(document, "run"), &d->row, err)) < 0) {
        r = err_wrap(err, r, "run");
    } else if ((r = attempts_from_json(json_object_get(document, "attempts"), d, err)) >= 0) {
        r = events_from_json(json_object_get(document, "events"), d, err);
    }
    if (r < 0) {
        run_document_done(d);
    }
    return r;
}

int run_document_read(const struct buf *text, size_t max_bytes, struct run_document *d,
                      struct err *err)
{
    json_auto_t *rest = NULL;
    const int r = json_lists_read(text, "attempts", max_bytes, add_attempt, d, &rest, err);
    if (r < 0) {
        run_document_done(d);
        return r;
    }
    return run_document_from_json(rest, d, err);
}

void run_document_done(struct run_document *d)
{
    vec_done_each(&d->attempts, attempt_row_done);
    free_each(d->events, d->n_events, event_row_done);
    run_row_done(&d->row);
    *d = (struct run_document){0};
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
