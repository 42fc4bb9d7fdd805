/* See attempt_json.h. The lines of workers (summary, start record) stay texts: only
 * record_read.c parses them. */
#include "core/attempt_json.h"
#include "core/json_field.h"
#include "core/record_members.h"

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
        "{s:s, s:I, s:i, s:i, s:o, s:o, s:o, s:I, s:o*}", "role", role_to_string(rep->id.role),
        "index", (json_int_t)rep->id.index, "exitCode", rep->exit_code, "signal", rep->signal,
        "failure", json_text_or_null(rep->failure), "summary", json_text_or_null(rep->summary_json),
        "environment", json_text_or_null(rep->environment_json), "logBytes",
        (json_int_t)rep->log_bytes, "reading",
        rep->reading_json == NULL ? NULL : json_text_or_null(rep->reading_json));
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

/* clang-format off */
static const struct record_member ids[] = {
    {"point", MEMBER_32, true, AT(attempt_id, point)},
    {"trial", MEMBER_32, true, AT(attempt_id, trial)},
    {"attempt", MEMBER_32, true, AT(attempt_id, number)},
};
static const struct record_members id_members = MEMBERS(ids, NULL);

static const struct record_member replicas[] = {
    {"role", MEMBER_WORD, true, AT(replica_row, id.role), .words = role_names, .n_words = ROLE_COUNT},
    {"index", MEMBER_32, true, AT(replica_row, id.index)},
    {"exitCode", MEMBER_32, true, AT(replica_row, exit_code), .least = -1, .most = 255},
    {"signal", MEMBER_32, true, AT(replica_row, signal), .most = 255},
    {"failure", MEMBER_TEXT, false, AT(replica_row, failure)},
    {"summary", MEMBER_TEXT, false, AT(replica_row, summary_json)},
    {"environment", MEMBER_TEXT, false, AT(replica_row, environment_json)},
    {"logBytes", MEMBER_COUNT, true, AT(replica_row, log_bytes)},
    {"reading", MEMBER_TEXT, false, AT(replica_row, reading_json)},
};
static const struct record_members replica_members = MEMBERS(replicas, NULL);

static const struct record_member attempts[] = {
    {"outcome", MEMBER_WORD, true, AT(attempt_row, outcome), .words = attempt_outcome_names, .n_words = ATTEMPT_OUTCOME_COUNT},
    {"startedUnixMs", MEMBER_TIME, true, AT(attempt_row, started_unix_ms)},
    {"endedUnixMs", MEMBER_TIME, true, AT(attempt_row, ended_unix_ms)},
    {"error", MEMBER_TEXT, false, AT(attempt_row, error)},
    {"simulated", MEMBER_FLAG, false, AT(attempt_row, simulated)},
};
static const struct record_members attempt_members = MEMBERS(attempts, NULL);
/* clang-format on */

int attempt_id_from_json(const json_t *o, struct attempt_id *ret, struct err *err)
{
    struct attempt_id id = {0};
    const int r = record_read_members(o, &id_members, &id, err);
    *ret = r < 0 ? *ret : id;
    return r;
}

static int replicas_from_json(const json_t *list, struct attempt_row *row, struct err *err)
{
    size_t i;
    const json_t *replica;
    json_array_foreach (list, i, replica) {
        struct replica_row *added = vec_push(&row->replicas);
        *added = (struct replica_row){.id.attempt = row->id};
        const int r = record_read_members(replica, &replica_members, added, err);
        if (r < 0) {
            return err_wrap(err, r, "replicas[%zu]", i);
        }
    }
    return json_is_array(list) ? 0 : err_set(err, EPROTO, "'replicas' is not a list");
}

int attempt_row_from_json(const json_t *document, struct attempt_row *ret, struct err *err)
{
    struct attempt_row row = {0};
    int r = attempt_id_from_json(document, &row.id, err);
    r = r < 0 ? r : record_read_members(document, &attempt_members, &row, err);
    r = r < 0 ? r : replicas_from_json(json_object_get(document, "replicas"), &row, err);
    if (r < 0) {
        attempt_row_done(&row);
        return r;
    }
    *ret = row;
    return 0;
}
