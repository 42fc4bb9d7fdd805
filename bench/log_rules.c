/* How fast log rules read (script/bench rules).
 *
 *   log_rules [MIB]        64 a log unless given
 *
 * Each shipped rule reads, on one core, a log of its own lines among lines that say nothing, and one
 * where every line is a figure. The bar is 100 MB/s for each of the former. Exit 1 where it is missed. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/parse.h"
#include "logparse/parser.h"
#include "logparse/shipped.h"

#define BAR_MB_PER_S 100.0
#define CHUNK 65536 /* as both launchers read */
#define ROUNDS 3    /* the best counts: others only disturb */

static const struct {
    const char *rule, *line;
} figures[] = {
    {"benchworker-train",
     "epoch 1/4   loss 1.7193   train accuracy 0.3347   109.2 samples/s in 91.6 s   "
     "test accuracy 0.5795 in 30.4 s"},
    {"epochs", "epoch 3: loss 0.4102, 1520.5 samples/s, accuracy 0.8125 after 41.705 s"},
    {"fleetx", "epoch id: 0, step20, train_loss: 6.912345, total time cost = 1.886792, step per "
               "second: 10.6, speed: 10.600000"},
    {"hf-trainer", "{'train_runtime': 123.4567, 'train_samples_per_second': 405.012, 'train_loss': "
                   "1.234, 'epoch': 3.0}"},
    {"keras",
     "781/781 [==============================] - 35s 45ms/step - loss: 1.5012 - accuracy: 0.4563"},
    {"lightning",
     "Epoch 0:  53%|#####     | 1000/1875 [00:06<00:05, 150.25it/s, v_num=0, train_loss=0.125]"},
    {"mlbench", "80% Top 1 Validation Accuracy reached in 407.123 seconds, Compute: 300.1 seconds"},
    {"mllog", ":::MLLOG {\"namespace\": \"\", \"time_ms\": 1687000000000, \"event_type\": "
              "\"POINT_IN_TIME\", \"key\": \"tracked_stats\", \"value\": {\"throughput\": 2871.3}, "
              "\"metadata\": {}}"},
    {"mpi", "[1,3]<stdout>:rank 3: 1520.5 samples/s"},
    {"nccl-tests", "   134217728      33554432     float     sum      -1   1209.5  110.97  194.20  "
                   "    0   1205.7  111.32  194.81      0"},
    {"paddle-benchmark-fluid",
     "Total examples: 2400, total time: 12.50000, 192.00000 examples/sed"},
    {"paddle-fluid",
     "Pass = 0, Iters = 12, Loss = 2.301442, Accuracy = 0.118056, Speed = 16.71 img/s"},
    {"paddle-perf",
     "[2023/07/28 06:42:45] ppcls INFO: epoch:0   train step:10   lr: 0.10000, loss: 7.04 top1: "
     "0.01 batch_cost: 0.64841 s, reader_cost: 0.00067 s, ips: 394.81086 samples/sec."},
    {"paddle-v2", "Pass 0, Batch 20, Cost 2.302585, {'classification_error_evaluator': 0.90625}, "
                  "spent: 7.272727"},
    {"tf-cnn-benchmarks", "100\timages/sec: 1088.9 +/- 4.3 (jitter = 49.9)\t8.901"},
    {"tf-vgg16", "Pass = 0, Iters = 7, Loss = 2.310000, Accuracy = 0.101000, Speed=9.24 imgs/sec"},
    {"torch-ddp", "step 20 loss 2.3 1234.5 images/sec"},
    {"torchvision", "Epoch: [0]  [  10/5005]  eta: 1:23:45  lr: 0.1  img/s: 350.123  loss: 6.9078 "
                    "(7.0123)  time: 0.0914"},
};

/* What frameworks print around their figures. */
static const char *const noise[] = {
    "2024-05-01 12:00:00.123456: I tensorflow/core/platform/cpu_feature_guard.cc:182] This "
    "TensorFlow binary is optimized",
    "WARNING: All log messages before absl::InitializeLog() is called are written to STDERR",
    "I0315 05:18:15.651073    95 listen_and_serv_op.cc:139]  received gradient conv1_1.w_0@GRAD "
    "from trainer 17",
    "node-7:1234:1290 [3] NCCL INFO Channel 05/08 :    0   1   2   3   4   5   6   7",
    "  File \"/usr/lib/python3.11/site-packages/torch/nn/modules/module.py\", line 1511, in "
    "_wrapped_call_impl",
    "loading shard 17 of 128 from /data/imagenet/train-00017-of-00128.tfrecord",
    "{\"level\": \"info\", \"ts\": 1714560000.1, \"msg\": \"checkpoint saved\", \"path\": "
    "\"/ckpt/step-1000\"}",
    "[INFO] worker 3: heartbeat ok, queue 12, memory 1832 MB",
};
#define N_NOISE (sizeof(noise) / sizeof(noise[0]))

/* One line in `every` is a figure. */
static void fill(struct buf *log, size_t bytes, const char *line, unsigned every)
{
    for (unsigned i = 0; log->len < bytes; i++) {
        buf_puts(log, i % every == 0 ? line : noise[i % N_NOISE]);
        buf_putc(log, '\n');
    }
}

static double mb_per_s(const struct log_rule *rule, const struct buf *log)
{
    double best = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct log_parser *p = log_parser_new(&(struct log_parser_params){
            .rule = rule, .role = ROLE_TRAINER, .batch_size = 32, .trainers = 1});
        const int64_t begin_ns = clock_thread_cpu_ns();
        for (size_t at = 0; at < log->len; at += CHUNK) {
            const size_t n = log->len - at < CHUNK ? log->len - at : CHUNK;
            log_parser_feed(p, LOG_STDOUT, log->data + at, n, begin_ns);
        }
        log_parser_end(p, begin_ns);
        const double s = (double)(clock_thread_cpu_ns() - begin_ns) / 1e9;
        struct log_result result;
        if (log_parser_result(p, &result) < 0 && rule->lines.items[0].source == LOG_FROM_NUMBERS) {
            printf("%s: its own line gives no result\n", rule->name);
            log_parser_free(p);
            return 0;
        }
        log_parser_free(p);
        const double rate = (double)log->len / 1e6 / s;
        best = rate > best ? rate : best;
    }
    return best;
}

int main(int argc, char **argv)
{
    uint64_t mib = 64;
    if (argc > 2 || (argc == 2 && (parse_u64(argv[1], &mib) < 0 || mib < 1 || mib > 1024))) {
        fprintf(stderr, "usage: %s [MIB]\n", argv[0]);
        return 2;
    }
    unsigned n_reached = 0;
    const size_t n = sizeof(figures) / sizeof(figures[0]);
    printf("%-24s %18s %18s %8s\n", "rule", "1 in 8, MB/s", "all lines, MB/s", "bar");
    for (size_t i = 0; i < n; i++) {
        struct log_rule *rule = log_shipped_load(figures[i].rule);
        double rates[2] = {0};
        for (unsigned k = 0; rule != NULL && k < 2; k++) {
            struct buf log = BUF_INIT;
            fill(&log, (size_t)mib << 20, figures[i].line, k == 0 ? 8 : 1);
            rates[k] = mb_per_s(rule, &log);
            buf_done(&log);
        }
        n_reached += rates[0] >= BAR_MB_PER_S;
        printf("%-24s %18.0f %18.0f %8.0f\n", figures[i].rule, rates[0], rates[1], BAR_MB_PER_S);
        log_rule_free(rule);
    }
    printf("%zu rules of %zu have a log here\n", n, log_shipped_count);
    printf("reached %u of %zu\n", n_reached, n);
    return n_reached < n || n != log_shipped_count;
}
