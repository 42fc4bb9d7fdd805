/* A stand-in for libcuda.so.1: the few calls of the driver that benchworker makes, see stand_in.h.
 * A copy is made at once, and a stream is always done.
 * STAND_IN_GPUS in the environment: how many there are (default 1). */
#include <stdlib.h>
#include <string.h>

#include "stand_in.h"

enum { OUT_OF_MEMORY = 2 };

int cuInit(unsigned flags);
int cuGetErrorString(int result, const char **ret);
int cuDeviceGetCount(int *ret);
int cuDeviceGet(int *ret, int ordinal);
int cuDevicePrimaryCtxRetain(void **ret, int device);
int cuDevicePrimaryCtxRelease_v2(int device);
int cuCtxSetCurrent(void *context);
int cuStreamCreate(void **ret, unsigned flags);
int cuStreamSynchronize(void *stream);
int cuStreamDestroy_v2(void *stream);
int cuMemAlloc_v2(uint64_t *ret, size_t bytes);
int cuMemFree_v2(uint64_t ptr);
int cuMemsetD8_v2(uint64_t ptr, unsigned char value, size_t bytes);
int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream);
int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream);

static char context, stream_of_all;

int cuInit(unsigned flags)
{
    return flags != 0;
}

int cuGetErrorString(int result, const char **ret)
{
    *ret = result == OUT_OF_MEMORY ? "out of memory" : "stand-in error";
    return 0;
}

int cuDeviceGetCount(int *ret)
{
    const char *n = getenv("STAND_IN_GPUS");
    *ret = n == NULL ? 1 : n[0] - '0';
    return 0;
}

int cuDeviceGet(int *ret, int ordinal)
{
    const char *only = getenv("STAND_IN_GPU"); /* the one that works */
    *ret = ordinal;
    return only != NULL && ordinal != only[0] - '0';
}

int cuDevicePrimaryCtxRetain(void **ret, int device)
{
    *ret = &context;
    return device < 0;
}

int cuDevicePrimaryCtxRelease_v2(int device)
{
    return device < 0;
}

int cuCtxSetCurrent(void *c)
{
    return c != &context;
}

int cuStreamCreate(void **ret, unsigned flags)
{
    *ret = &stream_of_all;
    return flags != 0;
}

int cuStreamSynchronize(void *stream)
{
    return stream != &stream_of_all;
}

int cuStreamDestroy_v2(void *stream)
{
    return stream != &stream_of_all;
}

int cuMemAlloc_v2(uint64_t *ret, size_t bytes)
{
    void *memory = malloc(bytes);
    *ret = (uint64_t)(uintptr_t)memory + STAND_IN_GPU;
    return memory == NULL ? OUT_OF_MEMORY : 0;
}

int cuMemFree_v2(uint64_t ptr)
{
    free(stand_in_memory(ptr));
    return 0;
}

int cuMemsetD8_v2(uint64_t ptr, unsigned char value, size_t bytes)
{
    memset(stand_in_memory(ptr), value, bytes);
    return 0;
}

int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream)
{
    memcpy(stand_in_memory(to), from, bytes);
    return stream != &stream_of_all;
}

int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream)
{
    memcpy(to, stand_in_memory(from), bytes);
    return stream != &stream_of_all;
}
