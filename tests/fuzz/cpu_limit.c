/* An input of a fuzz target may take 50 ms of CPU, five times what the largest in the corpus takes,
 * a bomb of anchors: the linker puts this around LLVMFuzzerTestOneInput. Under sanitizers, which
 * slow some inputs a hundred times, it may take a second; a fuzzer without them
 * (-Db_sanitize=none) holds the real limit. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifdef __has_feature /* clang */
#define IS_SANITIZED __has_feature(address_sanitizer)
#elif defined(__SANITIZE_ADDRESS__)
#define IS_SANITIZED 1
#else
#define IS_SANITIZED 0
#endif
#define LIMIT_NS (INT64_C(1000000) * (IS_SANITIZED ? 1000 : 50))
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
