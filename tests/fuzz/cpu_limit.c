/* An input of a fuzz target may take 20 ms of CPU: the linker puts this around
 * LLVMFuzzerTestOneInput. Under sanitizers it may take ten times as long, because they slow
 * allocation most; what a fuzzer has found there runs through the plain build of smoke.c. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__clang__)
#define SLOWER 10
#else
#define SLOWER 1
#endif
#define LIMIT_NS (SLOWER * INT64_C(20000000))
#define TRIES 5 /* the fastest counts: whoever else runs here fills the caches, too */

int __real_LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int __wrap_LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int64_t run(const uint8_t *data, size_t size, int *result)
{
    struct timespec start, end;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
    *result = __real_LLVMFuzzerTestOneInput(data, size);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    return (end.tv_sec - start.tv_sec) * INT64_C(1000000000) + end.tv_nsec - start.tv_nsec;
}

int __wrap_LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int result;
    int64_t took_ns = run(data, size, &result);
    for (int i = 1; i < TRIES && took_ns > LIMIT_NS; i++) {
        const int64_t again_ns = run(data, size, &result);
        took_ns = again_ns < took_ns ? again_ns : took_ns;
    }
    if (took_ns > LIMIT_NS) {
        fprintf(stderr, "%zu bytes took %.1f ms of CPU\n", size, (double)took_ns / 1e6);
        abort();
    }
    return result;
}
