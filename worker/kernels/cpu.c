#include "worker/kernels/cpu.h"

#include <float.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif
#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#endif

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
}

size_t cpu_l2_bytes(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_l2); /* the query is slow: it traps in a virtual machine */
    return l2_bytes;
}

#if defined(__x86_64__)

#if defined(__linux__)
#define ARCH_REQ_XCOMP_PERM 0x1023
#define XFEATURE_XTILEDATA 18

static bool may_use_tiles(void)
{
    return syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0;
}
#else
static bool may_use_tiles(void)
{
    return false;
}
#endif

/* Of leaf 7; cpuid.h names them differently in GCC and clang. */
#define EDX_AMX_BF16 (1u << 22)
#define EDX_AMX_TILE (1u << 24)
#define XCR0_TILES 0x60000u /* the state of tiles: XTILECFG and XTILEDATA */

/* __builtin_cpu_supports of amx-tile and amx-bf16, which clang has only from version 16 on. */
static bool has_tile_feature(unsigned edx_bit)
{
    unsigned eax, ebx, ecx, edx, xcr0, unused;
    if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || (ecx & bit_OSXSAVE) == 0) {
        return false;
    }
    __asm__("xgetbv" : "=a"(xcr0), "=d"(unused) : "c"(0));
    return (xcr0 & XCR0_TILES) == XCR0_TILES && __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) &&
           (edx & edx_bit) != 0;
}

static bool has_amx;

static void find_amx(void)
{
    has_amx = cpu_has_avx512() && has_tile_feature(EDX_AMX_TILE) &&
              has_tile_feature(EDX_AMX_BF16) && may_use_tiles();
}

bool cpu_has_amx(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_amx);
    return has_amx;
}

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

static char features[128];

static void add_feature(const char *name, bool has)
{
    size_t len = strlen(features);
    if (has) {
        snprintf(features + len, sizeof(features) - len, "%s%s", len == 0 ? "" : " ", name);
    }
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
    add_feature("amx_tile", has_tile_feature(EDX_AMX_TILE));
    add_feature("amx_bf16", has_tile_feature(EDX_AMX_BF16));
}

const char *cpu_features(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_features);
    return features;
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

bool cpu_has_amx(void)
{
    return false;
}

const char *cpu_features(void)
{
    return "";
}

#endif
