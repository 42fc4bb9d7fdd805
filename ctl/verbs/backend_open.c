/* See backend_open.h. */
#include "ctl/verbs/backend_open.h"

#include "ctl/cluster/cluster.h"
#include "ctl/local/local.h"

enum exit_code backend_open(const struct cli *cli, struct backend **ret)
{
    return cli->is_local || cli->store != NULL ? local_backend_open(cli, ret)
                                               : cluster_backend_open(cli, ret);
}
