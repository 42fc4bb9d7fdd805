/* A rule made from a line of anybody's log: what it reads in that very line, and
 * lines that are none. */
#include "tests/test.h"
#include "logparse/suggest.h"

#include <math.h>

#define BATCH 32

/* clang-format off */
static const struct {
    const char *line, *rule; /* NULL: none is suggested */
    double rate;
    enum summary_unit unit;
} rows[] = {
    /* a unit behind the number */
    {"step 20 loss 2.3 at 123.4 imgs per sec", "{lines: [{kind: Step, pattern: 'step +(?<step>).*?(?<!\\w)loss +(?<loss>).*?(?<![\\w.,])(?<rate>) +imgs +per +sec\\b'}]}", 123.4, UNIT_SAMPLES},
    {"[20/100] 1,234.5 frames/s", "{lines: [{kind: Step, pattern: '(?<![\\w.,])(?<step>)/.*?(?<![\\w.,])(?<rate>) +frames/s\\b'}]}", 1234.5, UNIT_SAMPLES},
    {"[12:23:56] E00 | it 0040/0060 | loss=1.9 | ETA 00:00:03 | took 12.0ms/it", "{lines: [{kind: Step, pattern: '(?<!\\w)it +(?<step>).*?(?<!\\w)loss=(?<loss>).*?(?<!\\w)took +(?<step_ms>)ms/it\\b'}]}", BATCH / 0.012, UNIT_SAMPLES},
    {"Epoch 2/10 [ 40/60] 98.5 img/s", "{lines: [{kind: Step, pattern: '^Epoch +[-+.,:\\w]+?/[-+.,:\\w]+? +\\[ *(?<step>)/[-+.,:\\w]+?\\] +(?<rate>) +img/s\\b'}]}", 98.5, UNIT_SAMPLES},
    {"2024/01/02 [2/10][40/60] 98.5 img/s", "{lines: [{kind: Step, pattern: '^[-+.,:\\w]+?/[-+.,:\\w]+?/[-+.,:\\w]+? +\\[[-+.,:\\w]+?/[-+.,:\\w]+?\\]\\[(?<step>)/[-+.,:\\w]+?\\] +(?<rate>) +img/s\\b'}]}", 98.5, UNIT_SAMPLES},
    {"Epoch 1 step 7 98.5 img/s", "{lines: [{kind: Step, pattern: '(?<!\\w)step +(?<step>).*?(?<![\\w.,])(?<rate>) +img/s\\b'}]}", 98.5, UNIT_SAMPLES},
    {"rank 1/2: 98.5 img/s on 12/25", "{lines: [{kind: Step, pattern: '(?<![\\w.,])(?<rate>) +img/s\\b'}]}", 98.5, UNIT_SAMPLES},
    {"12345.6 tokens/s", "{lines: [{kind: Step, unit: tokens, pattern: '(?<rate>) +tokens/s\\b'}]}", 12345.6, UNIT_TOKENS},
    {"epoch 1: 5.5 wps, 812 words/sec", "{lines: [{kind: Step, unit: words, pattern: '(?<![\\w.,])(?<rate>) +words/sec\\b'}]}", 812, UNIT_WORDS},
    {"12.5 it/s", "{lines: [{kind: Step, pattern: '(?<step_rate>) +it/s\\b'}]}", 12.5 * BATCH, UNIT_SAMPLES},
    {"0.25 sec/batch", "{lines: [{kind: Step, pattern: '(?<step_s>) +sec/batch\\b'}]}", BATCH / 0.25, UNIT_SAMPLES},
    {"250ms/step", "{lines: [{kind: Step, pattern: '(?<step_ms>)ms/step\\b'}]}", BATCH / 0.25, UNIT_SAMPLES},
    {"it's at 30 fps", "{lines: [{kind: Step, pattern: '(?<![\\w.,])(?<rate>) +fps\\b'}]}", 30, UNIT_SAMPLES},
    {"busbw 12.5 GB/s", "{lines: [{kind: Step, unit: GB, pattern: 'busbw +(?<rate>) +GB/s\\b'}]}", 12.5, UNIT_GB},
    {"98.5 images a second", "{lines: [{kind: Step, pattern: '(?<rate>) +images +a +second\\b'}]}", 98.5, UNIT_SAMPLES},
    {"98.5 items each sec", "{lines: [{kind: Step, pattern: '(?<rate>) +items +each +sec\\b'}]}", 98.5, UNIT_SAMPLES},
    {"speed 43.2K tokens/s", "{lines: [{kind: Step, unit: tokens, pattern: 'speed +(?<rate>) +tokens/s\\b'}]}", 43200, UNIT_TOKENS},
    {"12,34 img/s", "{lines: [{kind: Step, pattern: '(?<rate>) +img/s\\b'}]}", 12.34, UNIT_SAMPLES},
    /* a name before the number */
    {"imgs_per_sec: 98.5", "{lines: [{kind: Step, pattern: 'imgs_per_sec: +(?<rate>)'}]}", 98.5, UNIT_SAMPLES},
    {"{\"step\": 7, \"loss\": 2.1, \"tokens_per_sec\": 4096.5}", "{lines: [{kind: Step, unit: tokens, pattern: '(?<!\\w)step\": +(?<step>).*?(?<!\\w)loss\": +(?<loss>).*?(?<!\\w)tokens_per_sec\": +(?<rate>)'}]}", 4096.5, UNIT_TOKENS},
    {"train_ips = 98.5 (mean)", NULL, 0, 0},
    {"ips = 98.5 (mean)", "{lines: [{kind: Step, aggregate: Last, pattern: 'ips += +(?<rate>)'}]}", 98.5, UNIT_SAMPLES},
    {"Throughput: 98.5 samples/s", "{lines: [{kind: Step, pattern: 'Throughput: +(?<rate>) +samples/s\\b'}]}", 98.5, UNIT_SAMPLES},
    {"step_time=0.25", "{lines: [{kind: Step, pattern: 'step_time=(?<step_s>)'}]}", BATCH / 0.25, UNIT_SAMPLES},
    {"iter_time(ms): 250", "{lines: [{kind: Step, pattern: 'iter_time\\(ms\\): +(?<step_ms>)'}]}", BATCH / 0.25, UNIT_SAMPLES},
    {"Iter 12 took 250 ms", "{lines: [{kind: Step, pattern: 'Iter +(?<step>).*?(?<!\\w)took +(?<step_ms>) +ms\\b'}]}", BATCH / 0.25, UNIT_SAMPLES},
    {"time per step: 0.25 s", "{lines: [{kind: Step, pattern: 'time +per +step: +(?<step_s>) +s\\b'}]}", BATCH / 0.25, UNIT_SAMPLES},
    {"[1,3]<stdout>:3: 12.5 rows/second", "{lines: [{kind: Step, pattern: '(?<![\\w.,])(?<rate>) +rows/second\\b'}]}", 12.5, UNIT_SAMPLES},
    {"\x1b[32m12.5 imgs/s\x1b[0m", "{lines: [{kind: Step, pattern: '(?<rate>) +imgs/s\\b'}]}", 12.5, UNIT_SAMPLES},
    /* real lines */
    {"Pass = 0, Iters = 12, Loss = 2.301442, Accuracy = 0.118056, Speed = 16.71 img/s", "{lines: [{kind: Step, pattern: '(?<!\\w)Iters += +(?<step>).*?(?<!\\w)Loss += +(?<loss>).*?(?<!\\w)Speed += +(?<rate>) +img/s\\b'}]}", 16.71, UNIT_SAMPLES},
    {"1\timages/sec: 1062.7 +/- 0.0 (jitter = 0.0)\t9.134", "{lines: [{kind: Step, pattern: '(?<!\\w)images/sec: +(?<rate>)'}]}", 1062.7, UNIT_SAMPLES},
    {"epoch: 0 finished, speed: 53302.630000 words/s", "{lines: [{kind: Step, unit: words, pattern: '(?<!\\w)speed: +(?<rate>) +words/s\\b'}]}", 53302.63, UNIT_WORDS},
    {"Epoch 2: 100%|##| 10/10 [00:20<00:00,  2.00s/it, loss=1.5, v_num=3]", "{lines: [{kind: Step, pattern: '(?<![\\w.,])(?<step>)/.*?(?<![\\w.,])(?<step_s>)s/it\\b.*?(?<!\\w)loss=(?<loss>)'}]}", BATCH / 2.0, UNIT_SAMPLES},
    /* no figure */
    {"learning_rate: 0.001", NULL, 0, 0},
    {"pserver endpoints:  10.0.0.1:6174,10.0.0.2:6174", NULL, 0, 0},
    {"2024-01-02 10:32:45 resnet-50 v1.2.3", NULL, 0, 0},
    {"loss: 2.3", NULL, 0, 0},
    {"Elapsed time: 12.5 s", NULL, 0, 0},
    {"data_time: 0.25 step 3", NULL, 0, 0},
    {"copied at 812.5 MB/s", NULL, 0, 0},
    {"312.4 TFLOP/s", NULL, 0, 0},
    {"0.0 img/s", NULL, 0, 0},
    {"98.5 things each sec", NULL, 0, 0},
    {"Throughput = 98.5 (mean)", NULL, 0, 0},
    {"[step_time.py:260] done", NULL, 0, 0},
    {"saved to /data/throughput=12 img/s", NULL, 0, 0},
    {"10 GB200 nodes, 400Gb/s", NULL, 0, 0},
    {"busbw 400Gb/s", NULL, 0, 0},
    {"step 3: 1255.2 tokens/s/GPU", NULL, 0, 0},
    {"eval_step_time: 0.25 s", NULL, 0, 0},
    {"ips: 45%", NULL, 0, 0},
    {"Map: 100%|##| 10/10 [00:05<00:00, 9876.5 examples/s]", NULL, 0, 0},
    {"throughput: nan", NULL, 0, 0},
    {"1,23,456 img/s", NULL, 0, 0},
    {"", NULL, 0, 0},
    {"/s per 12 per", NULL, 0, 0},
    {"12 /", NULL, 0, 0},
    {"12 a per ", NULL, 0, 0},
};
/* clang-format on */

static const struct log_parser_params who = {
    .role = ROLE_TRAINER, .batch_size = BATCH, .warmup_steps = 100};

TEST(each_line_gives_its_rule)
{
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# %s\n", rows[i].line);
        struct log_suggestion s;
        _cleanup_(buf_done) struct buf out = BUF_INIT;
        const int r = log_suggest_rule(rows[i].line, strlen(rows[i].line), &who, &s, &out);
        assert_int_equal(r, rows[i].rule == NULL ? -2 : 0);
        assert_string_equal(buf_cstr(&out), rows[i].rule == NULL ? "" : rows[i].rule);
        if (r == 0) {
            assert_int_equal(s.number, 1);
            assert_int_equal(s.guess.n_lines, 1);
            assert_int_equal(s.guess.unit, rows[i].unit);
            assert_true(fabs(s.guess.rate - rows[i].rate) < 1e-6 * rows[i].rate);
        }
    }
}

/* The lines that say most give the rule. */
TEST(the_best_line_of_a_log)
{
    static const char log[] =
        "loading 100 files\nstep 1: 0.50 s\nstep 2 took 0.25 s, 100 frames/s\n"
        "step 3 took 0.25 s, 300 frames/s\n4 frames/s\nbye\n";
    struct log_suggestion s;
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    assert_int_equal(log_suggest_rule(log, strlen(log), &who, &s, &out), 0);
    assert_string_equal(buf_cstr(&out), "{lines: [{kind: Step, pattern: 'step "
                                        "+(?<step>).*?(?<![\\w.,])(?<rate>) +frames/s\\b'}]}");
    assert_int_equal(s.number, 3);
    assert_int_equal(s.guess.n_lines, 2);
    assert_true(fabs(s.guess.rate - 150) < 1e-6); /* two equal steps: 2 / (1/100 + 1/300) */
    static const char bars[] =
        "100% 10000/10000 [00:00<00:00, 71528.40it/s]queries are loaded\n"
        "  3% 1/30 [00:08<03:52,  8.00s/it]\n  7% 2/30 [00:16<03:44,  8.00s/it]\n";
    buf_clear(&out);
    assert_int_equal(log_suggest_rule(bars, strlen(bars), &who, &s, &out), 0);
    assert_true(fabs(s.guess.rate - BATCH / 8.0) < 1e-6);
}

TEST(advice)
{
    static const struct {
        const char *name, *log, *said;
    } logs[] = {
        {"nothing", "",
         "it printed nothing; a program that writes to a pipe may keep its output in a buffer: run "
         "it "
         "with PYTHONUNBUFFERED=1, python3 -u or stdbuf -oL, or let it flush each line\n"},
        {"no figure", "hello\n",
         "no line of its output is a figure that is known\nthe only line:\n  1: hello\nno line has "
         "a "
         "number that could be a figure; print one a step, for example 'step 7: 123.4 "
         "samples/s'\n"},
        {"lines number their steps", "it 1/3\nit 2/3\nit 3/3\n",
         "no line of its output is a figure that is known\nthe last 3 lines:\n  1: it 1/3\n  2: it "
         "2/3\n  3: it 3/3\nits lines are numbered, so the time between them is a figure; "
         "write "
         "in the system:\n  log: {lines: [{kind: Step, aggregate: Median, from: TimeStamps, "
         "pattern: 'it "
         "+(?<step>)'}]}\n"},
        {"the likeliest line", "hello 7\nperf' 12 of /s: 12.5\nbye 8\n",
         "no line of its output is a figure that is known\nthe last 3 lines:\n  1: hello 7\n  2: "
         "perf' 12 of /s: 12.5\n  3: bye 8\nline 2 of the output seems to have a figure, but it "
         "does not say of what: samples, tokens, words or steps\nno number has a known unit; if "
         "12.5 in line 2 is the samples a second, write in the system:\n  log: {lines: [{kind: "
         "Step, pattern: '(?<!\\w)/s: +(?<rate>)'}]}\n"},
        {"a shipped rule reads it", "hello\n123.4 images/sec\n100 images/sec\n",
         "the shipped log rule torch-ddp reads 2 lines, 110.474 samples/s: write 'log: torch-ddp' "
         "in the system\n"
         "the last 3 lines:\n  1: hello\n  2: 123.4 images/sec\n  3: 100 images/sec\n"},
        {"one can be made", "12.5 frames/s\n",
         "no line of its output is a figure that is known\nthe only line:\n  1: 12.5 "
         "frames/s\n"
         "a rule for such lines could be (it reads 1 line, 12.5 samples/s of this output); write "
         "in "
         "the system:\n  log: {lines: [{kind: Step, pattern: '(?<rate>) +frames/s\\b'}]}\n"},
        {"a time of the whole run is not all", "12.5 frames/s\nTotal time: 10 s\n",
         "the shipped log rule mpi reads 1 line, 0.1 runs/s: write 'log: mpi' in the system\n"
         "the last 2 lines:\n  1: 12.5 frames/s\n  2: Total time: 10 s\n"
         "a rule for such lines could be (it reads 1 line, 12.5 samples/s of this output); write "
         "in the system:\n  log: {lines: [{kind: Step, pattern: '(?<rate>) +frames/s\\b'}]}\n"},
    };
    for (size_t i = 0; i < N_ROWS(logs); i++) {
        print_message("# row '%s'\n", logs[i].name);
        _cleanup_(buf_done) struct buf out = BUF_INIT;
        log_explain_unread(logs[i].log, strlen(logs[i].log), &who, &out);
        assert_string_equal(buf_cstr(&out), logs[i].said);
    }
}

/* Appends `n` lines; # is the number of the line, times `step`. */
static void put_lines(struct buf *out, const char *format, unsigned n, unsigned step)
{
    for (unsigned i = 0; i < n; i++) {
        for (const char *c = format; *c != '\0'; c++) {
            if (*c == '#') {
                buf_printf(out, "%u", i * step);
            } else {
                buf_putc(out, *c);
            }
        }
        buf_putc(out, '\n');
    }
}

/* What a group of lines shows and a single line does not. */
TEST(groups_of_lines)
{
    static const struct {
        const char *format, *said;
        unsigned step;
    } groups[] = {
        /* a number with a name that rises steadily numbers the steps */
        {"run # took 250 ms", "it reads 30 lines, 128 samples/s", 1},
        {"run 7 took 250 ms",
         "it is not known what took its time; if 250 in line 30 is the time of a "
         "step, write",
         1},
        {"Run #/30",
         "its lines are numbered, so the time between them is a figure; write in the "
         "system:\n  log: {lines: [{kind: Step, aggregate: Median, from: TimeStamps, pattern: 'Run "
         "+(?<step>)'}]}\n",
         1},
        {"iteration #: .250 seconds", "it reads 30 lines, 128 samples/s", 1},
        {"epoch # took 250 ms",
         "if 250 in line 30 is the time of an epoch of N samples, write in the system:\n  log: "
         "{lines: [{kind: Epoch, each: N, pattern: 'epoch +[-+.,:\\w]+? +took +(?<time_ms>) "
         "+ms\\b'}]}\n",
         1},
        {"Epoch # in 3.04 sec", "if 3.04 in line 30 is the time of an epoch of N samples", 1},
        {"epoch: # train_loss: 0.2 time: 3.04 (s)", "if 3.04 in line 30 is the time of an epoch",
         1},
        /* the numbers of a tensor are nothing */
        {"=====  tensor([1, 0, 1])", "no line has a number that could be a figure", 1},
        /* a position of steps or of samples */
        {"Train Epoch: 1 [#/6400 (1%)]\tLoss: 2.3",
         "if 4640 in line 30 counts samples, write in the system:\n  log: {lines: [{kind: Step, "
         "aggregate: Median, from: TimeStamps, each: 1, pattern: '^Train +Epoch: +[-+.,:\\w]+? "
         "+\\[(?<step>)/'}]}\nif it "
         "counts steps, leave out 'each: 1'\n",
         160},
        {"[#/30] Loss: 2.3",
         "a figure; write in the system:\n  log: {lines: [{kind: Step, aggregate: Median, from: "
         "TimeStamps, pattern: ",
         1},
        /* a time with a unit is no rate */
        {"0.250 s",
         "if 0.250 in line 30 is the time of a step, write in the system:\n  log: {lines: "
         "[{kind: Step, pattern: '(?<step_s>) +s\\b'}]}\n",
         1},
        /* a duration before the rate */
        {"Up. # : Time 447.32s : 81374.71 words/s : gNorm 1.37",
         "81374.7 words/s of this output); write in the system:\n  log: {lines: [{kind: Step, "
         "unit: "
         "words, pattern: 'Up\\. +(?<step>)",
         1},
        /* a text before the bar */
        {"Epoch 3, training loss 0.358:   1%|#| #/30 [00:04<13:26,  2.00s/it]",
         "it reads 30 lines, 16 samples/s", 1},
    };
    for (size_t i = 0; i < N_ROWS(groups); i++) {
        print_message("# row '%s'\n", groups[i].format);
        _cleanup_(buf_done) struct buf log = BUF_INIT, out = BUF_INIT;
        put_lines(&log, groups[i].format, 30, groups[i].step);
        log_advise(log.data, log.len, &who, &out);
        assert_non_null(strstr(buf_cstr(&out), groups[i].said));
    }
}

/* Of a file, the time of a line is a part of the rule. Of a clock of whole seconds, many lines have
 * the rate. */
TEST(numbered_lines_with_a_time)
{
    _cleanup_(buf_done) struct buf log = BUF_INIT, out = BUF_INIT;
    struct log_suggestion s;
    for (unsigned i = 0; i < 20; i++) {
        const unsigned s_at = i < 10 ? i : i + 30; /* a test of the model takes 30 s */
        buf_printf(&log, "I0503 09:30:%02u.5 4711 solver.cpp:237] Iteration %u, loss = 6.9\n", s_at,
                   i * 20);
        buf_printf(&log, "I0503 09:30:%02u.6 4711 solver.cpp:106] Iteration %u, lr = 0.01\n", s_at,
                   i * 20);
    }
    assert_int_equal(log_suggest_rule(log.data, log.len, &who, &s, &out), 0);
    assert_true(fabs(s.guess.rate - 20 * BATCH) < 1e-6);
    assert_non_null(strstr(buf_cstr(&out), "'(?<stamp>).*?(?<!\\w)Iteration +(?<step>), +"));
    buf_clear(&log);
    buf_clear(&out);
    for (unsigned i = 0; i < 400; i++) {
        const double at = 2 + .3 * i;
        buf_printf(&log, "[09:%02.0f:%02.0f] round %u\n", floor(at / 60), floor(fmod(at, 60)), i);
    }
    assert_int_equal(log_suggest_rule(log.data, log.len, &who, &s, &out), 0);
    assert_true(fabs(s.guess.rate / BATCH * .3 - 1) < .01);
}

/* A number of one line of prose is nothing. */
TEST(prose)
{
    static const char log[] = "UserWarning: the max number of workers in this system is 1\n"
                              "=> creating model 'resnet18'\nTotal: 4s\n";
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    log_advise(log, strlen(log), &who, &out);
    assert_string_equal(buf_cstr(&out), "no line has a number that could be a figure; print one a "
                                        "step, for example 'step 7: 123.4 samples/s'\n");
}

/* A long output is looked at from its end, from the beginning of a line. */
TEST(a_long_output)
{
    _cleanup_(buf_done) struct buf log = BUF_INIT, out = BUF_INIT;
    while (log.len < 2 * LOG_ADVICE_BYTES) {
        buf_puts(&log, "123.4 images/sec\n");
    }
    log_advise(log.data, log.len, &who, &out);
    assert_string_equal(buf_cstr(&out),
                        "the shipped log rule torch-ddp reads 3855 lines, 123.4 samples/s: write "
                        "'log: torch-ddp' in the system\n");
}
