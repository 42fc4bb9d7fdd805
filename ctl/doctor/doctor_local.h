/* What `benchctl doctor` looks at on this machine: worker, CPUs, store. */
#pragma once

#include "ctl/cli/cli.h"
#include "ctl/doctor/doctor.h"

void doctor_local(const struct cli *cli, struct checks *c);
