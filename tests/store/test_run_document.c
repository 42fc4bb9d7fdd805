/* A run comes through its JSON document unchanged; a document that is wrong is refused by the name
 * of its field. */
#include "store_fixture.h"

#include "store/run_document.h"

static json_t *make_document(void)
{
    _cleanup_(run_row_done) struct run_row row = make_run(UID, RUN_NAME, 42);
    row.simulated = true;
    row.status = (struct run_status){
        .phase = RUN_PARTIALLY_FAILED,
        .reason = "SomeTrialsFailed",
        .message = "1 of 4 trials failed",
        .trials_done = 4,
        .trials_failed = 1,
        .trials_total = 4,
        .has_current = true,
        .current.point = 2,
        .current.trial = 1,
        .current.number = 3,
        .started_unix_ms = INT64_C(1763631000123),
        .ended_unix_ms = INT64_C(1763632000456),
    };
    struct attempt_row rows[] = {make_attempt(0, 1, 2), make_attempt(UINT32_MAX, 0, 0)};
    rows[1].outcome = ATTEMPT_SUCCEEDED;
    rows[1].simulated = true;
    free(rows[1].error);
    rows[1].error = NULL;
    struct event_row event = {.unix_ms = 7,
                              .type = EVENT_WARNING,
                              .reason = "TrialFailed",
                              .note = "\xc3\xa4 \"quoted\"\n\xff"};
    json_t *document = run_document_to_json(&row, rows, 2, &event, 1);
    attempt_row_done(&rows[0]);
    attempt_row_done(&rows[1]);
    return document;
}

TEST(test_comes_back_unchanged)
{
    _cleanup_(json_decrefp) json_t *document = make_document();
    _cleanup_(freep) char *text = json_dumps(document, JSON_INDENT(2));
    _cleanup_(json_decrefp) json_t *again = json_loads(text, 0, NULL); /* as it travels */
    struct run_document d = {0};
    struct err err = {0};
    if (run_document_from_json(again, &d, &err) < 0) {
        fail_msg("%s", err.msg);
    }
    assert_string_equal(d.row.uid, UID);
    assert_string_equal(d.row.name, RUN_NAME);
    assert_string_equal(d.row.benchmark, "vgg16-pserver-sweep");
    assert_string_equal(d.row.definition_json, "{\"kind\":\"Benchmark\"}");
    assert_int_equal(d.row.created_unix_ms, 42);
    assert_int_equal(d.row.cpus, 2);
    assert_true(d.row.rehearsal && d.row.simulated);
    assert_int_equal(d.row.status.phase, RUN_PARTIALLY_FAILED);
    assert_string_equal(d.row.status.reason, "SomeTrialsFailed");
    assert_string_equal(d.row.status.message, "1 of 4 trials failed");
    assert_int_equal(d.row.status.trials_failed, 1);
    assert_true(d.row.status.has_current);
    assert_int_equal(d.row.status.current.number, 3);
    assert_true(d.row.status.started_unix_ms == INT64_C(1763631000123));
    assert_true(d.row.status.ended_unix_ms == INT64_C(1763632000456));
    assert_int_equal(d.attempts.len, 2);
    _cleanup_(attempt_row_done) struct attempt_row first = make_attempt(0, 1, 2);
    assert_attempt_equal(&d.attempts.items[0], &first);
    assert_int_equal(d.attempts.items[1].outcome, ATTEMPT_SUCCEEDED);
    assert_true(d.attempts.items[1].id.point == UINT32_MAX && d.attempts.items[1].simulated);
    assert_null(d.attempts.items[1].error);
    assert_int_equal(d.n_events, 1);
    assert_int_equal(d.events[0].type, EVENT_WARNING);
    assert_string_equal(d.events[0].note, "\xc3\xa4 \"quoted\"\n?"); /* what is no UTF-8 */

    json_t *third =
        run_document_to_json(&d.row, d.attempts.items, d.attempts.len, d.events, d.n_events);
    assert_true(json_equal(third, document));
    run_document_done(&d);
    json_decref(third);
}

/* In the form of archives an attempt at a time becomes a tree, in others the whole. */
TEST(test_read_from_text)
{
    json_auto_t *document = make_document();
    for (unsigned indent = 1; indent <= 2; indent++) {
        _cleanup_(freep) char *text = json_dumps(document, JSON_INDENT(indent));
        const size_t len = strlen(text);
        const struct buf all = {.data = text, .len = len};
        struct run_document d = {0};
        assert_int_equal(run_document_read(&all, len - 1, &d, NULL), indent == 1 ? 0 : -E2BIG);
        assert_int_equal(d.attempts.len, indent == 1 ? 2 : 0);
        run_document_done(&d);
        assert_int_equal(run_document_read(&all, len, &d, NULL), 0);
        json_auto_t *again =
            run_document_to_json(&d.row, d.attempts.items, d.attempts.len, d.events, d.n_events);
        assert_true(json_equal(again, document));
        run_document_done(&d);
    }
}

TEST(test_a_run_without_definition)
{
    _cleanup_(run_row_done) struct run_row row = make_run(UID, RUN_NAME, 42);
    free(row.definition_json);
    row.definition_json = NULL;
    _cleanup_(json_decrefp) json_t *document = run_document_to_json(&row, NULL, 0, NULL, 0);
    struct run_document d = {0};
    assert_int_equal(run_document_from_json(document, &d, NULL), 0);
    assert_null(d.row.definition_json);
    assert_int_equal(d.attempts.len, 0);
    assert_false(d.row.status.has_current);
    run_document_done(&d);

    row.definition_json = xstrdup("{");
    assert_null(run_document_to_json(&row, NULL, 0, NULL, 0));
}

/* The item at a path such as "attempts/0/replicas"; borrowed. */
static json_t *at(json_t *document, const char *path)
{
    while (document != NULL && *path != '\0') {
        const size_t len = strcspn(path, "/");
        _cleanup_(freep) char *key = xstrndup(path, len);
        document = json_is_array(document) ? json_array_get(document, (size_t)(*key - '0'))
                                           : json_object_get(document, key);
        path += len + (path[len] == '/');
    }
    return document;
}

TEST(test_wrong_documents_are_refused_by_field)
{
    static const struct {
        const char *path, *key, *value, *text;
    } rows[] = {
        {"", "kind", "\"BenchmarkResult\"", "it is not a BenchmarkRunAttempts"},
        {"", "run", "null", "run: 'name' is missing"},
        {"run", "name", "7", "run: 'name' is not a string"},
        {"run", "cpus", "-1", "run: 'cpus' is -1, not in 0.."},
        {"run", "createdUnixMs", "1.5", "run: 'createdUnixMs' is not a whole number"},
        {"run/status", "phase", "\"Happy\"", "run: 'phase' is unknown: 'Happy'"},
        {"run/status/current", "trial", "null", "run: current: 'trial' is not a whole number"},
        {"attempts/1", "point", "4294967296", "attempts[1]: 'point' is 4294967296"},
        {"attempts/0", "outcome", "\"Lost\"", "attempts[0]: 'outcome' is unknown: 'Lost'"},
        {"attempts/0", "error", "[]", "attempts[0]: 'error' is not a string"},
        {"attempts/0", "replicas", "{}", "attempts[0]: 'replicas' is not a list"},
        {"attempts/1/replicas/1", "role", "\"king\"",
         "attempts[1]: replicas[1]: 'role' is unknown: 'king'"},
        {"attempts/0/replicas/0", "signal", "null", "replicas[0]: 'signal' is not a whole number"},
        {"attempts/0/replicas/0", "summary", "{}", "replicas[0]: 'summary' is not a string"},
        {"events/0", "note", "null", "events[0]: 'note' is not a string"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        _cleanup_(json_decrefp) json_t *document = make_document();
        json_t *value = json_loads(rows[i].value, JSON_DECODE_ANY, NULL);
        assert_int_equal(json_object_set_new(at(document, rows[i].path), rows[i].key, value), 0);
        struct run_document d = {0};
        struct err err = {0};
        int r = run_document_from_json(document, &d, &err);
        if (r != -EPROTO || strstr(err.msg, rows[i].text) == NULL) {
            fail_msg("%s/%s = %s: expected '%s', got %d '%s'", rows[i].path, rows[i].key,
                     rows[i].value, rows[i].text, r, err.msg);
        }
    }
}
