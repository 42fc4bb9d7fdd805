/* What the lines of a log are taken for, and the verdict on its figure: the pace of its lines, the
 * signs of a run that is no result. */
#include "tests/test.h"
#include "logparse/parser.h"

#include <errno.h>
#include <math.h>

#include "base/str.h"
#include "doc/embedded.h"
#include "doc/reader.h"
#include "logparse/shipped_rules.h"
#include "logparse/signs.h"

FREEP(log_rule_free, struct log_rule)
FREEP(log_parser_free, struct log_parser)
FREEP(log_signs_free, struct log_signs)

#define RATE "- {kind: Step, pattern: 'step (?<step>)(?: of \\d+)?:? .*?(?<rate>) img/s'}\n"
#define TIME "- {kind: Step, pattern: 'step (?<step>) took (?<step_ms>) ms'}\n"
#define PLAIN "- {kind: Step, pattern: '(?<rate>) img/s'}\n"
#define TOKENS "- {kind: Step, unit: tokens, pattern: 'step (?<step>) (?<rate>) tok/s'}\n"
#define OF_TOTAL "- {kind: Step, pattern: 'step (?<step>)(?:(?:/| of )\\d+)?:? (?<rate>) img/s'}\n"
#define OF_JOB "- {kind: Step, scope: Job, pattern: 'step (?<step>) (?<rate>) img/s'}\n"

static struct log_parser *parser_of(const char *lines, int64_t batch, int64_t trainers,
                                    struct log_rule **ret)
{
    struct diags diags = {0};
    _cleanup_(freep) char *text = xasprintf("name: mine\nlines:\n%s", lines);
    assert_int_equal(log_rule_load(text, strlen(text), ret, &diags), 0);
    return log_parser_new(&(struct log_parser_params){
        .rule = *ret, .role = ROLE_WORKER, .batch_size = batch, .trainers = trainers});
}

/* ---- the pace ---- */

/* 60 lines of one form, one every `gap_s` seconds, in groups of `burst`. */
static void feed_lines(struct log_parser *p, const char *form, unsigned every, double gap_s,
                       unsigned burst)
{
    for (unsigned i = 0; i < 60; i++) {
        _cleanup_(freep) char *number = xasprintf("%u", (i + 1) * every);
        _cleanup_(buf_done) struct buf line = BUF_INIT;
        for (const char *at = form; *at != '\0'; at++) {
            if (*at == '#') {
                buf_puts(&line, number);
            } else {
                buf_putc(&line, *at);
            }
        }
        buf_putc(&line, '\n');
        const double at_s = 1000 + gap_s * ((i / burst + 1) * burst) + 1e-4 * (i % 3);
        log_parser_feed(p, LOG_STDOUT, line.data, line.len, (int64_t)(at_s * 1e9));
    }
    log_parser_end(p, INT64_C(2000000000000));
}

TEST(a_rate_is_held_against_the_pace_of_its_lines)
{
    /* clang-format off */
    static const struct {
        const char *name, *lines, *form;
        int64_t batch, trainers;
        unsigned every;
        double gap_s;
        unsigned burst;
        enum log_witness witness;
        const char *why; /* a part of it; NULL: none */
    } rows[] = {
        {"32 samples in 40 ms", RATE, "step # 800 img/s", 32, 1, 1, .04, 1, LOG_WITNESS_AGREES, NULL},
        {"every tenth step prints", RATE, "step # 800 img/s", 32, 1, 10, .4, 1, LOG_WITNESS_AGREES, NULL},
        {"a fifth of the step is not counted", RATE, "step # 960 img/s", 32, 1, 1, .04, 1, LOG_WITNESS_AGREES, NULL},
        {"the number is a loss", RATE, "step # 2.29 img/s", 32, 1, 1, .04, 1, LOG_WITNESS_DISAGREES, "by the time at which they came it is 79"},
        {"the batch is 8", RATE, "step # 200 img/s", 32, 1, 1, .04, 1, LOG_WITNESS_DISAGREES, "; by both the batch is 8"},
        {"or about 33, or 32 and the program's rate is 3% too high", RATE, "step # 824 img/s", 8, 1, 1, .04, 1, LOG_WITNESS_DISAGREES, "; by both the batch is 32.96 instead of 8"},
        {"the rate is exact", RATE, "step # 800 img/s", 8, 1, 1, .04, 1, LOG_WITNESS_DISAGREES, "; by both the batch is 32 instead of 8"},
        {"no whole number is near", RATE, "step # 240 img/s", 32, 1, 1, .04, 1, LOG_WITNESS_DISAGREES, "; by both the batch is 9.6"},
        {"no batch is known", RATE, "step # 824 img/s", 0, 1, 1, .04, 1, LOG_WITNESS_NO_BATCH, "a step has 32.96 samples"},
        {"the rate is of two workers", RATE, "step # 1600 img/s", 32, 2, 1, .04, 1, LOG_WITNESS_DISAGREES, "write 'scope: Job'"},
        {"and the rule says so", OF_JOB, "step # 1600 img/s", 32, 2, 1, .04, 1, LOG_WITNESS_AGREES, NULL},
        {"the time of a step", TIME, "step # took 40 ms", 8, 1, 1, .04, 1, LOG_WITNESS_AGREES, NULL},
        {"a time of something else", TIME, "step # took 10 ms", 8, 1, 1, .04, 1, LOG_WITNESS_DISAGREES, "it is 199.98"},
        {"no batch is needed for it", TIME, "step # took 40 ms", 0, 1, 1, .04, 1, LOG_WITNESS_AGREES, NULL},
        {"tokens: by both a step has 2048", TOKENS, "step # 51200 tok/s", 0, 1, 1, .04, 1, LOG_WITNESS_NO_BATCH, "a step has 2048"},
        {"less than a token a step", TOKENS, "step # 2.5 tok/s", 0, 1, 1, .04, 1, LOG_WITNESS_DISAGREES, NULL},
        {"a buffered pipe", RATE, "step # 2.29 img/s", 32, 1, 1, .04, 10, LOG_WITNESS_BURSTS, "its lines came in bursts"},
        {"lines without numbers may cover any number of steps", PLAIN, "80 img/s", 32, 1, 1, .04, 1, LOG_WITNESS_NO_COUNT, "how many steps they cover"},
        {"unless one step fits", PLAIN, "800 img/s", 32, 1, 1, .04, 1, LOG_WITNESS_AGREES, NULL},
        {"all at once", RATE, "step # 800 img/s", 32, 1, 1, 0, 1, LOG_WITNESS_FEW, "too few"},
    };
    /* clang-format on */
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# %s\n", rows[i].name);
        _cleanup_(log_rule_freep) struct log_rule *rule = NULL; /* outlives the parser */
        _cleanup_(log_parser_freep) struct log_parser *p =
            parser_of(rows[i].lines, rows[i].batch, rows[i].trainers, &rule);
        feed_lines(p, rows[i].form, rows[i].every, rows[i].gap_s, rows[i].burst);
        const struct log_reading *r = log_parser_reading(p);
        print_message("# %s: %g, pace %g, %s\n", log_witness_names[r->witness], r->rate, r->pace,
                      r->why == NULL ? "-" : r->why);
        assert_int_equal(r->witness, rows[i].witness);
        assert_true(rows[i].why == NULL || strstr(r->why, rows[i].why) != NULL);
        assert_true(r->why == NULL || strstr(r->why, "batchSize") == NULL); /* none is proposed */
        struct log_result result;
        const bool is_withheld = r->witness == LOG_WITNESS_DISAGREES;
        assert_int_equal(r->verdict, is_withheld                        ? LOG_VERDICT_WITHHELD
                                     : r->witness == LOG_WITNESS_AGREES ? LOG_VERDICT_AGREES
                                                                        : LOG_VERDICT_ONE_WITNESS);
        assert_int_equal(log_parser_result(p, &result), is_withheld ? -ENODATA : 0);
        if (!is_withheld) {
            summary_done(&result.summary);
        }
    }
}

#define MEAN                                                                                       \
    "- {kind: Step, aggregate: Last, skip: {steps: 5}, pattern: 'step (?<step>) (?<rate>) "        \
    "img/s'}\n"

/* The figure is the last mean, whatever it was before. Other programs took the CPU in the second
 * half: 100 steps of 4 ms, and 60 of 40 ms. */
TEST(a_mean_since_the_start_is_held_against_the_whole_time)
{
    static const struct {
        double factor; /* of the rate that is stated */
        enum log_witness witness;
    } rows[] = {{1, LOG_WITNESS_AGREES}, {2, LOG_WITNESS_DISAGREES}, {.5, LOG_WITNESS_DISAGREES}};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(log_rule_freep) struct log_rule *rule = NULL; /* outlives the parser */
        _cleanup_(log_parser_freep) struct log_parser *p = parser_of(MEAN, 8, 1, &rule);
        double t_s = 0;
        for (unsigned k = 1; k <= 160; k++) {
            t_s += k <= 100 ? .004 : .04;
            const double rate = rows[i].factor * 8 * k / t_s;
            _cleanup_(freep) char *line = xasprintf("step %u %.6f img/s\n", k, rate);
            log_parser_feed(p, LOG_STDOUT, line, strlen(line), (int64_t)((1000 + t_s) * 1e9));
        }
        log_parser_end(p, INT64_C(2000000000000));
        const struct log_reading *r = log_parser_reading(p);
        print_message("# %g: %s, %g beside %g\n", rows[i].factor, log_witness_names[r->witness],
                      r->rate, r->pace);
        assert_int_equal(r->witness, rows[i].witness);
    }
}

/* A file's lines have the time that they name, some in whole seconds. */
TEST(the_pace_of_a_file)
{
    static const struct {
        const char *form;
        enum log_witness witness;
    } rows[] = {
        {"2026-03-01 10:%02u:%02u,250 INFO step %u 8 img/s\n", LOG_WITNESS_AGREES},
        {"[10:%02u:%02u] step %u 8 img/s\n", LOG_WITNESS_AGREES},
        {"[%02u:%02u<09:59, 2s/it] step %u 8 img/s\n", LOG_WITNESS_AGREES},
        {"[10:%02u:%02u] step %u 80 img/s\n", LOG_WITNESS_DISAGREES},
        {"%u %u step %u 80 img/s\n", LOG_WITNESS_NO_TIME},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row %zu\n", i);
        _cleanup_(log_rule_freep) struct log_rule *rule = NULL; /* outlives the parser */
        _cleanup_(log_parser_freep) struct log_parser *p = parser_of(RATE, 16, 1, &rule);
        for (unsigned k = 0; k < 40; k++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
            _cleanup_(freep) char *line = xasprintf(rows[i].form, 2 * k / 60, 2 * k % 60, k);
#pragma GCC diagnostic pop
            log_parser_feed(p, LOG_STDOUT, line, strlen(line), 0);
        }
        log_parser_end(p, 0);
        assert_int_equal(log_parser_reading(p)->witness, rows[i].witness);
    }
}

/* ---- what a line is about ---- */

TEST(evaluations_and_preparation_by_their_words)
{
    static const char *const evaluations[] = {
        "Validation: 5000 images/sec",
        "validate step: 20 loss: 3.1 tps: 30,000",
        "Test: [ 10/100] Time 0.1",
        "eval step 7: 150 samples/s",
        "2026-01-01 00:00:00 - mmengine - INFO - Epoch(val) [1][50/100]",
        "INFO - Evaluating: 99 samples/s",
        "epoch 3 val batch 4/10: 300 img/s",
        "{'eval_loss': 1.2, 'eval_samples_per_second': 120.5}",
        "{\"split\": \"validation\", \"samples_per_second\": 12}",
        "mode=eval step 3 12 img/s",
        "Sanity Checking DataLoader 0: 100%|##| 2/2 [00:00<00:00, 30it/s]",
    };
    static const char *const steps[] = {
        "step 5 loss 2.1 val_loss 2.2 800 img/s",
        "step: 5 loss: 2.29 tok/s: 51,200",
        "train step 7: 100 samples/s",
        "/data/test/run.py:12 step 3 800 img/s",
        "Epoch 2 - 35s 40ms/step - loss: 1.5 - val_loss: 1.4",
        "latest step 4 800 img/s",
        "step 10 test-set=imagenet 800 img/s",
        "100%|##| 9912/9912 [00:04<00:00, 2104.11it/s]",
    };
    static const char *const preparations[] = {
        "Map: 100%|##| 51760/51760 [00:05<00:00, 9876.5 examples/s]",
        "Map: 100%|##| 128/128 [00:00<00:00, 952.51 examples/s]  ", /* over a longer bar */
        "Generating train split: 100%|##| 10/10 [00:05<00:00, 21834.1 examples/s]",
        "Saving the dataset (1/1 shards): 100%|##| 10/10 [00:05<00:00, 21834.1 examples/s]",
        "Adding EOS to train dataset: 100%|##| 10/10 [00:05<00:00, 2183.1 examples/s]",
        "Some new words: 100%|##| 10/10 [00:05<00:00, 2183.1 examples/s]",
        "100%|##| 9912422/9912422 [00:00<00:00, 38104236.11it/s]",
        "Packing train dataset: 9 examples [00:05, 2183.1 examples/s]",
    };
    struct log_matcher *m = log_matcher_new();
    for (size_t i = 0; i < N_ROWS(evaluations); i++) {
        print_message("# %s\n", evaluations[i]);
        assert_true(log_is_evaluation(m, evaluations[i], strlen(evaluations[i])));
    }
    static const char named[] = "DLL - (0, 1) train_items_per_sec : 9 val_items_per_sec : 8";
    assert_true(log_is_evaluation_at(m, named, sizeof(named) - 2));
    assert_false(log_is_evaluation_at(m, named, (size_t)(strchr(named, '9') - named)));
    for (size_t i = 0; i < N_ROWS(steps); i++) {
        print_message("# %s\n", steps[i]);
        assert_false(log_is_evaluation(m, steps[i], strlen(steps[i])));
        assert_false(log_is_preparation(m, steps[i], strlen(steps[i])));
    }
    for (size_t i = 0; i < N_ROWS(preparations); i++) {
        print_message("# %s\n", preparations[i]);
        assert_true(log_is_preparation(m, preparations[i], strlen(preparations[i])));
    }
    log_matcher_free(m);
}

static void check_spans(const struct log_reading *r, const char *expected)
{
    _cleanup_(buf_done) struct buf got = BUF_INIT;
    vec_each (const struct log_span, s, &r->spans) {
        buf_printf(&got, "%s %llu-%llu %llu; ", log_use_names[s->use], (unsigned long long)s->first,
                   (unsigned long long)s->last, (unsigned long long)s->n);
    }
    assert_string_equal(buf_cstr(&got), expected);
}

TEST(spans_say_which_lines_were_read)
{
    static const char log[] = "Map: 100%|##| 10/10 [00:05<00:00, 9876.5 examples/s]\n" /* 1 */
                              "loading\n"
                              "step 1 of 4: 10 img/s\n" /* 3 */
                              "step 2 of 4: 20 img/s\n"
                              "saved\n"
                              "step 3 of 4: 20 img/s\n" /* 6 */
                              "eval step 1 of 2: 90 img/s\n"
                              "step 1 of 2: 90 img/s\n" /* 8 */
                              "step 4 of 4: 30 img/s\n";
    _cleanup_(log_rule_freep) struct log_rule *rule = NULL; /* outlives the parser */
    _cleanup_(log_parser_freep) struct log_parser *p = parser_of(RATE, 0, 1, &rule);
    log_parser_feed(p, LOG_STDOUT, log, sizeof(log) - 1, 0);
    log_parser_end(p, 0);
    const struct log_reading *r = log_parser_reading(p);
    check_spans(r, "Preparation 1-1 1; Step 3-6 3; Evaluation 7-7 1; Other 8-8 1; "
                   "Step 9-9 1; ");
    assert_true(r->spans.items[1].least == 10 && r->spans.items[1].most == 20);
    assert_int_equal(r->n_lines, 9);
    assert_true(fabs(r->rate - 4 / (1 / 10. + 2 / 20. + 1 / 30.)) < 1e-9);
    /* And it is the same after a way through JSON. */
    json_auto_t *json = log_reading_to_json(r);
    struct log_reading again;
    assert_int_equal(log_reading_of_json(json, &again), 0);
    json_auto_t *twice = log_reading_to_json(&again);
    assert_true(json_equal(json, twice));
    log_reading_done(&again);
    assert_int_equal(log_reading_of_json(json_object_get(json, "spans"), &again), -EINVAL);
}

TEST(a_long_log_has_a_bounded_reading)
{
    _cleanup_(log_reading_done) struct log_reading r = {0};
    for (uint64_t i = 1; i <= 100000; i++) {
        log_reading_add(&r, i % 10 == 0 ? LOG_USE_EVALUATION : LOG_USE_STEP, NAN, i, (double)i);
    }
    assert_int_equal(r.spans.len, LOG_MAX_SPANS);
    assert_int_equal(vec_sum(&r.spans, it, it->n), 100000);
    assert_int_equal(r.spans.items[0].first, 1);
    assert_int_equal(r.spans.items[LOG_MAX_SPANS - 1].last, 100000);
}

/* ---- signs ---- */

extern const struct embedded log_signs_text[];

TEST(each_sign_is_in_its_own_lines)
{
    _cleanup_(log_signs_freep) struct log_signs *signs = log_signs_new();
    struct diags diags = {0};
    struct node *root = NULL;
    const char *text = log_signs_text[0].text;
    assert_int_equal(tree_parse(text, strlen(text), &TREE_LIMITS_DEFAULT, &root, &diags), 0);
    const struct node *list = tree_get(root, "signs");
    assert_true(list->n_children >= 10);
    for (size_t i = 0; i < list->n_children; i++) {
        const struct node *sign = list->children[i], *lines = tree_get(sign, "lines");
        const char *name = tree_get_text(sign, "name");
        const bool is_step = str_eq(tree_get_text(sign, "when"), "Step");
        assert_true(is_step || str_eq(tree_get_text(sign, "when"), "Always") ||
                    str_eq(tree_get_text(sign, "when"), "Training"));
        assert_true(lines->n_children > 0);
        assert_int_equal(sign->n_children, 5); /* these four, and says */
        for (size_t k = 0; k < lines->n_children; k++) {
            const char *line = lines->children[k]->s;
            print_message("# %s: %s\n", name, line);
            const struct log_sign *found = log_signs_find(signs, is_step, line, strlen(line));
            assert_non_null(found);
            assert_string_equal(found->name, name);
        }
    }
    tree_free(root);
}

/* Programs number from 0 or 1, and print every step or some. A part of an output stops anywhere. */
TEST(steps_that_stop_before_their_total_are_marked)
{
    static const struct {
        const char *log, *why; /* NULL: no mark */
        bool is_part;
    } rows[] = {
        {"step 20/60 8 img/s\nstep 40/60 8 img/s\nstep 60/60 8 img/s\n", NULL},
        {"step 57/60 8 img/s\nstep 58/60 8 img/s\nstep 59/60 8 img/s\n", NULL},
        {"step 0/40 8 img/s\nstep 10/40 8 img/s\nstep 20/40 8 img/s\nstep 30/40 8 img/s\n", NULL},
        {"step 4990/5005 8 img/s\nstep 5000/5005 8 img/s\n", NULL},
        {"step 38 8 img/s\nstep 39 8 img/s\n", NULL},
        {"step 39/60 8 img/s\nstep 40/60 8 img/s\nsaved\n", "line 2: its steps stop at 40 of 60"},
        {"step 39 of 60: 8 img/s\nstep 40 of 60: 8 img/s\n", "line 2: its steps stop at 40 of 60"},
        {"step 39/60 8 img/s\rstep 40/60 8 img/s\r", "line 2: its steps stop at 40 of 60"},
        {"step 40/60 8 img/s\n", "line 1: its steps stop at 40 of 60"},
        {"step 39/60 8 img/s\nstep 40/60 8 img/s\n", NULL, true},
        {"step 59/60 8 img/s\nstep 60/60 8 img/s\nstep 1/60 8 img/s\nstep 2/60 8 img/s\n",
         "line 4: its steps stop at 2 of 60"},
        {"step 60/60 8 img/s\nstep 3/9 8 img/s\n", NULL}, /* another loop */
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row %zu\n", i);
        _cleanup_(log_rule_freep) struct log_rule *rule = NULL; /* outlives the parser */
        _cleanup_(log_parser_freep) struct log_parser *p = parser_of(OF_TOTAL, 8, 1, &rule);
        if (rows[i].is_part) {
            log_parser_read(p, rows[i].log, strlen(rows[i].log));
        } else {
            log_parser_feed(p, LOG_STDOUT, rows[i].log, strlen(rows[i].log), 0);
            log_parser_end(p, 0);
        }
        const struct log_reading *r = log_parser_reading(p);
        assert_int_equal(r->verdict,
                         rows[i].why == NULL ? LOG_VERDICT_ONE_WITNESS : LOG_VERDICT_DOUBTFUL);
        assert_true(r->rate == 8);
        assert_true(rows[i].why == NULL || str_eq(r->why, rows[i].why));
    }
}

/* A rate times its time is the samples that the line, or a line before it, says. */
TEST(a_rate_is_held_against_known_samples)
{
    static const char of_line[] =
        "- {kind: Epoch, pattern: '(?<samples>) in (?<time_s>) s, (?<rate>)/s'}\n";
    static const char of_info[] = "- {kind: Info, pattern: 'data: (?<samples>)'}\n"
                                  "- {kind: Epoch, pattern: 'took (?<time_s>) s, (?<rate>)/s'}\n";
    static const struct {
        const char *lines, *log, *why; /* NULL: the figure counts */
        int64_t trainers;
    } rows[] = {
        {of_line, "60000 in 12 s, 5000/s\n", NULL, 1},
        {of_line, "60000 in 12 s, 9000/s\n", NULL, 1}, /* an evaluation took the rest */
        {of_line, "60000 in 12 s, 2500/s\n", NULL, 2}, /* each has its half */
        {of_line, "60000 in 12 s, 2500/s\n",
         "line 1: 2500 a second for 12 s are 30000, and not the 60000", 1},
        {of_line, "60000 in 12 s, 175000/s\n", "are 2.1e+06, and not", 1}, /* tokens */
        {of_info, "data: 60000\ntook 12 s, 5000/s\n", NULL, 1},
        {of_info, "data: 60000\ntook 12 s, 175000/s\n", "line 2: 175000 a second for 12 s", 1},
        {of_info, "took 12 s, 175000/s\n", NULL, 1},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row %zu\n", i);
        _cleanup_(log_rule_freep) struct log_rule *rule = NULL; /* outlives the parser */
        _cleanup_(log_parser_freep) struct log_parser *p =
            parser_of(rows[i].lines, 8, rows[i].trainers, &rule);
        log_parser_feed(p, LOG_STDOUT, rows[i].log, strlen(rows[i].log), 0);
        log_parser_end(p, 0);
        const struct log_reading *r = log_parser_reading(p);
        assert_int_equal(r->verdict == LOG_VERDICT_WITHHELD, rows[i].why != NULL);
        assert_true(rows[i].why == NULL || strstr(r->why, rows[i].why) != NULL);
    }
}

/* One step of 11 is forgiven. */
TEST(a_sign_in_few_steps_is_a_doubt)
{
    _cleanup_(log_rule_freep) struct log_rule *rule = NULL; /* outlives the parser */
    _cleanup_(log_parser_freep) struct log_parser *p = parser_of(RATE, 8, 1, &rule);
    for (unsigned i = 1; i <= 11; i++) {
        _cleanup_(freep) char *line =
            xasprintf("step %u loss %s 8 img/s\n", i, i == 2 ? "nan" : "3");
        log_parser_feed(p, LOG_STDOUT, line, strlen(line), 0);
    }
    log_parser_end(p, 0);
    json_auto_t *json = log_reading_to_json(log_parser_reading(p));
    const char *why = NULL;
    assert_int_equal(log_reading_verdict(json, &why), LOG_VERDICT_DOUBTFUL);
    assert_string_equal(why, "line 2: the loss or the gradient is no finite number, in 1 of 11 "
                             "steps' lines: step 2 loss nan 8 img/s");
}

TEST(a_sign_withholds_the_figure)
{
    static const struct {
        const char *log, *why; /* NULL: the figure stands */
    } rows[] = {
        {"step 1 8 img/s\nstep 2 8 img/s\nTraceback (most recent call last):\n  File \"a\"\n",
         "line 3: a Python exception was not caught: Traceback"},
        {"Traceback (most recent call last):\nno module, going on\nstep 1 8 img/s\n", NULL},
        {"# Out of bounds values : 3 FAILED\nstep 1 8 img/s\n", "line 1: the program checked"},
        /* A step that is forgiven hides no end. */
        {"step 1 loss nan 8 img/s\n"
         "step 2 8 img/s\nstep 3 8 img/s\nstep 4 8 img/s\nstep 5 8 img/s\nstep 6 8 img/s\n"
         "step 7 8 img/s\nstep 8 8 img/s\nstep 9 8 img/s\nstep 10 8 img/s\nstep 11 8 img/s\n"
         "Traceback (most recent call last):\n",
         "line 12: a Python exception was not caught"},
        {"step 1 loss nan 8 img/s\n",
         "line 1: the loss or the gradient is no finite number, in 1 of 1"},
        {"step 1 loss 3 8 img/s\nstep 2 banana 8 img/s\n", NULL},
        {"\n\r\nstep 1 8 img/s\r\nTraceback (most recent call last):\nTest FAILED\n",
         "line 5: the program checked"}, /* it says more than the traceback */
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row %zu\n", i);
        _cleanup_(log_rule_freep) struct log_rule *rule = NULL; /* outlives the parser */
        _cleanup_(log_parser_freep) struct log_parser *p = parser_of(RATE, 8, 1, &rule);
        log_parser_feed(p, LOG_STDOUT, rows[i].log, strlen(rows[i].log), 0);
        log_parser_end(p, 0);
        struct log_result result;
        assert_int_equal(log_parser_result(p, &result), rows[i].why == NULL ? 0 : -ENODATA);
        if (rows[i].why == NULL) {
            summary_done(&result.summary);
            continue;
        }
        _cleanup_(buf_done) struct buf out = BUF_INIT;
        log_parser_explain(p, &out);
        assert_non_null(strstr(buf_cstr(&out), rows[i].why));
    }
}

/* ---- a program that was started twice ---- */

#define HEAD "Namespace(batch=8, gpus='0,1')\nloading the data set\n"
#define STEPS(rate)                                                                                \
    "step 1 " rate " img/s\nstep 2 " rate " img/s\nstep 3 " rate " img/s\nstep 4 " rate            \
    " img/s\nstep 5 " rate " img/s\n"

TEST(a_second_start_is_a_run_of_its_own)
{
    static const struct {
        const char *name, *log, *why; /* NULL: nothing speaks against the figure */
        double rate;                  /* 0: withheld */
    } rows[] = {
        {"two runs", HEAD STEPS("100") HEAD STEPS("150"),
         "line 8: the program starts again: 100 samples/s before it, and 150 samples/s after it",
         0},
        {"as fast as each other", HEAD STEPS("100") HEAD STEPS("102"),
         "line 8: the program starts again; the figure is of what follows", 102},
        {"other values in the head, and lines of the shell",
         "nohup: ignoring input\n" HEAD STEPS(
             "100") "Namespace(bn=.9, gpus='2')\n"
                    "2026-03-01 10:00:00 loading the data set\n" STEPS("150"),
         "line 9: the program starts again", 0},
        {"it died before its first step, and after its fifth",
         HEAD HEAD STEPS("5") HEAD "loss scale 1\n" STEPS("5"),
         "line 10: the program starts again; the figure is of what follows", 5},
        {"it died after its second step, and again",
         HEAD "step 1 99 img/s\nstep 2 99 img/s\n" HEAD STEPS("99") HEAD STEPS("100"),
         "line 12: the program starts again; the figure is of what follows", 100},
        {"each step has lines of its own",
         "time of the batch 1\nsamples of the batch 8\nstep 1 100 img/s\n"
         "time of the batch 2\nsamples of the batch 8\nstep 2 100 img/s\n"
         "time of the batch 3\nsamples of the batch 8\nstep 3 100 img/s\n"
         "time of the batch 4\nsamples of the batch 8\nstep 4 100 img/s\n"
         "time of the batch 5\nsamples of the batch 8\nstep 5 100 img/s\n"
         "time of the batch 6\nsamples of the batch 8\nstep 6 100 img/s\n",
         NULL, 100},
        {"the second has no step", HEAD STEPS("100") HEAD, NULL, 100},
        {"an epoch has a head of its own",
         HEAD "Epoch 1 of 2\nlearning rate 0.1\n" STEPS(
             "100") "validation accuracy 0.5\n"
                    "Epoch 2 of 2\nlearning rate 0.05\n" STEPS("150"),
         NULL, 120},
        {"a few lines of the head come again",
         HEAD "building the model\nparameters: 5\nthe first batch\n" STEPS("100") HEAD STEPS("120"),
         NULL, 600 / 5.5},
        {"each rank has a head", HEAD HEAD HEAD STEPS("100"), NULL, 100},
        {"one line is no head",
         "loading the data set\n" STEPS("100") "loading the data set\n" STEPS("150"),
         "line 8: the steps are counted anew, and no line names an epoch: 100 samples/s in the "
         "slowest part, and 150 in the fastest; give",
         0},
        {"forward, and then forward and backward", "in all 1 epoch\n" STEPS("300") STEPS("100"),
         "line 7: the steps are counted anew", 0},
        {"the first epoch was slower", "Ep 1\n" STEPS("100") "Ep 2\n" STEPS("150"), NULL, 120},
        {"each rank prints each step",
         "step 7 100 img/s\nstep 7 300 img/s\nstep 8 100 img/s\n"
         "step 8 300 img/s\n",
         NULL, 150},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# %s\n", rows[i].name);
        _cleanup_(log_rule_freep) struct log_rule *rule = NULL; /* outlives the parser */
        _cleanup_(log_parser_freep) struct log_parser *p = parser_of(RATE, 8, 1, &rule);
        log_parser_feed(p, LOG_STDOUT, rows[i].log, strlen(rows[i].log), 0);
        log_parser_end(p, 0);
        const struct log_reading *r = log_parser_reading(p);
        print_message("# %g: %s\n", r->rate, r->why);
        assert_int_equal(r->verdict == LOG_VERDICT_WITHHELD, rows[i].rate == 0);
        assert_true(rows[i].rate == 0 || fabs(r->rate - rows[i].rate) < 1e-9);
        assert_true(strstr(r->why, rows[i].why == NULL ? "one witness" : rows[i].why) == r->why);
    }
}

/* Bars of Keras state the mean since their epoch began, and the first epoch has the compilation in
 * it: the last bar is compared with the pace of its own epoch. */
TEST(a_mean_of_an_epoch_has_the_pace_of_that_epoch)
{
    _cleanup_(log_rule_freep) struct log_rule *rule = log_shipped_load("keras");
    struct log_parser *p = log_parser_new(&(struct log_parser_params){
        .rule = rule, .role = ROLE_TRAINER, .batch_size = 32, .warmup_steps = 10});
    _cleanup_(buf_done) struct buf line = BUF_INIT;
    double at_s = 0;
    for (int epoch = 0; epoch < 2; epoch++) {
        const double began_s = at_s;
        for (int i = 1; i <= (epoch == 0 ? 40 : 20); i++) {
            at_s += epoch == 0 && i == 1 ? 8 : .1;
            buf_clear(&line);
            buf_printf(&line, "%s%2d/40 [===>...] - 1s %.0fms/step - loss: 2.3\n",
                       i == 1 ? "Epoch 1/2\n" : "", i, 1000 * (at_s - began_s) / i);
            log_parser_feed(p, LOG_STDOUT, line.data, line.len, (int64_t)(at_s * 1e9));
        }
    }
    log_parser_end(p, (int64_t)(at_s * 1e9));
    const struct log_reading *r = log_parser_reading(p);
    print_message("# %s: %g, pace %g\n", log_witness_names[r->witness], r->rate, r->pace);
    assert_int_equal(r->witness, LOG_WITNESS_AGREES);
    assert_true(fabs(r->rate / 320 - 1) < 0.01);
    log_parser_free(p);
}
