/* See run_document.h. */
#include "store/run_document.h"

#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "core/attempt_json.h"
#include "core/json_field.h"

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
    const char *phase, *reason, *message;
    int64_t done, failed, total;
    int r;
    if ((r = json_field_text(o, "phase", &phase, err)) < 0 ||
        (r = json_field_text(o, "reason", &reason, err)) < 0 ||
        (r = json_field_text(o, "message", &message, err)) < 0 ||
        (r = json_field_int(o, "trialsDone", 0, UINT32_MAX, &done, err)) < 0 ||
        (r = json_field_int(o, "trialsFailed", 0, UINT32_MAX, &failed, err)) < 0 ||
        (r = json_field_int(o, "trialsTotal", 0, UINT32_MAX, &total, err)) < 0) {
        return r;
    }
    const int kind = run_phase_from_string(phase);
    if (kind < 0) {
        return err_set(err, EPROTO, "phase '%s' is unknown", phase);
    }
    *ret = (struct run_status){
        .phase = (enum run_phase)kind,
        .trials_done = (uint32_t)done,
        .trials_failed = (uint32_t)failed,
        .trials_total = (uint32_t)total,
    };
    text_put(ret->reason, sizeof(ret->reason), "%s", reason);
    text_put(ret->message, sizeof(ret->message), "%s", message);
    return 0;
}

static int status_from_json(const json_t *o, struct run_status *ret, struct err *err)
{
    int64_t started, ended;
    int r;
    if ((r = run_status_counts_from_json(o, ret, err)) < 0 ||
        (r = json_field_int(o, "startedUnixMs", 0, INT64_MAX, &started, err)) < 0 ||
        (r = json_field_int(o, "endedUnixMs", 0, INT64_MAX, &ended, err)) < 0) {
        return r;
    }
    ret->started_unix_ms = started;
    ret->ended_unix_ms = ended;
    return current_from_json(json_object_get(o, "current"), ret, err);
}

static int row_from_json(const json_t *o, struct run_row *ret, struct err *err)
{
    const char *name, *uid, *benchmark;
    int64_t created, cpus;
    int r;
    if ((r = json_field_text(o, "name", &name, err)) < 0 ||
        (r = json_field_text(o, "uid", &uid, err)) < 0 ||
        (r = json_field_text(o, "benchmark", &benchmark, err)) < 0 ||
        (r = json_field_int(o, "createdUnixMs", 0, INT64_MAX, &created, err)) < 0 ||
        (r = json_field_int(o, "cpus", 0, INT64_MAX, &cpus, err)) < 0 ||
        (r = status_from_json(json_object_get(o, "status"), &ret->status, err)) < 0) {
        return r;
    }
    ret->name = xstrdup(name);
    ret->uid = xstrdup(uid);
    ret->benchmark = xstrdup(benchmark);
    ret->created_unix_ms = created;
    ret->cpus = cpus;
    ret->rehearsal = json_is_true(json_object_get(o, "rehearsal"));
    ret->simulated = json_is_true(json_object_get(o, "simulated"));
    const json_t *definition = json_object_get(o, "definition");
    ret->definition_json = json_is_object(definition) ? json_dumps(definition, JSON_COMPACT) : NULL;
    return 0;
}

static int attempts_from_json(const json_t *list, struct run_document *d, struct err *err)
{
    size_t i;
    const json_t *item;
    d->attempts = xnew_array(struct attempt_row, json_array_size(list));
    json_array_foreach (list, i, item) {
        int r = attempt_row_from_json(item, &d->attempts[i], err);
        if (r < 0) {
            return err_wrap(err, r, "attempts[%zu]", i);
        }
        d->n_attempts = i + 1;
    }
    return 0;
}

static int events_from_json(const json_t *list, struct run_document *d, struct err *err)
{
    size_t i;
    const json_t *item;
    d->events = xnew_array(struct event_row, json_array_size(list));
    json_array_foreach (list, i, item) {
        const char *type, *reason, *note;
        int64_t unix_ms;
        int r;
        if ((r = json_field_int(item, "unixMs", 0, INT64_MAX, &unix_ms, err)) < 0 ||
            (r = json_field_text(item, "type", &type, err)) < 0 ||
            (r = json_field_text(item, "reason", &reason, err)) < 0 ||
            (r = json_field_text(item, "note", &note, err)) < 0) {
            return err_wrap(err, r, "events[%zu]", i);
        }
        d->events[i] = (struct event_row){
            .unix_ms = unix_ms,
            .type = strcmp(type, "Warning") == 0 ? EVENT_WARNING : EVENT_NORMAL,
            .reason = xstrdup(reason),
            .note = xstrdup(note),
        };
        d->n_events = i + 1;
    }
    return 0;
}

int run_document_from_json(const json_t *document, struct run_document *ret, struct err *err)
{
    struct run_document d = {0};
    const char *kind = json_string_value(json_object_get(document, "kind"));
    int r = 0;
    if (kind == NULL || strcmp(kind, RUN_DOCUMENT_KIND) != 0) {
        r = err_set(err, EPROTO, "it is not a %s", RUN_DOCUMENT_KIND);
    } else if ((r = row_from_json(json_object_get(document, "run"), &d.row, err)) < 0) {
        r = err_wrap(err, r, "run");
    } else if ((r = attempts_from_json(json_object_get(document, "attempts"), &d, err)) >= 0) {
        r = events_from_json(json_object_get(document, "events"), &d, err);
    }
    if (r < 0) {
        run_document_done(&d);
        return r;
    }
    *ret = d;
    return 0;
}

void run_document_done(struct run_document *d)
{
    free_each(d->attempts, d->n_attempts, attempt_row_done);
    free_each(d->events, d->n_events, event_row_done);
    run_row_done(&d->row);
    *d = (struct run_document){0};
}
