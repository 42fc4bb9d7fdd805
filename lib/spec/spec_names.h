/* The words of a definition's enums as tables, indexed by the enum; for spec_read.c. */
#pragma once

#include "spec/spec.h"

extern const char *const sweep_kind_names[3];
extern const char *const dataset_kind_names[DATASET_COUNT];
extern const char *const baseline_kind_names[2];
extern const char *const order_kind_names[2];
extern const char *const on_trial_failure_names[3];
extern const char *const metric_names[5];
extern const char *const clean_pod_policy_names[4];
extern const char *const addressing_names[3];
