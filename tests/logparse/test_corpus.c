/* Lines of forty kinds of logs, as their programs print them, with no rule given: a rule that ships
 * reads them, or one is suggested, or none is; never one with a wrong figure. Of `source` is the
 * program that prints such lines; where it gives a format only, the numbers are ours. */
#include "tests/test.h"

#include <math.h>

#include "logparse/suggest.h"

#define BATCH 32
#define WORKERS 8
#define NONE "none"           /* neither a rule nor a suggestion */
#define SUGGESTED "suggested" /* one of the output's lines */

/* clang-format off */
static const struct {
    const char *source, *how, *log; /* how: the shipped rule, or one of the words above */
    double rate; /* units/s: of the job by a shipped rule, else of this output */
    enum summary_unit unit;
} rows[] = {
    {"Megatron-LM", "megatron",
     " [2025-08-01 07:19:50] iteration        2/    5000 | consumed samples:          256 | elapsed time per iteration (ms): 12936.1 | throughput per GPU (TFLOP/s/GPU): 118.7 | learning rate: 1.395349E-07 | global batch size:   128 | lm loss: 1.044022E+01 | loss scale: 1.0 | grad norm: 26.305 | number of skipped iterations:   0 | number of nan iterations:   0 |\n",
     128 / 12.9361, UNIT_SAMPLES},
    {"Primus, on Megatron-LM", "megatron",
     "\x1b[32m[20250801 07:19:50]\x1b[0m iteration      5/    50 | consumed samples:  1280 | elapsed time per iteration (ms): 13100.0/13240.9 | mem usages: 0.71 | throughput per GPU (TFLOP/s/GPU): 118.7/117.2 | global batch size:   256 | lm loss: 1.1E+01 |\n",
     256 / 13.1, UNIT_SAMPLES},
    {"Megatron-DeepSpeed", "megatron",
     "iteration      199/  317892 | consumed samples:       152832 | consumed tokens:    625999872 | elapsed time per iteration (ms): 14287.5 | learning rate: 2.407E-04 | global batch size:   768 | lm loss: 5.905366E+00 | loss scale: 8192.0 | actual seqlen:  4096 | samples per second: 53.753 | tokens per gpu per second (tgs): 1146.733 | TFLOPs: 69.85 |\n",
     768 / 14.2875, UNIT_SAMPLES},
    {"torchtitan", "torchtitan",
     "[rank0]:[titan] 2025-01-01 00:00:00,000 - root - INFO - \x1b[31mstep:  4  \x1b[32mloss:  7.62585  \x1b[38;2;180;60;0mgrad_norm: 26.6250  \x1b[38;2;54;234;195mmemory: 66.91GiB(37.51%)  \x1b[34mtps: 10,050  \x1b[36mtflops: 314.71  \x1b[35mmfu: 13.99%\x1b[39m\n",
     WORKERS * 10050.0, UNIT_TOKENS},
    {"MaxText", "maxtext",
     "I0601 22:14:55 metric_logger.py:181] completed step: 14, seconds: 54.803, TFLOP/s/device: 392.454, Tokens/s/device: 149.482, total_weights: 4194304, loss: 0.297\n",
     WORKERS * 149.482, UNIT_TOKENS},
    {"MaxText of 2024", "maxtext",
     "step: 100, seconds: 14.245, TFLOP/s/device: 464.261, Tokens/s/device: 431.318, total_weights: 1572864, loss: 0.000\n",
     WORKERS * 431.318, UNIT_TOKENS},
    {"DeepSpeed", "deepspeed",
     "[2023-11-07 01:55:23,711] [INFO] [logging.py:96:log_dist] [Rank 0] step=10, skipped=4, lr=[4.99804827338393e-05, 4.99804827338393e-05], mom=[(0.9, 0.95), (0.9, 0.95)]\n"
     "[2023-11-07 01:55:23,714] [INFO] [timer.py:260:stop] epoch=0/micro_step=40/global_step=10, RunningAvgSamplesPerSec=25.025771473496132, CurrSamplesPerSec=25.704280480541442, MemAllocated=4.32GB, MaxMemAllocated=38.49GB\n",
     25.704280480541442, UNIT_SAMPLES},
    {"DeepSpeed of 2022", "deepspeed",
     "[2022-08-29 06:58:56,176] [INFO] [timer.py:198:stop] 0/20, RunningAvgSamplesPerSec=232.7340551694273, CurrSamplesPerSec=227.48090316379353, MemAllocated=0.36GB, MaxMemAllocated=15.06GB\n",
     227.48090316379353, UNIT_SAMPLES},
    {"nanotron", "nanotron",
     "[default0]:07/28/2024 06:42:45 [INFO|DP=0|PP=0|TP=0|ip-10-0-0-1]: iteration: 2 / 15 | consumed_tokens: 1.02K | elapsed_time_per_iteration_ms: 11.8 | tokens_per_sec: 43.2K | tokens_per_sec_per_gpu: 43.2K | global_batch_size: 2 | lm_loss: 5.54 | lr: 0.0001 | model_tflops_per_gpu: 0.0178 | hardware_tflops_per_gpu: 0.0178 | grad_norm: 1.2\n",
     43200, UNIT_TOKENS},
    {"NeMo 2", "nemo-bar",
     "Training epoch 0, iteration 2/249 | lr: 5.882e-06 | global_batch_size: 8 | global_step: 2 | reduced_train_loss: 1.278 | train_step_timing in s: 1.505 | consumed_samples: 24\n",
     8 / 1.505, UNIT_SAMPLES},
    {"NeMo 1", "nemo-bar",
     "Epoch 0: : 100%|##########| 100/100 [10:48<00:00, reduced_train_loss=0.0172, global_step=99.00, consumed_samples=25600.0, train_step_timing in s=3.130]\n",
     WORKERS * BATCH / 3.13, UNIT_SAMPLES},
    {"Composer", "composer",
     "[batch=10/3200]:\n\t Train throughput/samples_per_sec: 1.2\n[batch=20/3200]:\n\t Train time/batch: 19\n\t Train loss/train/total: 11.9\n\t Train throughput/batches_per_sec: 0.0214\n\t Train throughput/samples_per_sec: 2.7330\n\t Train throughput/device/batches_per_sec: 0.0027\n\t Train throughput/device/samples_per_sec: 0.3416\n\t Train throughput/tokens_per_sec: 10041.4\n\t Train throughput/device/tokens_per_sec: 1255.17\n\t Train throughput/device/mfu: 0.3831\n",
     2.733, UNIT_SAMPLES},
    {"MXNet", "mxnet", "Epoch[0] Batch [0-20]\tSpeed: 565727.43 samples/sec\taccuracy=0.001\n", 565727.43, UNIT_SAMPLES},
    {"tf_cnn_benchmarks", "tf-cnn-benchmarks", "10\timages/sec: 1062.7 +/- 0.0 (jitter = 0.0)\t9.134\n", 1062.7, UNIT_SAMPLES},
    {"Horovod", "torch-ddp", "Iter #3: 214.7 img/sec per GPU\n", 214.7, UNIT_SAMPLES},
    {"torchvision", "torchvision", "Epoch: [0]  [  10/5005]  eta: 1:23:45  lr: 0.1  img/s: 350.123  loss: 6.9078 (7.0123)  acc1: 0.7812 (0.5)  acc5: 1.5625 (1.2)  time: 0.0914  data: 0.0003  max mem: 5000\n", WORKERS * 350.123, UNIT_SAMPLES},
    {"Lightning", "lightning", "Epoch 2: 100%|##| 10/10 [00:20<00:00,  2.00s/it, loss=1.5, v_num=3]\n", WORKERS * BATCH / 2.0, UNIT_SAMPLES},
    {"Hugging Face Trainer, after datasets", "hf-trainer",
     "Map: 100%|##| 51760/51760 [00:05<00:00, 9876.5 examples/s]\nMap: 100%|##| 1000/1000 [00:01<00:00, 8123.4 examples/s]\n{'loss': 1.2, 'grad_norm': 0.5, 'learning_rate': 1e-05, 'epoch': 0.1}\n{'train_runtime': 123.4567, 'train_samples_per_second': 405.012, 'train_steps_per_second': 12.657, 'train_loss': 1.234, 'epoch': 3.0}\n",
     405.012, UNIT_SAMPLES},
    {"Keras", "keras", "781/781 [==============================] - 35s 40ms/step - loss: 1.5012 - accuracy: 0.4563\n", BATCH / .04, UNIT_SAMPLES},
    {"GPT-NeoX", "megatron", " samples/sec: 25.123 | iteration       10/  320000 | elapsed time per iteration (ms): 40763.4 | learning rate: 1.500E-06 | approx flops per GPU: 45.6TFLOPS | lm_loss: 1.0E+01 |\n", 25.123, UNIT_SAMPLES},
    {"TensorFlow's TPUEstimator", "torch-ddp", "INFO:tensorflow:examples/sec: 1234.5\n", 1234.5, UNIT_SAMPLES},
    {"nccl-tests", "nccl-tests", "# Avg bus bandwidth    : 41.2341 \n", 41.2341, UNIT_GB},
    {"PaddlePaddle/Perf", "paddle-perf", "Epoch: 0, Batch: 10, avg_loss: 0.5, avg_batch_cost: 0.1 sec, ips: 128.5 samples/s\n", 128.5, UNIT_SAMPLES},
    /* a rule is made of a line */
    {"nanoGPT", "nanogpt", "iter 100: loss 3.2341, time 135.82ms, mfu 41.30%\n", WORKERS * BATCH / .13582, UNIT_SAMPLES},
    {"llm.c", "nanogpt", "step   10/18865 | loss 7.234000 (+nanz)| norm 1.2345 (+nanz)| lr 6.00e-06 | 320.13 ms | 55.3% bf16 MFU | 1638400 tok/s\n", WORKERS * BATCH / .32013, UNIT_SAMPLES},
    {"NVIDIA's DLLogger", "torch-ddp", "DLL 2020-07-01 12:00:00.123456 - Epoch: 0 Iteration: 10  train.loss : 6.9 None train.total_ips : 2512.2 img/s\n", 2512.2, UNIT_SAMPLES},
    {"detectron2", "openmmlab", "[11/12 08:00:00 d2.utils.events]:  eta: 1:23:45  iter: 19  total_loss: 1.234  time: 0.2345  data_time: 0.0123  lr: 0.0004  max_mem: 2345M\n", WORKERS * BATCH / .2345, UNIT_SAMPLES},
    {"TensorFlow's Estimator", SUGGESTED, "INFO:tensorflow:global_step/sec: 12.3456\n", BATCH * 12.3456, UNIT_SAMPLES},
    {"PaddleNLP", SUGGESTED, "[2023-01-01 00:00:00,000] [    INFO] - global step 10, epoch: 0, batch: 9, loss: 0.69, speed: 3.21 step/s\n", BATCH * 3.21, UNIT_SAMPLES},
    {"PaddleNLP's Trainer", "torch-ddp", "loss: 0.5, learning_rate: 1e-05, global_step: 10, interval_runtime: 3.2, interval_samples_per_second: 99.9, interval_steps_per_second: 3.1\n", 99.9, UNIT_SAMPLES},
    {"verl", "verl", "step:10 - global_seqlen/mean:1024.0 - perf/total_num_tokens:40960 - perf/time_per_step:45.6 - perf/throughput:112.3\n", WORKERS * 112.3, UNIT_TOKENS},
    {"torchtune", "torchtune", "1|25|Loss: 1.2345:  10%|#| 25/250 [00:30<04:30,  1.20s/it]\n", WORKERS * BATCH / 1.2, UNIT_SAMPLES},
    {"a GPT-2 script", SUGGESTED, "[step 10 / 100] loss: 3.2000 | throughput: 12345.6 tokens/s | grad_norm: 1.2000 | token_seen: 1.20e+06\n", 12345.6, UNIT_TOKENS},
    {"ESPnet", SUGGESTED, "1epoch:train:1-500batch: iter_time=0.012, loss=2.3, train_time=0.421\n", BATCH / .012, UNIT_SAMPLES},
    {"timm", "timm", "Train: 0 [  50/1251 (  4%)]  Loss: 6.91 (6.93)  Time: 0.412s,  621.01/s  (0.450s,  569.11/s)  LR: 1.000e-06  Data: 0.012 (0.034)\n", 621.01, UNIT_SAMPLES},
    /* where it is in doubt, none */
    {"OLMo", NONE, "[step=10/739328]\n    train/CrossEntropyLoss=10.99\n    throughput/total_tokens=41,943,040\n    throughput/device/tokens_per_second=8,123\n", 0, 0},
    {"fairseq", "fairseq", "2021-01-01 00:00:00 | INFO | train_inner | epoch 001:    100 / 1105 loss=15.2, ppl=38000, wps=3145.6, ups=1.72, wpb=1830.2, bsz=64, num_updates=100, train_wall=59, wall=80\n", 3145.6, UNIT_WORDS},
    {"MLPerf", NONE, ":::MLLOG {\"namespace\": \"\", \"time_ms\": 1760032159389, \"event_type\": \"POINT_IN_TIME\", \"key\": \"submission_platform\", \"value\": \"8xGB200 400Gb/s\", \"metadata\": {\"file\": \"/workspace/train.py\", \"lineno\": 278}}\n", 0, 0},
    {"pip", NONE, "Downloading torch-2.1.0-cp311-cp311-manylinux1_x86_64.whl (670.2 MB)\n   670.2/670.2 MB 12.3 MB/s eta 0:00:00\n", 0, 0},
    {"datasets", NONE, "Map: 100%|##| 51760/51760 [00:05<00:00, 9876.5 examples/s]\nLoading checkpoint shards: 100%|##| 4/4 [00:10<00:00,  2.51s/it]\n", 0, 0},
    {"lscpu and nvidia-smi", NONE, "Model name: Intel(R) Xeon(R) Platinum 8480C @ 2.00GHz\n| N/A   32C    P0    71W / 700W |   1234MiB / 81559MiB |      0%      Default |\nNVLink4 900 GB/s\n", 0, 0},
    {"a Python traceback", NONE, "  File \"/usr/lib/python3/step_time.py\", line 260, in step\n    raise ValueError(step_time.py:260)\n", 0, 0},
};
/* clang-format on */

static const struct log_parser_params who = {
    .role = ROLE_WORKER, .batch_size = BATCH, .trainers = WORKERS, .warmup_steps = 0};

TEST(no_figure_is_wrong)
{
    assert_true(N_ROWS(rows) >= 40);
    unsigned n_wrong = 0;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# %s\n", rows[i].source);
        const char *log = rows[i].log;
        struct log_guess guess;
        struct log_suggestion s;
        _cleanup_(buf_done) struct buf rule = BUF_INIT;
        const char *how = NONE;
        if (log_guess_rule(log, strlen(log), &who, &guess) == 0) {
            how = guess.rule;
        } else if (log_suggest_rule(log, strlen(log), &who, &s, &rule) == 0) {
            how = SUGGESTED;
            guess = s.guess;
            print_message("# %s\n", buf_cstr(&rule));
        }
        const bool has_figure = strcmp(how, NONE) != 0;
        const bool is_right =
            strcmp(how, rows[i].how) == 0 &&
            (!has_figure ||
             (guess.unit == rows[i].unit && fabs(guess.rate - rows[i].rate) < 1e-5 * guess.rate));
        if (!is_right) {
            print_message("# not as it should be: %s, %g %s/s\n", how, has_figure ? guess.rate : 0,
                          has_figure ? summary_unit_names[guess.unit] : "");
            n_wrong++;
        }
    }
    assert_int_equal(n_wrong, 0);
}

/* The same with a line that says why. */
TEST(the_reason_of_a_doubt)
{
    static const char log[] = "loading\nstep 10 throughput: 4096.5\n";
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    log_advise(log, strlen(log), &who, &out);
    assert_string_equal(
        buf_cstr(&out),
        "line 2 of the output seems to have a figure, but it does not say of what: "
        "samples, tokens, words or steps\n"
        "no number has a known unit; if 4096.5 in line 2 is the samples a second, "
        "write in the system:\n"
        "  log: {lines: [{kind: Step, pattern: '(?<!\\w)throughput: +(?<rate>)'}]}\n");
}
