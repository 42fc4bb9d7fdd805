/* See cpu_energy.h. */
#include "host/cpu_energy.h"

#include <math.h>

#include "base/mem.h"
#include "base/parse.h"
#include "base/str.h"
#include "host/host.h"

/* NaN if the file cannot be read. */
static double read_uj(const char *package, const char *name)
{
    uint64_t uj;
    _cleanup_(freep) char *line = host_read_line(package, name);
    return line == NULL || parse_u64(line, &uj) < 0 ? NAN : (double)uj;
}

void cpu_energy_open(const char *root, struct cpu_energy *ret)
{
    *ret = (struct cpu_energy){0};
    for (int i = 0; i < CPU_PACKAGES_MAX; i++) {
        struct cpu_package p = {xasprintf("%s/sys/class/powercap/intel-rapl:%d", root, i), 0, 0};
        _cleanup_(freep) char *name = host_read_line(p.path, "/name");
        if (name == NULL || !str_has_prefix(name, "package-")) { /* "psys" has the packages in it */
            free(p.path);
            continue;
        }
        p.range_uj = read_uj(p.path, "/max_energy_range_uj");
        p.last_uj = read_uj(p.path, "/energy_uj");
        ret->packages[ret->n_packages++] = p;
        if (isnan(p.last_uj)) { /* hidden */
            cpu_energy_close(ret);
            return;
        }
    }
}

void cpu_energy_close(struct cpu_energy *e)
{
    for (unsigned i = 0; i < e->n_packages; i++) {
        free(e->packages[i].path);
    }
    e->n_packages = 0;
}

void cpu_energy_read(struct cpu_energy *e)
{
    double by_uj = e->n_packages == 0 ? NAN : 0;
    for (unsigned i = 0; i < e->n_packages; i++) {
        struct cpu_package *p = &e->packages[i];
        const double now_uj = read_uj(p->path, "/energy_uj");
        p->last_uj -= now_uj < p->last_uj ? p->range_uj : 0;
        const double rise_uj = rise_of(&p->last_uj, now_uj);
        /* A package takes minutes for half of the range: then the counter was set back. */
        by_uj += rise_uj <= p->range_uj / 2 ? rise_uj : NAN;
    }
    rise_add(&e->joules, by_uj / 1e6);
}
