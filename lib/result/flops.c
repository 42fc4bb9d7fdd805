/* See flops.h. */
#include "result/flops.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

double flops_of_unit(const struct flops *f, enum summary_unit unit)
{
    const double token = 6 * f->parameters;
    switch (unit) {
    case UNIT_TOKENS:
        return token > 0 ? token : NAN;
    case UNIT_SAMPLES:
    case UNIT_IMAGES:
    case UNIT_SEQUENCES:
        return f->per_sample > 0         ? f->per_sample
               : token * f->sequence > 0 ? token * f->sequence
                                         : NAN;
    default:
        return NAN;
    }
}

/* In TFLOP/s, without sparsity (half of what data sheets print with it). A name has the first row
 * whose words are words of it. Forms that differ (PCIe, NVL) have rows of their own, and a name
 * that does not say its form has none. Sources are data sheets: of NVIDIA for V100 (2020), T4, A10,
 * A100 (2021), L4, L40S, H100 (2024), H200, HGX B200, GB200 NVL72 and GB300 NVL72 (2025); of AMD
 * for MI300X, MI325X and MI355X; of Intel for Gaudi; Google Cloud's pages for TPUs. */
static const struct {
    const char *words[2];
    double tflops[PRECISION_UNKNOWN];
} peaks[] = {
    /*                       fp32   tf32    fp16    bf16    fp8 */
    {{"v100", "sxm2"}, {15.7, 0, 125, 0, 0}},
    {{"v100", "pcie"}, {14, 0, 112, 0, 0}},
    {{"t4"}, {8.1, 0, 65, 0, 0}},
    {{"a10"}, {31.2, 62.5, 125, 125, 0}},
    {{"a100"}, {19.5, 156, 312, 312, 0}},
    {{"l4"}, {30.3, 60, 121, 121, 242.5}},
    {{"l40s"}, {91.6, 183, 362, 362, 733}},
    {{"h100", "pcie"}, {51, 378, 756, 756, 1513}},
    {{"h100", "nvl"}, {60, 417.5, 835.5, 835.5, 1670.5}},
    {{"h100", "sxm"}, {67, 494.5, 989.5, 989.5, 1979}},
    {{"h100", "hbm3"}, {67, 494.5, 989.5, 989.5, 1979}},
    {{"h200", "nvl"}, {60, 417.5, 835.5, 835.5, 1670.5}},
    {{"h200"}, {67, 494.5, 989.5, 989.5, 1979}},
    {{"b200"}, {75, 1125, 2250, 2250, 4500}},
    {{"gb200"}, {80, 1250, 2500, 2500, 5000}},
    {{"gb300"}, {0, 1250, 2500, 2500, 5000}},
    {{"mi300x"}, {163.4, 653.7, 1307.4, 1307.4, 2614.9}},
    {{"mi325x"}, {163.4, 653.7, 1307.4, 1307.4, 2614.9}},
    {{"mi355x"}, {157.3, 0, 2516.6, 2516.6, 5033.2}},
    {{"tpu", "v4"}, {0, 0, 0, 275, 0}},
    {{"tpu", "v5e"}, {0, 0, 0, 197, 0}},
    {{"tpu", "v5p"}, {0, 0, 0, 459, 0}},
    {{"tpu", "v6e"}, {0, 0, 0, 918, 0}},
    {{"gaudi2"}, {0, 0, 0, 432, 865}},
    {{"gaudi3"}, {0, 0, 0, 1835, 1835}},
};

/* Is it a word of the name? Of sxm4 and sxm5, sxm is. */
static bool has_word(const char *name, const char *word)
{
    const size_t len = strlen(word);
    for (const char *at = name; (at = str_find_nocase(at, word)) != NULL; at++) {
        const bool begins = at == name || !ascii_is_alnum(at[-1]);
        const bool is_form = str_eq(word, "sxm");
        if (begins && (is_form || !ascii_is_alnum(at[len]))) {
            return true;
        }
    }
    return false;
}

double flops_peak(const char *name, enum precision precision)
{
    if (name == NULL || precision == PRECISION_UNKNOWN || has_word(name, "mig") ||
        has_word(name, "shared") || strstr(name, " and ") != NULL) {
        return NAN; /* a slice of a device, one shared in turns, or several kinds */
    }
    for (size_t i = 0; i < COUNT_OF(peaks); i++) {
        const char *second = peaks[i].words[1];
        if (has_word(name, peaks[i].words[0]) && (second == NULL || has_word(name, second))) {
            return peaks[i].tflops[precision] > 0 ? peaks[i].tflops[precision] : NAN;
        }
    }
    return NAN;
}
