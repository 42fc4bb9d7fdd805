/* What a log rule makes of one replica's output: records of steps, and a summary or a reason. */
#include "tests/test.h"
#include "run/log_reader.h"

#include "core/summary.h"
#include "logparse/shipped_rules.h"

FREEP(log_rule_free, struct log_rule)
FREEP(log_reader_free, struct log_reader)

static const struct replica_id id = {{3, 1, 2}, ROLE_TRAINER, 1};

struct steps {
    unsigned n;
    struct record last;
};

static void on_step(void *ctx, const struct record *record)
{
    struct steps *steps = ctx;
    steps->n++;
    steps->last = *record;
}

static struct log_reader *new_log(struct log_rule *rule, int64_t warmup, struct steps *steps)
{
    const struct log_parser_params params = {
        .rule = rule,
        .role = ROLE_TRAINER,
        .batch_size = 32,
        .warmup_steps = warmup,
        .trainers = 2,
    };
    return log_reader_new(&params, &id, on_step, steps);
}

static void feed(struct log_reader *l, const char *text, int64_t t_ns)
{
    log_reader_feed(l, LOG_STDOUT, text, strlen(text), t_ns);
}

TEST(steps_and_a_summary)
{
    _cleanup_(log_rule_freep) struct log_rule *rule = log_shipped_load("paddle-fluid");
    struct steps steps = {0};
    _cleanup_(log_reader_freep) struct log_reader *l = new_log(rule, 1, &steps);
    feed(l, "Pass = 0, Iters = 0, Loss = 3.5, Accuracy = 0.1, Speed = 16.00 img/s\nPass = 0, It",
         0);
    assert_int_equal(steps.n, 1);
    assert_true(steps.last.step.warmup);
    feed(l, "ers = 1, Loss = 2.5, Accuracy = 0.1, Speed = 64.00 img/s\n", 7000);
    assert_int_equal(steps.n, 2);
    assert_false(steps.last.step.warmup);
    assert_int_equal(steps.last.type, RECORD_STEP);
    assert_int_equal(steps.last.who.index, 1);
    assert_int_equal(steps.last.step.step, 0); /* measured steps are counted apart */
    assert_int_equal(steps.last.step.samples, 32);
    assert_int_equal(steps.last.step.step_ns, 500000000);
    assert_int_equal(steps.last.step.t_ns, 7000); /* since the first one */
    assert_true(steps.last.step.loss == 2.5);
    _cleanup_(log_reader_end_done) struct log_reader_end end;
    log_reader_end(l, 8000, &end);
    assert_null(end.why);
    assert_true(summary_is_usable(end.summary));
    assert_false(end.summary->source.is_job);
    assert_true(summary_throughput(end.summary) == 64);
    assert_int_equal(end.summary->steps, 1);
    assert_int_equal(end.summary->series.n, 1);
    assert_string_equal(end.summary->source.rule, "paddle-fluid");
    assert_string_equal(end.summary->source.method, "mean of 1 step line");
}

/* The view shows one process. */
TEST(steps_of_the_first_rank)
{
    _cleanup_(log_rule_freep) struct log_rule *rule = log_shipped_load("paddle-fluid");
    struct steps steps = {0};
    _cleanup_(log_reader_freep) struct log_reader *l = new_log(rule, 0, &steps);
    feed(l, "[rank1]: Pass = 0, Iters = 0, Loss = 3.5, Accuracy = 0.1, Speed = 16.00 img/s\n", 0);
    feed(l, "[rank0]: Pass = 0, Iters = 0, Loss = 3.5, Accuracy = 0.1, Speed = 16.00 img/s\n", 0);
    assert_int_equal(steps.n, 1);
}

/* Steps whose time is that between lines. */
TEST(steps_by_time_stamps)
{
    _cleanup_(log_rule_freep) struct log_rule *rule = log_shipped_load("paddle-benchmark-fluid");
    struct steps steps = {0};
    _cleanup_(log_reader_freep) struct log_reader *l = new_log(rule, 0, &steps);
    feed(l, "Pass: 0, Iter: 0, Loss: 4.5\n", 1000000000);
    assert_int_equal(steps.n, 0); /* there is no time yet */
    feed(l, "Pass: 0, Iter: 2, Loss: 3.5\n", 3000000000);
    assert_int_equal(steps.n, 1);
    assert_int_equal(steps.last.step.samples, 64);
    assert_int_equal(steps.last.step.step_ns, 2000000000);
    _cleanup_(log_reader_end_done) struct log_reader_end end;
    log_reader_end(l, 9000000000, &end);
    assert_true(summary_is_usable(end.summary));
    assert_true(summary_throughput(end.summary) == 32);
}

TEST(a_summary_of_the_job)
{
    _cleanup_(log_rule_freep) struct log_rule *rule = log_shipped_load("tf-cnn-benchmarks");
    struct steps steps = {0};
    _cleanup_(log_reader_freep) struct log_reader *l = new_log(rule, 0, &steps);
    feed(l, "total images/sec: 1088.76", 0);
    _cleanup_(log_reader_end_done) struct log_reader_end end;
    log_reader_end(l, 0, &end);
    assert_true(end.summary->source.is_job);
    assert_int_equal(steps.n, 0);
}

TEST(a_reason)
{
    _cleanup_(log_rule_freep) struct log_rule *rule = log_shipped_load("keras");
    _cleanup_(log_reader_freep) struct log_reader *l = new_log(rule, 0, &(struct steps){0});
    feed(l, "killed\n", 0);
    _cleanup_(log_reader_end_done) struct log_reader_end end;
    log_reader_end(l, 0, &end);
    assert_null(end.summary);
    assert_string_equal(end.why,
                        "no line of 1 matched the log rule keras\nthe only line:\n  1: killed\n");
}
