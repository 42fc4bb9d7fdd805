/* A stored attempt as JSON and back: nothing is lost, and nothing wrong is taken. */
#include "tests/test.h"
#include "core/attempt_json.h"

static struct attempt_row failed_row(struct replica_row *replicas, size_t n)
{
    return (struct attempt_row){
        .id = {2, 1, 3},
        .outcome = ATTEMPT_FAILED,
        .started_unix_ms = INT64_C(1795165971000),
        .ended_unix_ms = INT64_MAX,
        .error = (char *)"trainer/1: killed by signal 9",
        .simulated = true,
        .replicas = {.items = replicas, .len = n},
    };
}

TEST(comes_back_without_loss)
{
    struct replica_row replicas[] = {
        {.id = {{2, 1, 3}, ROLE_PSERVER, 0},
         .exit_code = 255,
         .summary_json = (char *)"{\"benchd\":1}",
         .environment_json = (char *)"{}",
         .log_bytes = INT64_MAX},
        {.id = {{2, 1, 3}, ROLE_TRAINER, UINT32_MAX},
         .exit_code = -1, /* it never started */
         .signal = 9,
         .failure = (char *)"killed by signal 9"},
    };
    const struct attempt_row row = failed_row(replicas, N_ROWS(replicas));
    _cleanup_(json_decrefp) json_t *document = attempt_row_to_json(&row);
    _cleanup_(attempt_row_done) struct attempt_row got;
    struct err err = {0};
    if (attempt_row_from_json(document, &got, &err) < 0) {
        fail_msg("refused: %s", err.msg);
    }
    assert_true(attempt_id_eq(&got.id, &row.id));
    assert_int_equal(got.outcome, row.outcome);
    assert_int_equal(got.started_unix_ms, row.started_unix_ms);
    assert_int_equal(got.ended_unix_ms, row.ended_unix_ms);
    assert_string_equal(got.error, row.error);
    assert_true(got.simulated);
    assert_int_equal(got.replicas.len, N_ROWS(replicas));
    for (size_t i = 0; i < N_ROWS(replicas); i++) {
        const struct replica_row *a = &replicas[i], *b = &got.replicas.items[i];
        assert_true(replica_id_eq(&a->id, &b->id));
        assert_int_equal(b->exit_code, a->exit_code);
        assert_int_equal(b->signal, a->signal);
        assert_int_equal(b->log_bytes, a->log_bytes);
    }
    assert_string_equal(got.replicas.items[0].summary_json, "{\"benchd\":1}");
    assert_string_equal(got.replicas.items[0].environment_json, "{}");
    assert_null(got.replicas.items[0].failure);
    assert_string_equal(got.replicas.items[1].failure, "killed by signal 9");
    assert_null(got.replicas.items[1].summary_json);

    _cleanup_(json_decrefp) json_t *again = attempt_row_to_json(&got);
    assert_true(json_equal(again, document));
}

TEST(names_what_is_wrong)
{
    static const struct {
        const char *key; /* of the first replica if it begins with '/', else of the attempt */
        const char *value, *error;
    } rows[] = {
        {"point", "4294967296", "'point' is 4294967296, not in 0..4294967295"},
        {"trial", "-1", "'trial' is -1, not in 0..4294967295"},
        {"attempt", "\"0\"", "'attempt' is not a whole number"},
        {"outcome", "\"Lucky\"", "'outcome' is unknown: 'Lucky'"},
        {"outcome", "null", "'outcome' is not a string"},
        {"startedUnixMs", "-1", "'startedUnixMs' is -1, not in 0..9223372036854775807"},
        {"error", "7", "'error' is not a string"},
        {"replicas", "{}", "'replicas' is not a list"},
        {"/role", "\"king\"", "replicas[0]: 'role' is unknown: 'king'"},
        {"/exitCode", "256", "replicas[0]: 'exitCode' is 256, not in -1..255"},
        {"/exitCode", "-2", "replicas[0]: 'exitCode' is -2, not in -1..255"},
        {"/logBytes", "-1", "replicas[0]: 'logBytes' is -1, not in 0..9223372036854775807"},
        {"/summary", "{}", "replicas[0]: 'summary' is not a string"},
    };
    struct replica_row replica = {.id = {{2, 1, 3}, ROLE_TRAINER, 0}, .exit_code = 1};
    const struct attempt_row row = failed_row(&replica, 1);
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(json_decrefp) json_t *document = attempt_row_to_json(&row);
        json_t *first = json_array_get(json_object_get(document, "replicas"), 0);
        const bool is_of_replica = rows[i].key[0] == '/';
        (void)json_object_set_new(is_of_replica ? first : document, rows[i].key + is_of_replica,
                                  json_loads(rows[i].value, JSON_DECODE_ANY, NULL));
        struct attempt_row got;
        struct err err = {0};
        const int r = attempt_row_from_json(document, &got, &err);
        if (r != -EPROTO || strcmp(err.msg, rows[i].error) != 0) {
            fail_msg("%s %s: expected '%s', got %d '%s'", rows[i].key, rows[i].value, rows[i].error,
                     r, err.msg);
        }
    }
}
