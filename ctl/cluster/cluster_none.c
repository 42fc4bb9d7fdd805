/* Instead of cluster*.c where the program is built without Kubernetes (-Dkube=disabled). */
#include "ctl/cluster/cluster.h"
#include "ctl/doctor/doctor.h"

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
