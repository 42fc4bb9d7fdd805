/* The energy that the CPUs of this machine use: RAPL's counters in /sys/class/powercap, one for
 * each package. Since Linux 5.10 root alone may read them; virtual machines seldom have them. */
#pragma once

#include "host/gpu.h"

#define CPU_PACKAGES_MAX 16

struct cpu_energy {
    unsigned n_packages; /* 0: the counters cannot be read */
    struct cpu_package {
        char *path;
        double range_uj; /* after which the counter begins again at 0; NaN: unknown */
        double last_uj;
    } packages[CPU_PACKAGES_MAX];
    struct rise joules; /* of all together, by the last reading */
};
void cpu_energy_open(const char *root, struct cpu_energy *ret); /* `root`: "" for this machine */
void cpu_energy_close(struct cpu_energy *e);
void cpu_energy_read(struct cpu_energy *e);
