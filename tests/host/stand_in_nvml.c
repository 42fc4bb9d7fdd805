/* A stand-in for libnvidia-ml.so.1: two devices, which both say what a real one said
 * (recorded_gpu.h), over and over. A moment passes with each nvmlDeviceGetCount_v2 after the first.
 * STAND_IN_NVML in the environment names a fault; those of a device begin at moment AT. Compiled
 * with OLD it has no call for the reasons of a low clock. STAND_IN_NVML_LOG is a file that gets a
 * line at each moment. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "recorded_gpu.h"

enum { NOT_SUPPORTED = 3, NO_PERMISSION = 4, NOT_LOADED = 9, LOST = 15, MISMATCH = 18, AT = 8 };

struct memory {
    unsigned version;
    unsigned long long total, reserved, free, used;
};

int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlSystemGetDriverVersion(char *ret, unsigned size);
int nvmlDeviceGetName(void *device, char *ret, unsigned size);
int nvmlDeviceGetCount_v2(unsigned *ret);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **ret);
int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *ret);
int nvmlDeviceGetPowerUsage(void *device, unsigned *ret);
int nvmlDeviceGetClockInfo(void *device, int type, unsigned *ret);
int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *ret);
int nvmlDeviceGetMemoryInfo_v2(void *device, struct memory *ret);
int nvmlDeviceGetTotalEccErrors(void *device, int type, int counter, unsigned long long *ret);

static long n_counts;
static char devices[2];

static int has(const char *fault)
{
    const char *wanted = getenv("STAND_IN_NVML");
    return wanted != NULL && strcmp(wanted, fault) == 0;
}

static long moment(void)
{
    return n_counts < 2 ? 0 : n_counts - 2;
}

static int has_begun(const char *fault)
{
    return moment() >= AT && has(fault);
}

static const struct recorded_gpu *now(void)
{
    return &recorded_gpu[(size_t)moment() % N_RECORDED];
}

int nvmlInit_v2(void)
{
    n_counts = 0;
    return has("no driver") ? NOT_LOADED : has("wrong version") ? MISMATCH : 0;
}

int nvmlShutdown(void)
{
    return 0;
}

int nvmlDeviceGetCount_v2(unsigned *ret)
{
    n_counts++;
    const char *log = getenv("STAND_IN_NVML_LOG");
    FILE *f = log == NULL ? NULL : fopen(log, "a");
    if (f != NULL) {
        (void)fputs("\n", f); /* a test waits for it */
        (void)fclose(f);
    }
    *ret = has_begun("count changes") ? 1 : 2;
    return 0;
}

int nvmlSystemGetDriverVersion(char *ret, unsigned size)
{
    (void)snprintf(ret, size, "0.0");
    return 0;
}

int nvmlDeviceGetName(void *device, char *ret, unsigned size)
{
    (void)snprintf(ret, size, "Stand-in GPU %d", device != &devices[0]);
    return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **ret)
{
    *ret = &devices[index];
    return 0;
}

/* Only the first device has faults. */
static int fails(const void *device)
{
    const char *call_us = getenv("STAND_IN_NVML_CALL_US"); /* which a call keeps its CPU busy */
    struct timespec begin, end;
    (void)clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        (void)clock_gettime(CLOCK_MONOTONIC, &end);
    } while (call_us != NULL &&
             (end.tv_sec - begin.tv_sec) * 1000000000 + end.tv_nsec - begin.tv_nsec <
                 atol(call_us) * 1000);
    return device == &devices[0] && has_begun("lost") ? LOST : 0;
}

int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *ret)
{
    const unsigned long long round_mj =
        recorded_gpu[N_RECORDED - 1].energy_mj - recorded_gpu[0].energy_mj;
    *ret = now()->energy_mj + (unsigned long long)(moment() / (long)N_RECORDED) * round_mj;
    if (device == &devices[0] && has_begun("reset")) {
        *ret -= recorded_gpu[0].energy_mj;
    }
    return has("no counter") || has("no power") ? NOT_SUPPORTED : fails(device);
}

int nvmlDeviceGetPowerUsage(void *device, unsigned *ret)
{
    *ret = now()->power_mw;
    return has("no power") ? NOT_SUPPORTED : fails(device);
}

int nvmlDeviceGetClockInfo(void *device, int type, unsigned *ret)
{
    *ret = device == &devices[0] && has_begun("clock drop") ? 345 : now()->clock_mhz;
    return type != 1 ? NOT_SUPPORTED : fails(device);
}

#ifndef OLD
int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *ret)
{
    *ret = now()->slow_reasons | (has_begun("throttle") ? 0x48 : 0);
    return fails(device);
}
#endif

int nvmlDeviceGetMemoryInfo_v2(void *device, struct memory *ret)
{
    ret->used = now()->memory_bytes;
    return ret->version != (sizeof(*ret) | 2U << 24) ? NOT_SUPPORTED : fails(device);
}

int nvmlDeviceGetTotalEccErrors(void *device, int type, int counter, unsigned long long *ret)
{
    *ret = type == 1 && has_begun("ecc") ? 3 : 0;
    return has("no permission") ? NO_PERMISSION : counter != 0 ? NOT_SUPPORTED : fails(device);
}
