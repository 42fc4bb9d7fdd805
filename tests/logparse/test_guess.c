/* Which rule that ships reads an output. */
#include "tests/test.h"
#include "logparse/guess.h"

#include <math.h>

/* clang-format off */
static const struct {
    const char *rule, *log; /* NULL: none reads it */
    uint64_t n_lines;
    double rate;
} rows[] = {
    {"torch-ddp", "123.4 images/sec\n", 1, 123.4},
    {"torch-ddp", "loading\nstep 1 loss 2.3 100 img/s\nstep 2 loss 2.2 100 img/s\nTotal time: 12 s\n", 2, 100},
    {"tf-cnn-benchmarks", "1\timages/sec: 1062.7 +/- 0.0 (jitter = 0.0)\t9.134\n100\timages/sec: 1088.9 +/- 4.3 (jitter = 49.9)\t8.7\ntotal images/sec: 1088.76\n", 3, 1088.76},
    {"paddle-fluid", "Pass = 0, Iters = 12, Loss = 2.301442, Accuracy = 0.118056, Speed = 16.71 img/s\n", 1, 16.71},
    {"tf-vgg16", "Pass = 0, Iters = 7, Loss = 2.310000, Accuracy = 0.101000, Speed=9.24 imgs/sec\nPass = 0, Train speed = 9.100000 imgs/s, Test accuracy = 0.512000\n", 2, 9.1},
    {"paddle-v2", "Pass 0, Batch 20, Cost 2.302585, {'classification_error_evaluator': 0.90625}, spent: 4.0\n", 1, 8},
    {"fleetx", "epoch id: 0, step20, train_loss: 6.912345, total time cost = 1.886792, step per second: 10.600000, speed: 10.600000\n", 1, 32 * 10.6},
    {"paddle-benchmark-fluid", "Total examples: 2400, total time: 12.50000, 192.00000 examples/sed\n", 1, 192},
    {"nccl-tests", "# Avg bus bandwidth    : 41.2341 \n", 1, 41.2341},
    {"torchvision", "Epoch: [0]  [  10/5005]  eta: 1:23:45  lr: 0.1  img/s: 350.123  loss: 6.9078 (7.0123)  acc1: 0.7812 (0.5)  acc5: 1.5625 (1.2)  time: 0.0914  data: 0.0003  max mem: 5000\n", 1, 350.123},
    {"lightning", "Epoch 2: 100%|##| 10/10 [00:20<00:00,  2.00s/it, loss=1.5, v_num=3]\n", 1, 16},
    {"hf-trainer", "{'train_runtime': 123.4567, 'train_samples_per_second': 405.012, 'train_steps_per_second': 12.657, 'train_loss': 1.234, 'epoch': 3.0}\n", 1, 405.012},
    {"keras", "781/781 [==============================] - 35s 40ms/step - loss: 1.5012 - accuracy: 0.4563\n", 1, 800},
    {"mpi", "[1,3]<stdout>:rank 3: 1520.5 rows/s\n", 1, 1520.5},
    {"mpi", "Elapsed time: 12.5 s\n", 1, 0.08},
    /* Steps a second say more than the time of the run, although samples come before steps. */
    {"lightgbm", "[12:05:21] INFO: src/cli_main.cc:205: boosting round 1, 5.1 sec elapsed\n[12:05:22] INFO: src/cli_main.cc:205: boosting round 2, 5.6 sec elapsed\n", 2, 2},
    {"lightgbm", "[LightGBM] [Info] 0.5 seconds elapsed, finished iteration 1\n[LightGBM] [Info] 1.0 seconds elapsed, finished iteration 2\nTotal time: 2 s\n", 2, 2},
    {"sysbench", "    events per second:   602.42\n    total time:                          2.0005s\n    total number of events:              1205\n", 1, 602.42},
    {NULL, "hello\nlearning_rate: 0.001\nstep 1 took a while\n", 0, 0},
    {NULL, "0 images/sec\n", 0, 0},
    {NULL, "", 0, 0},
};
/* clang-format on */

TEST(each_log_has_its_rule)
{
    static const struct log_parser_params who = {
        .role = ROLE_WORKER, .batch_size = 32, .warmup_steps = 100};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row %zu\n", i);
        struct log_guess guess;
        const int r = log_guess_rule(rows[i].log, strlen(rows[i].log), &who, &guess);
        assert_int_equal(r, rows[i].rule == NULL ? -2 : 0);
        if (r == 0) {
            assert_string_equal(guess.rule, rows[i].rule);
            assert_int_equal(guess.n_lines, rows[i].n_lines);
            assert_true(fabs(guess.rate - rows[i].rate) < 1e-5 * rows[i].rate);
        }
    }
}
