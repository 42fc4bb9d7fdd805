/* Model FLOPs: how much of what a device can do a model gets. Recomputed activations do not count,
 * as in MFU of the PaLM paper (arXiv:2204.02311, appendix B). Pure. */
#pragma once

#include "core/record.h"
#include "spec/spec.h"

/* Floating-point operations to train with one unit; NaN: the definition does not say it of this
 * unit. As given, or 6 N a token: 2 N forward, 4 N backward, without attention (arXiv:2001.08361,
 * section 2.1). */
double flops_of_unit(const struct flops *f, enum summary_unit unit);
/* Dense TFLOP/s of a device by the data sheet of its maker, accumulated in fp32 where that is the
 * usual way; NaN: the device or the precision is not in the table. `name` as its driver or MLPerf
 * has it: "NVIDIA H100 80GB HBM3". NULL has none. */
double flops_peak(const char *name, enum precision precision);
