/* What is known of GPUs over a time, by the stand-in for NVML with its faults. */
#include <math.h>

#include "tests/test.h"
#include "base/buf.h"
#include "base/str.h"
#include "host/telemetry.h"
#include "recorded_gpu.h"

static int64_t recorded_ns(size_t i)
{
    return (int64_t)(recorded_gpu[i].t_s * 1e9);
}

/* "clock_mhz 1980, ..."; "": nothing is known. Owned. */
static char *figures_of(const struct telemetry *t, size_t from, size_t to)
{
    struct metrics m = {0};
    struct buf text = BUF_INIT;
    telemetry_figures(t, recorded_ns(from), recorded_ns(to), &m);
    vec_each (const struct metric_value, it, &m.list) {
        buf_printf(&text, "%s%s %.10g", text.len == 0 ? "" : ", ", it->name, it->value);
    }
    metrics_done(&m);
    return text.len == 0 ? xstrdup("") : buf_take(&text);
}

/* Over the fifth to the fourteenth moment of the recording: 535.291 J in 0.954 s, ten clocks, eight
 * of them under the power limit. */
#define ENERGY "power_w 561.1016771, energy_j 535.291, "
#define CLOCK "clock_mhz 1957.5, "
#define SLOW "throttled_ratio 0.8, power_cap_ratio 0.8, thermal_ratio 0, hw_slow_ratio 0, "
#define MEMORY "memory_bytes 6805127168"
static const struct fault_row {
    const char *name, *visible, *expected;
} faults[] = {
    {"none", "1", ENERGY CLOCK SLOW MEMORY ", ecc_errors 0"},
    {"none", "1,all",
     "power_w 561.1016771, energy_j 1070.582, " CLOCK SLOW MEMORY ", ecc_errors 0"},
    {"none", "", ""},
    {"none", "MIG-1,-1,2", ""},
    {"throttle", "0",
     ENERGY CLOCK
     "throttled_ratio 0.8, power_cap_ratio 0.8, thermal_ratio 0.6, hw_slow_ratio 0.6, " MEMORY
     ", ecc_errors 0"},
    {"reset", "0,1", CLOCK SLOW MEMORY ", ecc_errors 0"},
    {"no counter", "0",
     "power_w 421.9869, power_energy_j 402.5755026, " CLOCK SLOW MEMORY ", ecc_errors 0"},
    {"lost", "0,1", ""},
    {"lost", "1", ENERGY CLOCK SLOW MEMORY ", ecc_errors 0"},
    {"old", "0", ENERGY CLOCK MEMORY ", ecc_errors 0"},
    {"no driver", "0", ""},
    {"wrong version", "0", ""},
    {"no permission", "0", ENERGY CLOCK SLOW MEMORY},
    {"no power", "0", CLOCK SLOW MEMORY ", ecc_errors 0"},
    {"ecc", "0", ENERGY CLOCK SLOW MEMORY ", ecc_errors 3"},
    {"clock drop", "0", ENERGY "clock_mhz 345, " SLOW MEMORY ", ecc_errors 0"},
    {"count changes", "0", ""},
};

TEST(each_fault_is_shown_or_makes_a_figure_unknown)
{
    for (size_t i = 0; i < N_ROWS(faults); i++) {
        const struct fault_row *row = &faults[i];
        const bool is_old = str_eq(row->name, "old");
        (void)setenv("STAND_IN_NVML", row->name, 1);
        struct gpus *gpus = gpus_open(getenv(is_old ? "STAND_IN_OLD" : "STAND_IN_NEW"));
        assert_true((gpus == NULL) ==
                    (str_eq(row->name, "no driver") || str_eq(row->name, "wrong version")));
        struct telemetry t = {0};
        if (gpus != NULL) {
            gpus_choose(gpus, row->visible);
        }
        for (size_t k = 0; gpus != NULL && k < N_RECORDED; k++) {
            struct gpu_reading r;
            gpus_read(gpus, &r);
            r.t_ns = recorded_ns(k);
            telemetry_add(&t, &r);
        }
        _cleanup_(freep) char *got = figures_of(&t, 4, 13);
        print_message("# %s, devices '%s'\n", row->name, row->visible);
        assert_string_equal(got, row->expected);
        telemetry_clear(&t);
        gpus_close(gpus);
    }
}

/* A long attempt keeps a bounded number of readings, and a gap counts although its reading is
 * gone. */
TEST(readings_of_a_day)
{
    _cleanup_(telemetry_clear) struct telemetry t = {0};
    const int64_t day_ns = INT64_C(86400) * 1000000000;
    struct gpu_reading r = {.n_devices = 1};
    while (r.t_ns < day_ns) {
        r.t_ns += INT64_C(1000000) * TELEMETRY_INTERVAL_MS;
        const bool is_gap = r.t_ns == day_ns / 2 + 100000000;
        r.energy_j.sum += is_gap ? 0 : 10;
        r.energy_j.gaps += is_gap;
        telemetry_add(&t, &r);
        assert_true(t.readings.len < TELEMETRY_READINGS_MAX);
    }
    const struct {
        int64_t from_ns, to_ns;
        double energy_j; /* at 100 W */
    } rows[] = {{0, day_ns / 4, 2.16e6},
                {day_ns / 4, day_ns * 3 / 4, NAN},
                {0, 10000000000, NAN},
                {-day_ns, day_ns / 4, NAN}};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(metrics_done) struct metrics m = {0};
        telemetry_figures(&t, rows[i].from_ns, rows[i].to_ns, &m);
        const double got = metrics_get(&m, "energy_j");
        assert_true(isnan(rows[i].energy_j) ? isnan(got) : fabs(got / rows[i].energy_j - 1) < 1e-9);
    }
}
