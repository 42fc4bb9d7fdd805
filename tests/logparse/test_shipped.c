/* The rules that ship, on lines of the programs that they are for: which number each line
 * must give. Lines are in the form of their sources; where a source gives a format only,
 * the numbers are ours. */
#include "tests/test.h"
#include "logparse/shipped_rules.h"

#include <math.h>

#include "logparse/parser.h"

#define NONE NAN
#define BATCH 32 /* of the definition */

FREEP(log_rule_free, struct log_rule)

struct seen {
    unsigned n;
    struct log_figure last;
};

static void on_figure(void *ctx, const struct log_figure *figure)
{
    struct seen *seen = ctx;
    seen->n++;
    seen->last = *figure;
}

/* Equal to five digits, which is more than any of the lines has. */
static bool is_near(double a, double b)
{
    return isnan(a) ? isnan(b) : fabs(a - b) <= 1e-5 * fabs(b);
}

static void check(const char *what, double value, double wanted)
{
    if (!is_near(value, wanted)) {
        fail_msg("%s is %.9g, not %.9g", what, value, wanted);
    }
}

/* ---- single lines ---- */

struct line_row {
    const char *rule, *line;
    double rate; /* units/s of the line; NaN: by time stamps, or none */
    double time_s, step, loss, accuracy;
    enum summary_unit unit;
    enum log_kind kind;
    enum log_scope scope;
};

#define SAMPLES UNIT_SAMPLES
#define EACH LOG_SCOPE_EACH
#define REPLICA LOG_SCOPE_REPLICA
#define JOB LOG_SCOPE_JOB
#define STEP LOG_KIND_STEP
#define EPOCH LOG_KIND_EPOCH
#define SUMMARY LOG_KIND_SUMMARY
#define INFO LOG_KIND_INFO

/* clang-format off */
static const struct line_row lines[] = {
    /* Paddle Fluid, cluster/vgg16 */
    {"paddle-fluid", "Pass = 0, Iters = 12, Loss = 2.301442, Accuracy = 0.118056, Speed = 16.71 img/s",
     16.71, NONE, 12, 2.301442, 0.118056, SAMPLES, STEP, REPLICA},
    {"paddle-fluid", "Pass = 0, Iters = 240, Loss = 4.612001, Accuracy = 0.015625, spent 1.383521",
     BATCH / 1.383521, 1.383521, 240, 4.612001, 0.015625, SAMPLES, STEP, REPLICA},
    {"paddle-fluid", "Pass = 0, Iters = 241, Loss = 4.612001, Accuracy = 0.015625, spent 1.571773",
     BATCH / 1.571773, 1.571773, 241, 4.612001, 0.015625, SAMPLES, STEP, REPLICA},
    {"paddle-fluid", "Pass = 0, Iters = 242, Loss = 4.612001, Accuracy = 0.015625, spent 2.008580",
     BATCH / 2.008580, 2.008580, 242, 4.612001, 0.015625, SAMPLES, STEP, REPLICA},
    {"paddle-fluid", "Pass = 0, Iters = 243, Loss = 4.612001, Accuracy = 0.015625, spent 1.616996",
     BATCH / 1.616996, 1.616996, 243, 4.612001, 0.015625, SAMPLES, STEP, REPLICA},
    {"paddle-fluid", "Pass = 1, Training performance = 263.290000 imgs/s, Train accuracy = 0.431200, Test accuracy = 0.402100",
     263.29, NONE, NONE, NONE, 0.4021, SAMPLES, EPOCH, REPLICA},
    {"paddle-fluid", "Task:3 Pass = 1, Training performance = 12.370000 imgs/s, Train accuracy = 0.431200, Test accuracy = 0.402100",
     12.37, NONE, NONE, NONE, 0.4021, SAMPLES, EPOCH, REPLICA},
    {"paddle-fluid", "batch_size: 128", NONE, NONE, NONE, NONE, NONE, SAMPLES, INFO, REPLICA},
    /* TensorFlow, cluster/vgg16 */
    {"tf-vgg16", "Pass = 0, Iters = 7, Loss = 2.310000, Accuracy = 0.101000, Speed=9.24 imgs/sec",
     9.24, NONE, 7, 2.31, 0.101, SAMPLES, STEP, REPLICA},
    {"tf-vgg16", "Pass = 2, Train speed = 9.100000 imgs/s, Test accuracy = 0.512000",
     9.1, NONE, NONE, NONE, 0.512, SAMPLES, EPOCH, REPLICA},
    /* Paddle v2 */
    {"paddle-v2", "batch_size 128", NONE, NONE, NONE, NONE, NONE, SAMPLES, INFO, REPLICA},
    {"paddle-v2", "Pass 0, Batch 20, Cost 2.302585, {'classification_error_evaluator': 0.90625}, spent: 7.272727",
     BATCH / 7.272727, 7.272727, 20, 2.302585, NONE, SAMPLES, STEP, REPLICA},
    {"paddle-v2", "Pass 0 end, spent: 2840.909100", NONE, 2840.9091, NONE, NONE, NONE, SAMPLES, EPOCH, REPLICA},
    {"paddle-v2", "Test with Pass 0, {'classification_error_evaluator': 0.613000}", NONE, NONE, NONE, NONE, NONE, SAMPLES, INFO, REPLICA},
    /* benchmark/fluid */
    {"paddle-benchmark-fluid", "Pass 0, batch 5, loss 4.62500, accucacys: [0.03125]",
     NONE, NONE, 5, 4.625, 0.03125, SAMPLES, STEP, REPLICA},
    {"paddle-benchmark-fluid", "Pass: 0, Iter: 5, Loss: 4.625000", NONE, NONE, 5, 4.625, NONE, SAMPLES, STEP, REPLICA},
    {"paddle-benchmark-fluid", "Total examples: 2400, total time: 12.50000, 192.00000 examples/sed",
     192, 12.5, NONE, NONE, NONE, SAMPLES, SUMMARY, REPLICA},
    /* FleetX */
    {"fleetx", "epoch id: 0, step20, train_loss: 6.912345, total time cost = 1.886792, step per second: 10.600000, speed: 10.600000",
     BATCH * 10.6, NONE, 20, 6.912345, NONE, SAMPLES, STEP, REPLICA},
    {"fleetx", "worker_index: 3, step20, train_loss: 6.912345, total time cost = 1.886792, step per second: 10.600000, speed: 10.600000",
     BATCH * 10.6, NONE, 20, 6.912345, NONE, SAMPLES, STEP, REPLICA},
    {"fleetx", "epoch: 0 finished, speed: 53302.630000 words/s", 53302.63, NONE, NONE, NONE, NONE, UNIT_WORDS, EPOCH, REPLICA},
    {"fleetx", "Pass 0, trainbatch 10, loss 7.07, acc1 0.0039, acc5 0.0117, lr 0.1000, time 0.1234 sec, speed 259.07",
     BATCH / 0.1234, 0.1234, 10, 7.07, 0.0039, SAMPLES, STEP, REPLICA},
    {"fleetx", "worker_index: 0, epoch: 5, test_auc: 0.765537 after 1.260639 s", NONE, NONE, NONE, NONE, 0.765537, SAMPLES, INFO, REPLICA},
    {"fleetx", "End pass 0, train_loss 6.10, speed 259.07", NONE, NONE, NONE, 6.10, NONE, SAMPLES, INFO, REPLICA},
    {"fleetx", "epoch: 1, progress: 1/1, step: 60, loss: 10.487363, ppl: 35859.5, next_sent_acc: 0.500000, speed: 1.060437 steps/s, file: part-0",
     BATCH * 1.060437, NONE, 60, 10.487363, NONE, SAMPLES, STEP, REPLICA},
    {"fleetx", "TRAIN --> pass: 0 batch: 100 loss: 0.523 auc: [0.61], batch_auc: [0.60], queue_size: 64",
     NONE, NONE, 100, 0.523, NONE, SAMPLES, STEP, REPLICA},
    {"fleetx", "[Epoch 0, batch 5] loss: 0.20044, acc1: 0.00000, acc5: 0.00000",
     NONE, NONE, 5, 0.20044, 0, SAMPLES, STEP, REPLICA},
    /* PaddlePaddle/Perf */
    {"paddle-perf", "[2023/07/28 06:42:45] ppcls INFO: epoch:0   train step:10   lr: 0.10000, loss: 7.04 top1: 0.01 top5: 0.02 batch_cost: 0.64841 s, reader_cost: 0.00067 s, ips: 394.81086 samples/sec.",
     394.81086, NONE, 10, 7.04, NONE, SAMPLES, STEP, REPLICA},
    {"paddle-perf", "2021-02-20 14:54:52,490 - INFO - Epoch: 2, Batch: 300, auc: [0.78], cost: [0.45],  avg_batch_cost: 1.00887 sec, avg_samples: 1000.00000, ips: 991.20653 example/sec",
     991.20653, NONE, 300, NONE, NONE, SAMPLES, STEP, REPLICA},
    {"paddle-perf", "2021-02-20 15:54:52,490 - INFO - Epoch: 2, using time 693.96 second, ips 15850.74 example/sec.",
     15850.74, NONE, NONE, NONE, NONE, SAMPLES, EPOCH, REPLICA},
    /* tf_cnn_benchmarks */
    {"tf-cnn-benchmarks", "1\timages/sec: 1062.7 +/- 0.0 (jitter = 0.0)\t9.134",
     1062.7, NONE, 1, 9.134, NONE, SAMPLES, STEP, REPLICA},
    {"tf-cnn-benchmarks", "100     images/sec: 1088.9 +/- 4.3 (jitter = 49.9)      8.901",
     1088.9, NONE, 100, 8.901, NONE, SAMPLES, STEP, REPLICA},
    {"tf-cnn-benchmarks", "INFO|2019-05-11T00:23:05|/opt/launcher.py|48| 10\timages/sec: 1,088.9 +/- 4.3 (jitter = 49.9)\t8.901\t0.002\t0.010",
     1088.9, NONE, 10, 8.901, 0.002, SAMPLES, STEP, REPLICA},
    {"tf-cnn-benchmarks", "total images/sec: 1088.76", 1088.76, NONE, NONE, NONE, NONE, SAMPLES, SUMMARY, JOB},
    {"tf-cnn-benchmarks", "1    images/sec: 1062.7 +/- 0.0 (jitter = 0.0) 9.134 0.001 0.005",
     1062.7, NONE, 1, 9.134, 0.001, SAMPLES, STEP, REPLICA},
    {"tf-cnn-benchmarks", "total images/sec: 12622", 12622, NONE, NONE, NONE, NONE, SAMPLES, SUMMARY, JOB},
    {"tf-cnn-benchmarks", "total images/sec: 204.75", 204.75, NONE, NONE, NONE, NONE, SAMPLES, SUMMARY, JOB},
    {"tf-cnn-benchmarks", "total images/sec: 750.8", 750.8, NONE, NONE, NONE, NONE, SAMPLES, SUMMARY, JOB},
    {"tf-cnn-benchmarks", "total images/sec: 146.38", 146.38, NONE, NONE, NONE, NONE, SAMPLES, SUMMARY, JOB},
    {"tf-cnn-benchmarks", "total images/sec: 82.04", 82.04, NONE, NONE, NONE, NONE, SAMPLES, SUMMARY, JOB},
    {"tf-cnn-benchmarks", "50\t312.5 examples/sec", 312.5, NONE, 50, NONE, NONE, SAMPLES, STEP, REPLICA},
    {"tf-cnn-benchmarks", "Accuracy @ 1 = 0.7512 Accuracy @ 5 = 0.9233 [50000 examples]",
     NONE, NONE, NONE, NONE, 0.7512, SAMPLES, INFO, REPLICA},
    /* nccl-tests */
    {"nccl-tests", "   134217728      33554432     float     sum      -1   1209.5  110.97  194.20      0   1205.7  111.32  194.81      0",
     194.20, NONE, NONE, NONE, NONE, UNIT_GB, STEP, JOB},
    {"nccl-tests", "    33554432       8388608     float     sum    424.8   79.00  138.24  1e-07    421.7   79.57  139.25  1e-07",
     138.24, NONE, NONE, NONE, NONE, UNIT_GB, STEP, JOB},
    {"nccl-tests", "# Avg bus bandwidth    : 41.2341 ", 41.2341, NONE, NONE, NONE, NONE, UNIT_GB, SUMMARY, JOB},
    {"nccl-tests", "    61018408      15254602     float     sum      -1  18004.62   3.389   3.389       0  18123.10   3.367   3.367     N/A",
     3.389, NONE, NONE, NONE, NONE, UNIT_GB, STEP, JOB},
    {"nccl-tests", "# Avg bus bandwidth    : 0.0123", 0.0123, NONE, NONE, NONE, NONE, UNIT_GB, SUMMARY, JOB},
    /* torch, scripts of one's own and Horovod's */
    {"torch-ddp", "123.4 images/sec", 123.4, NONE, NONE, NONE, NONE, SAMPLES, STEP, REPLICA},
    {"torch-ddp", "step 20 loss 2.3 1,234.5 img/s", 1234.5, NONE, 20, NONE, NONE, SAMPLES, STEP, REPLICA},
    {"torch-ddp", "images/sec: 98.5", 98.5, NONE, NONE, NONE, NONE, SAMPLES, STEP, REPLICA},
    {"torch-ddp", "step 7 loss 1.0 images/sec: 107", 107, NONE, 7, NONE, NONE, SAMPLES, STEP, REPLICA},
    {"torch-ddp", "step 7 loss 1.0 img/s = 107", 107, NONE, 7, NONE, NONE, SAMPLES, STEP, REPLICA},
    {"torch-ddp", "98.5 images/sec: epoch 2", 98.5, NONE, NONE, NONE, NONE, SAMPLES, STEP, REPLICA},
    {"torch-ddp", "samples_per_second=98.5", 98.5, NONE, NONE, NONE, NONE, SAMPLES, STEP, REPLICA},
    {"torch-ddp", "Iter #3: 214.7 img/sec per GPU", 214.7, NONE, 3, NONE, NONE, SAMPLES, STEP, REPLICA},
    {"torch-ddp", "Img/sec per GPU: 214.3 +-1.9", 214.3, NONE, NONE, NONE, NONE, SAMPLES, SUMMARY, REPLICA},
    {"torch-ddp", "Total img/sec on 8 GPU(s): 1714.6 +-15.5", 1714.6, NONE, NONE, NONE, NONE, SAMPLES, SUMMARY, JOB},
    /* torchvision, imagenet */
    {"torchvision", "Epoch: [0]  [  10/5005]  eta: 1:23:45  lr: 0.1  img/s: 350.123  loss: 6.9078 (7.0123)  acc1: 0.7812 (0.5)  acc5: 1.5625 (1.2)  time: 0.0914  data: 0.0003  max mem: 5000",
     350.123, NONE, 10, 6.9078, NONE, SAMPLES, STEP, EACH},
    {"torchvision", "Epoch: [0][  10/5005]\tTime  0.250 ( 0.456)\tData  0.001 ( 0.123)\tLoss 6.9078e+00 (7.0123e+00)\tAcc@1   0.78 (  0.12)\tAcc@5   1.56 (  0.63)",
     BATCH / 0.25, 0.25, 10, 6.9078, 0.0078, SAMPLES, STEP, EACH},
    {"torchvision", " * Acc@1 75.120 Acc@5 92.330", NONE, NONE, NONE, NONE, 0.7512, SAMPLES, INFO, REPLICA},
    /* Lightning */
    {"lightning", "Epoch 0:  53%|\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88     | 1000/1875 [00:06<00:05, 150.25it/s, v_num=0, train_loss=0.125]",
     BATCH * 150.25, NONE, 1000, 0.125, NONE, SAMPLES, STEP, EACH},
    {"lightning", "Epoch 2: 100%|\xe2\x96\x88\xe2\x96\x88| 10/10 [00:20<00:00,  2.00s/it, loss=1.5, v_num=3]",
     BATCH / 2.0, 2, 10, 1.5, NONE, SAMPLES, STEP, EACH},
    {"lightning", "Epoch 0/2  ━━━━━━━━━━━━━━━━━━━━ 100/100 0:00:01 • 0:00:00 54.86it/s v_num: 3.000 train_loss: 1.250",
     BATCH * 54.86, NONE, NONE, 1.25, NONE, SAMPLES, SUMMARY, EACH},
    {"word-language-model", "| epoch   1 |    25/  360 batches | lr 20.00 | ms/batch 250.00 | loss  7.18 | ppl  1312.06",
     BATCH / 0.25, 0.25, 25, 7.18, NONE, SAMPLES, STEP, REPLICA},
    /* Hugging Face Trainer */
    {"hf-trainer", "{'train_runtime': 123.4567, 'train_samples_per_second': 405.012, 'train_steps_per_second': 12.657, 'train_loss': 1.234, 'epoch': 3.0}",
     405.012, NONE, NONE, 1.234, NONE, SAMPLES, SUMMARY, JOB},
    {"hf-trainer", "{'train_runtime': '123.4', 'train_samples_per_second': '405', 'train_steps_per_second': '12.66', 'train_loss': '1.234', 'epoch': '3'}",
     405, NONE, NONE, 1.234, NONE, SAMPLES, SUMMARY, JOB},
    {"hf-trainer", "  train_samples_per_second =    405.012", 405.012, NONE, NONE, NONE, NONE, SAMPLES, SUMMARY, JOB},
    {"hf-trainer", "{'loss': 1.5, 'learning_rate': 5e-05, 'epoch': 0.5}", NONE, NONE, NONE, 1.5, NONE, SAMPLES, INFO, REPLICA},
    {"hf-trainer", "{'eval_loss': 0.4, 'eval_accuracy': 0.875, 'eval_runtime': 3.2, 'epoch': 1.0}", NONE, NONE, NONE, NONE, 0.875, SAMPLES, INFO, REPLICA},
    /* Keras 2 and 3 */
    {"keras", "781/781 [==============================] - 35s 45ms/step - loss: 1.5012 - accuracy: 0.4563",
     BATCH / 0.045, 0.045, 781, 1.5012, 0.4563, SAMPLES, STEP, REPLICA},
    {"keras", "\x1b[1m1563/1563\x1b[0m \x1b[32m\xe2\x94\x81\xe2\x94\x81\xe2\x94\x81\x1b[0m\x1b[37m\x1b[0m \x1b[1m4s\x1b[0m 2ms/step - accuracy: 0.8821 - loss: 0.3301",
     BATCH / 0.002, 0.002, 1563, 0.3301, 0.8821, SAMPLES, STEP, REPLICA},
    {"keras", " 10/100 [==>...........................] - ETA: 3:05 - loss: 2.1 - accuracy: 0.2", NONE, NONE, 10, NONE, 0.2, SAMPLES, INFO, REPLICA},
    {"keras", "5/5 [==============================] - 10s 2s/step - loss: 0.5", BATCH / 2.0, 2, 5, 0.5, NONE, SAMPLES, STEP, REPLICA},
    /* MPI */
    {"mpi", "[1,3]<stdout>:rank 3: 1520.5 samples/s", 1520.5, NONE, NONE, NONE, NONE, SAMPLES, STEP, REPLICA},
    {"mpi", "Elapsed time: 12.5 s", 1 / 12.5, 12.5, NONE, NONE, NONE, UNIT_RUNS, SUMMARY, JOB},
    {"mlbench", "80% Top 1 Validation Accuracy reached in 407.123 seconds, Compute: 300.1 seconds, Communication: 98.2 seconds, Metrics Computation: 5.0, Pre-processing: 3.1",
     1 / 407.123, 407.123, NONE, NONE, 0.8, UNIT_RUNS, SUMMARY, JOB},
    {"mlbench", "70 perplexity reached in 87401.339 seconds, Compute: 46579.0 seconds, Communication: 40822.0 seconds",
     1 / 87401.339, 87401.339, NONE, NONE, NONE, UNIT_RUNS, SUMMARY, JOB},
    {"epochs", "epoch 3: loss 0.4102, 1520.5 samples/s, accuracy 0.8125 after 41.705 s", 1520.5, NONE, NONE, 0.4102, 0.8125, SAMPLES, EPOCH, JOB},
    {"epochs", "[1,0]<stdout>:epoch 1: loss 2.3, 15 samples/s, accuracy 0 after 4 s", 15, NONE, NONE, 2.3, 0, SAMPLES, EPOCH, JOB},
    {"epochs", "epoch 3: loss 0.4, 15 samples/s, accuracy 0.8 after 4.7 s; 40 steps: data 0.1 s, forward 1.5 s, backward 2.5 s, wait 0 s, update 0.5 s",
     15, NONE, NONE, 0.4, 0.8, SAMPLES, EPOCH, JOB},
    {"mlbench", "BLEU 24 reached in 37594.214 seconds", 1 / 37594.214, 37594.214, NONE, NONE, NONE, UNIT_RUNS, SUMMARY, JOB},
};
/* clang-format on */

TEST(each_line_gives_its_number)
{
    for (size_t i = 0; i < N_ROWS(lines); i++) {
        const struct line_row *row = &lines[i];
        print_message("# %s: %s\n", row->rule, row->line);
        _cleanup_(log_rule_freep) struct log_rule *rule = log_shipped_load(row->rule);
        assert_non_null(rule);
        struct seen seen = {0};
        struct log_parser *p = log_parser_new(&(struct log_parser_params){
            .rule = rule,
            .role = ROLE_TRAINER,
            .batch_size = BATCH,
            .on_figure = on_figure,
            .ctx = &seen,
        });
        log_parser_feed(p, LOG_STDOUT, row->line, strlen(row->line), 0);
        log_parser_end(p, 0);
        assert_int_equal(seen.n, 1);
        const struct log_line_rule *line = &rule->lines.items[seen.last.line];
        assert_int_equal(line->kind, row->kind);
        assert_int_equal(line->scope, row->scope);
        assert_int_equal(line->unit, row->unit);
        check("rate", seen.last.rate, row->rate);
        check("time", seen.last.time_s, row->time_s);
        check("step", seen.last.step, row->step);
        check("loss", seen.last.loss, row->loss);
        check("accuracy", seen.last.accuracy, row->accuracy);
        log_parser_free(p);
    }
}

/* ---- whole logs ---- */

struct log_row {
    const char *name, *rule, *log;
    enum role role;
    double rate, accuracy;
    unsigned samples; /* 0: the log does not say */
    const char *method;
};

#define OSU                                                                                        \
    "# OSU MPI Bandwidth Test v7.2\n# Size      Bandwidth (MB/s)\n# Datatype: MPI_CHAR.\n"         \
    "1                       8.28\n1048576              3001.70\n"                                 \
    "# OSU MPI Allreduce Latency Test v5.3\n# Size         Avg Latency(us)\n"                      \
    "4                         0.23\n1048576                 907.53\n"
#define MLLOG(ms, key, rest)                                                                       \
    ":::MLLOG {\"namespace\": \"\", \"time_ms\": " ms ", \"event_type\": \"X\", \"key\": \"" key   \
    "\", " rest "}\n"

/* clang-format off */
static const struct log_row logs[] = {
    {"Fluid, iterations only", "paddle-fluid",
     "-----------  Configuration Arguments -----------\nbatch_size: 128\ndata_set: cifar10\nlearning_rate: 0.001\n"
     "------------------------------------------------\npserver endpoints:  10.0.0.1:6174,10.0.0.2:6174\ntrainers total:  20\n"
     "Pass = 0, Iters = 240, Loss = 4.6, Accuracy = 0.01, spent 1.383521\n"
     "Pass = 0, Iters = 241, Loss = 4.6, Accuracy = 0.01, spent 1.571773\n"
     "Pass = 0, Iters = 242, Loss = 4.6, Accuracy = 0.01, spent 2.008580\n"
     "Pass = 0, Iters = 243, Loss = 4.6, Accuracy = 0.02, spent 1.616996\n",
     ROLE_TRAINER, 4 * 128 / (1.383521 + 1.571773 + 2.008580 + 1.616996), 0.02, 512, "mean of 4 step lines"},
    {"Fluid, passes count before iterations", "paddle-fluid",
     "Pass = 0, Iters = 0, Loss = 4.6, Accuracy = 0.01, Speed = 1.00 img/s\n"
     "Pass = 0, Training performance = 16.000000 imgs/s, Train accuracy = 0.431200, Test accuracy = 0.40\n\n"
     "Pass = 1, Training performance = 16.000000 imgs/s, Train accuracy = 0.431200, Test accuracy = 0.50\n\n",
     ROLE_TRAINER, 16, 0.5, 0, "mean of 2 epoch lines"},
    {"a pserver of Fluid", "paddle-fluid",
     "I0315 05:18:15.651073    95 listen_and_serv_op.cc:139]  server side program spent 147.921\n"
     "I0315 05:18:17.651073    95 listen_and_serv_op.cc:139]  server side program spent 138.0\n"
     "I0315 05:18:19.651073    95 listen_and_serv_op.cc:139]  server side program spent 225.0\n",
     ROLE_PSERVER, 3 / (0.147921 + 0.138 + 0.225), NONE, 3, "mean of 3 step lines"},
    {"a pserver of Fluid, one line", "paddle-fluid",
     "I0315 05:18:15.651073    95 listen_and_serv_op.cc:139]  server side program spent 147.921\n",
     ROLE_PSERVER, 1 / 0.147921, NONE, 1, "mean of 1 step line"},
    {"v2: batches and times", "paddle-v2",
     "batch_size 64\n\nPass 0, Batch 0, Cost 2.302585, {'classification_error_evaluator': 0.90625}, spent: 4.000000\n"
     "\nPass 0, Batch 1, Cost 2.202585, {'classification_error_evaluator': 0.90625}, spent: 4.000000\n"
     "Pass 0 end, spent: 10.000000\n\nTest with Pass 0, {'classification_error_evaluator': 0.613}\n",
     ROLE_TRAINER, 2 * 64 / 10.0, NONE, 128, "mean of 1 epoch line"},
    {"benchmark/fluid: the total", "paddle-benchmark-fluid",
     "Pass 0, batch 5, loss 4.62500, accucacys: [0.03125]\n\nTotal examples: 2400, total time: 12.50000, 192.00000 examples/sed\n\ntotal train time:  12.6\n",
     ROLE_TRAINER, 192, 0.03125, 2400, "last of 1 summary line"},
    {"tf_cnn_benchmarks", "tf-cnn-benchmarks",
     "TensorFlow:  1.9\nModel:       resnet101\nBatch size:  512 global\n             64.0 per device\n==========\n"
     "Generating training model\nRunning warm up\nDone warm up\nStep\tImg/sec\ttotal_loss\n"
     "1\timages/sec: 1062.7 +/- 0.0 (jitter = 0.0)\t9.134\n100\timages/sec: 1088.9 +/- 4.3 (jitter = 49.9)\t8.7\n"
     "----------------------------------------------------------------\ntotal images/sec: 1088.76\n"
     "----------------------------------------------------------------\n",
     ROLE_TRAINER, 1088.76, NONE, 0, "last of 1 summary line"},
    {"tf_cnn_benchmarks that was cut", "tf-cnn-benchmarks",
     "1\timages/sec: 1062.7 +/- 0.0 (jitter = 0.0)\t9.134\n100\timages/sec: 1088.9 +/- 4.3 (jitter = 49.9)\t8.7\n",
     ROLE_TRAINER, 1088.9, NONE, 100 * BATCH, "last of 2 step lines"},
    {"MLPerf", "mllog",
     MLLOG("1000", "submission_benchmark", "\"value\": \"resnet\", \"metadata\": {}")
     MLLOG("1000", "run_start", "\"value\": null, \"metadata\": {}")
     MLLOG("1000", "epoch_start", "\"value\": null, \"metadata\": {}")
     MLLOG("10000", "epoch_stop", "\"value\": null, \"metadata\": {}")
     MLLOG("10000", "eval_start", "\"value\": null, \"metadata\": {\"epoch_num\": 1}")
     MLLOG("12000", "eval_accuracy", "\"value\": 0.75, \"metadata\": {\"epoch_num\": 1}")
     MLLOG("12000", "eval_stop", "\"value\": null, \"metadata\": {\"epoch_num\": 1}")
     MLLOG("12000", "epoch_start", "\"value\": null, \"metadata\": {}")
     MLLOG("22000", "epoch_stop", "\"value\": null, \"metadata\": {}")
     MLLOG("22000", "eval_start", "\"value\": null, \"metadata\": {\"epoch_num\": 2}"),
     ROLE_TRAINER, 128116.7, 0.75, 1281167, "training time between the first and the last of 2 positions"},
    {"ranks of mpirun", "mpi",
     "[1,0]<stdout>:100 samples/s\n[1,1]<stdout>:80 samples/s\n[1,0]<stdout>:100 samples/s\n[1,1]<stdout>:80 samples/s\n",
     ROLE_TRAINER, 180, NONE, 4 * BATCH, "mean of 4 step lines, 2 ranks"},
    {"a progress bar of Keras 2, and evaluate", "keras",
     "Epoch 1/2\n\r 1/4 [=>....] - ETA: 3s - loss: 2.3\b\b\b\b\r 4/4 [======] - ETA: 0s - loss: 2.0 - accuracy: 0.5\r 4/4 [======] - 1s 250ms/step - loss: 2.0 - accuracy: 0.5\n"
     "\r 1/8 [>.....] - ETA: 0s - loss: 2.3\b\b\b\b\r 8/8 [======] - 1s 9ms/step - loss: 2.0 - accuracy: 0.7\n",
     ROLE_TRAINER, BATCH / 0.25, 0.5, BATCH, "last of 1 step line"},
    {"neither validation nor evaluate nor predict of Keras", "keras",
     "\r\x1b[1m 1/60\x1b[0m \x1b[37m\xe2\x94\x81\x1b[0m \x1b[1m57s\x1b[0m 978ms/step - accuracy: 0.0312 - loss: 2.3307\r\x1b[1m47/60\x1b[0m \x1b[32m\xe2\x94\x81\x1b[0m \x1b[1m0s\x1b[0m 4ms/step - accuracy: 0.0911 - loss: 2.3154\r\x1b[1m60/60\x1b[0m \x1b[32m\xe2\x94\x81\x1b[0m \x1b[1m1s\x1b[0m 6ms/step - accuracy: 0.0922 - loss: 2.3166\n"
     "Epoch 1/2\n"
     "\r\x1b[1m 1/60\x1b[0m \x1b[37m\xe2\x94\x81\x1b[0m \x1b[1m2:18\x1b[0m 2s/step - accuracy: 0.0312 - loss: 2.3343\r\x1b[1m57/60\x1b[0m \x1b[32m\xe2\x94\x81\x1b[0m \x1b[1m0s\x1b[0m 7ms/step - accuracy: 0.1003 - loss: 2.3144\r\x1b[1m60/60\x1b[0m \x1b[32m\xe2\x94\x81\x1b[0m \x1b[1m3s\x1b[0m 18ms/step - accuracy: 0.0995 - loss: 2.3145 - val_accuracy: 0.1033 - val_loss: 2.3101\n"
     "Epoch 2/2\n"
     "\r\x1b[1m 1/60\x1b[0m \x1b[37m\xe2\x94\x81\x1b[0m \x1b[1m0s\x1b[0m 13ms/step - accuracy: 0.1562 - loss: 2.2915\r\x1b[1m58/60\x1b[0m \x1b[32m\xe2\x94\x81\x1b[0m \x1b[1m0s\x1b[0m 5ms/step - accuracy: 0.1099 - loss: 2.3004\r\x1b[1m60/60\x1b[0m \x1b[32m\xe2\x94\x81\x1b[0m \x1b[1m1s\x1b[0m 14ms/step - accuracy: 0.1104 - loss: 2.3003 - val_accuracy: 0.0977 - val_loss: 2.3098\n"
     "\r\x1b[1m  1/200\x1b[0m \x1b[37m\xe2\x94\x81\x1b[0m \x1b[1m2s\x1b[0m 11ms/step - accuracy: 0.0625 - loss: 2.3309\r\x1b[1m190/200\x1b[0m \x1b[32m\xe2\x94\x81\x1b[0m \x1b[1m0s\x1b[0m 6ms/step - accuracy: 0.0984 - loss: 2.3096\r\x1b[1m200/200\x1b[0m \x1b[32m\xe2\x94\x81\x1b[0m \x1b[1m1s\x1b[0m 6ms/step - accuracy: 0.0977 - loss: 2.3098\n"
     "\r\x1b[1m  1/200\x1b[0m \x1b[37m\xe2\x94\x81\x1b[0m \x1b[1m39s\x1b[0m 197ms/step\r\x1b[1m181/200\x1b[0m \x1b[32m\xe2\x94\x81\x1b[0m \x1b[1m0s\x1b[0m 5ms/step\r\x1b[1m200/200\x1b[0m \x1b[32m\xe2\x94\x81\x1b[0m \x1b[1m1s\x1b[0m 5ms/step\n",
     ROLE_TRAINER, BATCH / .005, .1104, (57 + 58) * BATCH, "last of 4 step lines"},
    {"fit of Keras, twice", "keras",
     "Epoch 1/2\n"
     "\r\x1b[1m 1/60\x1b[0m \x1b[37m\xe2\x94\x81\x1b[0m \x1b[1m2:09\x1b[0m 2s/step - accuracy: 0.0312 - loss: 2.3284\r\x1b[1m56/60\x1b[0m \x1b[32m\xe2\x94\x81\x1b[0m \x1b[1m0s\x1b[0m 5ms/step - accuracy: 0.1066 - loss: 2.3137\r\x1b[1m60/60\x1b[0m \x1b[32m\xe2\x94\x81\x1b[0m \x1b[1m3s\x1b[0m 8ms/step - accuracy: 0.1036 - loss: 2.3141\n"
     "Epoch 2/2\n"
     "\r\x1b[1m 1/60\x1b[0m \x1b[37m\xe2\x94\x81\x1b[0m \x1b[1m1s\x1b[0m 23ms/step - accuracy: 0.1250 - loss: 2.2839\r\x1b[1m52/60\x1b[0m \x1b[32m\xe2\x94\x81\x1b[0m \x1b[1m0s\x1b[0m 9ms/step - accuracy: 0.1070 - loss: 2.2998\r\x1b[1m60/60\x1b[0m \x1b[32m\xe2\x94\x81\x1b[0m \x1b[1m1s\x1b[0m 9ms/step - accuracy: 0.1047 - loss: 2.3000\n"
     "\r\x1b[1m 1/60\x1b[0m \x1b[37m\xe2\x94\x81\x1b[0m \x1b[1m46s\x1b[0m 783ms/step - accuracy: 0.0625 - loss: 2.2753\r\x1b[1m55/60\x1b[0m \x1b[32m\xe2\x94\x81\x1b[0m \x1b[1m0s\x1b[0m 4ms/step - accuracy: 0.1267 - loss: 2.2837\r\x1b[1m60/60\x1b[0m \x1b[32m\xe2\x94\x81\x1b[0m \x1b[1m1s\x1b[0m 4ms/step - accuracy: 0.1271 - loss: 2.2827\n"
     "Epoch 1/2\n"
     "\r\x1b[1m 1/60\x1b[0m \x1b[37m\xe2\x94\x81\x1b[0m \x1b[1m0s\x1b[0m 8ms/step - accuracy: 0.1250 - loss: 2.2716\r\x1b[1m56/60\x1b[0m \x1b[32m\xe2\x94\x81\x1b[0m \x1b[1m0s\x1b[0m 7ms/step - accuracy: 0.1362 - loss: 2.2864\r\x1b[1m60/60\x1b[0m \x1b[32m\xe2\x94\x81\x1b[0m \x1b[1m0s\x1b[0m 7ms/step - accuracy: 0.1354 - loss: 2.2869\n"
     "Epoch 2/2\n"
     "\r\x1b[1m 1/60\x1b[0m \x1b[37m\xe2\x94\x81\x1b[0m \x1b[1m0s\x1b[0m 8ms/step - accuracy: 0.1562 - loss: 2.2732\r\x1b[1m53/60\x1b[0m \x1b[32m\xe2\x94\x81\x1b[0m \x1b[1m0s\x1b[0m 4ms/step - accuracy: 0.1480 - loss: 2.2769\r\x1b[1m60/60\x1b[0m \x1b[32m\xe2\x94\x81\x1b[0m \x1b[1m0s\x1b[0m 4ms/step - accuracy: 0.1490 - loss: 2.2760\n"
     "\r\x1b[1m 1/60\x1b[0m \x1b[37m\xe2\x94\x81\x1b[0m \x1b[1m16s\x1b[0m 281ms/step\r\x1b[1m56/60\x1b[0m \x1b[32m\xe2\x94\x81\x1b[0m \x1b[1m0s\x1b[0m 4ms/step\r\x1b[1m60/60\x1b[0m \x1b[32m\xe2\x94\x81\x1b[0m \x1b[1m1s\x1b[0m 4ms/step\n",
     ROLE_TRAINER, BATCH / .004, .149, 4 * 60 * BATCH, "last of 12 step lines"},
    {"Keras with verbose=2: the only time is one with validation", "keras",
     "60/60 - 1s - 23ms/step - accuracy: 0.1047 - loss: 2.3069\n"
     "Epoch 1/2\n"
     "60/60 - 3s - 56ms/step - accuracy: 0.1005 - loss: 2.3077 - val_accuracy: 0.1003 - val_loss: 2.3065\n"
     "Epoch 2/2\n"
     "60/60 - 1s - 15ms/step - accuracy: 0.1172 - loss: 2.2970 - val_accuracy: 0.1055 - val_loss: 2.3053\n"
     "200/200 - 1s - 5ms/step - accuracy: 0.1055 - loss: 2.3053\n"
     "200/200 - 1s - 4ms/step\n",
     ROLE_TRAINER, BATCH / .015, .1172, 120 * BATCH, "last of 2 step lines"},
    {"one epoch of Keras, which prints no line for it", "keras",
     "\r\x1b[1m 1/60\x1b[0m \x1b[37m\xe2\x94\x81\x1b[0m \x1b[1m4:03\x1b[0m 4s/step - accuracy: 0.0938 - loss: 2.3044\r\x1b[1m57/60\x1b[0m \x1b[32m\xe2\x94\x81\x1b[0m \x1b[1m0s\x1b[0m 7ms/step - accuracy: 0.0981 - loss: 2.3178\r\x1b[1m60/60\x1b[0m \x1b[32m\xe2\x94\x81\x1b[0m \x1b[1m5s\x1b[0m 13ms/step - accuracy: 0.0969 - loss: 2.3182\n"
     "\r\x1b[1m 1/60\x1b[0m \x1b[37m\xe2\x94\x81\x1b[0m \x1b[1m2:10\x1b[0m 2s/step - accuracy: 0.1562 - loss: 2.2581\r\x1b[1m60/60\x1b[0m \x1b[32m\xe2\x94\x81\x1b[0m \x1b[1m0s\x1b[0m 11ms/step - accuracy: 0.1125 - loss: 2.2990\r\x1b[1m60/60\x1b[0m \x1b[32m\xe2\x94\x81\x1b[0m \x1b[1m3s\x1b[0m 11ms/step - accuracy: 0.1125 - loss: 2.2990\n"
     "\r\x1b[1m 1/60\x1b[0m \x1b[37m\xe2\x94\x81\x1b[0m \x1b[1m10s\x1b[0m 170ms/step\r\x1b[1m46/60\x1b[0m \x1b[32m\xe2\x94\x81\x1b[0m \x1b[1m0s\x1b[0m 2ms/step\r\x1b[1m60/60\x1b[0m \x1b[32m\xe2\x94\x81\x1b[0m \x1b[1m0s\x1b[0m 2ms/step\n",
     ROLE_TRAINER, BATCH / .013, .0969, 60 * BATCH, "last of 3 step lines"},
    {"OSU's bandwidth", "osu-bandwidth", OSU, ROLE_TRAINER, 3.0017, NONE, 0, "last of 2 step lines"},
    {"OSU's latency", "osu-latency", OSU, ROLE_TRAINER, 1048576 / 907.53e3, NONE, 0, "last of 2 step lines"},
    {"IMB, a table whose rate may be of 2^20 bytes, and one without size", "imb",
     "       #bytes #repetitions      t[usec]   Mbytes/sec\n            0           30         0.18         0.00\n      1048576           30       106.43      9851.96\n"
     "#---------------------------------------------------\n# Benchmarking Barrier \n#---------------------------------------------------\n"
     " #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n           30       134.94       134.94       134.94\n# All processes entering MPI_Finalize\n",
     ROLE_TRAINER, 1048576 / 106.43e3, NONE, 0, "last of 1 step line"},
    {"nccl-tests", "nccl-tests",
     "# nThread 1 nGpus 8 minBytes 8 maxBytes 134217728 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validate: 1 graph: 0\n"
     "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n"
     "           8             2     float     sum      -1    10.09    0.00    0.00      0     9.97    0.00    0.00      0\n"
     "   134217728      33554432     float     sum      -1   1209.5  110.97  194.20      0   1205.7  111.32  194.81      0\n"
     "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 41.2341 \n#\n",
     ROLE_TRAINER, 41.2341, NONE, 0, "last of 1 summary line"},
};
/* clang-format on */

TEST(each_log_gives_its_result)
{
    for (size_t i = 0; i < N_ROWS(logs); i++) {
        const struct log_row *row = &logs[i];
        print_message("# %s\n", row->name);
        _cleanup_(log_rule_freep) struct log_rule *rule = log_shipped_load(row->rule);
        assert_non_null(rule);
        struct log_parser *p = log_parser_new(
            &(struct log_parser_params){.rule = rule, .role = row->role, .batch_size = BATCH});
        log_parser_feed(p, LOG_STDOUT, row->log, strlen(row->log), 0);
        log_parser_end(p, 0);
        struct log_result result;
        assert_int_equal(log_parser_result(p, &result), 0);
        check("rate", result.rate, row->rate);
        struct summary *s = &result.summary;
        check("accuracy", s->source.accuracy_last, row->accuracy);
        check("samples", (double)s->samples, row->samples == 0 ? ceil(row->rate) : row->samples);
        assert_string_equal(s->source.method, row->method);
        check("samples / duration", (double)s->samples / ((double)s->duration_ns / 1e9), row->rate);
        summary_done(s);
        log_parser_free(p);
    }
}

/* What lines say besides: lines as their programs print them. */
/* clang-format off */
static const struct {
    const char *rule, *log, *name;
    double value;
} metrics[] = {
#define MEGATRON(at, joules) " [2026-02-06 20:55:02.918469] iteration      " at "/95367431 | consumed samples:         9344 | elapsed time per iteration (ms): 3075.7 | throughput per GPU (TFLOP/s/GPU): 478.0 | energy per GPU (J/iter/GPU): " joules " | power per GPU (W/GPU): 647.8 | learning rate: 9.568256E-08 | global batch size:    32 | lm loss: 2.401035E-02 |\n"
    {"megatron", MEGATRON("292", "1992.5") MEGATRON("293", "1982.5"), "logged_energy_j", 1987.5},
    {"megatron", MEGATRON("292", "1992.5"), "logged_power_w", 647.8},
    {"megatron", MEGATRON("292", "1992.5"), "logged_tflops", 478},
    {"megatron", "iteration      199/  317892 | consumed samples:       152832 | elapsed time per iteration (ms): 14287.5 | global batch size:   768 | lm loss: 5.905366E+00 | TFLOPs: 69.85 |\n", "logged_tflops", 69.85},
    {"megatron", MEGATRON("2", "1.5") "(min, max) time across ranks (ms):\n    evaluate .......................................: (3274.73, 3275.73)\n0:     save-checkpoint ................................: (81611.24, 81611.82)\n    evaluate .......................................: 724.27\n", "evaluation_s", 4},
    {"megatron", MEGATRON("2", "1.5") "(min, max) time across ranks (ms):save-checkpoint ................................: (1658.80, 1658.85)\n", "checkpoint_s", 1.65885},
    {"torchtitan", "[rank0]:[titan] root - INFO - \x1b[31mstep:  4  \x1b[32mloss:  7.62585  \x1b[34mtps: 10,050  \x1b[36mtflops: 314.71  \x1b[35mmfu: 13.99%\x1b[39m\n[rank1]:step:  4  loss:  7.6  tps: 10,050  tflops: 314.73  mfu: 14.01%\n", "logged_mfu", .14},
    {"torchtitan", "step: 640  loss:  6.2116  tps: 52,142  mfu: 3.09%\n2025-04-01 00:25:59,616 - root - INFO - Finished saving the checkpoint (or staging if async is enabled)in 5.53 seconds.\n", "checkpoint_s", 5.53},
    {"maxtext", "completed step: 14, seconds: 54.803, TFLOP/s/device: 392.454, Tokens/s/device: 149.482, total_weights: 4194304, loss: 0.297\n", "logged_tflops", 392.454},
    {"nanotron", "iteration: 2 / 15 | consumed_tokens: 1.02K | tokens_per_sec: 43.2K | global_batch_size: 2 | lm_loss: 5.54 | lr: 0.0001 | model_tflops_per_gpu: 0.0178 | hardware_tflops_per_gpu: 0.02\n", "logged_tflops", .0178},
    {"nemo-bar", "Training epoch 0, iteration 2/249 | lr: 5.882e-06 | global_batch_size: 8 | global_step: 2 | reduced_train_loss: 1.278 | train_step_timing in s: 1.505 | TFLOPS_per_GPU: 612.5 | consumed_samples: 24\n", "logged_tflops", 612.5},
    {"composer", "\t Train throughput/samples_per_sec: 1.2\n\t Train throughput/device/mfu: 0.1\n\t Train throughput/samples_per_sec: 2.7330\n\t Train throughput/device/mfu: 0.3831\n", "logged_mfu", .3831},
};
/* clang-format on */

TEST(what_lines_say_besides)
{
    for (size_t i = 0; i < N_ROWS(metrics); i++) {
        print_message("# %s: %s\n", metrics[i].rule, metrics[i].name);
        _cleanup_(log_rule_freep) struct log_rule *rule = log_shipped_load(metrics[i].rule);
        struct log_parser *p = log_parser_new(
            &(struct log_parser_params){.rule = rule, .role = ROLE_WORKER, .batch_size = BATCH});
        log_parser_feed(p, LOG_STDOUT, metrics[i].log, strlen(metrics[i].log), 0);
        log_parser_end(p, 0);
        struct log_result result;
        assert_int_equal(log_parser_result(p, &result), 0);
        check(metrics[i].name, metrics_get(&result.summary.metrics, metrics[i].name),
              metrics[i].value);
        summary_done(&result.summary);
        log_parser_free(p);
    }
}

/* Lines of these programs that are no figures. */
TEST(other_lines_give_nothing)
{
    static const char *const others[] = {
        "-----------  Configuration Arguments -----------",
        "learning_rate: 0.001",
        "pserver endpoints:  10.0.0.1:6174,10.0.0.2:6174",
        "trainers total:  20",
        "label selector: paddle-job-pserver=vgg16, desired: 10",
        "current cnt: 3 sleep for 5 seconds...",
        "job returned 0...setting pod return message...",
        "total train time:  12.6",
        "TensorFlow:  1.9",
        "Model:       resnet101",
        "Dataset:     imagenet (synthetic)",
        "Mode:        training",
        "SingleSess:  False",
        "Batch size:  512 global",
        "             64.0 per device",
        "Num batches: 100",
        "Num epochs:  0.04",
        "Devices:     ['/job:worker/task:0/gpu:0', '/job:worker/task:0/gpu:1']",
        "NUMA bind:   False",
        "Data format: NCHW",
        "Optimizer:   sgd",
        "Variables:   replicated",
        "AllReduce:   None",
        "Sync:        True",
        "Staged vars: False",
        "Horovod on:  cpu",
        "==========",
        "Generating model",
        "Generating training model",
        "Initializing graph",
        "Running warm up",
        "Done warm up",
        "Step\tImg/sec\tloss",
        "Step\tImg/sec\ttotal_loss",
        "Step\tImg/sec\ttotal_loss\ttop_1_accuracy\ttop_5_accuracy",
        "Running parameter server 0",
        "Waiting for other replicas to finish warm up",
        "----------------------------------------------------------------",
        "------------------------------------------------",
        "Goal Reached!",
        "# Out of bounds values : 0 OK",
        "|                 Distributed Envs              |       Value        |",
        ("|          PADDLE_TRAINER_ENDPOINTS             | 127.0.0.1:6170,... "
         "0.1:6171,127.0.0.1:6172 |"), /* theirs, elided */
    };
    for (size_t k = 0; k < log_shipped_count; k++) {
        _cleanup_(log_rule_freep) struct log_rule *rule = log_shipped_load(log_shipped[k].name);
        assert_non_null(rule);
        for (size_t i = 0; i < N_ROWS(others); i++) {
            struct seen seen = {0};
            struct log_parser *p = log_parser_new(&(struct log_parser_params){
                .rule = rule, .role = ROLE_TRAINER, .on_figure = on_figure, .ctx = &seen});
            log_parser_feed(p, LOG_STDOUT, others[i], strlen(others[i]), 0);
            log_parser_end(p, 0);
            if (seen.n != 0) {
                fail_msg("%s takes: %s", log_shipped[k].name, others[i]);
            }
            struct log_result result;
            assert_int_equal(log_parser_result(p, &result), -ENODATA);
            log_parser_free(p);
        }
    }
}

TEST(names)
{
    for (size_t i = 0; i < log_shipped_count; i++) {
        _cleanup_(log_rule_freep) struct log_rule *rule = log_shipped_load(log_shipped[i].name);
        assert_non_null(rule);
        assert_string_equal(rule->name, log_shipped[i].name); /* the file is called like its rule */
        assert_non_null(strstr(log_shipped[i].text, "\ndescription: "));
    }
    assert_null(log_shipped_load("torch"));
    assert_string_equal(embedded_suggest(log_shipped, log_shipped_count, "torch-dpd"), "torch-ddp");
    assert_string_equal(embedded_suggest(log_shipped, log_shipped_count, "hf"), "hf-trainer");
    assert_null(embedded_suggest(log_shipped, log_shipped_count, "nano")); /* two begin so */
}
