#include "worker/kernels/cpu.h"

#include <float.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

#include "base/parse.h"
#include "base/whole_file.h"

void cpu_flush_denormals(void)
{
#if defined(__x86_64__)
    _mm_setcsr(_mm_getcsr() | _MM_FLUSH_ZERO_ON | 0x40 /* denormals are zero */);
#elif defined(__aarch64__)
    uint64_t fpcr;
    __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
    __asm__ volatile("msr fpcr, %0" : : "r"(fpcr | UINT64_C(1) << 24));
#endif
}

bool cpu_flushes_denormals(void)
{
    volatile float result = FLT_MIN, operand = FLT_TRUE_MIN;
    result *= 0.5f;
    operand *= 2.0f;
    return result == 0 && operand == 0;
}

static size_t l2_bytes;

static void find_l2(void)
{
#if defined(_SC_LEVEL2_CACHE_SIZE)
    long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE); /* 0 or -1: unknown */
    l2_bytes = bytes > 0 ? (size_t)bytes : 0;
#endif
#if defined(__aarch64__)
    /* The C library does not know it. The caches before it are those of data and instructions. */
    _cleanup_(buf_done) struct buf text = BUF_INIT; /* "1024K\n" */
    int64_t found;
    if (file_read("/sys/devices/system/cpu/cpu0/cache/index2/size", 64, &text, NULL) == 0 &&
        text.len > 0) {
        text.data[text.len - 1] = 'i';
        l2_bytes = parse_mem_bytes(buf_cstr(&text), &found) == 0 ? (size_t)found : 0;
    }
#endif
}

size_t cpu_l2_bytes(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_l2); /* the query is slow: it traps in a virtual machine */
    return l2_bytes;
}

static char features[128];

static void add_feature(const char *name, bool has)
{
    size_t len = strlen(features);
    if (has) {
        (void)snprintf(features + len, sizeof(features) - len, "%s%s", len == 0 ? "" : " ", name);
    }
}

#if defined(__x86_64__)

bool cpu_has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

bool cpu_has_avx512(void)
{
    return cpu_has_avx2() && __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
}

static void find_features(void) /* no table, because the builtin takes only literals */
{
    add_feature("sse4_2", __builtin_cpu_supports("sse4.2"));
    add_feature("avx2", __builtin_cpu_supports("avx2"));
    add_feature("fma", __builtin_cpu_supports("fma"));
    add_feature("avx512f", __builtin_cpu_supports("avx512f"));
    add_feature("avx512bw", __builtin_cpu_supports("avx512bw"));
    add_feature("avx512dq", __builtin_cpu_supports("avx512dq"));
    add_feature("avx512vl", __builtin_cpu_supports("avx512vl"));
    add_feature("avx512_vnni", __builtin_cpu_supports("avx512vnni"));
    add_feature("avx512_bf16", __builtin_cpu_supports("avx512bf16"));
}

#else

bool cpu_has_avx2(void)
{
    return false;
}

bool cpu_has_avx512(void)
{
    return false;
}

static void find_features(void)
{
#if defined(__aarch64__)
    const unsigned long first = getauxval(AT_HWCAP), second = getauxval(AT_HWCAP2);
    add_feature("asimd", (first & HWCAP_ASIMD) != 0);
    add_feature("asimdhp", (first & HWCAP_ASIMDHP) != 0);
    add_feature("asimddp", (first & HWCAP_ASIMDDP) != 0);
    add_feature("sve", (first & HWCAP_SVE) != 0);
    add_feature("sve2", (second & HWCAP2_SVE2) != 0);
    add_feature("i8mm", (second & HWCAP2_I8MM) != 0);
    add_feature("bf16", (second & HWCAP2_BF16) != 0);
#endif
}

#endif

const char *cpu_features(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_features);
    return features;
}
