#include "tests/test.h"
#include "result/result_json.h"

#include "../golden_json.h"
#include "core/environment.h"
#include "result/catalogue.h"
#include "result/result_build.h"
#include "result_fixture.h"

#define ONE_POINT "{grid: {pservers: [1], trainers: [2], batch_size: [16]}}"
#define SINGLE_NODE "  baseline: {kind: SingleNode}\n"

/* On two nodes, as a launcher says it. */
static void place(struct attempt_row *row)
{
    vec_each (struct replica_row, rep, &row->replicas) {
        replica_place(rep, rep->id.index == 0 ? "node-a" : "node-b",
                      "registry/benchworker@sha256:1f");
    }
}

/* A new figure changes no golden: without those that this one does not have. */
static json_t *without_news(json_t *document)
{
    static const char *const lists[] = {"points", "baselines"};
    _cleanup_(freep) char *text = golden_read("docs/contracts/golden/result.json");
    for (size_t i = 0; i < N_ROWS(lists); i++) {
        size_t at;
        json_t *point;
        json_array_foreach (json_object_get(document, lists[i]), at, point) {
            figure_each_kind (k) {
                _cleanup_(freep) char *key = xasprintf("\"%s\"", k->json == NULL ? "" : k->json);
                if (k->json != NULL && strstr(text, key) == NULL) {
                    (void)json_object_del(point, k->json);
                }
            }
        }
    }
    return document;
}

TEST(golden_document)
{
    _cleanup_(fixture_done) struct fixture f;
    fixture_init(&f, ONE_POINT,
                 SINGLE_NODE "  repeats: {min: 3, order: Interleaved}\n"
                             "  thresholds:\n"
                             "  - {metric: efficiency, where: {trainers: 2}, min: \"0.9\"}\n",
                 8);
    fixture_succeed(&f, 0, 0, 0, (double[]){3.2, 3.2});
    fixture_end(&f, 0, 1, 0, ATTEMPT_VOID, "trainer/1: killed by signal 9");
    fixture_succeed(&f, 0, 1, 1, (double[]){3.25, 3.2});
    fixture_succeed(&f, 0, 2, 0, (double[]){3.28, 3.2});
    fixture_succeed(&f, 1, 0, 0, (double[]){3.0});
    fixture_succeed(&f, 1, 1, 0, (double[]){3.02});
    fixture_succeed(&f, 1, 2, 0, (double[]){2.99});
    vec_each (struct attempt_row, row, &f.rows) {
        place(row);
    }
    _cleanup_(json_decrefp) json_t *actual =
        without_news(result_to_json(fixture_build(&f, RUN_SUCCEEDED)));
    golden_check_json("docs/contracts/golden/result.json", actual);

    struct result *parts = result_begin(f.def, RUN_SUCCEEDED); /* its rows came by point */
    result_assign_rows(parts, f.rows.items, f.rows.len);
    result_add_point(parts, 0, f.rows.items, 4);
    result_add_point(parts, 1, f.rows.items + 4, 3);
    result_end(parts);
    _cleanup_(json_decrefp) json_t *same = without_news(result_to_json(parts));
    assert_true(json_equal(same, actual));
    result_free(parts);
}

/* Absent is FP32, which is what a baseline without servers has: it sends nothing. */
TEST(the_format_of_numbers)
{
    for (int is_bf16 = 0; is_bf16 < 2; is_bf16++) {
        _cleanup_(fixture_done) struct fixture f;
        fixture_init(&f, ONE_POINT, SINGLE_NODE "  repeats: {min: 1}\n", 8);
        f.def->spec->systems.items[0].exchange.wire =
            is_bf16 ? EXCHANGE_WIRE_BF16 : EXCHANGE_WIRE_FP32;
        f.def->matrix.points[0].server_threads = is_bf16 ? 2 : 0;
        _cleanup_(json_decrefp) json_t *o = result_to_json(fixture_build(&f, RUN_SUCCEEDED));
        static const char *const lists[] = {"points", "baselines"};
        for (size_t i = 0; i < N_ROWS(lists); i++) {
            const json_t *list = json_object_get(o, lists[i]);
            assert_int_equal(json_array_size(list), 1);
            const char *wire = json_string_value(json_object_get(json_array_get(list, 0), "wire"));
            assert_string_equal(wire == NULL ? "" : wire, is_bf16 && i == 0 ? "BF16" : "");
            const json_t *threads = json_object_get(json_array_get(list, 0), "serverThreads");
            assert_int_equal(json_integer_value(threads), is_bf16 && i == 0 ? 2 : 0);
        }
    }
}

TEST(how_replicas_reached_each_other)
{
    static const struct {
        enum exchange_transport first, second;
        const char *text;
    } rows[] = {
        {EXCHANGE_TRANSPORT_AUTO, EXCHANGE_TRANSPORT_AUTO, "null"},
        {EXCHANGE_TRANSPORT_AUTO, EXCHANGE_TRANSPORT_TCP, "\"TCP\""},
        {EXCHANGE_TRANSPORT_NCCL, EXCHANGE_TRANSPORT_TCP, "\"NCCL and TCP\""},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(fixture_done) struct fixture f;
        fixture_init(&f, ONE_POINT, SINGLE_NODE "  repeats: {min: 1}\n", 8);
        struct attempt_row *row = fixture_succeed(&f, 0, 0, 0, (double[]){3.2, 3.2});
        for (size_t k = 0; k < 2; k++) {
            const struct summary s = {.samples = 128,
                                      .duration_ns = 1000000000,
                                      .steps = 8,
                                      .transport = k == 0 ? rows[i].first : rows[i].second};
            fixture_say(row, row->replicas.len - 1 - k, &s);
        }
        json_t *o = result_to_json(fixture_build(&f, RUN_SUCCEEDED));
        const json_t *point = json_array_get(json_object_get(o, "points"), 0);
        _cleanup_(freep) char *text =
            json_dumps(json_object_get(point, "transport"), JSON_ENCODE_ANY);
        assert_string_equal(text == NULL ? "null" : text, rows[i].text);
        assert_null(json_object_get(point, "link"));
        json_decref(o);
        f.def->matrix.points[0].link.bits_per_s = 1000000000;
        o = result_to_json(f.result);
        point = json_array_get(json_object_get(o, "points"), 0);
        assert_string_equal(json_string_value(json_object_get(point, "link")), "1gbit");
        json_decref(o);
    }
}

/* Nothing that no log has is 0: neither of a replica nor of its node. */
TEST(a_log_knows_no_bytes_and_no_throttling)
{
    _cleanup_(fixture_done) struct fixture f;
    fixture_init(&f, ONE_POINT, SINGLE_NODE "  repeats: {min: 1}\n", 8);
    struct attempt_row *row = fixture_succeed(&f, 0, 0, 0, (double[]){3.2, 3.2});
    fixture_place(row, row->replicas.len - 1, "n4", 100);
    fixture_count(row, UNIT_SAMPLES);
    json_t *o = result_to_json(fixture_build(&f, RUN_SUCCEEDED));
    _cleanup_(freep) char *text = json_dumps(o, JSON_COMPACT);
    assert_non_null(strstr(text, "\"bytesTx\":null,\"bytesRx\":null,"));
    assert_non_null(
        strstr(text, "\"throttledNs\":null,\"throttledPeriods\":null,\"maxRssBytes\":null,"));
    assert_non_null(strstr(text, "\"throttled\":null"));
    json_decref(o);
}

TEST(foreign_bytes_in_causes)
{
    _cleanup_(fixture_done) struct fixture f;
    fixture_init(&f, ONE_POINT, SINGLE_NODE "  repeats: {min: 1}\n", 8);
    struct attempt_row *row = fixture_succeed(&f, 0, 0, 0, (double[]){3.2, 3.2});
    row->outcome = ATTEMPT_FAILED;
    row->error = xstrdup("trainer/0: caf\xe9");
    row->replicas.items[1].failure = xstrdup("caf\xe9");
    struct result *r = fixture_build(&f, RUN_FAILED);
    assert_string_equal(r->points[0].trials[0].error, "trainer/0: caf?");
    _cleanup_(json_decrefp) json_t *o = result_to_json(r);
    _cleanup_(freep) char *text = json_dumps(o, JSON_COMPACT);
    assert_non_null(text);
    assert_non_null(strstr(text, "\"error\":\"trainer/0: caf?\""));
    assert_non_null(strstr(text, "\"failure\":\"caf?\""));
}

TEST(ends_of_replicas_in_the_document)
{
    static const struct {
        int exit_code, signal;
        const char *text;
    } rows[] = {
        {0, 0, "\"exitCode\":0,\"signal\":null"},
        {11, 0, "\"exitCode\":11,\"signal\":null"},
        {-1, 9, "\"exitCode\":null,\"signal\":9"}, /* killed */
        {-1, 0, "\"exitCode\":null,\"signal\":null"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(fixture_done) struct fixture f;
        fixture_init(&f, ONE_POINT, SINGLE_NODE "  repeats: {min: 1}\n", 8);
        struct attempt_row *row = fixture_succeed(&f, 0, 0, 0, (double[]){3.2, 3.2});
        row->replicas.items[1].exit_code = rows[i].exit_code;
        row->replicas.items[1].signal = rows[i].signal;
        _cleanup_(json_decrefp) json_t *o = result_to_json(fixture_build(&f, RUN_SUCCEEDED));
        _cleanup_(freep) char *text = json_dumps(o, JSON_COMPACT);
        _cleanup_(freep) char *expected =
            xasprintf("\"role\":\"trainer\",\"index\":0,%s", rows[i].text);
        if (strstr(text, expected) == NULL) {
            fail_msg("expected %s in %s", expected, text);
        }
    }
}
