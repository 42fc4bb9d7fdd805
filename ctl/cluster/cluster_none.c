/* Instead of cluster*.c where the program is built without Kubernetes (-Dkube=disabled). */
#include "ctl/cluster/cluster.h"

#include <errno.h>

#include "ctl/doctor/doctor.h"
#include "run/prometheus.h"

enum exit_code cluster_backend_open(const struct cli *cli, struct backend **ret)
{
    (void)cli, (void)ret;
    return cli_error(EXIT_UNREACHABLE, "add --local to run on this machine",
                     "no cluster: this benchctl was built without support for Kubernetes");
}

void doctor_cluster(const struct cli *cli, struct checks *c)
{
    (void)cli;
    checks_skip(c, "kubeconfig", "this benchctl was built without support for Kubernetes");
}

enum exit_code doctor_points(const struct cli *cli, const struct run_def *def, const char *queue,
                             struct checks *c)
{
    (void)def, (void)queue, (void)c;
    return cluster_backend_open(cli, NULL);
}

int prometheus_new(struct uv_loop_s *loop, const char *url, struct launcher *launcher,
                   const char *ns, struct prometheus **ret, struct err *err)
{
    (void)loop, (void)launcher, (void)ns, (void)ret;
    return url == NULL
               ? 0
               : err_set(err, ENOTSUP, "--prometheus: this benchctl was built without libcurl");
}
