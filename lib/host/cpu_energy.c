/* See cpu_energy.h. */
#include "host/cpu_energy.h"

#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/parse.h"
#include "base/str.h"

#define LINE_MAX_BYTES 64

/* The first line of a file of a package; "" if it cannot be read. */
static void read_line(const char *path, const char *name, char ret[static LINE_MAX_BYTES])
{
    _cleanup_(freep) char *full = xasprintf("%s/%s", path, name);
    const int fd = open(full, O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd < 0 ? 0 : read(fd, ret, LINE_MAX_BYTES - 1);
    (void)(fd >= 0 && close(fd)); /* read only */
    ret[n > 0 ? n : 0] = '\0';
    ret[strcspn(ret, "\n")] = '\0';
}

static double read_uj(const char *path, const char *name)
{
    char line[LINE_MAX_BYTES];
    uint64_t uj;
    read_line(path, name, line);
    return parse_u64(line, &uj) < 0 ? NAN : (double)uj;
}

void cpu_energy_open(const char *root, struct cpu_energy *ret)
{
    *ret = (struct cpu_energy){0};
    bool is_hidden = false;
    for (int i = 0; i < CPU_PACKAGES_MAX; i++) {
        char *path = xasprintf("%s/sys/class/powercap/intel-rapl:%d", root, i);
        struct cpu_package *p = &ret->packages[ret->n_packages];
        char name[LINE_MAX_BYTES];
        read_line(path, "name", name);
        if (!str_has_prefix(name, "package-")) { /* "psys" has the packages in it */
            free(path);
            continue;
        }
        *p = (struct cpu_package){path, read_uj(path, "max_energy_range_uj"),
                                  read_uj(path, "energy_uj")};
        is_hidden = is_hidden || isnan(p->last_uj);
        ret->n_packages++;
    }
    if (is_hidden) {
        cpu_energy_close(ret);
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
        const double now_uj = read_uj(p->path, "energy_uj");
        p->last_uj -= now_uj < p->last_uj ? p->range_uj : 0;
        const double rise_uj = rise_of(&p->last_uj, now_uj);
        /* A package takes minutes for half of the range: then the counter was set back. */
        by_uj += rise_uj <= p->range_uj / 2 ? rise_uj : NAN;
    }
    rise_add(&e->joules, by_uj / 1e6);
}
