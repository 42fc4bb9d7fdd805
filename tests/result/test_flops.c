/* FLOPs of a unit, and peaks by data sheets: a device that is not known has none. */
#include "tests/test.h"
#include "result/flops.h"

#include <math.h>

static void check(double value, double expected)
{
    if (!(isnan(expected) ? isnan(value) : fabs(value - expected) <= 1e-9 * expected)) {
        fail_msg("%g, not %g", value, expected);
    }
}

TEST(of_a_unit)
{
    static const struct flops given = {.per_sample = 9e10}, tokens = {.parameters = 8e9},
                              sequences = {.parameters = 8e9, .sequence = 4096};
    static const struct {
        const struct flops *flops;
        enum summary_unit unit;
        double value;
    } rows[] = {
        {&given, UNIT_SAMPLES, 9e10},
        {&given, UNIT_IMAGES, 9e10},
        {&given, UNIT_SEQUENCES, 9e10},
        {&given, UNIT_TOKENS, NAN},
        {&given, UNIT_STEPS, NAN},
        {&tokens, UNIT_TOKENS, 4.8e10},
        {&tokens, UNIT_SEQUENCES, NAN},
        {&sequences, UNIT_TOKENS, 4.8e10},
        {&sequences, UNIT_SEQUENCES, 4.8e10 * 4096},
        {&sequences, UNIT_SAMPLES, 4.8e10 * 4096},
        {&sequences, UNIT_GB, NAN},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row %zu\n", i);
        check(flops_of_unit(rows[i].flops, rows[i].unit), rows[i].value);
    }
}

TEST(of_a_device)
{
    static const struct {
        const char *name;
        enum precision precision;
        double tflops;
    } rows[] = {
        {"NVIDIA H100 80GB HBM3", PRECISION_BF16, 989.5},
        {"NVIDIA H100-SXM5-80GB", PRECISION_FP8, 1979},
        {"NVIDIA H100 PCIe", PRECISION_BF16, 756},
        {"NVIDIA H100 NVL", PRECISION_BF16, 835.5},
        {"NVIDIA H100", PRECISION_BF16, NAN}, /* which of them? */
        {"NVIDIA H200", PRECISION_TF32, 494.5},
        {"NVIDIA H200 NVL", PRECISION_TF32, 417.5},
        {"NVIDIA GH200 480GB", PRECISION_BF16, NAN},
        {"NVIDIA Blackwell GPU (B200-SXM-180GB)", PRECISION_BF16, 2250},
        {"NVIDIA Blackwell GPU (GB200)", PRECISION_FP8, 5000},
        {"NVIDIA GB300", PRECISION_FP32, NAN},
        {"NVIDIA A100-SXM4-80GB", PRECISION_BF16, 312},
        {"NVIDIA A100-SXM4-80GB", PRECISION_FP8, NAN},
        {"NVIDIA A100-SXM4-80GB MIG 3g.40gb", PRECISION_BF16, NAN},
        {"NVIDIA A10", PRECISION_BF16, 125},
        {"NVIDIA A10G", PRECISION_BF16, NAN},
        {"Tesla V100-SXM2-16GB", PRECISION_FP16, 125},
        {"Tesla V100-SXM2-16GB", PRECISION_BF16, NAN},
        {"Tesla T4", PRECISION_FP16, 65},
        {"NVIDIA L4", PRECISION_BF16, 121},
        {"NVIDIA L40S", PRECISION_BF16, 362},
        {"NVIDIA L40", PRECISION_BF16, NAN},
        {"AMD Instinct MI300X OAM", PRECISION_BF16, 1307.4},
        {"AMD Instinct MI300A", PRECISION_BF16, NAN},
        {"Google TPU v5p", PRECISION_BF16, 459},
        {"Google TPU v5", PRECISION_BF16, NAN},
        {"Intel Gaudi2", PRECISION_BF16, 432},
        {"NVIDIA H100 80GB HBM3 and NVIDIA L4", PRECISION_BF16, NAN},
        {"NVIDIA H200", PRECISION_UNKNOWN, NAN},
        {"a card", PRECISION_BF16, NAN},
        {"", PRECISION_BF16, NAN},
        {NULL, PRECISION_BF16, NAN},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# %s\n", rows[i].name == NULL ? "NULL" : rows[i].name);
        check(flops_peak(rows[i].name, rows[i].precision), rows[i].tflops);
    }
}
