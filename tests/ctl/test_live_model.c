/* The live view: what it counts, how it looks, that it never passes the edges. */
#include <math.h>

#include "def_fixture.h"
#include "tests/core/summary_fixture.h"

#include "ctl/live/live_model.h"
#include "decide/policy_wait.h"

static const struct live_model_opts plain = {
    .columns = 80, .rows = 24, .ascii = true, .now_unix_ms = 31000};

static struct live_model new_model(const struct run_def *def)
{
    struct live_model m;
    live_model_init(&m, def);
    return m;
}

static struct attempt_row make_row(uint32_t point, uint32_t trial, enum attempt_outcome outcome,
                                   const char *summary)
{
    struct attempt_row row = {.id.point = point,
                              .id.trial = trial,
                              .outcome = outcome,
                              .started_unix_ms = 10000,
                              .ended_unix_ms = 20000};
    *vec_push(&row.replicas) = (struct replica_row){
        .id = {{point, trial, 0}, ROLE_TRAINER, 0},
    };
    replica_set_line(&row.replicas.items[0], summary);
    return row;
}

#define SUMMARY(samples, ns)                                                                       \
    "{\"benchd\":1,\"type\":\"summary\",\"role\":\"trainer\",\"index\":0,\"attempt\":0,"           \
    "\"samples\":" samples ",\"steps\":8,\"duration_ns\":" ns "}"

static void attempt(struct live_model *m, uint32_t point, uint32_t trial,
                    enum attempt_outcome outcome, const char *summary)
{
    _cleanup_(attempt_row_done) struct attempt_row row = make_row(point, trial, outcome, summary);
    live_model_attempt(m, &row);
}

static void step(struct live_model *m, enum role role, uint32_t index, uint32_t n, bool warmup)
{
    struct replica_id id = {m->current.id, role, index};
    struct record record = {.type = RECORD_STEP};
    record.step =
        (struct record_step){.step = n, .warmup = warmup, .samples = 4, .step_ns = 100000000};
    live_model_record(m, &id, &record);
}

static void begin(struct live_model *m, uint32_t point, uint32_t trial, int64_t now_unix_ms)
{
    struct run_status status = {.phase = RUN_RUNNING,
                                .has_current = true,
                                .current.point = point,
                                .current.trial = trial,
                                .started_unix_ms = 1000};
    live_model_status(m, &status, now_unix_ms);
}

static void assert_live(const struct live_model *m, const struct live_model_opts *opts,
                        const char *expected)
{
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    live_model_format(m, opts, &out);
    assert_string_equal(buf_cstr(&out), expected);
}

TEST(test_a_run_from_start_to_end)
{
    _cleanup_(run_def_freep) struct run_def *def = make_def("{trainers: [1, 2]}", 8);
    _cleanup_(live_model_done) struct live_model m = new_model(def);
    begin(&m, 0, 0, 1000);
    step(&m, ROLE_TRAINER, 0, 0, true);
    step(&m, ROLE_TRAINER, 1, 7, false); /* the point has no such trainer */
    assert_live(&m, &plain,
                "tiny-7k3fq   0/4 trials   30s\n"
                " > 0   trainers=1  0/2  warm-up 1/2\n"
                " . 1   trainers=2  0/2\n");
    step(&m, ROLE_TRAINER, 0, 0, false);
    step(&m, ROLE_TRAINER, 0, 1, false);
    assert_live(&m, &plain,
                "tiny-7k3fq   0/4 trials   30s\n"
                " > 0   trainers=1  0/2  40 samples/s  step 2/8\n"
                " . 1   trainers=2  0/2\n");
    attempt(&m, 0, 0, ATTEMPT_VOID, NULL); /* counts for nothing */
    attempt(&m, 0, 0, ATTEMPT_SUCCEEDED, SUMMARY("32", "800000000"));
    attempt(&m, 0, 1, ATTEMPT_SUCCEEDED, SUMMARY("32", "1600000000"));
    begin(&m, 1, 0, 31000);
    attempt(&m, 1, 0, ATTEMPT_SUCCEEDED, SUMMARY("0", "800000000")); /* no result: given up */
    assert_live(&m, &plain,
                "tiny-7k3fq   3/4 trials   30s   eta 0s\n"
                " + 0   trainers=1  2/2  30 samples/s\n"
                " x 1   trainers=2  1/2  1 failed\n");
}

TEST(test_a_figure_has_its_unit)
{
    static const char bandwidth[] =
        "{\"benchd\":1,\"type\":\"summary\",\"role\":\"trainer\",\"index\":0,\"attempt\":0,"
        "\"samples\":32,\"steps\":8,\"duration_ns\":800000000,\"log\":{\"rule\":\"r\","
        "\"method\":\"m\",\"unit\":\"GB\",\"scope\":\"job\"}}";
    _cleanup_(run_def_freep) struct run_def *def = make_def("{trainers: [1]}", 8);
    _cleanup_(live_model_done) struct live_model m = new_model(def);
    begin(&m, 0, 0, 1000);
    attempt(&m, 0, 0, ATTEMPT_SUCCEEDED, bandwidth);
    attempt(&m, 0, 1, ATTEMPT_SUCCEEDED, bandwidth);
    assert_live(&m, &plain,
                "tiny-7k3fq   2/2 trials   30s\n"
                " + 0    2/2  40 GB/s\n");
}

TEST(test_batches_where_the_definition_wants_them)
{
    _cleanup_(run_def_freep) struct run_def *def =
        make_def("{trainers: [1], batch_size: [4, 16]}", 8);
    def->spec->unit = UNIT_OF_BATCHES;
    _cleanup_(live_model_done) struct live_model m = new_model(def);
    attempt(&m, 0, 0, ATTEMPT_SUCCEEDED, SUMMARY("64", "800000000"));
    attempt(&m, 1, 0, ATTEMPT_SUCCEEDED, SUMMARY("128", "800000000"));
    attempt(&m, 1, 1, ATTEMPT_SUCCEEDED, SUMMARY("128", "1600000000"));
    begin(&m, 0, 1, 1000);
    step(&m, ROLE_TRAINER, 0, 0, true);
    step(&m, ROLE_TRAINER, 0, 0, false);
    assert_live(&m, &plain,
                "tiny-7k3fq   3/4 trials   30s   eta 0s\n"
                " > 0   batch_size=4   1/2  10 batches/s  step 1/8\n"
                " + 1   batch_size=16  2/2  7.5 batches/s\n");
}

TEST(test_steps_count_for_their_own_attempt)
{
    _cleanup_(run_def_freep) struct run_def *def = make_def("{trainers: [1]}", 8);
    _cleanup_(live_model_done) struct live_model m = new_model(def);
    begin(&m, 0, 0, 1000);
    step(&m, ROLE_TRAINER, 0, 4, false);
    assert_int_equal(m.current.steps_done, 5);
    assert_int_equal(m.current.trainers.items[0].samples, 4);
    begin(&m, 0, 0, 2000); /* the same attempt, its status again */
    assert_int_equal(m.current.steps_done, 5);
    assert_int_equal(m.current.started_unix_ms, 1000);
    const struct replica_id before = {m.current.id, ROLE_TRAINER, 0};
    begin(&m, 0, 1, 3000); /* the next one, without a word about the end of the first */
    assert_int_equal(m.current.steps_done, 0);
    assert_int_equal(m.current.trainers.items[0].samples, 0);
    assert_int_equal(m.current.started_unix_ms, 3000);
    const struct record late = {.type = RECORD_STEP, .step = {.step = 5, .samples = 4}};
    live_model_record(&m, &before, &late);
    assert_int_equal(m.current.steps_done, 0);
}

/* Four trials alike; each took 10 s. */
TEST(test_the_time_that_is_left)
{
    _cleanup_(run_def_freep) struct run_def *def =
        make_def("{batch_size: [4, 5], trainers: [1]}", 8);
    def->matrix.points[1].batch_size = def->matrix.points[1].worker_batch = 4;
    _cleanup_(live_model_done) struct live_model m = new_model(def);
    assert_true(live_model_eta_ms(&m, 0, false) < 0); /* nothing is known yet */
    attempt(&m, 0, 0, ATTEMPT_SUCCEEDED, SUMMARY("32", "800000000"));
    assert_int_equal(live_model_eta_ms(&m, 0, false), 30000);
    begin(&m, 0, 1, 10000);
    struct run_status queued = m.status;
    queued.phase = RUN_QUEUED;
    live_model_status(&m, &queued, 20000);
    assert_true(live_model_eta_ms(&m, 20000, false) < 0); /* the wait has no known end */
    begin(&m, 0, 1, 50000);
    assert_int_equal(live_model_eta_ms(&m, 50000, false), 30000);
    assert_int_equal(live_model_eta_ms(&m, 54000, false), 26000); /* it runs for 4 s */
    assert_int_equal(live_model_eta_ms(&m, 99000, false), 0);     /* late: never negative */
    struct attempt_row row = make_row(0, 1, ATTEMPT_FAILED, NULL);
    row.ended_unix_ms = row.started_unix_ms + 1; /* at once: it says nothing about the others */
    live_model_attempt(&m, &row);
    attempt_row_done(&row);
    assert_int_equal(live_model_eta_ms(&m, 99000, false), 20000);
}

TEST(test_unicode_and_color)
{
    _cleanup_(run_def_freep) struct run_def *def = make_def("{trainers: [1]}", 1);
    _cleanup_(live_model_done) struct live_model m = new_model(def);
    attempt(&m, 0, 0, ATTEMPT_SUCCEEDED, SUMMARY("32", "800000000"));
    attempt(&m, 0, 1, ATTEMPT_SUCCEEDED, SUMMARY("32", "800000000"));
    struct live_model_opts opts = {.columns = 80, .rows = 24, .color = true};
    assert_live(&m, &opts,
                "tiny-7k3fq   2/2 trials   rehearsal\n"
                "\033[32m ✓ 0    2/2  40 samples/s\033[0m\n");
}

TEST(test_trials_of_an_earlier_process_count)
{
    _cleanup_(run_def_freep) struct run_def *def = make_def("{trainers: [1, 2]}", 8);
    _cleanup_(live_model_done) struct live_model m = new_model(def);
    struct attempt_row row = make_row(0, 0, ATTEMPT_SUCCEEDED, SUMMARY("32", "800000000"));
    live_model_restore(&m, &row);
    attempt_row_done(&row);
    assert_int_equal(m.points[0].done, 1);
    assert_true(live_model_eta_ms(&m, 0, false) <
                0);                                 /* how long trials take here is not known yet */
    row = make_row(99, 0, ATTEMPT_SUCCEEDED, NULL); /* of no point: left alone */
    live_model_restore(&m, &row);
    attempt_row_done(&row);
}

TEST(test_throughput)
{
    static const struct {
        const char *name, *summary;
        double expected; /* NaN: not known */
    } rows[] = {
        {"a summary", SUMMARY("32", "800000000"), 40},
        {"no summary", NULL, NAN},
        {"no time", SUMMARY("32", "0"), NAN},
        {"no samples", SUMMARY("0", "800000000"), NAN},
    };
    _cleanup_(run_def_freep) struct run_def *def = make_def("{trainers: [1]}", 8);
    _cleanup_(live_model_done) struct live_model m = new_model(def);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        _cleanup_(attempt_row_done) struct attempt_row row =
            make_row(0, 0, ATTEMPT_SUCCEEDED, rows[i].summary);
        const char *unit;
        double x = live_model_throughput(&m, &row, &unit);
        double expected = rows[i].expected;
        if (isnan(x) != isnan(expected) || (!isnan(x) && fabs(x - expected) > 1e-9)) {
            fail_msg("%s: expected %g, got %g", rows[i].name, expected, x);
        }
    }
}

/* Characters of the longest line, and the number of lines. */
static void measure(const char *text, size_t *ret_columns, size_t *ret_lines)
{
    size_t column = 0;
    *ret_columns = *ret_lines = 0;
    for (const char *p = text; *p != '\0'; p++) {
        if (*p == '\n') {
            column = 0;
            ++*ret_lines;
        } else if (((unsigned char)*p & 0xc0) != 0x80) {
            column++;
            *ret_columns = column > *ret_columns ? column : *ret_columns;
        }
    }
}

TEST(test_every_size_of_terminal)
{
    _cleanup_(run_def_freep) struct run_def *def =
        make_def("{batch_size: [1, 2, 4, 8, 16], threads: [1, 2, 3, 4], trainers: [1, 2, 4]}", 8);
    _cleanup_(live_model_done) struct live_model m = new_model(def);
    for (uint32_t point = 0; point < def->matrix.n_points; point += 7) {
        begin(&m, point, 0, 0);
        step(&m, ROLE_TRAINER, 0, 0, false);
        for (unsigned rows = 1; rows < 70; rows += 3) {
            for (unsigned columns = 2; columns < 100; columns += 7) {
                struct live_model_opts opts = {.columns = columns, .rows = rows};
                _cleanup_(buf_done) struct buf out = BUF_INIT;
                live_model_format(&m, &opts, &out);
                size_t widest, lines;
                measure(buf_cstr(&out), &widest, &lines);
                if (widest >= columns || (rows > 4 && lines >= rows)) {
                    fail_msg("%u x %u: %zu columns, %zu lines", columns, rows, widest, lines);
                }
                if (columns > 60 && strstr(buf_cstr(&out), "▸") == NULL) {
                    fail_msg("%u x %u: point %u is not in the window", columns, rows, point);
                }
            }
        }
    }
}

/* As benchd writes it while a run waits. */
static void put_wait(struct run_status *status)
{
    const struct run_wait wait = {.reason = "QuotaExceeded", .text = "pods 8 of 8"};
    wait_put(&wait, status);
}

static void assert_waits(const struct live_model *m, const char *expected)
{
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    live_model_waits_for(m, &out);
    assert_string_equal(buf_cstr(&out), expected);
}

TEST(test_the_rate_of_the_whole_job)
{
    _cleanup_(run_def_freep) struct run_def *def = make_def("{trainers: [4]}", 8);
    _cleanup_(live_model_done) struct live_model m = new_model(def);
    bool is_estimate;
    const char *unit;
    assert_true(live_model_rate(&m, &is_estimate, &unit) == 0);
    assert_waits(&m, "");
    begin(&m, 0, 0, 1000);
    assert_waits(&m, "waiting for the first step");
    step(&m, ROLE_TRAINER, 0, 0, true);
    assert_waits(&m, ""); /* of a cluster's run benchd reports trainer/0 alone */
    assert_true(live_model_rate(&m, &is_estimate, &unit) == 0);
    step(&m, ROLE_TRAINER, 0, 0, false);
    assert_true(fabs(live_model_rate(&m, &is_estimate, &unit) - 160) < 1e-9); /* 4 times 40 */
    assert_true(is_estimate);
    step(&m, ROLE_TRAINER, 2, 0, true);
    assert_waits(&m, "waiting for the first step of 2 of 4 trainers");
    for (uint32_t i = 1; i < 4; i++) {
        step(&m, ROLE_TRAINER, i, 0, false);
    }
    assert_waits(&m, "");
    assert_true(fabs(live_model_rate(&m, &is_estimate, &unit) - 160) < 1e-9);
    assert_false(is_estimate);
    m.current.trainers.items[3].steps_ns *= 2; /* one is slow: 40 + 40 + 40 + 20 */
    assert_true(fabs(live_model_rate(&m, &is_estimate, &unit) - 140) < 1e-9);
    step(&m, ROLE_TRAINER, 4, 0, false); /* there is none */
    assert_true(fabs(live_model_rate(&m, &is_estimate, &unit) - 140) < 1e-9);
    put_wait(&m.status);
    assert_waits(&m, "QuotaExceeded: pods 8 of 8");
}

/* Is it a word of the text? */
static bool has_word(const char *text, const char *word, size_t len)
{
    for (const char *at = text; (at = strchr(at, word[0])) != NULL; at++) {
        if (strncmp(at, word, len) == 0 && (at == text || strchr(" \n", at[-1]) != NULL) &&
            strchr(" \n", at[len]) != NULL) {
            return true;
        }
    }
    return false;
}

/* What a narrow terminal shows is a part of what a very wide one does, word by word. */
TEST(test_no_number_is_cut)
{
    _cleanup_(run_def_freep) struct run_def *def =
        make_def("{batch_size: [1, 256], threads: [1, 12], trainers: [1, 64]}", 1);
    _cleanup_(live_model_done) struct live_model m = new_model(def);
    attempt(&m, 0, 0, ATTEMPT_SUCCEEDED, SUMMARY("123456", "800000000"));
    attempt(&m, 1, 0, ATTEMPT_FAILED, NULL);
    attempt(&m, 3, 0, ATTEMPT_FAILED, NULL);
    begin(&m, 3, 1, 31000);
    step(&m, ROLE_TRAINER, 0, 0, true);
    step(&m, ROLE_TRAINER, 0, 3, false);
    put_wait(&m.status);
    struct live_model_opts opts = {
        .columns = 1000, .rows = 40, .ascii = true, .now_unix_ms = 4000000};
    _cleanup_(buf_done) struct buf wide = BUF_INIT;
    live_model_format(&m, &opts, &wide);
    for (opts.columns = 40; opts.columns <= 200; opts.columns++) {
        _cleanup_(buf_done) struct buf out = BUF_INIT;
        live_model_format(&m, &opts, &out);
        size_t widest, lines;
        measure(buf_cstr(&out), &widest, &lines);
        assert_true(widest < opts.columns);
        for (const char *at = buf_cstr(&out); *at != '\0';) {
            const size_t len = strcspn(at, " \n");
            if (len > 0 && strncmp(at, "...", len) != 0 && !has_word(buf_cstr(&wide), at, len)) {
                fail_msg("%u columns: '%.*s' is no word of the wide view:\n%s", opts.columns,
                         (int)len, at, buf_cstr(&out));
            }
            at += len + (at[len] != '\0');
        }
        if (opts.columns >= 60) { /* what matters most is there */
            assert_non_null(strstr(buf_cstr(&out), "/2  ~"));
            assert_non_null(strstr(buf_cstr(&out), "eta "));
        }
    }
}
