/* What `benchctl doctor` looks at in a cluster: cluster_doctor.c, or cluster_none.c in a build
 * without Kubernetes. */
#pragma once

#include "ctl/cli/cli.h"
#include "ctl/doctor/doctor.h"

void doctor_cluster(const struct cli *cli, struct checks *c);
