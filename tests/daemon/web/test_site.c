/* The handlers over a real store, without HTTP: what they answer to whom. */
#include <math.h>

#include <jansson.h>

#include "tests/test.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/whole_file.h"
#include "daemon/web/site.h"
#include "fake_daemon.h"
#include "report/style.h"
#include "result_fixture.h"
#include "load/loaded_run.h"
#include "store/run_document.h"
#include "tests/report/sheet_as.h"
#include "tests/store/store_folder.h"

#define RUN "demo-7k3fq"

/* A run of two points and its baseline, three trials of each but one, in a store. */
struct rig {
    char folder[64], url[96];
    struct fixture run;
    struct run_status status;
    struct store *store;
    struct fake_daemon daemon;
    struct daemon_view *view;
    struct site site;
    struct web_response res;
};

static void save(struct rig *rig, const struct attempt_row *row)
{
    struct replica_log logs[8];
    size_t n = 0;
    vec_each (struct replica_row, rep, &row->replicas) {
        logs[n++] = (struct replica_log){rep->id, role_to_string(rep->id.role),
                                         strlen(role_to_string(rep->id.role))};
    }
    store_put_attempt(rig->store, rig->run.def, row, logs, n);
}

static struct rig *rig_new(void)
{
    struct rig *rig = xnew(struct rig);
    rig->store = store_in_folder(rig->folder, rig->url);
    rig->site.store_path = rig->url + strlen("sqlite:");
    fixture_init(&rig->run, "{grid: {pservers: [1], trainers: [1, 2]}}",
                 "  baseline: {kind: SingleNode}\n  repeats: {min: 3}\n", 8);
    rig->status = (struct run_status){
        .phase = RUN_RUNNING,
        .message = "<b>&\"x\"",
        .trials_done = 8,
        .trials_failed = 1,
        .trials_total = 9,
        .started_unix_ms = 1795165972000,
        .has_current = true,
    };
    store_put_def(rig->store, rig->run.def, &rig->status);
    for (uint32_t trial = 0; trial < 3; trial++) {
        for (uint32_t point = 0; point < 3; point++) {
            if (point != 1 || trial != 2) {
                save(rig, fixture_throughput(&rig->run, point, trial, 50 + 10.0 * point + trial));
            }
        }
    }
    struct attempt_row *failed =
        fixture_end(&rig->run, 1, 2, 0, ATTEMPT_FAILED, "trainer/1: <script>alert(1)</script>\xff");
    for (uint32_t i = 0; i < 3; i++) { /* all ended so; the error names one */
        const struct replica_id id = {failed->id, ROLE_TRAINER, i == 2 ? 12 : i};
        *vec_push(&failed->replicas) = (struct replica_row){.id = id, .exit_code = 1};
    }
    save(rig, failed);
    const struct event_row event = {1795165973000, EVENT_WARNING, "Odd", "<i>note</i>"};
    assert_int_equal(rig->store->ops->add_event(rig->store, rig->run.def->uid, &event, NULL), 0);
    rig->view = daemon_view_new();
    rig->site.store = rig->store;
    return rig;
}

static void rig_freep(struct rig **p)
{
    struct rig *rig = *p;
    site_done(&rig->site);
    fake_daemon_done(&rig->daemon);
    daemon_view_free(rig->view);
    store_close(rig->store);
    fixture_done(&rig->run);
    buf_done(&rig->res.body);
    store_folder_remove(rig->folder);
    free(rig);
}

/* The daemon knows the run too. */
static void make_live(struct rig *rig, bool is_stored)
{
    *vec_push(&rig->daemon.runs) = (struct fake_run){
        .name = rig->run.def->name,
        .uid = rig->run.def->uid,
        .benchmark = "demo",
        .def = rig->run.def,
        .created_unix_ms = rig->run.def->created_unix_ms,
        .status = &rig->status,
        .is_active = true,
        .is_stored = is_stored,
        .progress = {.is_known = true,
                     .id = {.role = ROLE_TRAINER},
                     .step = 2,
                     .step_ns = 1000000000,
                     .samples = 16,
                     .loss = 2.5,
                     .seen_unix_ms = 1795165999000},
    };
}

/* "/path?name=value&name=value": without escapes. Borrowed, till the next one. */
static const char *get(struct rig *rig, const char *url, int code)
{
    char text[512];
    struct web_arg args[8];
    struct web_request req = {.args = args};
    (void)snprintf(text, sizeof(text), "%s", url);
    char *rest = strchr(text, '?');
    if (rest != NULL) {
        *rest++ = '\0';
    }
    req.path = text;
    for (char *save_ptr = NULL, *arg = rest == NULL ? NULL : strtok_r(rest, "&", &save_ptr);
         arg != NULL; arg = strtok_r(NULL, "&", &save_ptr)) {
        char *value = strchr(arg, '=');
        if (value != NULL) {
            *value++ = '\0';
        }
        args[req.n_args++] = (struct web_arg){arg, value == NULL ? "" : value};
    }
    buf_clear(&rig->res.body);
    rig->res.code = 0;
    struct route route;
    routes_find(req.path, &route);
    fake_daemon_publish(&rig->daemon, rig->view);
    daemon_view_read(rig->view, &rig->site.now);
    routes_answer(&rig->site, &route, &req, &rig->res);
    daemon_snapshot_done(&rig->site.now);
    if (rig->res.is_file && str_eq(rig->res.content_type, WEB_JSON)) {
        rig->res.is_file = false;
        buf_done(&rig->res.body);
        assert_int_equal(file_read_fd(rig->res.file, "", SIZE_MAX, &rig->res.body, NULL), 0);
        fd_close(&rig->res.file);
    }
    if (rig->res.code != code) {
        fail_msg("%s: expected %d, got %d: %s", url, code, rig->res.code, buf_cstr(&rig->res.body));
    }
    return buf_cstr(&rig->res.body);
}

static json_t *get_json(struct rig *rig, const char *url, int code)
{
    json_error_t err;
    json_t *document = json_loads(get(rig, url, code), 0, &err);
    if (document == NULL) {
        fail_msg("%s: %s", url, err.text);
    }
    assert_string_equal(rig->res.content_type, "application/json");
    return document;
}

TEST(test_errors)
{
    _cleanup_(rig_freep) struct rig *rig = rig_new();
    static const struct {
        const char *url;
        int code;
        const char *message;
    } rows[] = {
        {"/nothing", 404, "nothing found at '/nothing'"},
        {"/metrics/", 404, "nothing found at '/metrics/'"},
        {"/api/v1/runs/none", 404, "there is no run 'none'"},
        {"/api/v1/runs/none/results", 404, "there is no run 'none'"},
        {"/api/v1/runs/none/logs", 404, "there is no run 'none'"},
        {"/runs/none", 404, "there is no run 'none'"},
        {"/api/v1/runs/../x", 404, "nothing found at '/api/v1/runs/../x'"},
        {"/api/v1/runs/A", 404, "nothing found at '/api/v1/runs/A'"},
        {"/api/v1/runs/" RUN "/", 404, "nothing found at '/api/v1/runs/" RUN "/'"},
        {"/runs/\x01\xff", 404, "nothing found at '/runs/\x01?'"},
        {"/api/v1/runs/" RUN "/logs", 400,
         "run '" RUN "' has several points; choose one with point=N"},
        {"/api/v1/runs/" RUN "/logs?point=9", 404, "run '" RUN "': no finished attempt matches"},
        {"/api/v1/runs/" RUN "/logs?point=0&index=7", 404,
         "run '" RUN "': the attempt has no such replica"},
        {"/api/v1/runs/" RUN "/logs?point=-1", 400, "point '-1': expected a whole number from 0"},
        {"/api/v1/runs/" RUN "/logs?point=", 400, "point '': expected a whole number from 0"},
        {"/api/v1/runs/" RUN "/logs?point=99999999999", 400,
         "point '99999999999': expected a whole number from 0"},
        {"/api/v1/runs/" RUN "/logs?point=0&role=boss", 400,
         "unknown role 'boss'; use pserver, trainer, worker or launcher"},
        {"/api/v1/runs/" RUN "/logs?points=0", 400,
         "unknown argument 'points'; use point, trial, attempt, role or index"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(json_decrefp) json_t *document = get_json(rig, rows[i].url, rows[i].code);
        assert_int_equal(json_object_size(document), 2);
        assert_int_equal(json_integer_value(json_object_get(document, "code")), rows[i].code);
        const char *message = json_string_value(json_object_get(document, "message"));
        if (!str_eq(message, rows[i].message)) {
            fail_msg("%s: expected '%s', got '%s'", rows[i].url, rows[i].message, message);
        }
    }
}

TEST(test_list)
{
    _cleanup_(rig_freep) struct rig *rig = rig_new();
    json_t *document = get_json(rig, "/api/v1/runs", 200);
    json_t *item = json_array_get(json_object_get(document, "items"), 0);
    assert_string_equal(json_string_value(json_object_get(document, "kind")), "BenchmarkRunList");
    assert_string_equal(json_string_value(json_object_get(item, "name")), RUN);
    assert_string_equal(json_string_value(json_object_get(item, "phase")), "Running");
    assert_true(json_is_true(json_object_get(item, "interrupted"))); /* nobody drives it */
    assert_int_equal(json_integer_value(json_object_get(item, "trialsDone")), 8);
    assert_string_equal(json_string_value(json_object_get(item, "started")),
                        "2026-11-20T09:12:52Z");
    assert_true(json_is_null(json_object_get(item, "ended")));
    json_decref(document);

    make_live(rig, false); /* benchd has its object, and has not looked at it since the start */
    rig->status.trials_done = 9; /* not in the store yet */
    for (int i = 0; i < 2; i++) {
        rig->daemon.runs.items[0].is_stored = i > 0;
        document = get_json(rig, "/api/v1/runs", 200);
        item = json_array_get(json_object_get(document, "items"), 0);
        assert_int_equal(json_array_size(json_object_get(document, "items")), 1);
        assert_true(json_is_false(json_object_get(item, "interrupted")));
        assert_int_equal(json_integer_value(json_object_get(item, "trialsDone")), 8 + i);
        json_decref(document);
    }
}

TEST(test_not_stored)
{
    _cleanup_(rig_freep) struct rig *rig = rig_new();
    static const struct run_status status = {.phase = RUN_PENDING, .message = "no such Benchmark"};
    *vec_push(&rig->daemon.runs) = (struct fake_run){.name = "new",
                                                     .uid = "00000000-0000-4000-8000-000000000000",
                                                     .benchmark = "new",
                                                     .created_unix_ms = INT64_C(1795165971000),
                                                     .status = &status};
    json_t *document = get_json(rig, "/api/v1/runs", 200);
    json_t *items = json_object_get(document, "items");
    assert_int_equal(json_array_size(items), 2);
    json_t *first = json_array_get(items, 0);
    assert_string_equal(json_string_value(json_object_get(first, "name")), "new");
    json_decref(document);
    document = get_json(rig, "/api/v1/runs/new", 200);
    assert_string_equal(json_string_value(json_object_get(document, "created")),
                        "2026-11-20T09:12:51Z"); /* its object; it is not frozen */
    json_decref(document);
    document = get_json(rig, "/api/v1/runs/new/file", 409);
    assert_string_equal(json_string_value(json_object_get(document, "message")),
                        "run 'new' is not accepted, so it has no file: no such Benchmark");
    json_decref(document);
    document = get_json(rig, "/api/v1/runs/new/results", 409);
    assert_string_equal(json_string_value(json_object_get(document, "message")),
                        "run 'new' is not accepted, so it has no results: no such Benchmark");
    json_decref(document);
    assert_null(strstr(get(rig, "/", 200), "<td>-</td>"));
    assert_non_null(strstr(get(rig, "/runs/new", 200), "no such Benchmark"));
    assert_non_null(strstr(get(rig, "/metrics", 200), "benchd_run_trials{run=\"new\"} 0"));
}

TEST(test_run)
{
    _cleanup_(rig_freep) struct rig *rig = rig_new();
    make_live(rig, true);
    json_t *document = get_json(rig, "/api/v1/runs/0b5c8f0e-3f5e-4c0a-9d6b-2a1f3c4d5e6f", 200);
    assert_string_equal(json_string_value(json_object_get(document, "name")), RUN);
    json_t *progress = json_object_get(document, "progress");
    assert_string_equal(json_string_value(json_object_get(progress, "role")), "trainer");
    assert_int_equal(json_integer_value(json_object_get(progress, "samples")), 16);
    const json_t *attempts = json_object_get(document, "attempts");
    assert_int_equal(json_array_size(attempts), 9);
    const json_t *last = json_array_get(attempts, 8);
    assert_int_equal(json_integer_value(json_object_get(last, "point")), 2);
    assert_int_equal(json_integer_value(json_object_get(last, "trial")), 2);
    assert_int_equal(json_integer_value(json_object_get(last, "attempt")), 0);
    json_decref(document);
}

/* The run as a file (docs/contracts/run-file.md), whole and in part. */
TEST(test_file)
{
    static const struct {
        const char *args;
        size_t n;
        int code;
    } rows[] = {
        {"", 9, 200},
        {"?point=1", 3, 200},
        {"?point=1&trial=2", 1, 200},
        {"?trial=0&attempt=0&logs=true", 3, 200},
        {"?point=7", 0, 200},
        {"?point=x", 0, 400},
        {"?points=1", 0, 400},
    };
    _cleanup_(rig_freep) struct rig *rig = rig_new();
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        char url[128];
        (void)snprintf(url, sizeof(url), "/api/v1/runs/" RUN "/file%s", rows[i].args);
        (void)get(rig, url, rows[i].code);
        if (rows[i].code != 200) {
            continue;
        }
        assert_true(rig->res.is_file);
        assert_string_equal(rig->res.content_type, WEB_ZSTD);
        rig->res.is_file = false;
        _cleanup_(freep) char *path = NULL;
        _cleanup_(run_row_done) struct run_row row = {0};
        struct attempt_row *rows_there = NULL;
        struct run_file_head head;
        struct store *file;
        size_t n, n_lost;
        FILE *in = fdopen(rig->res.file, "rb");
        assert_int_equal(run_file_room(rig->site.store_path, &path, NULL), 0);
        assert_int_equal(run_file_unpack(in, path, RUN_FILE_MAX_BYTES, NULL), 0);
        assert_int_equal(run_file_open(path, &file, &head, NULL), 0);
        assert_int_equal(unlink(path), 0);
        (void)fclose(in);
        assert_int_equal(run_file_run(file, &row, NULL), 0);
        assert_string_equal(row.name, RUN);
        assert_int_equal(file->ops->list_outcomes(file, row.uid, &rows_there, &n, NULL), 0);
        free_each(rows_there, n, attempt_row_done);
        assert_int_equal(n, rows[i].n);
        assert_int_equal(run_file_read(file, &n_lost, NULL), 0);
        run_file_head_done(&head);
        store_close(file);
    }
}

/* The bytes of `benchctl results -o json`. */
TEST(test_results)
{
    _cleanup_(rig_freep) struct rig *rig = rig_new();
    _cleanup_(buf_done) struct buf expected = BUF_INIT;
    result_json_put(fixture_build(&rig->run, RUN_RUNNING), &expected);
    assert_string_equal(get(rig, "/api/v1/runs/" RUN "/results", 200), buf_cstr(&expected));
    make_live(rig, true); /* the daemon's definition instead of the stored one */
    assert_string_equal(get(rig, "/api/v1/runs/" RUN "/results", 200), buf_cstr(&expected));
}

TEST(test_logs)
{
    _cleanup_(rig_freep) struct rig *rig = rig_new();
    static const struct {
        const char *args, *expected;
    } rows[] = {
        {"point=0", "trainer"},
        {"point=0&role=pserver", "pserver"},
        {"point=1&trial=1&attempt=0&role=trainer&index=1", "trainer"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        char url[128];
        (void)snprintf(url, sizeof(url), "/api/v1/runs/" RUN "/logs?%s", rows[i].args);
        assert_string_equal(get(rig, url, 200), rows[i].expected);
        assert_string_equal(rig->res.content_type, "text/plain; charset=utf-8");
    }
}

TEST(test_health)
{
    _cleanup_(rig_freep) struct rig *rig = rig_new();
    assert_string_equal(get(rig, "/healthz", 200), "ok\n");
    assert_string_equal(get(rig, "/readyz", 200), "ok\n");
    rig->daemon.not_ready = "watch of pods: 403";
    assert_string_equal(get(rig, "/readyz", 503), "watch of pods: 403\n");
    assert_string_equal(get(rig, "/healthz", 200), "ok\n");
    rig->daemon.not_healthy = "the Lease is lost";
    assert_string_equal(get(rig, "/healthz", 503), "the Lease is lost\n");
}

/* Texts from outside never become markup. */
TEST(test_html)
{
    _cleanup_(rig_freep) struct rig *rig = rig_new();
    const char *page = get(rig, "/runs/" RUN, 200);
    assert_string_equal(rig->res.content_type, "text/html; charset=utf-8");
    static const char *const expected[] = {
        "&lt;b&gt;&amp;&quot;x&quot;",
        "trainer/1: &lt;script&gt;alert(1)&lt;/script&gt;?",
        "&lt;i&gt;note&lt;/i&gt;",
        "(interrupted)",
        "<th class=\"r\">THROUGHPUT</th>",
        "<a href=\"../api/v1/runs/" RUN "/logs?point=0&amp;trial=0&amp;attempt=0&amp;role=pserver"
        "&amp;index=0\">log of pserver/0</a>",
        /* the one that the error names */
        "attempt=0&amp;role=trainer&amp;index=1\">log of trainer/1</a>",
        "<a href=\"../api/v1/runs/" RUN "/results\">",
        "<nav class=\"screen\"><a href=\"../\">Runs</a></nav>",
    };
    for (size_t i = 0; i < N_ROWS(expected); i++) {
        if (strstr(page, expected[i]) == NULL) {
            fail_msg("expected '%s' in:\n%s", expected[i], page);
        }
    }
    assert_null(
        strstr(page, "http-equiv")); /* benchd does not drive the run: nothing will change */
    assert_null(strstr(page, "<i>"));
    assert_non_null(strstr(page, page_style));
    assert_non_null(strstr(page, page_script));
}

static void assert_page_has(struct rig *rig, const char *url, const char *expected)
{
    const char *page = get(rig, url, 200);
    if (strstr(page, expected) == NULL) {
        fail_msg("%s: expected '%s' in:\n%s", url, expected, page);
    }
}

/* The page of a run that goes on loads itself again. */
TEST(test_html_refresh)
{
    static const char refresh[] = "<meta http-equiv=\"refresh\" content=\"10\">";
    _cleanup_(rig_freep) struct rig *rig = rig_new();
    make_live(rig, true);
    assert_page_has(rig, "/runs/" RUN, refresh);
    rig->status.phase = RUN_SUCCEEDED;
    assert_null(strstr(get(rig, "/runs/" RUN, 200), refresh));
}

/* Whatever is damaged: an error, or the whole as it was. */
TEST(test_damaged_tables)
{
    static const char *const pages[] = {"/",
                                        "/runs/" RUN,
                                        "/api/v1/runs",
                                        "/api/v1/runs/" RUN,
                                        "/api/v1/runs/" RUN "/results",
                                        "/api/v1/runs/" RUN "/logs?point=0&trial=0&attempt=0"};
    static const struct {
        const char *sql;
        unsigned fails; /* a bit a page */
    } rows[] = {
        {"UPDATE replica SET steps = -1 WHERE point = 2 AND trial = 2", 0x12},
        {"UPDATE replica SET series_data = x'00' WHERE replica_index = 1", 0x12},
        {"UPDATE environment SET facts = '['", 0x32},
        {"UPDATE attempt SET outcome = 'x'", 0x3a},
        {"UPDATE attempt SET started_unix_ms = -1", 0x3a},
        {"UPDATE attempt SET metrics = '{', throughput = 9e999", 0},
        {"UPDATE machine SET facts = '['", 0},
        {"UPDATE event SET warning = 7", 0x02},
        {"UPDATE log SET zstd = x'00'", 0x20},
        {"UPDATE run SET definition = '{}'", 0x32},
        {"UPDATE run SET cpus = -1", 0x3f},
    };
    char *whole[N_ROWS(pages)];
    struct rig *good = rig_new();
    for (size_t k = 0; k < N_ROWS(pages); k++) {
        whole[k] = xstrdup(get(good, pages[k], 200));
    }
    rig_freep(&good);
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(rig_freep) struct rig *rig = rig_new();
        print_message("# row '%s'\n", rows[i].sql);
        store_exec(rig->url + strlen("sqlite:"), rows[i].sql);
        for (size_t k = 0; k < N_ROWS(pages); k++) {
            const bool fails = (rows[i].fails >> k & 1) != 0;
            const char *body = get(rig, pages[k], fails ? 500 : 200);
            assert_true(fails || str_eq(body, whole[k]));
        }
    }
    for (size_t k = 0; k < N_ROWS(pages); k++) {
        free(whole[k]);
    }
}

TEST(test_html_list)
{
    _cleanup_(rig_freep) struct rig *rig = rig_new();
    static const struct {
        const char *url, *expected, *absent;
    } rows[] = {
        {"/", "<a href=\"runs/" RUN "\">" RUN "</a>", "None of"},
        {"/", "<td>demo</td>", "older runs"},
        {"/?q=DEMO", "<tr><td><a href=\"runs/" RUN "\">", "None of"},
        {"/?q=7k3FQ&phase=Running", "<a href=\"runs/" RUN "\">", "None of"},
        {"/?q=other", "<p>None of the 1 runs matches.</p>", RUN},
        {"/?phase=Failed", "<option value=\"Failed\" selected>", RUN},
        {"/?q=\"><b>", "value=\"&quot;&gt;&lt;b&gt;\"", "<b>"},
        {"/", "<td>Running (interrupted)</td><td class=\"r\">8/9</td>", "http-equiv"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        assert_page_has(rig, rows[i].url, rows[i].expected);
        if (strstr(buf_cstr(&rig->res.body), rows[i].absent) != NULL) {
            fail_msg("%s: '%s' in:\n%s", rows[i].url, rows[i].absent, buf_cstr(&rig->res.body));
        }
    }
    assert_non_null(strstr(get(rig, "/?phase=Odd", 400), "unknown phase 'Odd'"));
}

/* A scrape of the same state does not read the store; a trial more does. */
TEST(test_scrape_cache)
{
    _cleanup_(rig_freep) struct rig *rig = rig_new();
    make_live(rig, true);
    static const char line[] =
        "benchd_point_throughput_samples_per_second{run=\"" RUN "\","
        "benchmark=\"demo\",system=\"benchworker\",point=\"0\","
        "pservers=\"1\",trainers=\"1\",batch_size=\"16\",threads=\"1\",other=\"\"} ";
    const char *page = get(rig, "/metrics", 200);
    const char *at = strstr(page, line);
    if (at == NULL || fabs(strtod(at + strlen(line), NULL) - 51) > 1e-6) {
        fail_msg("expected %s51 in:\n%s", line, page);
    }
    assert_non_null(strstr(page, "benchd_trainer_step_samples_per_second{run=\"" RUN "\"} 16\n"));
    assert_int_equal(rig->site.cache.len, 1);
    const struct run_gauges *before = rig->site.cache.items[0].figures;
    (void)get(rig, "/metrics", 200);
    assert_ptr_equal(rig->site.cache.items[0].figures, before);
    rig->status.trials_done++;
    rig->site.cache.items[0].next_ms = 0;
    (void)get(rig, "/metrics", 200);
    assert_int_equal(rig->site.cache.items[0].trials_done, 9);
    rig->status.phase = RUN_SUCCEEDED;
    rig->daemon.runs.items[0].is_active = false;
    rig->status.ended_unix_ms = 1; /* long ago */
    assert_null(strstr(get(rig, "/metrics", 200), "run=\"" RUN "\""));
    assert_int_equal(rig->site.cache.len, 0);
}

/* The old run of a name and the new one: the one that goes on is shown. */
TEST(test_namesakes)
{
    _cleanup_(rig_freep) struct rig *rig = rig_new();
    static const struct run_status old = {.phase = RUN_RUNNING, .trials_total = 77};
    *vec_push(&rig->daemon.runs) = (struct fake_run){.name = RUN,
                                                     .uid = "00000000-0000-4000-8000-000000000000",
                                                     .benchmark = "demo",
                                                     .status = &old};
    make_live(rig, true);
    const char *page = get(rig, "/metrics", 200);
    assert_non_null(strstr(page, "benchd_run_trials{run=\"" RUN "\"} 9\n"));
    assert_null(strstr(page, "benchd_run_trials{run=\"" RUN "\"} 77"));
}

static int fail_list(struct store *s, struct run_row **ret, size_t *ret_n, struct err *err)
{
    (void)s, (void)ret, (void)ret_n;
    return err_set(err, EIO, "store: disk I/O error");
}

static int fail_get(struct store *s, const char *name, struct run_row *ret, struct err *err)
{
    (void)s, (void)name, (void)ret;
    return err_set(err, EIO, "store: disk I/O error");
}

/* The store's failure is an answer, not the end. */
TEST(test_store_fails)
{
    static const struct store_ops ops = {.list_runs = fail_list, .get_run = fail_get};
    static const char *const urls[] = {"/api/v1/runs",
                                       "/api/v1/runs/" RUN,
                                       "/api/v1/runs/" RUN "/results",
                                       "/api/v1/runs/" RUN "/logs?point=0",
                                       "/",
                                       "/runs/" RUN};
    _cleanup_(rig_freep) struct rig *rig = rig_new();
    struct store broken = {&ops}, *good = rig->store;
    make_live(rig, true);
    rig->site.store = &broken;
    for (size_t i = 0; i < N_ROWS(urls); i++) {
        assert_non_null(strstr(get(rig, urls[i], 500), "store: disk I/O error"));
    }
    assert_non_null(strstr(get(rig, "/metrics", 200), "benchd_run_trials{run=\"" RUN "\"} 9"));
    rig->site.store = good;
}
