/* lib/host/nvml_api.h with the real header: it compiles only if its declarations are NVIDIA's. It
 * is never run; test_nvml_header.py has the header. */
#include <nvml.h>

#include "host/nvml_api.h"

#define SAME(a, b) _Static_assert((a) == (b), #a " is " #b)
#define SAME_PLACE(member)                                                                         \
    SAME(__builtin_offsetof(struct nvml_memory, member),                                           \
         __builtin_offsetof(nvmlMemory_v2_t, member))

SAME((int)NVML_SM_CLOCK, (int)NVML_CLOCK_SM);
SAME((int)NVML_CORRECTED, (int)NVML_MEMORY_ERROR_TYPE_CORRECTED);
SAME((int)NVML_UNCORRECTED, (int)NVML_MEMORY_ERROR_TYPE_UNCORRECTED);
SAME((int)NVML_VOLATILE, (int)NVML_VOLATILE_ECC);
SAME(NVML_SLOW_POWER, nvmlClocksEventReasonSwPowerCap |
                          nvmlClocksThrottleReasonHwPowerBrakeSlowdown |
                          nvmlClocksEventReasonBoardLimit);
SAME(NVML_SLOW_HEAT,
     nvmlClocksEventReasonSwThermalSlowdown | nvmlClocksThrottleReasonHwThermalSlowdown);
SAME(NVML_SLOW_HARDWARE, nvmlClocksThrottleReasonHwSlowdown);
SAME(sizeof(struct nvml_memory), sizeof(nvmlMemory_v2_t));
SAME(NVML_MEMORY_VERSION, nvmlMemory_v2);
SAME_PLACE(version);
SAME_PLACE(used);
SAME(sizeof(int), sizeof(nvmlReturn_t));

/* Both take the same arguments in the same order; a pointer is one to the same. */
#define BOTH(real, ours, ...)                                                                      \
    do {                                                                                           \
        (void)real(__VA_ARGS__);                                                                   \
        (void)api->ours(__VA_ARGS__);                                                              \
    } while (0)
#define BOTH_OF(real, ours, ...)                                                                   \
    do {                                                                                           \
        (void)real(theirs, ##__VA_ARGS__);                                                         \
        (void)api->ours(device, ##__VA_ARGS__);                                                    \
    } while (0)

void nvml_header_calls(const struct nvml_api *api, nvmlDevice_t theirs, nvml_device device);

void nvml_header_calls(const struct nvml_api *api, nvmlDevice_t theirs, nvml_device device)
{
    unsigned whole;
    unsigned long long large;
    nvmlMemory_v2_t memory;
    struct nvml_memory ours;
    BOTH(nvmlInit_v2, init);
    BOTH(nvmlShutdown, shutdown);
    BOTH(nvmlDeviceGetCount_v2, device_count, &whole);
    (void)nvmlDeviceGetHandleByIndex_v2(whole, &theirs);
    (void)api->device_by_index(whole, &device);
    BOTH_OF(nvmlDeviceGetTotalEnergyConsumption, energy, &large);
    BOTH_OF(nvmlDeviceGetPowerUsage, power, &whole);
    BOTH_OF(nvmlDeviceGetClockInfo, clock, NVML_SM_CLOCK, &whole);
    BOTH_OF(nvmlDeviceGetCurrentClocksEventReasons, slow_reasons, &large);
    BOTH_OF(nvmlDeviceGetCurrentClocksThrottleReasons, slow_reasons, &large);
    (void)nvmlDeviceGetMemoryInfo_v2(theirs, &memory);
    (void)api->memory(device, &ours);
    BOTH_OF(nvmlDeviceGetTotalEccErrors, ecc_errors, NVML_CORRECTED, NVML_VOLATILE, &large);
}
