/* See doctor.h. Edge file: reads /sys, starts the worker, opens the store. */
#include "ctl/doctor/doctor.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "config.h"
#include "core/environment.h"
#include "ctl/cli/this_machine.h"
#include "ctl/local/local_store.h"
#include "host/host.h"

static void check_worker(struct checks *c)
{
    _cleanup_(freep) char *path = NULL;
    struct err err = {0};
    if (host_find_worker(&path, &err) < 0) {
        checks_fail(c, "worker", EXIT_LOCAL_RESOURCE, "set BENCHWORKER to its path", "%s", err.msg);
        return;
    }
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    const int r = host_worker_version(path, &out);
    _cleanup_(freep) char *line = xstrndup(buf_cstr(&out), strcspn(buf_cstr(&out), "\n"));
    if (r != 0) {
        checks_fail(c, "worker", EXIT_LOCAL_RESOURCE,
                    "build or install it again; 'benchworker --version' must work",
                    "%s does not start: %s", path, r < 0 ? strerror(-r) : "it exits with an error");
    } else if (!str_eq(line, "benchworker " BENCHD_VERSION)) {
        checks_warn(c, "worker", "install both from one build", "%s is '%s', not version %s", path,
                    line, BENCHD_VERSION);
    } else {
        checks_ok(c, "worker", "%s %s", path, BENCHD_VERSION);
    }
}

static void check_machine(struct checks *c)
{
    json_auto_t *environment = host_environment("");
    machine_check(&(struct machine_seen){.cpus_online = sysconf(_SC_NPROCESSORS_ONLN),
                                         .cpus_usable = host_cpus(),
                                         .governor = environment_text(environment, "cpu_governor")},
                  c);
}

/* The nearest folder above `path` that exists. Owned. */
static char *folder_above(const char *path)
{
    char *folder = xstrdup(path);
    for (char *slash; access(folder, F_OK) < 0 && (slash = strrchr(folder, '/')) != NULL;) {
        *(slash == folder ? slash + 1 : slash) = '\0';
        if (slash == folder) {
            break;
        }
    }
    if (strchr(folder, '/') == NULL && access(folder, F_OK) < 0) {
        free(folder);
        folder = xstrdup(".");
    }
    return folder;
}

static void check_store_to_come(struct checks *c, const char *path)
{
    _cleanup_(freep) char *folder = folder_above(path);
    struct stat st;
    if (stat(folder, &st) < 0 || !S_ISDIR(st.st_mode) || access(folder, W_OK | X_OK) < 0) {
        checks_fail(c, "store", EXIT_LOCAL_RESOURCE, "choose another with --store sqlite:FILE",
                    "%s cannot be created: %s is not writable", path, folder);
    } else {
        checks_ok(c, "store", "%s: the first run creates it", path);
    }
}

static void check_store(const struct cli *cli, struct checks *c)
{
    static const char prefix[] = "sqlite:";
    _cleanup_(freep) char *url = local_store_url(cli);
    if (url == NULL) {
        checks_fail(c, "store", EXIT_LOCAL_RESOURCE, "choose a file with --store sqlite:FILE",
                    "neither XDG_DATA_HOME nor HOME is an absolute path");
        return;
    }
    const char *path = str_has_prefix(url, prefix) ? url + strlen(prefix) : url;
    _cleanup_(store_closep) struct store *s = NULL;
    struct err err = {0};
    if (local_store_is_to_come(cli)) {
        check_store_to_come(c, path);
    } else if (store_open(url, false, &s, &err) < 0) {
        checks_fail(c, "store", EXIT_LOCAL_RESOURCE, "choose another with --store sqlite:FILE",
                    "%s", err.msg);
    } else {
        checks_ok(c, "store", "%s", path);
    }
}

void doctor_local(const struct cli *cli, struct checks *c)
{
    check_worker(c);
    check_machine(c);
    check_store(cli, c);
}
