/* The few calls of NVIDIA's management library (NVML) that telemetry.c makes. The declarations are
 * our own; tests/host/test_nvml_header.py compares them with nvml.h. */
#pragma once

#define NVML_SM_CLOCK 1    /* of nvmlClockType_t */
#define NVML_CORRECTED 0   /* of nvmlMemoryErrorType_t */
#define NVML_UNCORRECTED 1 /* of the same */
#define NVML_VOLATILE 0    /* of nvmlEccCounterType_t: since the driver was loaded */
/* Why a clock is lower than it could be, of nvmlClocksEventReason...: a power limit (of software,
 * of the board, or hardware's brake); a temperature (found by software or hardware); and hardware,
 * which also sets this for its brake and its temperature. */
#define NVML_SLOW_POWER 0x284
#define NVML_SLOW_HEAT 0x60
#define NVML_SLOW_HARDWARE 0x8

typedef struct nvml_device *nvml_device; /* nvmlDevice_t */
struct nvml_memory {                     /* nvmlMemory_v2_t */
    unsigned version;                    /* NVML_MEMORY_VERSION, before the call */
    unsigned long long total, reserved, free, used;
};
#define NVML_MEMORY_VERSION ((unsigned)sizeof(struct nvml_memory) | 2U << 24)

/* All return 0 or an nvmlReturn_t. The calls for a device are NULL where the library has none. */
struct nvml_api {
    int (*init)(void);
    int (*shutdown)(void);
    int (*device_count)(unsigned *ret);
    int (*device_by_index)(unsigned index, nvml_device *ret);
    int (*energy)(nvml_device device, unsigned long long *ret_mj);
    int (*power)(nvml_device device, unsigned *ret_mw);
    int (*clock)(nvml_device device, int type, unsigned *ret_mhz);
    int (*slow_reasons)(nvml_device device, unsigned long long *ret);
    int (*memory)(nvml_device device, struct nvml_memory *ret);
    int (*ecc_errors)(nvml_device device, int type, int counter, unsigned long long *ret);
};
