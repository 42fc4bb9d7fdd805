/* The exposition format, the heads of the page, and its limits. */
#include <math.h>

#include "tests/test.h"
#include "base/str.h"
#include "daemon/web/metrics.h"
#include "result/catalogue.h"

TEST(test_sample)
{
    static const struct {
        const char *name, *label;
        double value;
        const char *expected;
    } rows[] = {
        {"whole", "a", 12, "x_total{l=\"a\"} 12\n"},
        {"fraction", "a", 0.1, "x_total{l=\"a\"} 0.1\n"},
        {"all digits", "a", 1.0 / 3, "x_total{l=\"a\"} 0.3333333333333333\n"},
        {"infinite", "a", 1.0 / 0.0, "x_total{l=\"a\"} +Inf\n"},
        {"none", "a", 0.0 / 0.0, ""},
        {"escapes", "q\"b\\n\nx", 1, "x_total{l=\"q\\\"b\\\\n\\nx\"} 1\n"},
        {"no UTF-8", "a\xff", 1, "x_total{l=\"a?\"} 1\n"},
        {"empty", "", 1, "x_total{l=\"\"} 1\n"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(buf_done) struct buf out = BUF_INIT;
        struct expo e = {.out = &out, .name = "x_total"};
        const struct expo_label label = {"l", rows[i].label};
        expo_sample(&e, &label, 1, rows[i].value);
        if (!str_eq(buf_cstr(&out), rows[i].expected)) {
            fail_msg("%s: expected '%s', got '%s'", rows[i].name, rows[i].expected, buf_cstr(&out));
        }
    }
}

TEST(test_heads)
{
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    struct expo e = {.out = &out};
    expo_begin(&e, EXPO_COUNTER, "x_total", "Things.");
    assert_string_equal(buf_cstr(&out), "# HELP x_total Things.\n# TYPE x_total counter\n");
}

TEST(test_wants_run)
{
    static const struct {
        const char *name;
        enum run_phase phase;
        int64_t ended_ms;
        bool is_active, expected;
    } rows[] = {
        {"queued", RUN_QUEUED, 0, false, true},
        {"running", RUN_RUNNING, 0, true, true},
        {"just ended", RUN_SUCCEEDED, 9999000, false, true},
        {"at the limit", RUN_FAILED, 10000000 - METRICS_KEEP_MS, false, true},
        {"behind it", RUN_FAILED, 10000000 - METRICS_KEEP_MS - 1, false, false},
        {"cleaning up", RUN_CANCELLED, 1, true, true},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        const struct run_status status = {.phase = rows[i].phase,
                                          .ended_unix_ms = rows[i].ended_ms};
        if (metrics_wants_run(&status, rows[i].is_active, 10000000) != rows[i].expected) {
            fail_msg("%s: expected %d", rows[i].name, rows[i].expected);
        }
    }
}

static size_t count_series(const char *page)
{
    size_t n = 0;
    for (const char *line = page; *line != '\0'; line = strchr(line, '\n') + 1) {
        n += *line != '#';
    }
    return n;
}

static void assert_has(const char *page, const char *line)
{
    if (strstr(page, line) == NULL) {
        fail_msg("expected a line '%s' in:\n%s", line, page);
    }
}

static void assert_has_not(const char *page, const char *text)
{
    const char *at = strstr(page, text);
    if (at != NULL) {
        fail_msg("unexpected: %.*s", (int)strcspn(at, "\n"), at);
    }
}

static struct daemon_facts no_facts;

/* What promtool would say, and what the writer relies on. */
TEST(test_heads_of_the_page)
{
    const struct metrics_input in = {.facts = &no_facts};
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    size_t n = 0;
    metrics_write(&in, &out);
    for (const char *at = buf_cstr(&out); (at = strstr(at, "# HELP ")) != NULL; at++, n++) {
        char name[100], help[200], kind[20], head[120];
        assert_int_equal(sscanf(at, "# HELP %99s %199[^\n]\n# TYPE %*s %19s", name, help, kind), 3);
        if (strspn(name, "abcdefghijklmnopqrstuvwxyz_") != strlen(name) ||
            !(str_has_prefix(name, "benchd_") || str_has_prefix(name, "rest_client_") ||
              str_has_prefix(name, "process_")) ||
            str_has_suffix(name, "_total") != str_eq(kind, "counter") ||
            strpbrk(help, "\\\"") != NULL || !str_has_suffix(help, ".")) {
            fail_msg("family %zu: '%s' '%s'", n, name, help);
        }
        (void)snprintf(head, sizeof(head), "# HELP %s ", name);
        if (strstr(at + 1, head) != NULL) {
            fail_msg("%s is there twice", name);
        }
    }
    assert_true(n > 0);
}

#define MANY 20
/* Runs r0, r1, ... with this many points each, every figure known. */
struct page {
    struct daemon_facts facts;
    struct daemon_run live[MANY];
    struct run_gauges figures[MANY];
    struct metrics_run runs[MANY];
    char names[MANY][8];
    struct buf out;
};

static void write_page(struct page *p, size_t n_runs, const size_t *n_points)
{
    static struct point_figures points[METRICS_MAX_POINTS * 2];
    static struct node_figures nodes[METRICS_MAX_NODES + 1];
    static char node_names[N_ROWS(nodes)][8];
    static char benchmark[] = "b";
    static struct figure_numbers known[32];
    assert_in_range(figures_n_metrics(), 4, N_ROWS(known));
    for (size_t i = 0; i < N_ROWS(known); i++) {
        known[i] = (struct figure_numbers){2, 1, 3};
    }
    for (size_t i = 0; i < N_ROWS(points); i++) {
        points[i] = (struct point_figures){
            .point = (uint32_t)i,
            .system = "s",
            .other = "cpu=1",
            .pservers = 1,
            .trainers = 2,
            .batch_size = 16,
            .threads = 1,
            .figures = known,
            .baseline_throughput = 2,
            .unit = "samples/s",
            .n_succeeded = 3,
        };
    }
    for (size_t i = 0; i < N_ROWS(nodes); i++) {
        (void)snprintf(node_names[i], sizeof(node_names[i]), "n%zu", i);
        nodes[i] = (struct node_figures){node_names[i], 6, 3, 1, 0.25, NAN};
    }
    *p = (struct page){0};
    for (size_t i = 0; i < n_runs; i++) {
        (void)snprintf(p->names[i], sizeof(p->names[i]), "r%zu", i);
        p->figures[i] = (struct run_gauges){
            points, n_points[i], nodes, n_points[i] < N_ROWS(nodes) ? n_points[i] : N_ROWS(nodes)};
        p->live[i] = (struct daemon_run){
            .name = p->names[i],
            .benchmark = benchmark,
            .status = {.phase = RUN_RUNNING,
                       .trials_total = 4,
                       .has_current = true,
                       .started_unix_ms = 1000,
                       .ended_unix_ms = 2000},
            .progress =
                {.is_known = true, .step = 3, .step_ns = 500000000, .samples = 16, .loss = 2.25},
            .wait = {"QuotaExceeded", 5500},
            .advanced_unix_ms = 7000,
        };
        p->runs[i] = (struct metrics_run){.run = &p->live[i], .figures = &p->figures[i]};
    }
    for (size_t i = 0; i < KUBE_N_TARGETS * KUBE_N_VERBS; i++) { /* all that can be there */
        histogram_add(&p->facts.kube.traffic.times[i % KUBE_N_TARGETS][i / KUBE_N_TARGETS], 1);
    }
    for (size_t i = 0; i < DAEMON_N_WATCHES; i++) {
        p->facts.watches[i].resource = "x";
    }
    const struct metrics_input in = {.facts = &p->facts, .runs = p->runs, .n_runs = n_runs};
    metrics_write(&in, &p->out);
}

TEST(test_page)
{
    struct page p;
    write_page(&p, 1, (size_t[]){1});
    const char *page = buf_cstr(&p.out);
    assert_has(page, "\nbenchd_run_phase{run=\"r0\",phase=\"Running\"} 1\n");
    assert_has(page, "\nbenchd_run_phase{run=\"r0\",phase=\"Failed\"} 0\n");
    assert_has(page, "\nbenchd_trial_steps_done{run=\"r0\"} 4\n");
    assert_has(page, "\nbenchd_trainer_step_samples_per_second{run=\"r0\"} 32\n");
    assert_has(page, "\nbenchd_run_started_timestamp_seconds{run=\"r0\"} 1\n");
    assert_has(page, "\nbenchd_point_efficiency_low_ratio{run=\"r0\",benchmark=\"b\",system=\"s\","
                     "point=\"0\",pservers=\"1\",trainers=\"2\",batch_size=\"16\",threads=\"1\","
                     "other=\"cpu=1\"} 1\n");
    assert_has(page, "\nbenchd_run_wait_start_timestamp_seconds{run=\"r0\","
                     "reason=\"QuotaExceeded\"} 5.5\n");
    assert_has(page, "\nbenchd_run_advanced_timestamp_seconds{run=\"r0\"} 7\n");
    assert_has(page, "\nbenchd_run_nodes{run=\"r0\"} 1\n");
    assert_has(page, "\nbenchd_node_slower_points{run=\"r0\",node=\"n0\"} 1\n");
    assert_has(page, "\nbenchd_node_excess_ratio{run=\"r0\",node=\"n0\"} 0.25\n");
    assert_has_not(page, "\nbenchd_node_throttled_ratio{");          /* no replica says it */
    assert_has_not(page, "\nbenchd_run_created_timestamp_seconds{"); /* no definition: no date */
    buf_done(&p.out);
}

TEST(test_unknown_is_absent)
{
    static struct figure_numbers numbers[32];
    for (size_t i = 0; i < N_ROWS(numbers); i++) {
        numbers[i] = (struct figure_numbers){i == 0 ? 5 : NAN, NAN, NAN};
    }
    struct point_figures point = {.system = "s",
                                  .other = "",
                                  .figures = numbers,
                                  .baseline_throughput = NAN,
                                  .unit = "samples/s"};
    const struct run_gauges figures = {.points = &point, .n_points = 1};
    char name[] = "r", benchmark[] = "b";
    const struct daemon_run live = {
        .name = name, .benchmark = benchmark, .status.phase = RUN_QUEUED};
    const struct metrics_run run = {.run = &live, .figures = &figures};
    const struct metrics_input in = {.facts = &no_facts, .runs = &run, .n_runs = 1};
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    metrics_write(&in, &out);
    assert_has(buf_cstr(&out), "\nbenchd_point_throughput_samples_per_second{");
    assert_has_not(buf_cstr(&out), "steps_per_second");
    static const char *const absent[] = {
        "\nbenchd_point_throughput_low_samples_per_second{",
        "\nbenchd_point_speedup_ratio{",
        "\nbenchd_run_ended_timestamp_seconds{",
        "\nbenchd_trainer_step_samples_per_second{",
        "\nbenchd_trial_steps_done{",
        "\nbenchd_run_wait_start_timestamp_seconds{",
        "\nbenchd_run_advanced_timestamp_seconds{",
        "\nbenchd_loop_look_age_seconds",
        "\nbenchd_watch_restarts_total{",
        "\nrest_client_request_duration_seconds_bucket{",
    };
    for (size_t i = 0; i < N_ROWS(absent); i++) {
        assert_has_not(buf_cstr(&out), absent[i]);
    }
}

TEST(test_limits)
{
    size_t n_points[MANY];
    struct page p;
    for (size_t i = 0; i < MANY; i++) {
        n_points[i] = METRICS_MAX_POINTS / METRICS_MAX_RUNS;
    }
    write_page(&p, MANY, n_points);
    const char *page = buf_cstr(&p.out);
    const size_t n = count_series(page);
    char line[64];
    (void)snprintf(line, sizeof(line), "\nbenchd_series %zu\n", n);
    assert_has(page, line);
    const size_t n_figures = METRICS_MAX_POINTS * (3 * figures_n_metrics() + 2);
    assert_in_range(n, 1, n_figures + 2000); /* docs/metrics.md, docs/promises.md, metrics.h */
    assert_has(page, "\nbenchd_runs_hidden 4\n");
    assert_has(page, "\nbenchd_run_trials{run=\"r15\"} 4\n");
    assert_has_not(page, "{run=\"r16\"");
    buf_done(&p.out);
}

/* All of a run's points or none: half a sweep would look like a whole one. */
TEST(test_points_whole)
{
    struct page p;
    write_page(&p, 4, (size_t[]){METRICS_MAX_POINTS - 2, 3, 2, METRICS_MAX_POINTS + 1});
    const char *page = buf_cstr(&p.out);
    assert_has(page, "\nbenchd_run_points_shown{run=\"r0\"} 118\n");
    assert_has(page, "\nbenchd_run_points_shown{run=\"r1\"} 0\n");
    assert_has(page, "\nbenchd_run_points_shown{run=\"r2\"} 2\n");
    /* r0 has more nodes than all may have: they are counted, and those of others are shown. */
    assert_has(page, "\nbenchd_run_nodes{run=\"r0\"} 61\n");
    assert_has_not(page, "{run=\"r0\",node=");
    assert_has(page, "\nbenchd_node_points{run=\"r2\",node=\"n1\"} 3\n");
    assert_has(page, "\nbenchd_run_points_shown{run=\"r3\"} 0\n");
    assert_has_not(page, "benchd_point_speedup_ratio{run=\"r1\"");
    assert_has(page, "benchd_point_speedup_ratio{run=\"r2\"");
    buf_done(&p.out);
}

TEST(test_histogram)
{
    static const char expected[] = "# HELP x_seconds Times.\n# TYPE x_seconds histogram\n"
                                   "x_seconds_bucket{l=\"a\",le=\"0.001\"} 1\n"
                                   "x_seconds_bucket{l=\"a\",le=\"0.005\"} 1\n"
                                   "x_seconds_bucket{l=\"a\",le=\"0.025\"} 3\n"
                                   "x_seconds_bucket{l=\"a\",le=\"0.1\"} 3\n"
                                   "x_seconds_bucket{l=\"a\",le=\"0.25\"} 3\n"
                                   "x_seconds_bucket{l=\"a\",le=\"0.5\"} 3\n"
                                   "x_seconds_bucket{l=\"a\",le=\"1\"} 3\n"
                                   "x_seconds_bucket{l=\"a\",le=\"2\"} 3\n"
                                   "x_seconds_bucket{l=\"a\",le=\"4\"} 3\n"
                                   "x_seconds_bucket{l=\"a\",le=\"8\"} 3\n"
                                   "x_seconds_bucket{l=\"a\",le=\"15\"} 3\n"
                                   "x_seconds_bucket{l=\"a\",le=\"30\"} 3\n"
                                   "x_seconds_bucket{l=\"a\",le=\"60\"} 3\n"
                                   "x_seconds_bucket{l=\"a\",le=\"+Inf\"} 4\n"
                                   "x_seconds_sum{l=\"a\"} 70.03\n"
                                   "x_seconds_count{l=\"a\"} 4\n";
    struct histogram h = {0};
    static const int64_t times_ms[] = {0, 10, 20, 70000};
    for (size_t i = 0; i < N_ROWS(times_ms); i++) {
        histogram_add(&h, times_ms[i] * 1000000);
    }
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    struct expo e = {.out = &out};
    const struct expo_label label = {"l", "a"};
    expo_begin(&e, EXPO_HISTOGRAM, "x_seconds", "Times.");
    expo_histogram(&e, &label, 1, &h);
    assert_string_equal(buf_cstr(&out), expected);
    assert_int_equal(e.n_series, HISTOGRAM_N_BOUNDS + 3);
}

/* Which series says what: a figure in the wrong family would pass every other test. */
TEST(test_the_daemon)
{
    static struct daemon_facts f;
    f.is_leader = true;
    f.runs[RUN_QUEUED] = 3;
    f.counters.runs_finished[RUN_FAILED] = 4;
    f.kube.traffic.answers[KUBE_POST][1] = 7;
    text_put(f.kube.host, sizeof(f.kube.host), "10.0.0.1:443");
    f.watches[2].resource = "pods";
    f.watches[2].stats = (struct kube_informer_stats){.lists = 8, .watches = 10};
    f.watches[0].resource = "benchmarks";
    f.space.disk_bytes = 11;
    f.space.disk_free_bytes = 12;
    histogram_add(&f.kube.traffic.times[7][KUBE_VERB_POST], 3000000);
    histogram_add(&f.statements, 3000000);
    histogram_add(&f.turns, 500000000);
    f.counters.started_unix_ms = 1500;
    f.look_ns = 1000000000;
    const struct metrics_input in = {
        .facts = &f,
        .now_ns = f.look_ns + 500000000,
        .process = {.cpu_s = 1.25, .resident_bytes = 2048, .open_fds = 13, .max_fds = 1024}};
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    metrics_write(&in, &out);
    static const char *const lines[] = {
        "benchd_leader 1",
        "process_cpu_seconds_total 1.25",
        "process_resident_memory_bytes 2048",
        "process_open_fds 13",
        "process_max_fds 1024",
        "process_start_time_seconds 1.5",
        "benchd_runs{phase=\"Queued\"} 3",
        "benchd_runs{phase=\"Suspended\"} 0",
        "benchd_runs_finished_total{phase=\"Failed\"} 4",
        "rest_client_requests_total{method=\"POST\",code=\"201\",host=\"10.0.0.1:443\"} 7",
        "rest_client_requests_total{method=\"GET\",code=\"<error>\",host=\"10.0.0.1:443\"} 0",
        "rest_client_request_duration_seconds_count{verb=\"POST\",resource=\"pods\"} 1",
        "benchd_watch_restarts_total{resource=\"pods\"} 9",
        "benchd_watch_restarts_total{resource=\"benchmarks\"} 0",
        "benchd_watch_lists_total{resource=\"pods\"} 8",
        "benchd_store_disk_bytes 11",
        "benchd_store_disk_free_bytes 12",
        "benchd_store_statement_duration_seconds_sum 0.003",
        "benchd_loop_turn_duration_seconds_bucket{le=\"0.25\"} 0",
        "benchd_loop_turn_duration_seconds_bucket{le=\"0.5\"} 1",
        "benchd_loop_longest_turn_seconds 0.5",
        "benchd_loop_look_age_seconds 0.5",
    };
    for (size_t i = 0; i < N_ROWS(lines); i++) {
        char line[128];
        (void)snprintf(line, sizeof(line), "\n%s\n", lines[i]);
        assert_has(buf_cstr(&out), line);
    }
    assert_has_not(buf_cstr(&out), "\nbenchd_runs{phase=\"Failed\"}");
    assert_has_not(buf_cstr(&out), "\nbenchd_runs_finished_total{phase=\"Queued\"}");
}

/* Steps are no samples. */
TEST(test_another_unit_has_another_name)
{
    struct figure_numbers numbers[32];
    for (size_t i = 0; i < N_ROWS(numbers); i++) {
        numbers[i] = (struct figure_numbers){5, 4, NAN};
    }
    struct point_figures point = {
        .system = "s", .other = "", .figures = numbers, .baseline_throughput = 3, .unit = "GB/s"};
    const struct run_gauges figures = {.points = &point, .n_points = 1};
    char name[] = "r", benchmark[] = "b";
    const struct daemon_run live = {
        .name = name, .benchmark = benchmark, .status.phase = RUN_SUCCEEDED};
    const struct metrics_run run = {.run = &live, .figures = &figures};
    const struct metrics_input in = {.facts = &no_facts, .runs = &run, .n_runs = 1};
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    metrics_write(&in, &out);
    assert_has(buf_cstr(&out), "\nbenchd_point_throughput_bytes_per_second{");
    assert_has(buf_cstr(&out), "} 5000000000\n");
    assert_has(buf_cstr(&out), "\nbenchd_point_throughput_low_bytes_per_second{");
    assert_has(buf_cstr(&out), "\nbenchd_point_baseline_throughput_bytes_per_second{");
    assert_has_not(buf_cstr(&out), "throughput_high_bytes_per_second");
    assert_has_not(buf_cstr(&out), "\nbenchd_point_throughput_samples_per_second{");
}
