/* Accelerators that a pod asks for. Pure. */
#pragma once

#include "spec/spec.h"

#define DEVICES_MAX 1024 /* of a replica */

/* Of one replica of that role at these parameters, by the limits of its template (nvidia.com/gpu,
 * amd.com/gpu, a MIG device, ...). 0: none, or only claims, which do not say how many they have.
 * *ret_slices: some are parts of a device (MIG, or shared in turns). -1: the limit *ret_wrong,
 * owned, is not a number from 0 to DEVICES_MAX. */
int64_t devices_of_template(const struct spec *spec, const struct system *system, enum role role,
                            const struct params *params, bool *ret_slices, char **ret_wrong);
