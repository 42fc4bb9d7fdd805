/* Common formats of training lines at 800 samples/s, batches of 32, steps of 40 ms and 51,200
 * tokens/s: the rule that is suggested gives that figure, or none is suggested. */
#include "tests/test.h"
#include "logparse/suggest.h"

#include <math.h>

#define STEPS 30

/* {i}: the step; {I}: with zeros; {r}, {t}, {T}: samples and tokens a second; {ms}, {s}: of a step;
 * {loss}. */
/* clang-format off */
static const struct {
    const char *format;
    double rate; /* 0: no rule */
    enum summary_unit unit;
} rows[] = {
    {"step: {i} loss: {loss} tok/s: {t}", 51200, UNIT_TOKENS},
    {"step {i} | loss {loss} | samples/s {r}", 800, UNIT_SAMPLES},
    {"iter {i} loss={loss} samples/sec={r}", 800, UNIT_SAMPLES},
    {"step {i} lr 0.001 images/sec: {r}", 800, UNIT_SAMPLES},
    {"step {i}, loss: {loss}, acc: 0.912, imgs/s: {r}", 800, UNIT_SAMPLES},
    {"Step {i}: loss = {loss}; throughput = {r} samples/s", 800, UNIT_SAMPLES},
    {"step {i} loss {loss} throughput {r}", 0, 0},
    {"[{i}/30] loss: {loss} time: {s}", 800, UNIT_SAMPLES},
    {"step {i} loss {loss} batch time {s}s", 800, UNIT_SAMPLES},
    {"step {i} loss {loss} time/iter {ms} ms", 800, UNIT_SAMPLES},
    {"step {i} loss {loss} ({ms} ms/step)", 800, UNIT_SAMPLES},
    {"step {i} loss {loss} dt {ms}ms tok/sec {T}", 51200, UNIT_TOKENS},
    {"step    {i}/30 | train loss {loss} | norm 1.2345 | lr 3.00e-04 | ({ms} ms | {T} tok/s)", 51200, UNIT_TOKENS},
    {"{\"step\": {i}, \"loss\": {loss}, \"samples_per_second\": {r}}", 800, UNIT_SAMPLES},
    {"{'step': {i}, 'loss': {loss}, 'it/s': 20.0, 'samples/s': {r}}", 800, UNIT_SAMPLES},
    {"epoch=1 step={i} loss={loss} it_per_sec=25.0", 800, UNIT_SAMPLES},
    {"Epoch 1 [{i}/30] loss {loss} 25.0 it/s", 800, UNIT_SAMPLES},
    {"Epoch: [1][{i}/30]\tTime {s} ({s})\tData 0.001 (0.001)\tLoss {loss} (2.4e+00)", 800, UNIT_SAMPLES},
    {"step {i} elapsed_ms {ms}", 0, 0},
    {"iter {i}: loss {loss}, time {ms}ms, mfu 1.23%", 800, UNIT_SAMPLES},
    {"| epoch   1 |     {i}/   30 batches | lr 20.00 | ms/batch {ms} | loss {loss} | ppl   120.00", 800, UNIT_SAMPLES},
    {"Train: 0 [ {i}/30 (  3%)]  Loss: {loss} ({loss})  Time: {s}s,  {r}/s  ({s}s,  {r}/s)  LR: 1.0e-05  Data: 0.001 (0.001)", 800, UNIT_SAMPLES},
    {"step:{i}/30 train_loss:{loss} train_time:{i}ms step_avg:{ms}ms", 800, UNIT_SAMPLES},
    {"step {I}/00030 (1.00%) | loss: {loss} | lrm: 1.00 | dt: {ms}ms | tok/sec: {t} | mfu: 41.20 | total time: 0.12m", 51200, UNIT_TOKENS},
    {"epoch 001: {i} / 30 loss={loss}, ppl=12.3, wps={T}, ups=25, wpb=2048, bsz=32, num_updates={i}, lr=0.001, gnorm=1.2, train_wall=4, wall=9", 51200, UNIT_WORDS},
    {"11/29 09:00:01 - mmengine - INFO - Epoch(train) [1][{i}/30]  lr: 1.0000e-02  eta: 0:01:00  time: {s}  data_time: 0.0010  memory: 100  loss: {loss}", 800, UNIT_SAMPLES},
    {"[11/29 09:00:01 d2.utils.events]:  eta: 0:00:01  iter: {i}  total_loss: {loss}  time: {s}  last_time: {s}  data_time: 0.0010  lr: 0.001  max_mem: 100M", 800, UNIT_SAMPLES},
    {"INFO:root:Epoch 1, step {i}: train_loss {loss}, {r} examples/second, eta 0:01:00", 800, UNIT_SAMPLES},
    {"Iteration {i}, loss = {loss}, speed: {r} img/s", 800, UNIT_SAMPLES},
    /* others of the kind */
    {"step {i} took 40 ms, 800 img/sec/gpu", 800, UNIT_SAMPLES},
    {"step {i} took 40 ms, {r} images per second per GPU", 800, UNIT_SAMPLES},
    {"step {i} data time 0.001 {r} img/s", 800, UNIT_SAMPLES},
    {"step {i} data time 0.001", 0, 0},
    {"step {i} data time: 0.001 time: {s}", 800, UNIT_SAMPLES},
    {"step {i} elapsed time 12.5 s", 0, 0},
    {"step {i} time 0.04 elapsed time 12.5 s", 800, UNIT_SAMPLES},
    {"batch: {i} ips: {T} words/sec", 51200, UNIT_WORDS},
    {"batch: {i} ips: {r} ins/s", 800, UNIT_SAMPLES},
    {"step {i} seconds: {s}, TFLOP/s: 36.7", 800, UNIT_SAMPLES},
    {"step {i} tokens per second: {t}", 51200, UNIT_TOKENS},
    {"step {i} Throughput [samples/s]: {r}", 800, UNIT_SAMPLES},
    {"step {i} Throughput (samples/s): {r}", 800, UNIT_SAMPLES},
    {"step {i} eval_samples_per_second: {r}", 0, 0},
    {"step {i} mem 3.2 GB/s", 0, 0},
    {"step {i} loss 2.3 0.8 k img/s", 800, UNIT_SAMPLES},
    {"step {i} 51.2K tok/s 12 GB", 51200, UNIT_TOKENS},
    {"step {i} 1,3,800 img/s", 0, 0},
    {" Epoch[ 1 of 2]-Minibatch[ {i}- {i}, 2.50%]: CrossEntropy = {loss} * 32; time = {s}s; samplesPerSecond = {r}", 800, UNIT_SAMPLES},
    {"4 GPUs: {r} samples per sec", 800, UNIT_SAMPLES},
    {"gpu: 3 samples/sec {r}", 800, UNIT_SAMPLES},
    {"Schritt {i}/30  Verlust 2,31  800,0 samples/s", 800, UNIT_SAMPLES},
    {"global_step=1e+3 loss={loss} 800 samples/s", 800, UNIT_SAMPLES},
    {"1.2.3 step {i} 2023-01-02 samples/s: {r}", 800, UNIT_SAMPLES},
    {"step {i} avg samples/s: 700.0 samples/s: {r}", 800, UNIT_SAMPLES},
    {"step {i} mean time 0.05 s, 25.0 it/s", 800, UNIT_SAMPLES},
    {"step {i} RunningAvg 700.0 samples/s, 25.0 it/s", 800, UNIT_SAMPLES},
    {"step {i} 0.040 s/step (avg) | 12 tokens/sample", 800, UNIT_SAMPLES},
    /* JSON with a unit */
    {"{\"ts\": 1.5, \"global_step\": {i}, \"loss\": {loss}, \"throughput\": {r}, \"unit\": \"samples/s\"}", 800, UNIT_SAMPLES},
    {"{\"unit\": \"tokens/s\", \"metric\": \"x\", \"value\": {T}}", 51200, UNIT_TOKENS},
    {"{\"value\": {r}, \"unit\": \"ms\"}", 0, 0},
    {"{\"value\": {r}, \"unit\": \"widgets/s\"}", 0, 0},
    {"{\"value\": {r}}", 0, 0},
    /* a unit between two numbers, of which nothing says whose it is */
    {"3 {loss} samples/s {r}", 0, 0},
    {"{r} samples/s {loss}", 0, 0},
    {"{r} samples/s {loss} ms", 800, UNIT_SAMPLES},
    {"speed {r} samples/s {loss}", 800, UNIT_SAMPLES},
    {"[{i}/30] samples/s {r} {loss}", 800, UNIT_SAMPLES},
    /* a blank in a number, or two numbers */
    {"step {i}: 1 234.5 images/sec", 0, 0},
    {"speed 1 234.5 images/sec", 0, 0},
    {"[{i}/30] 1 234 567.5 images/sec", 0, 0},
    {"epoch 1 800.5 images/sec", 800, UNIT_SAMPLES},
    {"rank 1 step 12 800.5 images/sec", 800, UNIT_SAMPLES},
    {"1 800.5 images/sec", 0, 0},
    {"0 800.5 images/sec", 800, UNIT_SAMPLES},
    {"1  800.5 images/sec", 800, UNIT_SAMPLES},
};
/* clang-format on */

static const struct log_parser_params who = {.role = ROLE_TRAINER, .batch_size = 32};

static void put_field(struct buf *out, const char *name, size_t len, unsigned i)
{
    if (len == 1 && *name == 'i') {
        buf_printf(out, "%u", i);
    } else if (len == 1 && *name == 'I') {
        buf_printf(out, "%05u", i);
    } else if (len == 1 && *name == 'r') {
        buf_printf(out, "%.1f", 800.0 + i % 3);
    } else if (len == 1 && *name == 't') {
        buf_printf(out, "51,%03u", 200 + i % 3);
    } else if (len == 1 && *name == 'T') {
        buf_printf(out, "%u", 51200 + i % 3);
    } else if (len == 1) {
        buf_printf(out, "%.4f", 0.04 + 1e-4 * (i % 3));
    } else if (len == 2) {
        buf_printf(out, "%.2f", 40 + 0.1 * (i % 3));
    } else {
        buf_printf(out, "%.4f", 2.5 - 0.02 * i);
    }
}

static void put_line(struct buf *out, const char *format, unsigned i)
{
    for (const char *c = format; *c != '\0'; c++) {
        const size_t len = *c == '{' ? strspn(c + 1, "iIrtTmslo") : 0;
        if (len > 0 && c[len + 1] == '}') {
            put_field(out, c + 1, len, i);
            c += len + 1;
        } else {
            buf_putc(out, *c);
        }
    }
    buf_putc(out, '\n');
}

TEST(no_format_gives_a_wrong_figure)
{
    unsigned n_wrong = 0;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(buf_done) struct buf log = BUF_INIT, rule = BUF_INIT;
        struct log_suggestion s;
        for (unsigned step = 0; step < STEPS; step++) {
            put_line(&log, rows[i].format, step);
        }
        const bool has = log_suggest_rule(log.data, log.len, &who, &s, &rule) == 0;
        const bool is_right =
            has ? fabs(s.guess.rate / rows[i].rate - 1) < 0.01 && s.guess.unit == rows[i].unit
                : rows[i].rate == 0;
        if (!is_right) {
            print_message("# %s\n#   %s: %g %s/s; %s\n", rows[i].format, buf_cstr(&rule),
                          has ? s.guess.rate : 0, has ? summary_unit_names[s.guess.unit] : "",
                          has ? "" : s.doubt);
            n_wrong++;
        }
    }
    assert_int_equal(n_wrong, 0);
}

/* A number with a name is never the figure of the unit after it. */
TEST(a_named_number_is_never_a_rate)
{
    static const char *const names[] = {
        "loss",     "lr",       "learning_rate", "acc",     "accuracy", "top1", "grad_norm",
        "ppl",      "mem",      "train_loss",    "val_acc", "mfu",      "eta",  "total_loss",
        "loss/val", "optim/lr", "global_rank",   "wd",      "epoch",    "bsz"};
    static const char *const signs[] = {": ", "=", " ", " = ", ":"};
    static const struct {
        const char *name;
        double rate;
    } units[] = {{"samples/sec", 800}, {"tok/s", 800},        {"images_per_sec", 800},
                 {"it/s", 800 * 32},   {"ms/step", 32 / 0.8}, {"wps", 800},
                 {"ips", 800},         {"words/second", 800}};
    for (size_t k = 0; k < N_ROWS(names) * N_ROWS(units) * 2; k++) {
        const char *sign = signs[k % N_ROWS(signs)];
        const size_t unit = k / 2 % N_ROWS(units);
        _cleanup_(freep) char *line =
            xasprintf("step%s5 %s%s2.29%s%s%s800\n", sign, names[k / 2 / N_ROWS(units)], sign,
                      k % 2 == 0 ? " " : ", ", units[unit].name, sign);
        _cleanup_(buf_done) struct buf rule = BUF_INIT;
        struct log_suggestion s;
        const int r = log_suggest_rule(line, strlen(line), &who, &s, &rule);
        if (r != 0 || fabs(s.guess.rate - units[unit].rate) > 1e-6) {
            print_message("# %s# %s: %g\n", line, buf_cstr(&rule), r == 0 ? s.guess.rate : 0);
        }
        assert_int_equal(r, 0);
        assert_true(fabs(s.guess.rate - units[unit].rate) < 1e-6);
    }
}

/* A table is read by its columns, as its first line names them. */
TEST(tables)
{
    static const struct {
        const char *log, *rule;
        double rate;
    } tables[] = {
        {"step,loss,lr,samples_per_sec\n5,2.25,0.001,800.00\n6,2.24,0.001,800.00\n",
         "{lines: [{kind: Step, pattern: "
         "'^(?<step>[-+.\\deE]+),(?<loss>[-+.\\deE]+),[^,]*,(?<rate>[-+.\\deE]+)$'}]}",
         800},
        {"epoch;images/s;x\n1;800;3\n",
         "{lines: [{kind: Step, pattern: "
         "'^[^;]*;(?<rate>[-+.\\deE]+);[^;]*$'}]}",
         800},
        {"\"iter\"\t\"ms/batch\"\n1\t40\n2\t40\n",
         "{lines: [{kind: Step, pattern: '^(?<step>[-+.\\deE]+)\t(?<step_ms>[-+.\\deE]+)$'}]}",
         800},
        {"step,loss,throughput\n5,2.25,800\n", NULL, 0},
        {"step,eval_samples_per_sec\n5,800\n", NULL, 0},
        {"step,samples/s/device\n5,800\n", NULL, 0},
        {"step,samples/s\nno,numbers\n", NULL, 0},
        {"step,samples/s\n5,2,800\n", NULL, 0},
        {"samples/s\n800\n", NULL, 0},
        {"step 5, samples/s, loss\n", NULL, 0},
        {"step 5,top1 2.25,samples/s 800\nstep 6,top1 2.25,samples/s 800\n",
         "{lines: [{kind: Step, pattern: 'step +(?<step>).*?(?<!\\w)samples/s +(?<rate>)'}]}", 800},
    };
    for (size_t i = 0; i < N_ROWS(tables); i++) {
        print_message("# table %zu\n", i);
        _cleanup_(buf_done) struct buf rule = BUF_INIT;
        struct log_suggestion s;
        const int r = log_suggest_rule(tables[i].log, strlen(tables[i].log), &who, &s, &rule);
        assert_int_equal(r, tables[i].rule == NULL ? -2 : 0);
        assert_string_equal(buf_cstr(&rule), tables[i].rule == NULL ? "" : tables[i].rule);
        assert_true(r != 0 || fabs(s.guess.rate - tables[i].rate) < 1e-6);
    }
}
