/* See probe.h. The figures have no meaning of their own: they are compared with those of the same
 * program on the same machine. */
#include "host/probe.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/vec.h"
#include "host/host.h"

#define PIECES_MAX 192
#define SPIN_PIECES 64
#define SPIN_PIECES_LEAST 3 /* one may be interrupted: it is not the median then */
#define SPINS (1u << 16)    /* a piece: 0.1 ms at 3 GHz, far below the time slice of a scheduler */
#define FMA_BLOCKS 4000     /* a piece, too: 0.1 ms */
#define COPY_PIECE_BYTES ((size_t)1 << 20)
#define COPY_PASSES 3

struct pieces {
    double per_s[PIECES_MAX];
    size_t n;
};

static void add_piece(struct pieces *p, double done, int64_t took_ns)
{
    if (p->n < PIECES_MAX && took_ns > 0) {
        p->per_s[p->n++] = done / ((double)took_ns / 1e9);
    }
}

/* 0 without any. */
static uint64_t median(struct pieces *p)
{
    if (p->n == 0) {
        return 0;
    }
    qsort(p->per_s, p->n, sizeof(p->per_s[0]), by_double);
    return (uint64_t)p->per_s[p->n / 2];
}

/* Each multiplication waits for the one before, so neither memory nor the rest
 * of the core matters. */
static double spin(void)
{
    uint64_t x = 1;
    for (uint32_t i = 0; i < SPINS; i++) {
        x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        __asm__ volatile("" : "+r"(x)); /* it is computed, step by step */
    }
    return SPINS;
}

/* Sums of zeros, so many that none waits for itself. In assembler, because compilers keep them in
 * registers in optimised builds only. */
#ifdef __aarch64__
#define SUMS 24
#define ARM_SUMS()                                                                                 \
    __asm__ volatile(".irp i,0,1,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,"    \
                     "29,30,31\n\tmovi v\\i\\().4s,#0\n\t.endr\n\t.rept 8\n\t"                     \
                     ".irp i,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,"  \
                     "31\n\tfmla v\\i\\().4s,v0.4s,v1.4s\n\t.endr\n\t.endr"                        \
                     :                                                                             \
                     :                                                                             \
                     : "v0", "v1", "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15", "v16",    \
                       "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26",       \
                       "v27", "v28", "v29", "v30", "v31")
#else
#define SUMS 12
#define TWELVE_SUMS(registers)                                                                     \
    __asm__ volatile(".irp i,0,1,2,3,4,5,6,7,8,9,10,11,12,13\n\t"                                  \
                     "vpxor %%xmm\\i,%%xmm\\i,%%xmm\\i\n\t.endr\n\t.rept 8\n\t"                    \
                     ".irp i,2,3,4,5,6,7,8,9,10,11,12,13\n\tvfmadd231ps %%" registers              \
                     "0,%%" registers "1,%%" registers "\\i\n\t.endr\n\t.endr\n\tvzeroupper"       \
                     :                                                                             \
                     :                                                                             \
                     : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8",     \
                       "xmm9", "xmm10", "xmm11", "xmm12", "xmm13")

#endif

/* 0: unknown, of other CPUs than x86-64 with FMA and arm64. */
static double multiply_add(void)
{
    int lanes = 0;
#ifdef __x86_64__
    lanes = __builtin_cpu_supports("avx512f") ? 16 : __builtin_cpu_supports("fma") ? 8 : 0;
    for (int i = 0; lanes == 16 && i < FMA_BLOCKS; i++) {
        TWELVE_SUMS("zmm");
    }
    for (int i = 0; lanes == 8 && i < FMA_BLOCKS; i++) {
        TWELVE_SUMS("ymm");
    }
#elif defined(__aarch64__)
    lanes = 4; /* a longer vector of SVE would do more: the figure is compared with itself */
    for (int i = 0; i < FMA_BLOCKS; i++) {
        ARM_SUMS();
    }
#endif
    return 2.0 * SUMS * 8 * FMA_BLOCKS * lanes;
}

/* What `piece` does in a second. */
static uint64_t probe_core(double (*piece)(void), int64_t limit_ns)
{
    struct pieces pieces = {.n = 0};
    const int64_t begin_ns = clock_monotonic_ns();
    int64_t at_ns = begin_ns;
    for (size_t i = 0; i < SPIN_PIECES && (i < SPIN_PIECES_LEAST || at_ns - begin_ns < limit_ns);
         i++) {
        const double done = piece();
        const int64_t now_ns = clock_monotonic_ns();
        add_piece(&pieces, done, now_ns - at_ns);
        at_ns = now_ns;
    }
    return median(&pieces);
}

/* The first pass finds pages that were never touched; it does not count. */
static uint64_t probe_copy(size_t bytes, int64_t limit_ns)
{
    const size_t half = bytes / 2 / COPY_PIECE_BYTES * COPY_PIECE_BYTES,
                 n = half / COPY_PIECE_BYTES;
    /* Not malloc: all of it goes back at the end, and it is not written before
     * a piece comes to it. */
    char *from =
        n == 0 ? MAP_FAILED
               : mmap(NULL, 2 * half, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (from == MAP_FAILED) {
        return 0;
    }
    char *to = from + half;
    struct pieces pieces = {.n = 0};
    const int64_t begin_ns = clock_monotonic_ns();
    int64_t at_ns = begin_ns;
    for (size_t i = 0; i < (COPY_PASSES + 1) * n && at_ns - begin_ns < limit_ns; i++) {
        char *source = from + i % n * COPY_PIECE_BYTES;
        if (i < n) {
            memset(source, (int)i + 1, COPY_PIECE_BYTES);
        }
        memcpy(to + i % n * COPY_PIECE_BYTES, source, COPY_PIECE_BYTES);
        const int64_t now_ns = clock_monotonic_ns();
        if (i >= n) {
            add_piece(&pieces, COPY_PIECE_BYTES, now_ns - at_ns);
        }
        at_ns = now_ns;
    }
    __asm__ volatile("" : : "r"(to) : "memory"); /* somebody might read the copy */
    (void)munmap(from, 2 * half);                /* fails only for a wrong range */
    return median(&pieces);
}

struct probe_limits probe_limits_of(const char *root)
{
    long cache_bytes = sysconf(_SC_LEVEL3_CACHE_SIZE); /* 0 or -1: not known, as on arm64 */
    cache_bytes = cache_bytes > 0 ? cache_bytes : (long)host_cache_bytes(root, 3);
    const int64_t allowed_bytes = host_memory_limit_bytes(root);
    size_t bytes = cache_bytes > 0 ? 2 * (size_t)cache_bytes : PROBE_COPY_MAX_BYTES;
    bytes = bytes < PROBE_COPY_MIN_BYTES ? PROBE_COPY_MIN_BYTES : bytes;
    bytes = bytes > PROBE_COPY_MAX_BYTES ? PROBE_COPY_MAX_BYTES : bytes;
    if (allowed_bytes > 0 && (uint64_t)allowed_bytes / 32 < bytes) {
        bytes = (size_t)allowed_bytes / 32;
    }
    return (struct probe_limits){PROBE_SPIN_MAX_NS, PROBE_COPY_MAX_NS, bytes};
}

void probe_run(const struct probe_limits *limits, struct noise_probe *ret)
{
    ret->spins_per_s = probe_core(spin, limits->spin_ns);
    ret->copy_bytes_per_s = probe_copy(limits->copy_bytes, limits->copy_ns);
    ret->flops_per_s = probe_core(multiply_add, limits->spin_ns / 4);
}
