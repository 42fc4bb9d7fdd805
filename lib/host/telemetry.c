/* See telemetry.h. */
#include "host/telemetry.h"

#include <math.h>

/* Readings begin and end a little within the time: what they show of it stands for all. */
#define COVERED_MIN 0.8

void telemetry_clear(struct telemetry *t)
{
    vec_done(&t->readings);
    t->n_seen = t->halved = 0;
}

void telemetry_add(struct telemetry *t, const struct telemetry_reading *reading)
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

static double median_clock_mhz(const struct telemetry_reading *list, size_t n)
{
    _cleanup_(freep) double *sorted = xnew_array(double, n);
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += sorted[i] = list[i].gpu.clock_mhz;
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

static void put_gpus(const struct telemetry_reading *list, size_t n, double energy_j,
                     double length_s, struct metrics *ret)
{
    const struct gpu_reading *first = &list[0].gpu, *last = &list[n - 1].gpu;
    double power_w = 0, memory_bytes = 0, slow[GPU_SLOW_COUNT] = {0};
    for (size_t i = 0; i < n; i++) {
        const struct gpu_reading *r = &list[i].gpu;
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
    const struct telemetry_reading *list = t->readings.items;
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
    const struct gpu_reading *last = &list[n - 1].gpu;
    if (last->n_devices > 0) {
        const double seen_j = rise_between(&list->gpu.energy_j, &last->energy_j);
        put_gpus(list, n, length_s / seen_s * seen_j, length_s, ret);
    }
}
