/* What `benchctl describe` prints of a run with a failure, section by section. */
#include "def_fixture.h"
#include "tests/core/summary_fixture.h"

#include "ctl/runs/describe.h"
#include "result/result_build.h"

FREEP(result_free, struct result)

static struct attempt_row make_row(uint32_t trial, uint32_t attempt, enum attempt_outcome outcome,
                                   const char *error)
{
    struct attempt_row row = {.id.trial = trial,
                              .id.number = attempt,
                              .outcome = outcome,
                              .error = error == NULL ? NULL : xstrdup(error)};
    for (uint32_t i = 0; i < 2; i++) {
        *vec_push(&row.replicas) = (struct replica_row){
            .id = {{0, trial, attempt}, i == 0 ? ROLE_PSERVER : ROLE_TRAINER, 0},
            .environment =
                environment_said(i == 0 ? "{\"host\":\"h\",\"cgroup_cpu_limit\":0.6,"
                                          "\"gpu_driver\":null,\"node\":null,"
                                          "\"gpu_topology\":\"        GPU0   NUMA "
                                          "Affinity\\nGPU0     X     0\\n\\n  X = Self\","
                                          "\"cpuset\":\"0\"}"
                                        : "{\"host\":\"h\",\"gpu_driver\":null,"
                                          "\"node\":\"n\",\"cpuset\":\"1\\u001b[2J\","
                                          "\"\\u009b3J\":1}"),
        };
    }
    return row;
}

/* `text` with `to` in the place of `from`, which it has. Owned. */
static char *text_with(const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);
    assert_non_null(at);
    return xasprintf("%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
}

/* Systems and the workload's exchange of the run that is described; NULL: those of make_def. */
static char *describe_exchanges(const char *systems, const char *exchange)
{
    static const char list[] = "[{name: benchworker, profile: benchworker}]";
    static const char served[] = "{kind: PServer, mode: Sync, wire: FP32}";
    _cleanup_(freep) char *text = make_def_text("{trainers: [1]}");
    _cleanup_(freep) char *own = text_with(text, list, systems == NULL ? list : systems);
    _cleanup_(freep) char *all = text_with(own, served, exchange == NULL ? served : exchange);
    _cleanup_(run_def_freep) struct run_def *def = make_def_of(all, 1);
    struct run_row run = {.uid = (char *)"u", .name = (char *)"t", .benchmark = (char *)"tiny"};
    _cleanup_(result_freep) struct result *result = result_build(def, RUN_SUCCEEDED, NULL, 0);
    const struct loaded_run loaded = {.row = run, .result = result};
    const struct describe_params params = {.run = &loaded, .where = "--local"};
    struct buf out = BUF_INIT;
    assert_int_equal(describe_format(&params, &out, NULL), 0);
    return buf_take(&out);
}

static char *describe_on(size_t columns, enum run_phase phase, bool is_interrupted)
{
    _cleanup_(run_def_freep) struct run_def *def = make_def("{trainers: [1]}", 1);
    /* clang-format off */
    struct run_row run = {
        .uid = (char *)"uid-1",
        .name = (char *)"tiny-7k3fq",
        .benchmark = (char *)"tiny",
        .cpus = 1,
        .rehearsal = true,
        .created_unix_ms = 1760000000000,
        .status = {.phase = phase, .reason = "TooManyFailedTrials", .message = "2 failed",
                   .trials_done = 2, .trials_failed = 1},
    };
    /* clang-format on */
    struct attempt_row rows[] = {
        make_row(0, 0, ATTEMPT_VOID, "pserver/0: killed by signal 9"),
        make_row(0, 1, ATTEMPT_FAILED, "trainer/0: exit code 12: bad frame"),
    };
    rows[0].replicas.items[0].failure = xstrdup("killed by signal 9");
    rows[0].replicas.items[1].failure = xstrdup("lost \033[1Apserver/0");
    replica_set_line(
        &rows[1].replicas.items[1],
        "{\"benchd\":1,\"type\":\"summary\",\"role\":\"trainer\",\"index\":0,\"attempt\":1,"
        "\"samples\":1,"
        "\"duration_ns\":1,\"steps\":1,\"noise\":{\"before\":{\"spins_per_s\":801000000,"
        "\"copy_bytes_per_s\":5912345678},\"after\":{\"spins_per_s\":799000000,"
        "\"copy_bytes_per_s\":0},\"busy_ns\":2000000000,\"steal_ns\":62000000,"
        "\"cpu_run_ns\":900000000,\"cpu_wait_ns\":300000000}}");
    struct event_row events[] = {
        {1760000001000, EVENT_NORMAL, (char *)"RunStarted", (char *)"points: 1"},
        {1760000059000, EVENT_WARNING, (char *)"TrialFailed", (char *)"point 0 trial 0"},
    };
    if (phase == RUN_QUEUED) {
        run.status.started_unix_ms = 1;
        events[1].reason = (char *)PREEMPTED_EVENT;
    }
    struct result *result = result_build(def, phase, rows, 2);
    const struct loaded_run loaded = {
        .row = run,
        .result = result,
        .rows = rows,
        .n_rows = 2,
        .events = events,
        .n_events = 2,
        .is_interrupted = is_interrupted,
    };
    const struct describe_params params = {
        .run = &loaded,
        .where = "--local",
        .now_unix_ms = 1760000060000,
        .columns = columns,
    };
    struct buf out = BUF_INIT;
    assert_int_equal(describe_format(&params, &out, NULL), 0);
    result_free(result);
    attempt_row_done(&rows[0]);
    attempt_row_done(&rows[1]);
    return buf_take(&out);
}

static char *describe(enum run_phase phase, bool is_interrupted)
{
    return describe_on(0, phase, is_interrupted);
}

static void assert_has(const char *text, const char *part)
{
    if (strstr(text, part) == NULL) {
        fail_msg("expected:\n%s\nin:\n%s", part, text);
    }
}

TEST(test_a_failed_run)
{
    _cleanup_(freep) char *text = describe(RUN_FAILED, false);
    assert_has(text, "  cgroup_cpu_limit: 0.6\n");
    assert_null(strstr(text, "gpu_driver")); /* no machine has one */
    static const char *const parts[] = {
        "Name:          tiny-7k3fq\nUID:           uid-1\nBenchmark:     tiny\n"
        "Created:       2025-10-09T08:53:20Z (60s ago)\nPhase:         Failed\n"
        "Reason:        TooManyFailedTrials: 2 failed\n"
        "Trials:        2 of 2 done, 1 failed\n",
        "  Baseline:    Point\n  Steps:       2 warm-up + 8 measured\n",
        /* the same value once, different ones side by side, nothing that a terminal obeys */
        "Environment of 4 replicas:\n",
        "  host:        h\n",
        "  node:        - | n\n",
        "  gpu_topology:\n            GPU0   NUMA Affinity\n    GPU0     X     0\n\n"
        "      X = Self\n",
        "  cpuset:      0 | 1?[2J\n",
        "  ?3J:",
        "Trials:\n  POINT   TRIAL   ATTEMPTS   PHASE     SAMPLES/S\n"
        "  0           0          2   Failed            -\n"
        "  0           1          0   not run           -\n",
        /* the cause, who else failed, and the log that tells most */
        "  point 0, trial 0, attempt 0: Void: pserver/0: killed by signal 9\n"
        "    trainer/0: lost ?[1Apserver/0\n"
        "    benchctl logs tiny-7k3fq --local --point 0 --trial 0 --attempt 0 --role pserver "
        "--index 0\n",
        "  point 0, trial 0, attempt 1: Failed: trainer/0: exit code 12: bad frame\n"
        "    benchctl logs tiny-7k3fq --local --point 0 --trial 0 --attempt 1 --role trainer "
        "--index 0\n",
        "Events:\n  AGE   TYPE      REASON        MESSAGE\n"
        "  59s   Normal    RunStarted    points: 1\n"
        "  1s    Warning   TrialFailed   point 0 trial 0\n",
    };
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        assert_has(text, parts[i]);
    }
    assert_has(text, "Noise (the machine before and after each trial; what other programs took):\n"
                     "  POINT   TRIAL   BEFORE: MSPIN/S   COPY GB/S   AFTER: MSPIN/S   COPY GB/S   "
                     "STEAL   WAITED   OTHERS\n"
                     "  0           0               801        5.91              799    too busy   "
                     " 3.1%    25.0%        -\n");
    assert_null(strstr(text, "--resume"));
    assert_null(strchr(text, '\033'));
    assert_null(strstr(text, "\xc2\x9b"));
}

/* A run of one trial that went well, with a server that says this. Owned. */
static char *describe_server(const char *says)
{
    _cleanup_(run_def_freep) struct run_def *def = make_def("{trainers: [3]}", 1);
    struct run_row run = {.uid = (char *)"u", .name = (char *)"t", .benchmark = (char *)"tiny"};
    _cleanup_(attempt_row_done) struct attempt_row row = {.outcome = ATTEMPT_SUCCEEDED};
    for (uint32_t i = 0; i < 4; i++) {
        const enum role role = i == 0 ? ROLE_PSERVER : ROLE_TRAINER;
        const uint32_t index = i == 0 ? 0 : i - 1;
        *vec_push(&row.replicas) = (struct replica_row){
            .id = {{0, 0, 0}, role, index},
            .environment = environment_said("{\"host\":\"h\"}"),
        };
        _cleanup_(freep) char *line =
            xasprintf("{\"benchd\":1,\"type\":\"summary\",\"role\":\"%s\",\"index\":%u,"
                      "\"attempt\":0,\"samples\":1,\"duration_ns\":1,\"steps\":1%s}",
                      role_to_string(role), index, i == 0 ? says : "");
        replica_set_line(&row.replicas.items[i], line);
    }
    _cleanup_(result_freep) struct result *result = result_build(def, RUN_SUCCEEDED, &row, 1);
    const struct loaded_run loaded = {.row = run, .result = result, .rows = &row, .n_rows = 1};
    const struct describe_params params = {.run = &loaded, .where = "--local"};
    struct buf out = BUF_INIT;
    assert_int_equal(describe_format(&params, &out, NULL), 0);
    return buf_take(&out);
}

/* What servers say of a mode without rounds of all trainers. */
TEST(test_stale_gradients)
{
    _cleanup_(freep) char *stale =
        describe_server(",\"staleness\":{\"slices\":8,\"mean\":1.25,\"max\":3}");
    assert_has(stale, "Staleness (updates by others since a trainer got its parameters):\n"
                      "  point 0: 1.25 in the mean, at most 3\n");
    _cleanup_(freep) char *synchronous = describe_server("");
    assert_null(strstr(synchronous, "Staleness"));
}

/* The format of numbers is said where it is not fp32, and with each system where they differ. */
TEST(test_the_format_of_numbers)
{
    static const char bf16[] = "{kind: PServer, wire: BF16}";
    static const struct {
        const char *systems, *exchange, *says;
    } rows[] = {
        {NULL, NULL, "  Exchange:    PServer\n"},
        {NULL, bf16, "  Exchange:    PServer BF16\n"},
        {"[{name: a, profile: benchworker}, {name: b, profile: benchworker}]", bf16,
         "  Exchange:    PServer BF16\n"},
        {"[{name: a, profile: benchworker}, {name: b, profile: benchworker, exchange: {kind: "
         "PServer}}]",
         bf16, "  Exchange:    a PServer BF16, b PServer\n"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        _cleanup_(freep) char *text = describe_exchanges(rows[i].systems, rows[i].exchange);
        assert_has(text, rows[i].says);
    }
}

/* Whether a text has the word, whole. */
static bool has_word(const char *text, const char *word, size_t len)
{
    for (size_t n; *(text += strspn(text, " \n")) != '\0'; text += n) {
        n = strcspn(text, " \n");
        if (n == len && memcmp(text, word, n) == 0) {
            return true;
        }
    }
    return false;
}

/* At 60 columns no line is wider, but for commands, and no word and no number is broken or gone. */
TEST(test_a_narrow_terminal)
{
    const size_t columns = 60;
    _cleanup_(freep) char *whole = describe_on(0, RUN_FAILED, false);
    _cleanup_(freep) char *narrow = describe_on(columns, RUN_FAILED, false);
    for (const char *line = narrow; *line != '\0'; line += strcspn(line, "\n") + 1) {
        const size_t n = strcspn(line, "\n");
        if (n > columns && strncmp(line, "    benchctl logs ", 18) != 0) {
            fail_msg("%zu columns: %.*s", n, (int)n, line);
        }
    }
    for (const char *word = whole; *(word += strspn(word, " \n")) != '\0';) {
        const size_t n = strcspn(word, " \n");
        if (!has_word(narrow, word, n)) {
            fail_msg("'%.*s' is broken or gone in:\n%s", (int)n, word, narrow);
        }
        word += n;
    }
}

TEST(test_a_run_without_a_place_in_the_cluster)
{
    _cleanup_(freep) char *text = describe(RUN_QUEUED, false);
    assert_has(text, "Phase:         Queued\n");
    assert_has(text, "1 failed, 1 preempted\n");
}

/* The warm-up that step times ask for stands beside the fixed one. */
TEST(test_the_warm_up_that_was_found)
{
    struct run_row run = {.uid = (char *)"u", .name = (char *)"t", .benchmark = (char *)"tiny"};
    _cleanup_(run_def_freep) struct run_def *def = make_def("{trainers: [1]}", 1);
    _cleanup_(result_freep) struct result *result = result_build(def, RUN_SUCCEEDED, NULL, 0);
    const struct loaded_run loaded = {.row = run, .result = result};
    const struct describe_params params = {.run = &loaded, .where = "--local"};
    for (int is_found = 0; is_found < 2; is_found++) {
        _cleanup_(buf_done) struct buf out = BUF_INIT;
        assert_int_equal(describe_format(&params, &out, NULL), 0);
        if (is_found) {
            assert_has(buf_cstr(&out), "  POINT   SYSTEM        WARM-UP        PARAMETERS\n"
                                       "  0       benchworker   2 (found: 4)   ");
        } else {
            assert_null(strstr(buf_cstr(&out), "WARM-UP"));
        }
        result->points[0].kept->warmup = (struct warmup){WARMUP_SHORT, 2, 0.1};
    }
}
