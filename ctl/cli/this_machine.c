/* See this_machine.h. Edge file: reads the environment, /proc and /sys. */
#include "ctl/cli/this_machine.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "host/run_program.h"

static int64_t affinity_cpus(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof(set), &set) < 0) {
        return sysconf(_SC_NPROCESSORS_ONLN); /* more CPUs than the set can hold */
    }
    return CPU_COUNT(&set);
}

/* CPUs of cgroup v2's limit "MAX PERIOD" (both in us), -1 without one. Seen from inside a container
 * the own cgroup is the root of the mount. */
static int64_t cgroup_cpus(void)
{
    FILE *f = fopen("/sys/fs/cgroup/cpu.max", "re");
    if (f == NULL) {
        return -1;
    }
    long long max = -1, period = 0;
    int n = fscanf(f, "%lld %lld", &max, &period); /* "max 100000": no number, no limit */
    (void)fclose(f);
    return n == 2 && period > 0 ? max / period : -1;
}

int64_t host_cpus(void)
{
    int64_t cpus = affinity_cpus();
    int64_t limit = cgroup_cpus();
    if (limit >= 0 && limit < cpus) {
        cpus = limit;
    }
    return cpus < 1 ? 1 : cpus;
}

char *host_program_folder(void)
{
    char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
    if (n <= 0) {
        return xstrdup(".");
    }
    path[n] = '\0';
    char *slash = strrchr(path, '/');
    *(slash == path ? slash + 1 : slash) = '\0';
    return xstrdup(path);
}

static bool is_program(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

char *host_find_program(const char *name)
{
    if (strchr(name, '/') != NULL) {
        return is_program(name) ? xstrdup(name) : NULL;
    }
    const char *path = getenv("PATH");
    while (path != NULL && path[0] != '\0') {
        size_t len = strcspn(path, ":");
        _cleanup_(freep) char *full = xasprintf("%.*s/%s", (int)len, path, name);
        if (len > 0 && is_program(full)) {
            return take_ptr(full);
        }
        path += len + (path[len] == ':');
    }
    return NULL;
}

int host_find_worker(char **ret, struct err *err)
{
    const char *named = getenv("BENCHWORKER");
    if (named != NULL && named[0] != '\0') {
        if (!is_program(named)) {
            return err_set(err, ENOENT,
                           "benchworker: $BENCHWORKER is '%s', which is not an executable file",
                           named);
        }
        *ret = xstrdup(named);
        return 0;
    }
    static const char *const places[] = {"benchworker", "../worker/benchworker",
                                         "../libexec/benchd/benchworker"};
    _cleanup_(freep) char *folder = host_program_folder();
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        _cleanup_(freep) char *path = xasprintf("%s/%s", folder, places[i]);
        if (is_program(path)) {
            *ret = take_ptr(path);
            return 0;
        }
    }
    *ret = host_find_program("benchworker");
    return *ret != NULL ? 0
                        : err_set(err, ENOENT,
                                  "benchworker was not found: it is not in '%s', '%s/../worker', "
                                  "'%s/../libexec/benchd' or PATH",
                                  folder, folder, folder);
}

int host_worker_version(const char *worker, struct buf *ret)
{
    char *const argv[] = {(char *)worker, (char *)"--version", NULL};
    const struct run_limits limits = {.max_bytes = 65536, .timeout_ms = -1};
    return run_program(argv, &limits, ret);
}
