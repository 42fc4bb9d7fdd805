/* See telemetry.h. */
#include "host/telemetry.h"

#include <dlfcn.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/parse.h"
#include "base/str.h"
#include "host/nvml_api.h"

#define DEVICES_MAX 64
#define RARELY 10 /* readings */

struct device {
    nvml_device handle;
    bool is_chosen;
    /* At the last reading; NaN: unknown. */
    double energy_mj, ecc_errors, memory_bytes;
};

struct gpus {
    void *library;
    struct nvml_api api;
    bool has_begun;
    unsigned n_devices, n_readings;
    struct device devices[DEVICES_MAX];
    struct rise energy_j, ecc_errors;
};

#define SYMBOL(member, name)                                                                       \
    {                                                                                              \
        offsetof(struct nvml_api, member), name                                                    \
    }
static const struct {
    size_t at;
    const char *name;
} symbols[] = {
    SYMBOL(init, "nvmlInit_v2"),
    SYMBOL(shutdown, "nvmlShutdown"),
    SYMBOL(device_count, "nvmlDeviceGetCount_v2"),
    SYMBOL(device_by_index, "nvmlDeviceGetHandleByIndex_v2"),
    SYMBOL(energy, "nvmlDeviceGetTotalEnergyConsumption"),
    SYMBOL(power, "nvmlDeviceGetPowerUsage"),
    SYMBOL(clock, "nvmlDeviceGetClockInfo"),
    SYMBOL(slow_reasons, "nvmlDeviceGetCurrentClocksEventReasons"),
    SYMBOL(slow_reasons, "nvmlDeviceGetCurrentClocksThrottleReasons"), /* before driver 535 */
    SYMBOL(memory, "nvmlDeviceGetMemoryInfo_v2"),
    SYMBOL(ecc_errors, "nvmlDeviceGetTotalEccErrors"),
};
#define N_REQUIRED 4

/* False: nothing can be known. */
static bool begin(struct gpus *g)
{
    for (size_t i = 0; i < COUNT_OF(symbols); i++) {
        void **slot = (void **)(void *)((char *)&g->api + symbols[i].at);
        *slot = *slot != NULL ? *slot : dlsym(g->library, symbols[i].name);
        if (*slot == NULL && i < N_REQUIRED) {
            return false;
        }
    }
    g->has_begun = g->api.init() == 0;
    bool is_ok = g->has_begun && g->api.device_count(&g->n_devices) == 0 && g->n_devices > 0 &&
                 g->n_devices <= DEVICES_MAX;
    for (unsigned i = 0; is_ok && i < g->n_devices; i++) {
        is_ok = g->api.device_by_index(i, &g->devices[i].handle) == 0;
    }
    return is_ok;
}

struct gpus *gpus_open(const char *library)
{
    struct gpus *g = xnew(struct gpus);
    g->library = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (g->library == NULL || !begin(g)) {
        gpus_close(g);
        return NULL;
    }
    return g;
}

void gpus_close(struct gpus *g)
{
    if (g != NULL) {
        (void)(g->has_begun && g->api.shutdown()); /* nothing more is asked */
        (void)(g->library != NULL && dlclose(g->library));
        free(g);
    }
}

/* The answer to a call about d, NaN without one. */
#define ASK(g, d, call, type, ...)                                                                 \
    ({                                                                                             \
        type value_;                                                                               \
        (g)->api.call != NULL && (g)->api.call((d)->handle, ##__VA_ARGS__, &value_) == 0           \
            ? (double)value_                                                                       \
            : NAN;                                                                                 \
    })

static double memory_bytes(const struct gpus *g, const struct device *d)
{
    struct nvml_memory m = {.version = NVML_MEMORY_VERSION};
    return g->api.memory != NULL && g->api.memory(d->handle, &m) == 0 ? (double)m.used : NAN;
}

/* By how much a counter has risen since it was *last, which becomes `now`. NaN: unknown. */
static double rise_of(double *last, double now)
{
    const double by = now - *last;
    *last = now;
    return by >= 0 ? by : NAN;
}

static void rise_add(struct rise *rise, double by)
{
    rise->sum += isnan(by) ? 0 : by;
    rise->gaps += isnan(by);
}

/* NaN over a gap. */
static double rise_between(const struct rise *from, const struct rise *to)
{
    return from->gaps == to->gaps ? to->sum - from->sum : NAN;
}

/* NaN if one of them is. */
static double largest_of(double a, double b)
{
    return a >= b || isnan(a) ? a : b;
}

/* By how much its errors have risen. */
static double read_rarely(const struct gpus *g, struct device *d)
{
    d->memory_bytes = memory_bytes(g, d);
    const double corrected =
        ASK(g, d, ecc_errors, unsigned long long, NVML_CORRECTED, NVML_VOLATILE);
    return rise_of(&d->ecc_errors, corrected + ASK(g, d, ecc_errors, unsigned long long,
                                                   NVML_UNCORRECTED, NVML_VOLATILE));
}

void gpus_choose(struct gpus *g, const char *visible)
{
    _cleanup_(freep) char *copy = xstrdup(visible);
    char *rest = copy;
    for (const char *name; (name = strsep(&rest, ",")) != NULL;) {
        for (unsigned i = 0; i < g->n_devices; i++) {
            struct device *d = &g->devices[i];
            uint64_t index;
            const bool is_named = parse_u64(name, &index) == 0 ? index == i : str_eq(name, "all");
            if (is_named && !d->is_chosen) {
                d->is_chosen = true;
                d->energy_mj = ASK(g, d, energy, unsigned long long);
                (void)read_rarely(g, d); /* the counters begin */
            }
        }
    }
}

void gpus_forget(struct gpus *g)
{
    for (unsigned i = 0; i < g->n_devices; i++) {
        g->devices[i].is_chosen = false;
    }
}

static void read_slow(const struct gpus *g, const struct device *d, double *slow)
{
    static const uint64_t masks[GPU_SLOW_COUNT] = {
        NVML_SLOW_POWER, NVML_SLOW_HEAT, NVML_SLOW_HARDWARE,
        NVML_SLOW_POWER | NVML_SLOW_HEAT | NVML_SLOW_HARDWARE};
    const double bits = ASK(g, d, slow_reasons, unsigned long long);
    for (int i = 0; i < GPU_SLOW_COUNT; i++) {
        slow[i] += isnan(bits) ? NAN : ((uint64_t)bits & masks[i]) != 0;
    }
}

void gpus_read(struct gpus *g, struct gpu_reading *ret)
{
    unsigned n_now = 0;
    const bool is_rare = g->n_readings++ % RARELY == 0;
    /* After a change the handles may be those of other devices. */
    const double none = g->api.device_count(&n_now) == 0 && n_now == g->n_devices ? 0 : NAN;
    double energy_j = none, ecc_errors = none;
    *ret =
        (struct gpu_reading){.power_w = none, .clock_mhz = none, .slow = {none, none, none, none}};
    for (unsigned i = 0; i < g->n_devices; i++) {
        struct device *d = &g->devices[i];
        if (d->is_chosen) {
            ret->n_devices++;
            energy_j += rise_of(&d->energy_mj, ASK(g, d, energy, unsigned long long)) / 1e3;
            ret->power_w += isnan(d->energy_mj) ? ASK(g, d, power, unsigned) / 1e3 : NAN;
            ret->clock_mhz += ASK(g, d, clock, unsigned, NVML_SM_CLOCK);
            read_slow(g, d, ret->slow);
            ecc_errors += is_rare ? read_rarely(g, d) : 0;
            ret->memory_bytes = largest_of(ret->memory_bytes, d->memory_bytes + none);
        }
    }
    rise_add(&g->energy_j, energy_j);
    rise_add(&g->ecc_errors, ecc_errors);
    ret->energy_j = g->energy_j;
    ret->ecc_errors = g->ecc_errors;
    ret->power_w /= ret->n_devices;
    ret->clock_mhz /= ret->n_devices;
}

/* ---- figures ---- */

/* Readings begin and end a little within the time: what they show of it stands for all. */
#define COVERED_MIN 0.8

void telemetry_clear(struct telemetry *t)
{
    vec_done(&t->readings);
    t->n_seen = t->halved = 0;
}

void telemetry_add(struct telemetry *t, const struct gpu_reading *reading)
{
    if (t->n_seen++ % (1U << t->halved) != 0) {
        return;
    }
    *vec_push(&t->readings) = *reading;
    if (t->readings.len == TELEMETRY_READINGS_MAX) {
        t->halved++;
        t->readings.len /= 2;
        for (size_t i = 0; i < t->readings.len; i++) {
            t->readings.items[i] = t->readings.items[2 * i];
        }
    }
}

static double median_clock_mhz(const struct gpu_reading *list, size_t n)
{
    _cleanup_(freep) double *sorted = xnew_array(double, n);
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += sorted[i] = list[i].clock_mhz;
    }
    array_sort(sorted, n, sizeof(*sorted), by_double);
    return isnan(sum) ? NAN : (sorted[n / 2] + sorted[(n - 1) / 2]) / 2;
}

static void put_slow(const double *slow, struct metrics *ret)
{
    static const char *const names[GPU_SLOW_COUNT] = {
        [GPU_SLOW_POWER] = "power_cap_ratio",
        [GPU_SLOW_HEAT] = "thermal_ratio",
        [GPU_SLOW_HARDWARE] = "hw_slow_ratio",
        [GPU_SLOW_ANY] = "throttled_ratio",
    };
    metrics_set(ret, names[GPU_SLOW_ANY], slow[GPU_SLOW_ANY]);
    for (int k = 0; slow[GPU_SLOW_ANY] > 0 && k < GPU_SLOW_ANY; k++) {
        metrics_set(ret, names[k], slow[k]);
    }
}

static void put_gpus(const struct gpu_reading *list, size_t n, double energy_j, double length_s,
                     struct metrics *ret)
{
    const struct gpu_reading *first = &list[0], *last = &list[n - 1];
    double power_w = 0, memory_bytes = 0, slow[GPU_SLOW_COUNT] = {0};
    for (size_t i = 0; i < n; i++) {
        const struct gpu_reading *r = &list[i];
        power_w += r->power_w / (double)n;
        memory_bytes = largest_of(memory_bytes, r->memory_bytes);
        for (int k = 0; k < GPU_SLOW_COUNT; k++) {
            slow[k] += (r->slow[k] > 1 ? 1 : r->slow[k]) / (double)n;
        }
    }
    if (isnan(energy_j)) {
        metrics_set(ret, "power_w", power_w);
        metrics_set(ret, "power_energy_j", power_w * last->n_devices * length_s);
    } else {
        metrics_set(ret, "power_w", energy_j / length_s / last->n_devices);
        metrics_set(ret, "energy_j", energy_j);
    }
    metrics_set(ret, "clock_mhz", median_clock_mhz(list, n));
    put_slow(slow, ret);
    metrics_set(ret, "memory_bytes", memory_bytes);
    metrics_set(ret, "ecc_errors", rise_between(&first->ecc_errors, &last->ecc_errors));
}

void telemetry_figures(const struct telemetry *t, int64_t from_ns, int64_t to_ns,
                       struct metrics *ret)
{
    const struct gpu_reading *list = t->readings.items;
    size_t n = t->readings.len;
    while (n > 0 && list[n - 1].t_ns > to_ns) {
        n--;
    }
    while (n > 0 && list->t_ns < from_ns) {
        list++;
        n--;
    }
    const double length_s = (double)(to_ns - from_ns) / 1e9;
    const double seen_s =
        n < TELEMETRY_READINGS_MIN ? 0 : (double)(list[n - 1].t_ns - list->t_ns) / 1e9;
    if (seen_s <= 0 || seen_s < COVERED_MIN * length_s) {
        return;
    }
    const struct gpu_reading *last = &list[n - 1];
    if (last->n_devices > 0) {
        const double seen_j = rise_between(&list->energy_j, &last->energy_j);
        put_gpus(list, n, length_s / seen_s * seen_j, length_s, ret);
    }
}
