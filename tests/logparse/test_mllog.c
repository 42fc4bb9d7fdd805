/* MLPerf logs, logparse/mllog.h: each rule of docs/contracts/mllog.md. All logs of the rounds are
 * compared with tests/mlperf/mlperf_truth.py by hand; these are small ones. */
#include "tests/test.h"
#include "logparse/mllog.h"

#include <math.h>

#include "base/buf.h"
#include "base/mem.h"

/* The second 0 of a log is in November 2023, or in November 2021. */
#define NOW_MS 1700000000000.0
#define ROUND_1_1_MS 1636000000000.0

#define RUN "0 run_start\n"
#define OF(benchmark, batch)                                                                       \
    "0 submission_benchmark \"" benchmark "\"\n0 global_batch_size " batch "\n"
#define STEP(s) "5 tracked_stats {\"train_step_time\":" s "}\n"
#define FIVE_SLOW STEP("9") STEP("9") STEP("9") STEP("9") STEP("9")

/* A line "SECONDS KEY [VALUE]" is an event; a value in braces is that of metadata, but for
 * tracked_stats, whose metadata may follow. */
static void put_event(struct buf *out, double begin_ms, const char *line, size_t len)
{
    char key[40], value[80] = "null", metadata[80] = "{}";
    double s;
    _cleanup_(freep) char *text = xstrndup(line, len);
    const int n = sscanf(text, "%lf %39s %79s %79s", &s, key, value, metadata);
    assert_true(n >= 2);
    const bool is_metadata = value[0] == '{' && strcmp(key, "tracked_stats") != 0;
    buf_printf(
        out, ":::MLLOG {\"time_ms\": %.0f, \"key\": \"%s\", \"value\": %s, \"metadata\": %s}\n",
        begin_ms + 1e3 * s, key, is_metadata ? "null" : value, is_metadata ? value : metadata);
}

static void read_round(struct mllog *m, double begin_ms, const char *events,
                       struct mllog_result *ret)
{
    _cleanup_(buf_done) struct buf text = BUF_INIT;
    for (const char *at = events; *at != '\0'; at += strcspn(at, "\n") + 1) {
        put_event(&text, begin_ms, at, strcspn(at, "\n"));
    }
    for (const char *at = buf_cstr(&text); *at != '\0'; at += strcspn(at, "\n") + 1) {
        mllog_line(m, at, strcspn(at, "\n"));
    }
    mllog_conclude(m, 8, ret);
}

static void read_log(struct mllog *m, const char *events, struct mllog_result *ret)
{
    read_round(m, NOW_MS, events, ret);
}

/* clang-format off */
static const struct row {
    const char *name, *events;
    enum mllog_basis basis;
    double rate;
    size_t n;
    bool has_evaluation;
} rows[] = {
    {"step times after the first five steps", "50 global_batch_size 64\n" OF("llama31_8b", "32") RUN FIVE_SLOW STEP("2") STEP("2") STEP("2") STEP("2") STEP("2"),
     MLLOG_STEPS, 16, 5, false},
    {"a line counts as the steps that its position moved, or that its block has", OF("llama31_8b", "32") RUN
     "15 tracked_stats {\"train_step_time\":3} {\"samples_count\":160}\n"
     "21 tracked_stats {\"train_step_timing\":2} {\"samples_count\":256}\n"
     "23 tracked_stats {\"train_step_timing\":1} {\"samples_count\":64}\n",
     MLLOG_STEPS, 32 * 5 / 8.0, 5, false},
    {"of gpt3 positions are tokens", OF("gpt3", "32") "0 max_sequence_length 2048\n" RUN FIVE_SLOW
     "6 tracked_stats {\"train_step_time\":2} {\"step\":65536}\n"
     "1 block_start\n2 eval_start {\"epoch_num\":65536}\n2 eval_stop\n3 eval_start {\"epoch_num\":196608}\n",
     MLLOG_POSITIONS, 64, 2, true},
    {"an evaluation between blocks", OF("flux1", "32") RUN "0 block_start\n10 block_stop\n10 eval_start {\"samples_count\":100}\n20 eval_stop\n"
     "20 block_start\n30 block_stop\n30 eval_start {\"samples_count\":300}\n40 eval_stop\n",
     MLLOG_POSITIONS, 20, 2, true},
    {"within a block it pauses training", OF("bert", "32") RUN "0 epoch_start\n10 eval_start {\"epoch_num\":100}\n15 eval_stop\n"
     "25 eval_start {\"epoch_num\":300}\n30 eval_stop\n40 epoch_stop\n",
     MLLOG_POSITIONS, 20, 2, true},
    {"one that overlaps the next epoch does not", OF("ssd", "32") RUN "0 epoch_start\n10 epoch_stop\n10 eval_start {\"epoch_num\":1}\n"
     "12 epoch_start\n17 eval_stop\n22 epoch_stop\n22 eval_start {\"epoch_num\":2}\n30 eval_stop\n",
     MLLOG_POSITIONS, 117030.1, 2, true},
    {"or, within an epoch, until a start", OF("ssd", "32") RUN "0 epoch_start\n10 eval_start {\"epoch_num\":1}\n12 epoch_start\n17 eval_stop\n"
     "22 epoch_stop\n22 eval_start {\"epoch_num\":2}\n30 eval_stop\n",
     MLLOG_POSITIONS, 1170301 / 12.0, 2, true},
    {"train_samples may count batches", OF("ssd", "256") "0 train_samples 4572\n" RUN "0 epoch_start\n10 epoch_stop\n"
     "10 eval_start {\"epoch_num\":1}\n12 epoch_start\n22 epoch_stop\n22 eval_start {\"epoch_num\":2}\n",
     MLLOG_POSITIONS, 4572 * 25.6, 2, true},
    {"or nothing that can be", OF("maskrcnn", "96") "0 train_samples 40000\n" RUN "0 epoch_start\n10 epoch_stop\n10 eval_start {\"epoch_num\":1}\n",
     MLLOG_POSITIONS, 11726.6, 1, true},
    {"unet3d evaluates on other nodes", OF("unet3d", "32") "0 samples_per_epoch 160\n" RUN "0 block_start {\"first_epoch_num\":1,\"epoch_count\":20}\n"
     "4 eval_start\n9 eval_stop\n10 block_stop\n10 block_start {\"first_epoch_num\":21,\"epoch_count\":20}\n20 block_stop\n"
     "20 block_start {\"first_epoch_num\":41,\"epoch_count\":20}\n",
     MLLOG_POSITIONS, 320, 2, true},
    {"stable_diffusion counts at the begin of a block, and saves there", OF("stable_diffusion", "32") RUN "0 block_start {\"step_num\":0}\n10 block_stop\n"
     "10 block_start {\"step_num\":100}\n14 checkpoint\n20 block_stop\n20 block_start {\"step_num\":200}\n",
     MLLOG_POSITIONS, 32 * 100 / 6.0, 2, false},
    {"losses, where evaluation leaves no event", OF("llama2_70b_lora", "8") RUN "0 train_loss {\"samples_count\":8}\n"
     "1 train_loss {\"samples_count\":16}\n2 train_loss {\"samples_count\":24}\n9 eval_accuracy 0.9\n"
     "10 train_loss {\"samples_count\":32}\n12 train_loss {\"samples_count\":40}\n14 train_loss {\"samples_count\":48}\n",
     MLLOG_LOSSES, 8 / 1.5, 4, false},
    {"times that go back", OF("flux1", "32") RUN "30 eval_start {\"samples_count\":300}\n0 block_start\n10 block_stop\n10 eval_start {\"samples_count\":100}\n"
     "20 eval_stop\n30 block_stop\n20 block_start\n",
     MLLOG_POSITIONS, 20, 2, true},
    {"only from run_start to run_stop", OF("flux1", "32") "10 run_start\n0 block_start\n10 block_start\n20 block_stop {\"samples_count\":100}\n"
     "20 block_start\n30 block_stop {\"samples_count\":300}\n30 block_start\n31 run_stop {\"status\":\"aborted\"}\n90 block_stop {\"samples_count\":301}\n",
     MLLOG_POSITIONS, 20, 2, false},
    {"a part of an evaluation is no block", OF("flux1", "32") RUN "0 block_start\n10 block_stop {\"samples_count\":100}\n12 block_start \"validation_step\"\n"
     "18 block_stop \"validation_step\"\n20 block_start\n30 block_stop {\"samples_count\":300}\n",
     MLLOG_POSITIONS, 20, 2, false},
    {"one that begins with a block goes on beside it", OF("ssd", "32") RUN "0 block_start\n10 block_stop\n10 block_start\n10.04 eval_start {\"epoch_num\":1}\n"
     "15 eval_stop\n20 block_stop\n20 block_start\n20.04 eval_start {\"epoch_num\":2}\n",
     MLLOG_POSITIONS, 117030.1, 2, true},
    {"several ranks print one evaluation, also after the first of them has ended it", OF("dlrm", "32") RUN "0 epoch_start\n10 eval_start {\"epoch_num\":1.1}\n"
     "10.5 eval_start {\"epoch_num\":1.1}\n11 eval_stop\n11 eval_start {\"epoch_num\":1.1}\n11.5 eval_stop\n12 eval_stop\n21 eval_start {\"epoch_num\":1.2}\n",
     MLLOG_POSITIONS, 41951976.92, 2, true},
    {"deepcam counts steps, also where an epoch leaves samples out", OF("deepcam", "32") "0 train_samples 100\n" RUN "0 epoch_start {\"step_num\":0}\n"
     "8 eval_start {\"epoch_num\":1}\n9 eval_stop\n9 epoch_stop\n9 epoch_start {\"step_num\":3}\n12 eval_start {\"epoch_num\":2}\n12 epoch_stop\n12 epoch_start {\"step_num\":6}\n",
     MLLOG_POSITIONS, 32, 2, true},
    {"evaluations after the training: its epochs have the time", OF("resnet", "32") "0 train_samples 1281167\n" RUN "0 block_start\n0 epoch_start {\"epoch_num\":1}\n"
     "10 epoch_stop {\"epoch_num\":1}\n10 epoch_start {\"epoch_num\":2}\n20 epoch_stop {\"epoch_num\":2}\n20 epoch_start {\"epoch_num\":3}\n"
     "30 epoch_stop {\"epoch_num\":3}\n30 eval_start {\"epoch_num\":1}\n31 eval_stop\n31.1 eval_start {\"epoch_num\":2}\n32 eval_stop\n"
     "32.1 eval_start {\"epoch_num\":3}\n33 eval_stop\n33 block_stop\n",
     MLLOG_POSITIONS, 128116.7, 3, true},
    {"also if only one was evaluated", OF("resnet", "32") "0 train_samples 1281167\n" RUN "0 epoch_start {\"epoch_num\":0}\n10 epoch_stop {\"epoch_num\":0}\n"
     "10 epoch_start {\"epoch_num\":1}\n20 epoch_stop {\"epoch_num\":1}\n20 epoch_start {\"epoch_num\":2}\n30 epoch_stop {\"epoch_num\":2}\n30 eval_start {\"epoch_num\":1}\n",
     MLLOG_POSITIONS, 128116.7, 2, true},
    {"dlrm begins at its first epoch", OF("dlrm", "32") "0 train_samples 3775334400\n" RUN "0 epoch_start {\"epoch_num\":1}\n10 eval_start {\"epoch_num\":1.05}\n"
     "11 eval_stop\n21 eval_start {\"epoch_num\":1.1}\n22 eval_stop\n",
     MLLOG_POSITIONS, 20975988.46, 2, true},
    {"bert may number its epoch there, and say at its end what it has trained", OF("bert", "32") RUN "0 epoch_start {\"epoch_num\":1}\n0 block_start\n5 eval_accuracy 0.5 {\"epoch_num\":1}\n"
     "10 eval_accuracy 0.6 {\"epoch_num\":1}\n20 block_stop\n20 train_samples 40000\n",
     MLLOG_POSITIONS, 2000, 1, false},
    {"one that goes on counts from where it begins", OF("bert", "32") RUN "0 block_start {\"train_samples_since_beginning\":99000}\n"
     "10 eval_start {\"train_samples_since_beginning\":99500}\n12 eval_stop\n12 block_start\n22 eval_start {\"train_samples_since_beginning\":100000}\n",
     MLLOG_POSITIONS, 50, 2, true},
    {"a block may begin before the one before it ends, in the same millisecond", OF("flux1", "32") RUN "0 block_start\n10 block_start\n10 block_stop {\"samples_count\":100}\n"
     "20 block_stop {\"samples_count\":200}\n20 block_start\n30 block_stop {\"samples_count\":300}\n",
     MLLOG_POSITIONS, 10, 3, false},
    {"an unknown benchmark has the data set of its log", OF("cosmoflow", "32") "0 train_samples 5000\n" RUN "0 epoch_start\n10 eval_start {\"epoch_num\":1}\n"
     "11 eval_stop\n11 epoch_stop\n11 epoch_start\n21 eval_start {\"epoch_num\":2}\n",
     MLLOG_POSITIONS, 500, 2, true},
    {"numbers as texts", OF("flux1", "\"32\"") RUN "0 block_start\n10 block_stop {\"samples_count\":\"100\"}\n10 block_start\n20 block_stop {\"samples_count\":\"300\"}\n",
     MLLOG_POSITIONS, 20, 2, false},
};
/* clang-format on */

TEST(figures)
{
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        const struct row *row = &rows[i];
        struct mllog *m = mllog_new();
        struct mllog_result r;
        read_log(m, row->events, &r);
        print_message("# %s: %g of %zu\n", row->name, r.rate, r.n);
        assert_null(r.refusal);
        assert_int_equal(r.basis, row->basis);
        assert_true(fabs(r.rate / row->rate - 1) <= 1e-6);
        assert_int_equal(r.n, row->n);
        assert_int_equal(r.has_evaluation, row->has_evaluation);
        mllog_free(m);
    }
}

/* What a log states is of the job, of one of its 8 accelerators or in tokens, and may have the
 * evaluations in it. */
TEST(what_a_log_states_is_a_second_witness)
{
#define STATES(rate) STATES_UNTIL("30", rate)
#define STATES_UNTIL(end, rate)                                                                    \
    OF("gpt_oss_20b", "32")                                                                        \
    "0 max_sequence_length 100\n" RUN                                                              \
    "0 block_start\n10 block_stop\n10 eval_start {\"samples_count\":"                              \
    "1000}\n15 eval_stop\n15 block_start\n25 tracked_stats {\"throughput\":" rate "}\n"            \
    "25 block_stop\n25 eval_start {\"samples_count\":2000}\n" end " eval_stop\n"
    static const struct {
        const char *events;
        double stated; /* NaN: another figure */
    } logs[] = {
        {STATES("100"), 100},
        {STATES("12.6"), 100.8},
        {STATES("9900"), 99},
        {STATES("80"), 80},
        {STATES("1"), NAN},
        {STATES("103"), NAN},
        {STATES("13.2"), NAN},
        {STATES("60"), NAN},
        {STATES_UNTIL("100", "70"), 70},
        {STATES_UNTIL("100", "40"), NAN},
    };
    for (size_t i = 0; i < N_ROWS(logs); i++) {
        struct mllog *m = mllog_new();
        struct mllog_result r;
        read_log(m, logs[i].events, &r);
        print_message("# %g\n", r.stated);
        if (isnan(logs[i].stated)) {
            assert_string_equal(r.refusal, "what it states is another figure");
            assert_true(strncmp(r.numbers, "100 sequences/s by its events, and it states ", 45) ==
                        0);
            assert_true(isnan(r.rate));
        } else {
            assert_null(r.refusal);
            assert_true(fabs(r.rate - 100) < 1e-9 && fabs(r.stated - logs[i].stated) < 1e-9);
        }
        free(r.numbers);
        mllog_free(m);
    }
}

/* Its data set, target and names are those of its time, and what the log says is before them. */
TEST(constants_belong_to_a_round)
{
#define SSD(samples)                                                                               \
    OF("ssd", "32")                                                                                \
    "0 train_samples " samples "\n" RUN                                                            \
    "0 epoch_start\n10 epoch_stop\n10 eval_start {\"epoch_num\":1}\n"
    static const struct {
        const char *events;
        double begin_ms, rate, target;
    } logs[] = {
        {SSD("117266"), ROUND_1_1_MS, 11726.6, 0.23},
        {SSD("7"), ROUND_1_1_MS, 11726.6, 0.23},
        {SSD("1170301"), NOW_MS, 117030.1, 0.34},
        {SSD("7"), NOW_MS, 117030.1, 0.34},
        {SSD("1170301") "0 target_accuracy 0.4\n", NOW_MS, 117030.1, 0.4},
    };
    for (size_t i = 0; i < N_ROWS(logs); i++) {
        struct mllog *m = mllog_new();
        struct mllog_result r;
        read_round(m, logs[i].begin_ms, logs[i].events, &r);
        print_message("# %g, target %g\n", r.rate, r.goal.value);
        assert_true(fabs(r.rate / logs[i].rate - 1) <= 1e-6);
        assert_true(r.goal.kind == GOAL_ACCURACY && r.goal.value == logs[i].target);
        mllog_free(m);
    }
    struct mllog *m = mllog_new();
    struct mllog_result r;
    read_log(m, OF("new", "32") RUN "0 target_accuracy 3.3\n1 eval_accuracy 5\n2 eval_accuracy 3\n",
             &r);
    assert_true(r.goal.kind == GOAL_LOSS && r.goal.value == 3.3 && r.unit == UNIT_SAMPLES);
    mllog_free(m);
    m = mllog_new();
    read_log(m, OF("minigo", "32") RUN "0 epoch_start {\"epoch_num\":18}\n", &r);
    assert_string_equal(r.refusal, "it trains on games that it plays itself, and its log counts "
                                   "generations of games, not samples");
    mllog_free(m);
}

TEST(what_is_refused)
{
#define PARTS "its parts contradict each other"
#define POSITIONS "its positions are not what it has trained"
    static const struct {
        const char *events, *refusal, *numbers;
    } refused[] = {
        {"", "the log has no events in the form of MLPerf since v0.7", ""},
        {OF("bert", "32"), "the log has no run_start", ""},
        {RUN "0 block_start\n1 block_stop\n", "no step times, no positions", ""},
        {RUN "0 block_stop {\"samples_count\":1}\n",
         "no training time: no start of an epoch or block before a position", ""},
        /* four steps are too few, also five without a batch */
        {OF("bert", "32") RUN FIVE_SLOW STEP("2") STEP("2") STEP("2") STEP("2"),
         "no step times, no positions", ""},
        {RUN FIVE_SLOW FIVE_SLOW, "no step times, no positions", ""},
        {OF("bert", "32") "0 train_samples 60000\n" RUN
                          "0 block_start\n9 eval_start {\"epoch_num\":500}\n",
         "no step times, no positions", ""},
        /* Its figure times the length of its training is not what it has trained. */
        {OF("flux1", "32") RUN "1 block_start\n2 block_stop {\"samples_count\":100}\n"
                               "99 block_start\n100 block_stop {\"samples_count\":200}\n",
         "its figure contradicts the length of its training",
         "100 images/s by its events, but it has seen 200 in 100 s"},
        /* The first two blocks are only queued: the third waits for them, too. */
        {OF("flux1", "32") RUN "0 block_start\n4 block_stop {\"samples_count\":100}\n"
                               "4 block_start\n5 block_stop {\"samples_count\":200}\n"
                               "5 block_start\n6 block_stop {\"samples_count\":300}\n"
                               "6 block_start\n16 block_stop {\"samples_count\":400}\n",
         PARTS, "25 images/s by its events, and 100 by some of them"},
        /* Its epochs end before their block, so they are only queued, or the block holds more. */
        {OF("resnet", "32") RUN "0 block_start\n0 epoch_start\n9 epoch_stop\n10 block_stop\n"
                                "10 eval_start {\"epoch_num\":1}\n12 block_start\n"
                                "12 epoch_start\n20 epoch_stop\n22 block_stop\n"
                                "22 eval_start {\"epoch_num\":2}\n",
         PARTS, "128117 images/s by its events, and 160146 by some of them"},
        /* Its blocks have four epochs each, by their numbers, and its evaluations say less. */
        {OF("resnet", "32") RUN "0 block_start {\"first_epoch_num\":0}\n"
                                "10 eval_accuracy 0.1 {\"epoch_num\":3}\n10 block_stop\n"
                                "10 block_start {\"first_epoch_num\":4}\n"
                                "20 eval_accuracy 0.2 {\"epoch_num\":6}\n20 block_stop\n"
                                "20 block_start {\"first_epoch_num\":8}\n"
                                "30 eval_accuracy 0.3 {\"epoch_num\":10}\n30 block_stop\n"
                                "30 block_start {\"first_epoch_num\":12}\n",
         PARTS, "448408 images/s by its events, and 512467 by some of them"},
        /* Its epochs count another batch than it has: what it has trained stands at its end. */
        {OF("dlrm", "32") RUN "0 epoch_start\n10 eval_start {\"epoch_num\":1.45}\n10 eval_stop\n"
                              "20 eval_start {\"epoch_num\":1.9}\n21 epoch_stop\n"
                              "21 train_samples 3495680000\n",
         POSITIONS, "3.77568e+09 samples by its positions, and it has trained 3.49568e+09"},
        /* It trains one epoch at most, so its numbers are of something else. */
        {OF("dlrm", "32") RUN "0 epoch_start\n10 eval_start {\"epoch_num\":2}\n10 eval_stop\n"
                              "20 eval_start {\"epoch_num\":3}\n",
         POSITIONS, "8.3904e+09 samples by its positions, and it has trained 4.1952e+09"},
    };
    for (size_t i = 0; i < N_ROWS(refused); i++) {
        struct mllog *m = mllog_new();
        struct mllog_result r;
        read_log(m, refused[i].events, &r);
        assert_string_equal(r.refusal, refused[i].refusal);
        assert_string_equal(r.numbers == NULL ? "" : r.numbers, refused[i].numbers);
        assert_true(isnan(r.rate));
        free(r.numbers);
        mllog_free(m);
    }
}

TEST(what_the_run_says_of_itself)
{
    struct mllog *m = mllog_new();
    struct mllog_result r;
    read_log(m,
             OF("llama31_8b", "32") "2 run_start\n5 eval_accuracy 3.5\n7 eval_accuracy 3.25\n"
                                    "8 run_stop {\"status\":\"aborted\"}\n9 run_stop "
                                    "{\"status\":\"success\"}\n",
             &r);
    assert_string_equal(r.status, "aborted");
    assert_true(r.batch == 32 && isnan(r.accuracy_last));
    assert_true(r.goal.kind == GOAL_LOSS && r.goal.value == 3.3 && r.unit == UNIT_SEQUENCES);
    assert_int_equal(r.evaluations.n, 2);
    assert_int_equal(r.evaluations.list[0].t_ms, 3000);
    assert_int_equal(r.evaluations.list[0].loss_ppm, 3500000);
    assert_int_equal(r.evaluations.list[0].accuracy_ppm, EVALUATION_UNKNOWN);
    assert_int_equal(r.evaluations.end_ms, 6000);
    mllog_free(m);
    m = mllog_new();
    read_log(m,
             OF("bert", "32") RUN
             "4 eval_stop\n5 eval_start\n6 eval_start\n7 eval_stop\n"
             "8 eval_accuracy 0.5\n9 eval_start\n9.5 eval_stop\n10 eval_start\n",
             &r);
    assert_null(r.status);
    assert_true(r.accuracy_last == 0.5 && r.evaluation_s == 2.5);
    assert_int_equal(r.evaluations.list[0].accuracy_ppm, 500000);
    mllog_free(m);
}

/* Its numbers are more than integers hold: they are unknown. */
TEST(a_log_that_lies)
{
    struct mllog *m = mllog_new();
    struct mllog_result r;
    read_log(m,
             OF("llama31_8b", "1e-300") RUN "1e300 run_stop\n1 tracked_stats "
                                            "{\"train_step_time\":1} {\"samples_count\":1e300}\n",
             &r);
    assert_true(isnan(r.batch));
    assert_string_equal(r.refusal, "no step times, no positions");
    assert_null(r.status);
    mllog_free(m);
}

TEST(lines_that_are_no_events)
{
    static const char *const lines[] = {
        "",
        ":::MLLOG",
        ":::MLLOG {",
        ":::MLLOG []",
        ":::MLLOG {\"time_ms\": 1, \"key\": \"opt_name\", \"value\": \"adam\"}",
        ":::MLLOG {\"time_ms\": null, \"key\": \"run_start\"}",
        ":::MLLOG {\"time_ms\": 1e300, \"key\": \"run_start\"}",
        ":::MLLOG {\"key\": \"run_start\", \"value\": null}",
        "MLLOG {\"time_ms\": 1, \"key\": \"run_start\"}",
    };
    struct mllog *m = mllog_new();
    struct mllog_result r;
    for (size_t i = 0; i < N_ROWS(lines); i++) {
        mllog_line(m, lines[i], strlen(lines[i]));
    }
    mllog_conclude(m, 1, &r);
    assert_string_equal(r.refusal, "the log has no events in the form of MLPerf since v0.7");
    static const char prefixed[] = "[3] 17: :::MLLOG {\"time_ms\": 17, \"key\": \"run_start\"}";
    mllog_line(m, prefixed, strlen(prefixed));
    mllog_conclude(m, 1, &r);
    assert_string_equal(r.refusal, "no step times, no positions");
    mllog_free(m);
}
