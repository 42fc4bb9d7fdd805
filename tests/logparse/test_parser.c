/* The stream parser: warm-up, how figures become one, ranks, time stamps, and what is said when
 * there is no figure. */
#include "tests/test.h"
#include "logparse/parser.h"

#include <errno.h>
#include <math.h>

#include "base/clock.h"
#include "base/str.h"

#define S INT64_C(1000000000)

FREEP(log_rule_free, struct log_rule)
FREEP(log_parser_free, struct log_parser)

static struct log_rule *rule_of(const char *lines)
{
    struct diags diags = {0};
    struct log_rule *rule = NULL;
    _cleanup_(freep) char *text = xasprintf("name: mine\nlines:\n%s", lines);
    if (log_rule_load(text, strlen(text), &rule, &diags) < 0) {
        struct buf out = BUF_INIT;
        diags_format(&diags, "rule", text, &out);
        fail_msg("%s", buf_cstr(&out));
    }
    return rule;
}

struct row {
    const char *name, *lines, *log;
    double rate; /* NaN: none */
    unsigned steps, units;
    const char *method;
    int64_t batch, warmup, trainers;
};

static struct log_parser *parser_of(const struct row *row, const struct log_rule *rule)
{
    return log_parser_new(&(struct log_parser_params){
        .rule = rule,
        .role = ROLE_TRAINER,
        .batch_size = row->batch,
        .warmup_steps = row->warmup,
        .trainers = row->trainers,
    });
}

#define RATE "- {kind: Step, pattern: 'step (?<step>) (?<rate>) img/s'}\n"
#define PLAIN "- {kind: Step, pattern: '^(?<rate>) img/s'}\n"
#define TIMED "- {kind: Step, pattern: 'step (?<step>) took (?<step_ms>) ms'}\n"
#define AGG(how) "- {kind: Step, aggregate: " how ", pattern: '^(?<rate>) img/s'}\n"
#define STAMPED "- {kind: Step, pattern: '^(?<stamp>) step (?<step>)'}\n"

/* clang-format off */
static const struct row rows[] = {
    {"one line", PLAIN, "123.4 img/s\n", 123.4, 1, 0, "mean of 1 step line", 0, 10, 1},
    {"the time of two equal steps counts, not the mean of their rates", PLAIN, "10 img/s\n30 img/s\n", 15, 2, 0, "mean of 2 step lines", 0, 0, 1},
    {"median", AGG("Median"), "10 img/s\n30 img/s\n11 img/s\n", 11, 3, 0, "median of 3 step lines", 0, 0, 1},
    {"median of two", AGG("Median"), "10 img/s\n30 img/s\n", 20, 2, 0, "median of 2 step lines", 0, 0, 1},
    {"last", AGG("Last"), "10 img/s\n30 img/s\n20 img/s\n", 20, 3, 0, "last of 3 step lines", 0, 0, 1},
    {"maximum", AGG("Max"), "10 img/s\n30 img/s\n20 img/s\n", 30, 3, 0, "maximum of 3 step lines", 0, 0, 1},
    {"warm-up of the definition, from 0", RATE, "step 0 1 img/s\nstep 1 1 img/s\nstep 2 8 img/s\n", 8, 1, 0, "mean of 1 step line", 0, 2, 1},
    {"warm-up of the definition, from 1", RATE, "step 1 1 img/s\nstep 2 1 img/s\nstep 3 8 img/s\n", 8, 1, 0, "mean of 1 step line", 0, 2, 1},
    {"every tenth step is printed: the first line is of the warm-up", RATE, "step 10 1 img/s\nstep 20 8 img/s\nstep 30 8 img/s\n", 8, 20, 0, "mean of 2 step lines", 0, 10, 1},
    {"numbers that begin again do not make a second warm-up", RATE, "step 0 1 img/s\nstep 1 8 img/s\nstep 0 8 img/s\nstep 1 8 img/s\n", 8, 3, 0, "mean of 3 step lines", 0, 1, 1},
    {"warm-up of the rule wins", "- {kind: Step, skip: {steps: 0}, pattern: 'step (?<step>) (?<rate>) img/s'}\n", "step 0 8 img/s\n", 8, 1, 0, "mean of 1 step line", 0, 10, 1},
    {"warm-up in lines", "- {kind: Step, skip: {lines: 2}, pattern: '^(?<rate>) img/s'}\n", "1 img/s\n1 img/s\n8 img/s\n", 8, 1, 0, "mean of 1 step line", 0, 0, 1},
    {"lines without a number do not know the definition's warm-up", PLAIN, "1 img/s\n", 1, 1, 0, "mean of 1 step line", 0, 10, 1},
    {"time of a step and batch size", TIMED, "step 1 took 500 ms\nstep 2 took 500 ms\n", 64, 2, 64, "mean of 2 step lines", 32, 0, 1},
    {"scope Job: the batch of all trainers", "- {kind: Step, scope: Job, pattern: 'took (?<step_s>) s'}\n", "took 2 s\n", 64, 1, 128, "mean of 1 step line", 32, 0, 4},
    {"batch size of the line", "- {kind: Step, pattern: 'b (?<batch>) took (?<step_s>) s'}\n", "b 64 took 2 s\n", 32, 1, 64, "mean of 1 step line", 1, 0, 1},
    {"the time of a step and no batch: steps a second", TIMED, "step 1 took 500 ms\nstep 2 took 500 ms\n", 2, 2, 2, "mean of 2 step lines", 0, 0, 1},
    {"steps a second, of no batch", "- {kind: Step, unit: steps, pattern: '(?<step_rate>) it/s'}\n", "4 it/s\n", 4, 1, 1, "mean of 1 step line", 0, 0, 1},
    {"time stamps", STAMPED, "12:00:00 step 0\n12:00:10 step 10\n12:00:20 step 20\n", 32, 20, 640, "mean of 3 step lines, by their time stamps", 32, 0, 1},
    {"a clock that starts again", "- {kind: Step, from: TimeStamps, pattern: 'step (?<step>) time:(?<unix_ms>)ms'}\n", "step 1 time:30000ms\nstep 2 time:31000ms\nstep 3 time:100ms\nstep 4 time:1100ms\nstep 5 time:2100ms\n", 32, 3, 96, "mean of 5 step lines, by their time stamps", 32, 0, 1},
    {"time stamps: units of each step, and not of each line", "- {kind: Step, from: TimeStamps, each: 1, pattern: '^(?<stamp>) [[](?<step>)/'}\n", "12:00:00 [0/640]\n12:00:01 [160/640]\n12:00:02 [320/640]\n", 160, 320, 320, "mean of 3 step lines, by their time stamps", 16, 0, 1},
    {"units of each step and its time", "- {kind: Step, unit: tokens, each: 100, pattern: 'step (?<step>) took (?<step_ms>) ms'}\n", "step 10 took 500 ms\nstep 20 took 500 ms\n", 200, 11, 1100, "mean of 2 step lines", 32, 0, 1},
    {"units of each step of a line that numbers none", "- {kind: Step, each: 100, pattern: 'took (?<time_s>) s'}\n", "took 2 s\ntook 2 s\n", 50, 2, 200, "mean of 2 step lines", 32, 0, 1},
    {"the last mean since the start is one", "- {kind: Step, unit: tokens, aggregate: Last, pattern: '(?<step>)/.*tok/s: (?<rate>)'}\n", "100/900 train_time: 5.0m tok/s: 2000\n200/900 train_time: 8.0m tok/s: 2500\n300/900 train_time: 11.0m tok/s: 2727\n400/900 train_time: 14.0m tok/s: 2857\n500/900 train_time: 17.0m tok/s: 2941\n", 2941, 401, 0, "last of 5 step lines", 0, 0, 1},
    {"rates of their own beside the time since the start", "- {kind: Step, unit: tokens, pattern: '(?<step>)/.*tok/s: (?<rate>)'}\n", "100/900 train_time: 5.0m tok/s: 2000\n200/900 train_time: 8.0m tok/s: 3333\n300/900 train_time: 11.0m tok/s: 3333\n400/900 train_time: 14.0m tok/s: 3333\n500/900 train_time: 17.0m tok/s: 3333\n", 401 / (1 / 2000.0 + 400 / 3333.0), 401, 0, "mean of 5 step lines", 0, 0, 1},
    {"time stamps: measuring begins when the warm-up ends", STAMPED, "12:00:00 step 0\n12:00:50 step 10\n12:01:00 step 20\n", 32, 10, 320, "mean of 1 step line, by their time stamps", 32, 10, 1},
    {"a line with a date among lines without one", "- {kind: Step, pattern: '^(?<stamp>) step (?<step>)'}\n", "2023-07-28 23:59:50 step 0\n00:00:00 step 10\n", 32, 10, 320, "mean of 2 step lines, by their time stamps", 32, 0, 1},
    {"over midnight", STAMPED, "23:59:55 step 0\n00:00:05 step 10\n", 32, 10, 320, "mean of 2 step lines, by their time stamps", 32, 0, 1},
    {"evaluations and checkpoints are no training", STAMPED "- {kind: Info, pattern: 'eval (?:(?<evaluation_s>) s|(?<checkpoint_ms>) ms)'}\n", "00:00:00 step 0\n00:00:10 step 10\neval 5 s\neval 3000 ms\n[rank1] eval 9 s\n00:00:28 step 20\n", 32, 20, 640, "mean of 3 step lines, by their time stamps", 32, 0, 1},
    {"an evaluation on the line that it precedes", "- {kind: Epoch, from: TimeStamps, pattern: '^(?<stamp>) (?<samples>) in an epoch, eval (?<evaluation_s>) s'}\n", "00:00:05 100 in an epoch, eval 5 s\n00:00:16 100 in an epoch, eval 1 s\n00:00:46 100 in an epoch, eval 20 s\n", 10, 0, 200, "mean of 3 epoch lines, by their time stamps", 0, 0, 1},
    {"evaluations of a node without rank 0", STAMPED "- {kind: Info, pattern: 'eval (?<evaluation_s>) s'}", "[rank8] 00:00:00 step 0\n[rank8] eval 8 s\n[rank9] eval 8 s\n[rank8] 00:00:18 step 10\n", 32, 10, 320, "mean of 2 step lines, by their time stamps", 32, 0, 1},
    {"a figure besides that is no number", "- {kind: Step, pattern: 'step (?<step>) (?<rate>) img/s, (?<tflops>\\S+) TFLOPS'}", "step 1 100 img/s, nan TFLOPS\nstep 2 100 img/s, N/A TFLOPS\nstep 3 100 img/s, -1 TFLOPS\n", 100, 3, 96, "mean of 3 step lines", 32, 0, 1},
    {"one that is longer than the time between lines went on beside them", STAMPED "- {kind: Info, pattern: 'eval (?<evaluation_s>) s'}", "00:00:00 step 0\n00:00:10 step 10\neval 17 s\n00:00:20 step 20\neval 5 s\n00:00:35 step 30\n", 32, 30, 960, "mean of 4 step lines, by their time stamps", 32, 0, 1},
    {"they are no part of any step", "- {kind: Step, aggregate: Max, pattern: '^(?<stamp>) step (?<step>)'}\n- {kind: Info, pattern: 'eval (?<evaluation_ms>) ms'}", "00:00:00 step 0\neval 8000 ms\n00:00:18 step 10\n00:00:29 step 20\n", 32, 20, 640, "maximum of 3 step lines, by their time stamps", 32, 0, 1},
    {"a summary counts before steps, wherever it stands", PLAIN "- {kind: Summary, pattern: 'total (?<rate>) img/s'}\n", "total 50 img/s\n10 img/s\n", 50, 0, 0, "last of 1 summary line", 0, 0, 1},
    {"the first rule line that matches decides", "- {kind: Step, pattern: 'a (?<rate>) img/s'}\n" "- {kind: Step, pattern: '(?<rate>) img/s'}\n", "a 5 img/s\n7 img/s\n", 5, 1, 0, "mean of 1 step line", 0, 0, 1},
    {"an epoch's time and the steps counted in it", TIMED "- {kind: Epoch, pattern: 'epoch took (?<time_s>) s'}\n", "step 0 took 1 ms\nstep 1 took 1 ms\nepoch took 8 s\nstep 0 took 1 ms\nstep 1 took 1 ms\nepoch took 8 s\n", 8, 4, 128, "mean of 2 epoch lines", 32, 0, 1},
    {"ranks add up", "- {kind: Step, pattern: 'rank (?<rank>): (?<rate>) img/s'}\n", "rank 0: 10 img/s\nrank 7: 20 img/s\nrank 0: 10 img/s\n", 30, 2, 0, "mean of 3 step lines, 2 ranks", 0, 0, 1},
    {"ranks in brackets alone add up", "- {kind: Step, pattern: '(?<rate>) img/s'}\n", "[rank0] 10 img/s\n[rank1] 20 img/s\n[Rank 0] 10 img/s\n", 30, 2, 0, "mean of 3 step lines, 2 ranks", 0, 0, 1},
    {"ranks that print the job's figure do not", "- {kind: Step, scope: Job, pattern: '(?<rate>) img/s'}\n", "[1,0]<stdout>:30 img/s\n[1,1]<stdout>:32 img/s\n", 31, 1, 0, "mean of 2 step lines, 2 ranks", 0, 0, 1},
    {"one process speaks for all", "- {kind: Step, scope: Each, pattern: '(?<rate>) img/s'}\n", "30 img/s\n", 120, 1, 0, "mean of 1 step line", 0, 0, 4},
    {"all speak, each for all", "- {kind: Step, scope: Each, pattern: '(?<rate>) img/s'}\n", "[1,0]<stdout>:30 img/s\n[1,1]<stdout>:32 img/s\n", 62, 1, 0, "mean of 2 step lines, 2 ranks", 0, 0, 2},
    {"a number that is none is left out", PLAIN, "nan img/s\n0 img/s\n8 img/s\n", 8, 1, 0, "mean of 1 step line", 0, 0, 1},
};
/* clang-format on */

static void check_result(const struct row *row, const struct log_parser *p)
{
    struct log_result r;
    assert_int_equal(log_parser_result(p, &r), 0);
    if (fabs(r.rate - row->rate) > 1e-9 * row->rate) {
        fail_msg("rate %.12g, not %.12g", r.rate, row->rate);
    }
    assert_true(r.summary.steps == row->steps);
    assert_true(r.summary.samples == (row->units == 0 ? ceil(row->rate) : row->units));
    assert_string_equal(r.summary.source.method, row->method);
    summary_done(&r.summary);
}

/* However the bytes are cut. */
TEST(figures_become_one)
{
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s'\n", rows[i].name);
        _cleanup_(log_rule_freep) struct log_rule *rule = rule_of(rows[i].lines);
        const size_t len = strlen(rows[i].log);
        for (size_t piece = 1; piece <= len; piece += piece < 4 ? 1 : len) {
            _cleanup_(log_parser_freep) struct log_parser *p = parser_of(&rows[i], rule);
            for (size_t at = 0; at < len; at += piece) {
                const size_t n = len - at < piece ? len - at : piece;
                log_parser_feed(p, LOG_STDOUT, rows[i].log + at, n, 0);
            }
            log_parser_end(p, 0);
            check_result(&rows[i], p);
        }
    }
}

/* The phases of the lines that are measured, and of no other, with their steps and their time. */
TEST(phases_add_up)
{
    _cleanup_(log_rule_freep) struct log_rule *rule = rule_of(
        "- {kind: Epoch, scope: Job, skip: {lines: 1}, pattern: '(?<rate>) img/s, (?<steps>) "
        "steps: (?:data (?<data_s>) s, )?backward (?<backward_s>) s, wait (?<wait_s>) s'}\n");
    const struct row row = {.batch = 10, .trainers = 2};
    struct log_parser *p = parser_of(&row, rule);
    const char text[] = "1 img/s, 4 steps: backward 50 s, wait 30 s\n"
                        "20 img/s, 4 steps: data 0.5 s, backward 2 s, wait 1 s\n"
                        "40 img/s, 4 steps: backward 1.5 s, wait 0 s\n";
    log_parser_feed(p, LOG_STDOUT, text, sizeof(text) - 1, 0);
    log_parser_end(p, 0);
    struct log_result r;
    assert_int_equal(log_parser_result(p, &r), 0);
    assert_int_equal(r.summary.steps, 8);
    assert_int_equal(r.summary.duration_ns, 6 * S); /* 80 samples at 20/s, 80 at 40/s */
    static const double expected_s[PHASE_COUNT] = {
        [PHASE_DATA] = 0.5, [PHASE_BACKWARD] = 3.5, [PHASE_WAIT] = 1};
    for (int k = 0; k < PHASE_COUNT; k++) {
        assert_int_equal(r.summary.phase_ns[k], 1e9 * expected_s[k]);
    }
    summary_done(&r.summary);
    log_parser_free(p);
    /* Without a batch the time is not known that they are parts of. */
    const struct row unknown = {.trainers = 2};
    p = parser_of(&unknown, rule);
    log_parser_feed(p, LOG_STDOUT, text, sizeof(text) - 1, 0);
    log_parser_end(p, 0);
    assert_int_equal(log_parser_result(p, &r), 0);
    assert_int_equal(r.summary.phase_ns[PHASE_BACKWARD], 0);
    summary_done(&r.summary);
    log_parser_free(p);
}

/* Lines without a stamp of their own have that of their arrival. */
TEST(arrival_counts)
{
    _cleanup_(log_rule_freep) struct log_rule *rule =
        rule_of("- {kind: Step, pattern: 'step (?<step>) loss (?<loss>)'}\n");
    const struct row row = {.batch = 32};
    _cleanup_(log_parser_freep) struct log_parser *p = parser_of(&row, rule);
    log_parser_feed(p, LOG_STDERR, "step 0 loss 3\nstep 10 lo", 24, 5 * S);
    log_parser_feed(p, LOG_STDOUT, "other\n", 6, 10 * S);
    log_parser_feed(p, LOG_STDERR, "ss 2\nstep 20 loss 1", 19, 15 * S);
    log_parser_end(p, 25 * S);
    struct log_result r;
    assert_int_equal(log_parser_result(p, &r), 0);
    assert_true(fabs(r.rate - 32) < 1e-9);
    assert_true(r.summary.loss_first == 3 && r.summary.loss_last == 1);
    assert_int_equal(r.summary.series.n, 20);
    _cleanup_(freep) double *us = series_decode(&r.summary.series);
    assert_true(fabs(us[0] / 1e6 - 1) < 0.0002);
    summary_done(&r.summary);
}

/* ---- no figure ---- */

/* Each line's rate is the mean since the start: by its rate, its time and its step alike. */
TEST(a_mean_since_the_start_is_withheld)
{
    static const char *const texts[] = {
        "100/900 train_time: 5.0m tok/s: 2000\n200/900 train_time: 8.0m tok/s: 2500\n"
        "300/900 train_time: 11.0m tok/s: 2727\n400/900 train_time: 14.0m tok/s: 2857\n",
        /* The start is that of step 10, where the clock starts again. */
        "10/900 train_time:90000ms tok/s: 111\n20/900 train_time:1000ms tok/s: 10000\n"
        "110/900 train_time:11111ms tok/s: 9000\n510/900 train_time:62500ms tok/s: 8000\n"
        "710/900 train_time:93333ms tok/s: 7500\n",
    };
    for (size_t i = 0; i < N_ROWS(texts); i++) {
        _cleanup_(log_rule_freep) struct log_rule *rule =
            rule_of("- {kind: Step, unit: tokens, pattern: '(?<step>)/.*tok/s: (?<rate>)'}\n");
        const struct row row = {.trainers = 1};
        _cleanup_(log_parser_freep) struct log_parser *p = parser_of(&row, rule);
        struct log_result r;
        log_parser_feed(p, LOG_STDOUT, texts[i], strlen(texts[i]), 0);
        log_parser_end(p, 0);
        assert_int_equal(log_parser_result(p, &r), -ENODATA);
        assert_string_equal(log_parser_reading(p)->why, log_why_mean);
    }
}

TEST(why_there_is_no_figure)
{
    /* clang-format off */
    static const struct {
        const char *name, *lines, *log, *said;
        int64_t warmup;
    } misses[] = {
        {"nothing at all", PLAIN, "", "the program printed nothing for the log rule mine\n", 0},
        {"no line matches", "- {kind: Step, pattern: 'a=(?<loss>) Speed = (?<rate>) img/s'}\n",
         "a=1 img/s\na=2 Speed = 12 images\nthree\nfour\nfive\na=6\n",
         "no line of 6 matched the log rule mine\nthe last 5 lines:\n  2: a=2 Speed = 12 "
         "images\n  3: three\n  4: four\n  5: five\n  6: a=6\n", 0},
        {"all in the warm-up", RATE, "step 1 5 img/s\nstep 2 5 img/s\n",
         "2 lines matched the log rule mine, 2 of them in the warm-up, and no throughput follows "
         "from the others; lower measure.warmupSteps, or let the program run longer\nthe last 2 "
         "lines:\n  1: step 1 5 img/s\n  2: step 2 5 img/s\n", 10},
        {"no number", PLAIN, "0 img/s\n", "1 lines matched the log rule mine, but no throughput "
         "follows from them; 1 refused, line 1: its 'rate' is '0', which is not above 0\nthe "
         "only line:\n  1: 0 img/s\n", 0},
        {"nonsense", PLAIN, "1e300 img/s\n", "1 lines matched the log rule mine, but no "
         "throughput follows from them\nthe only line:\n  1: 1e300 img/s\n", 0},
        {"no batch size", "- {kind: Step, unit: tokens, pattern: 'step (?<step>) took (?<step_ms>) ms'}\n",
         "step 1 took 5 ms\n", "1 lines matched the log rule mine, but "
         "the samples of a step are unknown\nthe only line:\n  1: step 1 took 5 ms\n", 0},
    };
    /* clang-format on */
    for (size_t i = 0; i < N_ROWS(misses); i++) {
        print_message("# row '%s'\n", misses[i].name);
        _cleanup_(log_rule_freep) struct log_rule *rule = rule_of(misses[i].lines);
        const struct row row = {.warmup = misses[i].warmup};
        _cleanup_(log_parser_freep) struct log_parser *p = parser_of(&row, rule);
        log_parser_feed(p, LOG_STDOUT, misses[i].log, strlen(misses[i].log), 0);
        log_parser_end(p, 0);
        struct log_result r;
        assert_int_equal(log_parser_result(p, &r), -ENODATA);
        _cleanup_(buf_done) struct buf out = BUF_INIT;
        log_parser_explain(p, &out);
        assert_string_equal(buf_cstr(&out), misses[i].said);
    }
}

/* Lines, each at the time in seconds that a number after an '@' before it says. */
static void feed_timed(struct log_parser *p, const char *log)
{
    double now_s = 0;
    for (const char *at = log; *at != '\0'; at += strcspn(at, "\n") + 1) {
        if (*at == '@') {
            char *end;
            now_s = strtod(at + 1, &end);
            at = end;
        }
        log_parser_feed(p, LOG_STDOUT, at, strcspn(at, "\n") + 1, (int64_t)(now_s * 1e9));
    }
    log_parser_end(p, (int64_t)(now_s * 1e9));
}

/* Also where the log has no count, or too short a time for enough digits. Without a count the time
 * is that of the lines. */
TEST(samples_over_duration_is_the_rate)
{
    static const char by_rate[] =
        "- {kind: Summary, unit: runs, scope: Job, pattern: '(?<rate>)/s'}\n";
    static const char by_step[] = "- {kind: Step, unit: runs, scope: Job, skip: {steps: 1}, "
                                  "pattern: '(?<step>): (?<rate>)/s( (?<step_s>) s)?'}\n";
    static const char by_time[] =
        "- {kind: Summary, unit: runs, each: 1, pattern: 'took (?<time_s>) s'}\n";
    static const struct {
        const char *lines, *log;
        double rate;
        uint64_t samples;
    } cases[] = {
        {by_rate, "0.0000266/s\n", 0.0000266, 1},
        {by_rate, "0.5/s\n", 0.5, 1},
        {by_rate, "123.4/s\n", 123.4, 124},
        {by_rate, "1000000/s\n", 1e6, 1000000},
        {by_rate, "123456789/s\n", 123456789, 123456789},
        {by_rate, "@2 4/s\n@5 4/s\n@9 4/s\n", 4, 28},
        {by_step, "@2 1: 400/s\n@5 2: 4/s\n@9 3: 4/s\n", 4, 28},
        {by_step, "@2 1: 400/s 9 s\n@5 2: 4/s 2.1 s\n@9 4: 4/s 3.5 s\n", 4, 37},
        {by_time, "took 37600 s\n", 1 / 37600., 1},
        {by_time, "took 0.25 s\n", 4, 1},
        {by_time, "took 0.0005 s\n", 2000, 2000},
    };
    for (size_t i = 0; i < N_ROWS(cases); i++) {
        print_message("# row %zu\n", i);
        _cleanup_(log_rule_freep) struct log_rule *rule = rule_of(cases[i].lines);
        _cleanup_(log_parser_freep) struct log_parser *p = parser_of(&(struct row){0}, rule);
        feed_timed(p, cases[i].log);
        struct log_result r;
        assert_int_equal(log_parser_result(p, &r), 0);
        const struct summary *s = &r.summary;
        const double rate = (double)s->samples / ((double)s->duration_ns / 1e9);
        assert_true(fabs(rate - cases[i].rate) < 1e-6 * cases[i].rate);
        assert_int_equal(s->samples, cases[i].samples);
        assert_string_equal(s->source.rule, rule->name);
        assert_int_equal(s->source.unit, UNIT_RUNS);
        assert_true(s->source.is_job == (cases[i].lines != by_time));
        summary_done(&r.summary);
    }
}

#define SCORED                                                                                     \
    "- {kind: Step, pattern: 'step (?<step>) (?<rate>) img/s acc (?<accuracy>)'}\n"                \
    "- {kind: Info, pattern: 'begin'}\n"                                                           \
    "- {kind: Info, pattern: 'test (?<accuracy_percent>)%'}\n"                                     \
    "- {kind: Epoch, pattern: 'epoch (?<epoch>) (?<rate>) img/s acc (?<accuracy>) after "          \
    "(?<elapsed_s>)'}\n"                                                                           \
    "- {kind: Epoch, pattern: 'epoch (?<epoch>) (?<rate>) img/s acc (?<accuracy>)'}\n"             \
    "- {kind: Summary, unit: runs, each: 1, pattern: '(?<accuracy_percent>)% reached in "          \
    "(?<time_s>) s'}\n"
#define DATED                                                                                      \
    "- {kind: Step, pattern: '^(?<stamp>) (?<rate>) img/s'}\n"                                     \
    "- {kind: Info, pattern: '^(?<stamp>) test (?<accuracy>)'}\n"

/* Evaluations and their times. A '@N' in a log is no text: what follows comes N
 * seconds after the begin. */
TEST(evaluations_have_times)
{
    /* clang-format off */
    static const struct {
        const char *name, *rule, *log;
        uint32_t n;
        double t_s[3], accuracy[3];
    } kept[] = {
        {"by arrival, since the first step", SCORED,
         "@3step 1 9 img/s acc 0.9\n@8test 50%\n@9step 2 9 img/s acc 0.9\n@10.5test 60%\n", 2,
         {5, 7.5}, {0.5, 0.6}},
        {"since a line that says so", SCORED, "@1begin\n@3step 1 9 img/s acc 0.9\n@8test 50%\n", 1,
         {7}, {0.5}},
        {"the line knows", SCORED, "@3step 1 9 img/s acc 0\n@8epoch 1 9 img/s acc 0.5 after "
         "4.25\n@9epoch 2 9 img/s acc 0.25 after 5\n", 2, {4.25, 5}, {0.5, 0.25}},
        {"a line that knows is no clock for others", SCORED,
         "@3begin\n@8epoch 1 9 img/s acc 0.5 after 4.25\n@9test 60%\n", 1, {4.25}, {0.5}},
        {"the first line is an evaluation: when did it begin?", SCORED,
         "@3epoch 1 9 img/s acc 0.5\n@8epoch 2 9 img/s acc 0.6\n", 0, {0}, {0}},
        {"the first line is a test", SCORED, "@3test 50%\n@4epoch 1 9 img/s acc 0.5\n", 0, {0},
         {0}},
        {"no clock: all lines at once", SCORED, "step 1 9 img/s acc 0.9\ntest 50%\n", 0, {0}, {0}},
        {"the summary's own time", SCORED, "step 1 9 img/s acc 0.9\n80% reached in 407.1 s\n", 1,
         {407.1}, {0.8}},
        {"not of a step", SCORED, "@3step 1 9 img/s acc 0.1\n@4step 2 9 img/s acc 0.9\n", 0, {0},
         {0}},
        {"a percentage that is none", SCORED,
         "@3begin\n@4step 1 9 img/s acc 1\n@5test 101%\n@6test 10%\n", 1, {3}, {0.1}},
        {"of the first rank", SCORED,
         "@3begin\n@4step 1 9 img/s acc 1\n@5[rank1] test 70%\n@6[rank0] test 60%\n", 1, {3},
         {0.6}},
        {"by stamps over midnight", DATED, "23:59:50 9 img/s\n00:00:10 test 0.5\n", 1, {20}, {0.5}},
        {"a clock that was set back", SCORED,
         "@30begin\n@40test 50%\n@20test 60%\n@45step 1 9 img/s acc 0\n", 1, {10}, {0.5}},
    };
    /* clang-format on */
    for (size_t i = 0; i < N_ROWS(kept); i++) {
        print_message("# row '%s'\n", kept[i].name);
        _cleanup_(log_rule_freep) struct log_rule *rule = rule_of(kept[i].rule);
        const struct row row = {.trainers = 1};
        _cleanup_(log_parser_freep) struct log_parser *p = parser_of(&row, rule);
        feed_timed(p, kept[i].log);
        struct log_result r = {0};
        if (log_parser_result(p, &r) == 0 && kept[i].n > 0) {
            assert_non_null(r.summary.evaluations);
            assert_int_equal(r.summary.evaluations->n, kept[i].n);
            for (uint32_t k = 0; k < kept[i].n; k++) {
                assert_int_equal(r.summary.evaluations->list[k].t_ms, lrint(kept[i].t_s[k] * 1e3));
                assert_int_equal(r.summary.evaluations->list[k].accuracy_ppm,
                                 lrint(kept[i].accuracy[k] * 1e6));
            }
            assert_true(r.summary.evaluations->end_ms >=
                        r.summary.evaluations->list[kept[i].n - 1].t_ms);
        } else {
            assert_null(r.summary.evaluations);
            assert_int_equal(kept[i].n, 0);
        }
        summary_done(&r.summary);
    }
}

/* A median over more lines than are kept, and more steps than are kept. */
TEST(long_logs_stay_small)
{
    _cleanup_(log_rule_freep) struct log_rule *rule =
        rule_of("- {kind: Step, aggregate: Median, unit: steps, pattern: '^(?<rate>) img/s'}\n");
    const struct row row = {0};
    _cleanup_(log_parser_freep) struct log_parser *p = parser_of(&row, rule);
    for (int i = 0; i < 300000; i++) {
        char line[32];
        const int n = snprintf(line, sizeof(line), "%d img/s\n", i % 1000 + 1);
        log_parser_feed(p, LOG_STDOUT, line, (size_t)n, 0);
    }
    struct log_result r;
    assert_int_equal(log_parser_result(p, &r), 0);
    assert_int_equal(r.n_lines, 300000);
    assert_true(fabs(r.rate - 500.5) < 10);
    assert_int_equal(r.summary.series.n, 0);
    summary_done(&r.summary);
}

/* Each of these patterns looks at the rest of the line from each of its 8,000 places, in few steps:
 * all of them took seconds for a line. */
TEST(a_rule_that_takes_too_long)
{
    _cleanup_(buf_done) struct buf lines = BUF_INIT;
    buf_puts(&lines, PLAIN);
    for (int i = 1; i < 32; i++) {
        buf_puts(&lines, "- {kind: Step, pattern: '(?:(?=[^y]*+y)|(?=[^z]*+z))(?<rate>) img/s'}\n");
    }
    _cleanup_(log_rule_freep) struct log_rule *rule = rule_of(buf_cstr(&lines));
    char line[8001];
    memset(line, 'x', sizeof(line));
    memcpy(line + sizeof(line) - 1 - 6, " img/s", 6);
    line[sizeof(line) - 1] = '\n';
    const struct log_parser_params params = {
        .rule = rule, .role = ROLE_TRAINER, .cpu_ns = clock_thread_cpu_ns};
    for (int is_slow = 0; is_slow <= 1; is_slow++) {
        _cleanup_(log_parser_freep) struct log_parser *p = log_parser_new(&params);
        _cleanup_(buf_done) struct buf why = BUF_INIT;
        const int64_t begin_ns = clock_thread_cpu_ns();
        for (int i = 0; i < 3; i++) {
            log_parser_feed(p, LOG_STDOUT, "5 img/s\n", 8, 0);
        }
        for (int i = 0; is_slow && i < 1000; i++) {
            log_parser_feed(p, LOG_STDOUT, line, sizeof(line), 0);
        }
        const int64_t took_ns = clock_thread_cpu_ns() - begin_ns;
        print_message("# %.1f ms\n", (double)took_ns / 1e6);
        assert_true(took_ns < 5 * S); /* a thousand times that without a limit */
        struct log_result result = {0};
        assert_int_equal(log_parser_result(p, &result), is_slow ? -ENODATA : 0);
        summary_done(&result.summary);
        log_parser_explain(p, &why);
        assert_int_equal(str_has_prefix(buf_cstr(&why), "the log rule mine was given up at line 4: "
                                                        "its patterns take too long\n"),
                         is_slow);
    }
}

/* The host of a virtual machine takes the CPU away for 15 ms at one of 997 looks at the clock. */
static int64_t n_looks;
static int64_t cpu_of_a_busy_host(void)
{
    n_looks++;
    return n_looks * 1000 + n_looks / 997 * 15000000;
}

TEST(a_busy_host_is_not_the_rule)
{
    _cleanup_(log_rule_freep) struct log_rule *rule = rule_of(PLAIN);
    const struct log_parser_params params = {
        .rule = rule, .role = ROLE_TRAINER, .cpu_ns = cpu_of_a_busy_host};
    _cleanup_(log_parser_freep) struct log_parser *p = log_parser_new(&params);
    char other[1000]; /* a match looks at the clock while it tries a long line */
    memset(other, 'x', sizeof(other));
    other[sizeof(other) - 1] = '\n';
    for (int i = 0; i < 10000; i++) {
        log_parser_feed(p, LOG_STDOUT, "5 img/s\n", 8, 0);
        log_parser_feed(p, LOG_STDOUT, other, sizeof(other), 0);
    }
    struct log_result result = {0};
    assert_int_equal(log_parser_result(p, &result), 0);
    assert_int_equal(result.n_lines, 10000);
    summary_done(&result.summary);
}

TEST(the_last_of_each_version)
{
    _cleanup_(buf_done) struct buf log = BUF_INIT;
    _cleanup_(log_rule_freep) struct log_rule *rule =
        rule_of(PLAIN "versions: {a: '^a v(?<version>)', b: '^b (?<version>.*)'}");
    _cleanup_(log_parser_freep) struct log_parser *p = parser_of(&(struct row){0}, rule);
    buf_printf(&log, "a v2\na v1.20rc1+cu-x.\nb own 1\nb \xff\nb %0101d\n", 7);
    log_parser_read(p, buf_cstr(&log), log.len);
    _cleanup_(freep) char *text = json_dumps(log_parser_reading(p)->versions, JSON_COMPACT);
    assert_string_equal(text, "{\"a\":\"1.20rc1+cu-x\",\"b\":\"own 1\"}");
}

/* An Info line has no step of its own: it is of the warm-up if the last step was. */
TEST(devices_in_the_warm_up)
{
    static const char log[] = "step 1 9 img/s\npower 100 W\nstep 6 9 img/s\npower 200 W\n"
                              "step 7 9 img/s\npower 700 W\n";
    _cleanup_(log_rule_freep) struct log_rule *rule =
        rule_of(RATE "- {kind: Info, pattern: 'power (?<power_w>) W'}\n");
    _cleanup_(log_parser_freep) struct log_parser *p =
        parser_of(&(struct row){.batch = 32, .warmup = 5, .trainers = 1}, rule);
    struct log_result result;
    log_parser_feed(p, LOG_STDOUT, log, strlen(log), 0);
    log_parser_end(p, 0);
    assert_int_equal(log_parser_result(p, &result), 0);
    assert_true(metrics_get(&result.summary.metrics, "logged_power_w") == 700);
    summary_done(&result.summary);
}
