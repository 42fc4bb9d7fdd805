/* See attempt_json.h. The lines of workers (summary, start record) stay texts: only
 * record_read.c parses them. */
#include "core/attempt_json.h"
#include "core/json_field.h"

#include "base/mem.h"

json_t *attempt_id_to_json(const struct attempt_id *id)
{
    return id == NULL ? json_null()
                      : json_pack("{s:I, s:I, s:I}", "point", (json_int_t)id->point, "trial",
                                  (json_int_t)id->trial, "attempt", (json_int_t)id->number);
}

static json_t *replica_to_json(const struct replica_row *rep)
{
    return json_pack(
        "{s:s, s:I, s:i, s:i, s:o, s:o, s:o, s:I}", "role", role_to_string(rep->id.role), "index",
        (json_int_t)rep->id.index, "exitCode", rep->exit_code, "signal", rep->signal, "failure",
        json_text_or_null(rep->failure), "summary", json_text_or_null(rep->summary_json),
        "environment", json_text_or_null(rep->environment_json), "logBytes",
        (json_int_t)rep->log_bytes);
}

json_t *attempt_row_to_json(const struct attempt_row *row)
{
    json_t *replicas = json_array();
    vec_each (const struct replica_row, rep, &row->replicas) {
        (void)json_array_append_new(replicas, replica_to_json(rep)); /* grows in memory only */
    }
    return json_pack("{s:I, s:I, s:I, s:s, s:I, s:I, s:o, s:b, s:o}", "point",
                     (json_int_t)row->id.point, "trial", (json_int_t)row->id.trial, "attempt",
                     (json_int_t)row->id.number, "outcome", attempt_outcome_to_string(row->outcome),
                     "startedUnixMs", (json_int_t)row->started_unix_ms, "endedUnixMs",
                     (json_int_t)row->ended_unix_ms, "error", json_text_or_null(row->error),
                     "simulated", row->simulated, "replicas", replicas);
}

static int replica_from_json(const json_t *document, struct attempt_row *row, struct err *err)
{
    int64_t index, exit_code, signal, log_bytes;
    const char *role, *failure, *summary, *environment;
    int r;
    if ((r = json_field_text(document, "role", &role, err)) < 0 ||
        (r = json_field_int(document, "index", 0, UINT32_MAX, &index, err)) < 0 ||
        (r = json_field_int(document, "exitCode", -1, 255, &exit_code, err)) < 0 ||
        (r = json_field_int(document, "signal", 0, 255, &signal, err)) < 0 ||
        (r = json_field_int(document, "logBytes", 0, INT64_MAX, &log_bytes, err)) < 0 ||
        (r = json_field_text_or_null(document, "failure", &failure, err)) < 0 ||
        (r = json_field_text_or_null(document, "summary", &summary, err)) < 0 ||
        (r = json_field_text_or_null(document, "environment", &environment, err)) < 0) {
        return r;
    }
    const int kind = role_from_string(role);
    if (kind < 0) {
        return err_set(err, EPROTO, "unknown role '%s'", role);
    }
    *vec_push(&row->replicas) = (struct replica_row){
        .id = {.attempt = row->id, .role = (enum role)kind, .index = (uint32_t)index},
        .exit_code = (int)exit_code,
        .signal = (int)signal,
        .failure = xstrdup_or_null(failure),
        .summary_json = xstrdup_or_null(summary),
        .environment_json = xstrdup_or_null(environment),
        .log_bytes = (uint64_t)log_bytes,
    };
    return 0;
}

static int replicas_from_json(const json_t *list, struct attempt_row *row, struct err *err)
{
    if (!json_is_array(list)) {
        return err_set(err, EPROTO, "'replicas' is not a list");
    }
    size_t i;
    const json_t *replica;
    json_array_foreach (list, i, replica) {
        int r = replica_from_json(replica, row, err);
        if (r < 0) {
            return err_wrap(err, r, "replicas[%zu]", i);
        }
    }
    return 0;
}

int attempt_id_from_json(const json_t *o, struct attempt_id *ret, struct err *err)
{
    int64_t point, trial, attempt;
    int r;
    if ((r = json_field_int(o, "point", 0, UINT32_MAX, &point, err)) < 0 ||
        (r = json_field_int(o, "trial", 0, UINT32_MAX, &trial, err)) < 0 ||
        (r = json_field_int(o, "attempt", 0, UINT32_MAX, &attempt, err)) < 0) {
        return r;
    }
    *ret = (struct attempt_id){(uint32_t)point, (uint32_t)trial, (uint32_t)attempt};
    return 0;
}

int attempt_row_from_json(const json_t *document, struct attempt_row *ret, struct err *err)
{
    int64_t started, ended;
    struct attempt_id id;
    const char *outcome, *error;
    int r;
    if ((r = attempt_id_from_json(document, &id, err)) < 0 ||
        (r = json_field_text(document, "outcome", &outcome, err)) < 0 ||
        (r = json_field_int(document, "startedUnixMs", 0, INT64_MAX, &started, err)) < 0 ||
        (r = json_field_int(document, "endedUnixMs", 0, INT64_MAX, &ended, err)) < 0 ||
        (r = json_field_text_or_null(document, "error", &error, err)) < 0) {
        return r;
    }
    const int kind = attempt_outcome_from_string(outcome);
    if (kind < 0) {
        return err_set(err, EPROTO, "unknown outcome '%s'", outcome);
    }
    struct attempt_row row = {
        .id = id,
        .outcome = (enum attempt_outcome)kind,
        .started_unix_ms = started,
        .ended_unix_ms = ended,
        .error = xstrdup_or_null(error),
        .simulated = json_is_true(json_object_get(document, "simulated")),
    };
    r = replicas_from_json(json_object_get(document, "replicas"), &row, err);
    if (r < 0) {
        attempt_row_done(&row);
        return r;
    }
    *ret = row;
    return 0;
}
